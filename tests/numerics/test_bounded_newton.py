"""Fits with least values against SciPy's bounded minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from calib.numerics.logistic import fit_bounded, log_loss, squared_error


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", [log_loss, squared_error])
def test_minimum_within_bounds(seed, kind):
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(200), rng.normal(size=(200, 5))])
    weight = rng.integers(1, 5, 200).astype(float)
    truth = np.array([0.3, 1.0, -1.0, 0.0, 0.5, -0.3])
    positive = rng.binomial(weight.astype(int), expit(design @ truth)).astype(float)
    ridge = np.diag([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    least = np.array([-np.inf, 0.1, 0.1, 0.1, 0.1, 0.1])
    loss = kind(weight, positive)

    def objective(c):
        value, first, _ = loss(design @ c)
        return value + c @ ridge @ c / 2.0, design.T @ first + ridge @ c

    start = np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])
    theirs = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, None) for low in least],
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    ours = fit_bounded(design, loss, ridge, least, start)
    assert (ours >= least).all()
    assert ours == pytest.approx(theirs.x, abs=1e-5)
    assert objective(ours)[0] <= theirs.fun + 1e-9


def test_derivatives_of_the_losses():
    weight, positive = np.array([3.0, 2.0]), np.array([1.0, 2.0])
    f, h = np.array([0.3, -1.2]), 1e-6
    for kind in (log_loss, squared_error):
        loss = kind(weight, positive)
        step = np.eye(2) * h
        numeric = [(loss(f + d)[0] - loss(f - d)[0]) / (2 * h) for d in step]
        assert loss(f)[1] == pytest.approx(numeric, abs=1e-6)

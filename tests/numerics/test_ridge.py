"""Ridge paths against scikit-learn, and leaving out against doing it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from calib.numerics.ridge import choose_ridge


def rows(seed=0, n=60):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, 4))
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-columns @ [1.0, -1.0, 0.5, 0.0]))
    return columns, y.astype(float)


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_logistic_fit_is_scikit_learns(lam):
    columns, y = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    ours = choose_ridge(columns, weight, weight * y, np.array([lam]), logistic=True)
    theirs = LogisticRegression(C=1.0 / lam, tol=1e-10, max_iter=1000).fit(columns, y, weight)
    assert ours.coefficients == pytest.approx(theirs.coef_[0], abs=1e-5)
    assert ours.intercept == pytest.approx(theirs.intercept_[0], abs=1e-5)


def test_linear_fit_is_scikit_learns():
    columns, y = rows()
    ours = choose_ridge(columns, np.ones(60), y, np.array([2.0]), logistic=False)
    theirs = Ridge(alpha=2.0).fit(columns, y)
    assert ours.coefficients == pytest.approx(theirs.coef_, abs=1e-10)
    assert ours.intercept == pytest.approx(theirs.intercept_, abs=1e-10)


@pytest.mark.parametrize(("logistic", "tolerance"), [(False, 1e-10), (True, 2e-3)])
def test_left_out_loss_is_that_of_refitting(logistic, tolerance):
    columns, y = rows()
    lambdas = np.array([2.0])
    ours = choose_ridge(columns, np.ones(60), y, lambdas, logistic=logistic)
    expected = []
    for lam in lambdas:
        losses = []
        for i in range(60):
            kept = np.arange(60) != i
            fit = choose_ridge(
                columns[kept], np.ones(59), y[kept], np.array([lam]), logistic=logistic
            )
            f = fit.intercept + columns[i] @ fit.coefficients
            losses.append(np.logaddexp(0.0, f) - y[i] * f if logistic else (y[i] - f) ** 2)
        expected.append(np.mean(losses))
    assert ours.losses == pytest.approx(expected, abs=tolerance)


def test_repeated_columns_do_no_harm():
    columns, y = rows()
    twice = np.column_stack([columns, columns])
    # Two equal columns share their coefficient, which halves the penalty's weight.
    one = choose_ridge(columns, np.ones(60), y, np.array([1.0]), logistic=True)
    two = choose_ridge(twice, np.ones(60), y, np.array([2.0]), logistic=True)
    assert twice @ two.coefficients == pytest.approx(columns @ one.coefficients, abs=1e-8)

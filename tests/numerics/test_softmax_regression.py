"""Multinomial regression on log scores: derivatives, both searches, scikit-learn."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from calib.numerics import softmax_regression
from calib.numerics.class_scores import log_scores, softmax
from calib.numerics.softmax_regression import (
    Diagonal,
    Full,
    QuadraticPenalty,
    SoftmaxRegression,
    fit_softmax,
)

DESIGNS = [Full(), Diagonal()]


def rows(n=400, m=4, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.0, 1.5, (n, m))
    label = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    return np.log(softmax(1.7 * z)), label, rng.random(n) + 0.5


@pytest.mark.parametrize("design", DESIGNS, ids=["full", "diagonal"])
def test_derivatives(design):
    problem = SoftmaxRegression(design, *rows())
    theta = np.random.default_rng(1).normal(size=design.identity(4).size)
    value, gradient, hessian = problem.curvature(theta)
    assert problem.log_loss(theta) == pytest.approx(value, rel=1e-14)
    # Forward differences by 1.5e-8 are good to about 1e-7.
    assert approx_fprime(theta, problem.log_loss) == pytest.approx(gradient, abs=1e-6)
    numeric = approx_fprime(theta, lambda t: problem.slope(t)[1])
    assert numeric == pytest.approx(hessian, abs=1e-5)


@pytest.mark.parametrize("design", DESIGNS, ids=["full", "diagonal"])
@pytest.mark.parametrize("strength", [1e-6, 1e-2, 10.0])
def test_both_searches_find_the_same(design, strength, monkeypatch):
    problem = SoftmaxRegression(design, *rows())
    start = design.identity(4).ravel()
    pull = QuadraticPenalty(np.full(len(start), strength), np.zeros(len(start)))
    newton = fit_softmax(problem, pull, start)
    monkeypatch.setattr(softmax_regression, "MAX_NEWTON_PARAMETERS", 0)
    lbfgs = fit_softmax(problem, pull, start)

    def objective(theta):
        return problem.log_loss(theta) + pull.value(theta)

    assert objective(newton) <= objective(lbfgs) + 1e-12
    assert objective(lbfgs) == pytest.approx(objective(newton), abs=1e-8)


def test_same_as_scikit_learn():
    x, label, weight = rows()
    problem = SoftmaxRegression(Full(), x, label, weight)
    # In scikit-learn intercepts are free and squares are halved, so C is 1 / (2 lambda W).
    strength = 0.01 * (np.arange(20) % 5 < 4)
    theta = fit_softmax(
        problem, QuadraticPenalty(strength, np.zeros(20)), Full().identity(4).ravel()
    )
    peer = LogisticRegression(C=1.0 / (2 * 0.01 * weight.sum()), tol=1e-10, max_iter=10_000)
    peer.fit(x, label, sample_weight=weight)
    assert theta.reshape(4, 5)[:, :4] == pytest.approx(peer.coef_, abs=1e-5)
    assert softmax(Full().eta(theta, x)) == pytest.approx(peer.predict_proba(x), abs=1e-6)


def test_pulls_add():
    rng = np.random.default_rng(0)
    one, two = (QuadraticPenalty(rng.random(3), rng.normal(size=3)) for _ in range(2))
    zero = QuadraticPenalty(np.zeros(3), np.zeros(3))
    a, b = rng.normal(size=(2, 3))
    both = one + two + zero
    # Values may differ by a constant, so differences are compared.
    apart = one.value(a) + two.value(a) - one.value(b) - two.value(b)
    assert both.value(a) - both.value(b) == pytest.approx(apart, abs=1e-12)
    assert both.gradient(a) == pytest.approx(one.gradient(a) + two.gradient(a), abs=1e-12)


def test_zeros_are_raised_to_machine_epsilon():
    assert log_scores(np.array([[0.0, 1.0]]), 2.0**-52).tolist() == [[np.log(2.0**-52), 0.0]]


@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_are_a_problem_of_their_own(weighted):
    x, label, weight = rows()
    weight = weight if weighted else None
    chosen = np.arange(0, 400, 3)
    some = SoftmaxRegression(Full(), x, label, weight).rows(chosen)
    weight_of_chosen = weight[chosen] if weighted else None
    alone = SoftmaxRegression(Full(), x[chosen], label[chosen], weight_of_chosen)
    theta = Full().identity(4)
    assert some.log_loss(theta) == alone.log_loss(theta)
    assert some.total_weight == alone.total_weight


def test_blocks_are_those_of_the_mean_hessian():
    x, label, _ = rows()
    theta = np.random.default_rng(1).normal(size=8)
    hessian = SoftmaxRegression(Diagonal(), x, label).curvature(theta)[2]
    blocks = Diagonal().blocks(softmax(Diagonal().eta(theta, x)), x)
    for k in range(4):
        block = slice(2 * k, 2 * k + 2)
        np.testing.assert_allclose(blocks[k], hessian[block, block], rtol=1e-12)
    # The blocks of a full matrix are exact if probabilities do not depend on the scores.
    constant = np.column_stack([np.zeros((4, 4)), np.array([0.3, -0.5, 1.0, 0.0])]).ravel()
    hessian = SoftmaxRegression(Full(), x, label).curvature(constant)[2]
    blocks = Full().blocks(softmax(Full().eta(constant, x)), x)
    for k in range(4):
        block = slice(5 * k, 5 * k + 5)
        np.testing.assert_allclose(blocks[k], hessian[block, block], rtol=1e-9)


@pytest.mark.parametrize("design", DESIGNS, ids=["full", "diagonal"])
def test_the_identity_leaves_log_scores_as_they_are(design):
    x = rows()[0]
    np.testing.assert_array_equal(design.eta(design.identity(4).ravel(), x), x)

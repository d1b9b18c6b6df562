"""Ridge paths against scikit-learn, and leaving out against doing it."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge

from calib.numerics.penalized_logistic import choose_ridge


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


def by_itself(columns, y, lam):
    return choose_ridge(columns, np.ones(len(y)), y, np.array([lam]), logistic=True).losses[0]


def test_smaller_lambdas_are_tried_while_the_loss_falls():
    columns, y = rows()
    lambdas, further = np.array([300.0, 100.0]), np.geomspace(30.0, 1e-3, 12)
    alone = np.array([by_itself(columns, y, lam) for lam in (*lambdas, *further)])
    best = int(alone.argmin())
    assert 2 < best < 8  # The best lambda is among the further ones, and four worse follow.
    path = choose_ridge(columns, np.ones(60), y, lambdas, logistic=True, further=further)
    assert path.chosen == best
    assert len(path.losses) == len(path.lambdas) == best + 1 + 4
    assert path.losses == pytest.approx(alone[: best + 5], abs=1e-6)
    # If the last of the first lambdas is not the best one, no further one is tried.
    enough = np.append(lambdas, further[:7])
    path = choose_ridge(columns, np.ones(60), y, enough, logistic=True, further=further[7:])
    assert (path.chosen, len(path.losses)) == (best, 9)
    path = choose_ridge(columns, np.ones(60), y, enough, logistic=True)
    assert (path.chosen, len(path.losses)) == (best, 9)


@pytest.mark.parametrize("logistic", [False, True])
def test_one_row_of_a_cell_is_left_out_at_once(logistic):
    columns, _ = rows()
    rng = np.random.default_rng(2)
    weight = rng.integers(1, 5, 60)
    positive = rng.binomial(weight, 0.4)
    lambdas = np.array([3.0])
    cells = choose_ridge(columns, weight, positive, lambdas, logistic=logistic)
    copies = np.repeat(np.arange(60), weight)
    y = np.concatenate([np.arange(n) < k for n, k in zip(weight, positive, strict=True)])
    expanded = choose_ridge(
        columns[copies], np.ones(len(y)), y.astype(float), lambdas, logistic=logistic
    )
    assert cells.losses == pytest.approx(expanded.losses, rel=1e-9)
    # The unit of the weights does not matter.
    for size in (2.0, 0.5):
        scaled = choose_ridge(
            columns, size * weight, size * positive, size * lambdas, logistic=logistic, row=size
        )
        assert scaled.losses == pytest.approx(cells.losses, rel=1e-9)


@pytest.mark.parametrize("logistic", [False, True])
def test_a_cell_that_weighs_less_than_a_row_is_left_out_whole(logistic):
    """Its own part of the Hessian is its weight's, and what it is judged by a row's."""
    columns, y = rows()
    weight = np.where(np.arange(60) < 30, 0.5, 1.0)
    path = choose_ridge(columns, weight, weight * y, np.array([2.0]), logistic=logistic, row=1.0)
    default = choose_ridge(
        columns, weight, weight * y, np.array([2.0]), logistic=logistic, row=np.ones(60)
    )
    assert path.losses == pytest.approx(default.losses, rel=1e-12)
    whole_cell = choose_ridge(
        columns, weight, weight * y, np.array([2.0]), logistic=logistic, row=weight
    )
    assert whole_cell.losses[0] < path.losses[0]


def test_a_direction_in_which_the_columns_hardly_differ_is_left_out():
    columns, y = rows()
    tiny = 1e-9 * np.random.default_rng(3).normal(size=(60, 1))
    more = choose_ridge(np.hstack([columns, tiny]), np.ones(60), y, np.array([1.0]), logistic=True)
    one = choose_ridge(columns, np.ones(60), y, np.array([1.0]), logistic=True)
    assert more.coefficients[:4] == pytest.approx(one.coefficients, abs=1e-6)
    assert more.losses == pytest.approx(one.losses, abs=1e-8)


def test_rows_that_a_line_separates_have_a_finite_fit():
    x = np.linspace(-1.0, 1.0, 40)[:, None]
    y = (x[:, 0] > 0).astype(float)
    ours = choose_ridge(x, np.ones(40), y, np.array([1e-4]), logistic=True)
    theirs = LogisticRegression(C=1e4, tol=1e-12, max_iter=10_000).fit(x, y)
    assert ours.coefficients == pytest.approx(theirs.coef_[0], rel=1e-3)
    assert ours.intercept == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("size", [1.0, 1e-6])
@pytest.mark.parametrize("positive", [(0, 0, 1, 0, 1), (1, 0, 0, 1, 0), (1, 1, 0, 1, 0)])
def test_a_newton_step_that_goes_too_far_is_halved(positive, size):
    """Whole steps run off to infinity for these rows, one of which is far from the others."""
    x = np.array([-100.0, 0.0, 1.0, 2.0, 3.0])
    weight = size * np.array([1.0, 1.0, 1.0, 1.0, 100.0])
    y = np.array(positive, dtype=float)
    lam = 0.01 * size
    fit = choose_ridge(x[:, None], weight, weight * y, np.array([lam]), logistic=True)
    rest = weight * (y - expit(fit.intercept + x * fit.coefficients))
    # The derivatives of the penalised log loss vanish at its minimum.
    assert rest.sum() == pytest.approx(0.0, abs=1e-6 * size)
    assert x @ rest == pytest.approx(lam * fit.coefficients[0], abs=1e-5 * size)

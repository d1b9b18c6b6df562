"""Piecewise-linear maps: with a keypoint on every score they are isotonic regression."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, isotonic_regression, minimize

from calib.calibrators.pwl import PiecewiseLinear, _log_loss, _squared_error

GRID = np.linspace(0.0, 1.0, 101)


def draw(n=300, distinct=12, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, distinct, n) / distinct
    return scores, rng.random(n) < 0.2 + 0.5 * scores


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_keypoint_on_every_score_is_isotonic_regression(loss):
    # Isotonic regression minimises both losses. The log loss counts one more row.
    scores, y = draw()
    distinct, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    positive = np.bincount(place, y)
    if loss == "log":
        positive, count = positive + count / 300 * y.mean(), count * (1 + 1 / 300)
    fitted = PiecewiseLinear(loss, n_keypoints=300).fit(scores, y)
    assert fitted.keypoints_ == pytest.approx(distinct)
    expected = isotonic_regression(positive / count, weights=count).x
    assert fitted.values_ == pytest.approx(expected, abs=1e-5)


def test_is_the_least_squares_fit():
    # If the constraint does not bind, this is least squares on hat functions.
    rng = np.random.default_rng(1)
    scores = rng.random(800)
    y = rng.random(800) < scores
    fitted = PiecewiseLinear("brier", n_keypoints=4).fit(scores, y)
    hats = np.column_stack([np.interp(scores, fitted.keypoints_, row) for row in np.eye(4)])
    expected = np.linalg.lstsq(hats, y.astype(float), rcond=None)[0]
    assert (np.diff(expected) > 0).all()
    assert fitted.values_ == pytest.approx(np.clip(expected, 0, 1), abs=1e-2)
    bounded = minimize(lambda v: ((hats @ v - y) ** 2).mean(), np.full(4, 0.5), bounds=[(0, 1)] * 4)
    assert fitted.values_ == pytest.approx(bounded.x, abs=1e-3)


def test_squared_error_goes_no_further_than_the_rows_would_show():
    scores = np.linspace(0.01, 0.99, 40)
    fitted = PiecewiseLinear("brier").fit(scores, scores > 0.5)
    assert fitted.predict([0.0, 1.0]) == pytest.approx([1 / 42, 41 / 42], abs=1e-9)


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_never_falls(loss):
    scores, y = draw(2000, 500)
    p = PiecewiseLinear(loss, 20).fit(scores, y).predict(GRID)
    assert np.diff(p).min() >= 0.0


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_falling_truth_gives_the_base_rate_exactly(loss):
    # Ties between folds with the same base rate must not depend on rounding.
    scores, y = draw(2000)
    fitted = PiecewiseLinear(loss).fit(1.0 - scores, y)
    assert (fitted.predict(GRID) == y.mean()).all()


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        ([0.2, 0.8], [0, 1]),
        ([0.5, 0.5], [0, 1]),
        ([0.0, 1.0, 1e-300], [0, 1, 1]),
        (np.linspace(0, 1, 60), np.arange(60) >= 30),
    ],
    ids=["two", "equal", "certain", "separated"],
)
@pytest.mark.parametrize("loss", ["log", "brier"])
def test_hard_data_give_probabilities(scores, y, loss):
    fitted = PiecewiseLinear(loss).fit(scores, y)
    p = fitted.predict(GRID)
    assert ((p >= 0.0) & (p <= 1.0)).all()
    assert fitted.formula()
    if loss == "log":
        assert ((p > 0.0) & (p < 1.0)).all()


@pytest.mark.parametrize("parameters", [{"loss": "hinge"}, {"n_keypoints": 1}])
def test_parameters_are_checked(parameters, texts):
    with texts.raises(ValueError):
        PiecewiseLinear(**parameters).fit([0.1, 0.2], [0, 1])


def test_two_keypoints_are_allowed():
    assert len(PiecewiseLinear(n_keypoints=2).fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]).knots()) == 2


@pytest.mark.parametrize("loss", [_log_loss, _squared_error])
def test_derivatives_of_the_losses_by_differences(loss):
    rng = np.random.default_rng(2)
    weight, offset, f = 1.0 + rng.random(50), rng.random(50) / 4, 0.1 + rng.random(50) / 2
    positive = rng.random(50)
    at, p = loss(weight, positive, offset), offset + f
    losses = (-np.log(p), -np.log(1 - p)) if loss is _log_loss else ((1 - p) ** 2, p**2)
    value, first, second = at(f)
    assert value == pytest.approx(positive @ losses[0] + (weight - positive) @ losses[1])
    assert first == pytest.approx(approx_fprime(f, lambda f: at(f)[0]), rel=1e-5)
    by_cell = [(at(f + step)[1] - at(f - step)[1]) / 2e-6 for step in 1e-6 * np.eye(50)]
    assert by_cell == pytest.approx(np.diag(second), rel=1e-5, abs=1e-6)


def optimality(fitted, scores, y):
    """Derivative of the log loss by the first value, and by each step between two values."""
    hats = np.column_stack(
        [np.interp(scores, fitted.keypoints_, hat) for hat in np.eye(len(fitted.keypoints_))]
    )
    p, n = hats @ fitted.values_, len(y)
    # The extra row is spread over all scores, and its outcome is the base rate.
    by_value = hats.T @ ((1 + 1 / n) / (1 - p) - (y + y.mean() / n) * (1 / p + 1 / (1 - p))) / n
    by_step = np.cumsum(by_value[::-1])[::-1]
    return by_step[0], by_step[1:]


@pytest.mark.parametrize("n_keypoints", [10, 40])
@pytest.mark.parametrize("shape", ["rising", "u"])
def test_the_fit_is_the_optimum_and_ties_are_exact(shape, n_keypoints):
    # The loss is convex, so values are optimal exactly if no step up or down lowers the loss.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = rng.random(int(rng.choice([40, 300, 2000]))).round(2)
        rate = scores**2 if shape == "rising" else 0.1 + 3.2 * (scores - 0.5) ** 2
        y = rng.random(len(scores)) < rate
        fitted = PiecewiseLinear(n_keypoints=n_keypoints).fit(scores, y)
        first, by_step = optimality(fitted, scores, y)
        rises = np.diff(fitted.values_)
        assert abs(first) < 1e-6
        assert (by_step > -1e-6).all()
        assert (abs(by_step[rises > 0]) < 1e-6).all()
        assert ((rises == 0) | (rises > 1e-10)).all()


def test_a_bound_of_the_squared_error_holds_several_values():
    # The least squares at an active bound are known: three values at it, and a line up to them.
    scores = np.repeat(np.linspace(0.1, 0.9, 9), 40)
    y = scores > np.where(np.arange(360) % 4, 0.35, 0.15)
    fitted = PiecewiseLinear("brier", n_keypoints=9).fit(scores, y)
    rates = np.array([y[scores == s].mean() for s in np.unique(scores)])
    low, high = 1 / (360 + 1 / y.mean()), 1 - 1 / (360 + 1 / (1 - y.mean()))
    assert fitted.values_ == pytest.approx(np.clip(rates, low, high), abs=1e-9)

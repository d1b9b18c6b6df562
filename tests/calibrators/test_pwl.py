"""Piecewise-linear maps: with a keypoint on every score they are isotonic regression."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, isotonic_regression, minimize

from calib.calibrators.pwl import PiecewiseLinear, _hats, _log_loss, _squared_error

GRID = np.linspace(0.0, 1.0, 101)


def draw(n=300, distinct=12, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.integers(1, distinct, n) / distinct
    return scores, rng.random(n) < 0.2 + 0.5 * scores


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_keypoint_on_every_score_is_isotonic_regression(loss):
    # Isotonic regression minimises both losses; the log loss sees one row more.
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
    # Without ties of the constraint: plain least squares on hat functions.
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


def test_falling_truth_gives_the_base_rate():
    scores, y = draw(2000)
    fitted = PiecewiseLinear("brier").fit(1.0 - scores, y)
    assert fitted.predict(GRID) == pytest.approx(np.full(101, y.mean()), abs=1e-6)


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
    basis = _hats(rng.random(50), np.array([0.0, 0.3, 1.0]))
    positive, negative, at = rng.random(50), rng.random(50), np.array([0.2, 0.5, 0.7])
    value, slope = loss(basis, positive, negative, at)
    p = np.interp(np.asarray(basis @ np.array([0.0, 0.3, 1.0])), [0.0, 0.3, 1.0], at)
    losses = (-np.log(p), -np.log(1 - p)) if loss is _log_loss else ((1 - p) ** 2, p**2)
    assert value == pytest.approx(positive @ losses[0] + negative @ losses[1])
    expected = approx_fprime(at, lambda v: loss(basis, positive, negative, v)[0])
    assert slope == pytest.approx(expected, rel=1e-5)

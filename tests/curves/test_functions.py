"""Calibration functions on their grid."""

import numpy as np
import pytest

from calib.calibrators import calibrator, score_methods
from calib.curves.functions import (
    LambdaPath,
    calibration_function,
    compact_logit_curve,
    score_grid,
)


@pytest.fixture
def rng_scores():
    rng = np.random.default_rng(3)
    scores = rng.random(300)
    return scores, rng.random(300) < scores**2


class Halved:
    """A map that is known."""

    def predict(self, scores):
        return scores / 2.0

    def knots(self):
        return np.array([0.5])

    def described(self):
        return "half of the score"


def test_the_grid_reaches_into_both_tails():
    grid = score_grid()
    assert np.all(np.diff(grid) > 0.0)
    assert (grid[0], grid[-1]) == (0.0, 1.0)
    assert 0.0 < grid[1] < 1e-5
    assert 0.0 < 1.0 - grid[-2] < 1e-5


def test_a_map_is_read_on_the_grid(texts):
    function = calibration_function(Halved())
    np.testing.assert_array_equal(function.calibrated, score_grid() / 2.0)
    texts(function.formula)
    assert list(function.frame().columns) == ["score", "calibrated"]


def test_compact_logit_runs_from_0_to_1():
    curve = compact_logit_curve(0.01, 0.001, 7)
    assert (curve.transformed[0], curve.transformed[-1]) == (0.0, 1.0)
    assert np.all(np.diff(curve.transformed) > 0.0)
    assert (curve.epsilon, curve.rule, curve.n_outside) == (0.01, 0.001, 7)
    assert len(curve.frame()) == len(score_grid())


class Smoothed(Halved):
    """A map whose smoothness was chosen among three."""

    lambdas_ = np.array([10.0, 1.0, 0.1])
    cv_losses_ = np.array([0.6, 0.5, 0.55])
    degrees_ = np.array([2.0, 3.5, 6.0])
    lambda_ = 1.0


def test_a_map_without_a_path_has_none():
    assert calibration_function(Halved()).path is None


def test_a_path_is_read_with_the_lambda_in_use():
    path = calibration_function(Smoothed()).path
    np.testing.assert_array_equal(path.losses, [0.6, 0.5, 0.55])
    assert path.lambdas[path.chosen] == 1.0
    table = path.frame()
    assert list(table["lambda"][table["chosen"]]) == [1.0]
    assert list(table["degrees"]) == [2.0, 3.5, 6.0]


def test_every_calibrator_with_a_lambda_has_a_path(rng_scores):
    scores, y = rng_scores
    results = {}
    for key in score_methods():
        fitted = calibrator(key).fit(scores, y)
        results[key] = calibration_function(fitted).path
        assert (results[key] is not None) == hasattr(fitted, "lambda_"), key
    assert {"spline", "splinecalib"} <= {key for key, path in results.items() if path}
    assert results["splinecalib"].losses.argmin() == results["splinecalib"].chosen


def test_equal_scores_have_no_path():
    fitted = calibrator("spline").fit([0.3] * 4, [0, 1, 0, 0])
    assert calibration_function(fitted).path is None


@pytest.mark.parametrize(
    "change",
    [
        {"losses": np.ones(2)},
        {"degrees": np.ones(1)},
        {"chosen": 3},
        {"chosen": -1},
    ],
)
def test_a_path_that_does_not_fit_together_is_refused(change, texts):
    parts = {"lambdas": np.ones(3), "losses": np.ones(3), "degrees": np.ones(3), "chosen": 0}
    with texts.raises(ValueError):
        LambdaPath(**parts | change)

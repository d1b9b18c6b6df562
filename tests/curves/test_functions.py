"""Calibration functions on their grid."""

import numpy as np

from calib.curves.functions import calibration_function, compact_logit_curve, score_grid


class Halved:
    """A map that is known."""

    def predict(self, scores):
        return scores / 2.0

    def knots(self):
        return np.array([0.5])

    def formula(self):
        return "half of the score"


def test_the_grid_reaches_into_both_tails():
    grid = score_grid()
    assert np.all(np.diff(grid) > 0.0)
    assert (grid[0], grid[-1]) == (0.0, 1.0)
    assert 0.0 < grid[1] < 1e-5
    assert 0.0 < 1.0 - grid[-2] < 1e-5


def test_a_map_is_read_on_the_grid():
    function = calibration_function(Halved())
    np.testing.assert_array_equal(function.calibrated, score_grid() / 2.0)
    assert function.formula == "half of the score"
    assert list(function.frame().columns) == ["score", "calibrated"]


def test_compact_logit_runs_from_0_to_1():
    curve = compact_logit_curve(0.01, 0.001, 7)
    assert (curve.transformed[0], curve.transformed[-1]) == (0.0, 1.0)
    assert np.all(np.diff(curve.transformed) > 0.0)
    assert (curve.epsilon, curve.rule, curve.n_outside) == (0.01, 0.001, 7)
    assert len(curve.frame()) == len(score_grid())

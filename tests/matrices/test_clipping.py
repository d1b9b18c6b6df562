"""Clipping against calibration, by hand."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from calib.crossfit.epsilon import compare_clipping
from calib.crossfit.matrix_comparison import compare_multiclass
from calib.data.predictions import Predictions


@pytest.fixture(scope="module")
def sure(problem):
    """The same scores, so sure that one wrong row costs more than a hundred right ones."""
    scores, label = problem
    sharp = scores**8 + 1e-300
    return sharp / sharp.sum(axis=1, keepdims=True), label


@pytest.fixture(scope="module")
def compared(sure):
    scores, label = sure
    return compare_multiclass(Predictions.from_arrays(label, scores), ("temperature", "clip"))


def test_losses_are_those_of_rows_clipped_and_divided_by_their_sum(sure, compared):
    scores, label = sure
    result = compare_clipping(compared)
    assert [one.p_min for one in result.bounds] == [1e-2, 1e-3, 1e-4, 1e-5]
    for one in result.bounds:
        clipped = np.clip(scores, one.p_min, 1.0 - one.p_min)
        clipped /= clipped.sum(axis=1, keepdims=True)
        assert one.log_loss.value == pytest.approx(log_loss(label, clipped), abs=1e-12)
        before = compared.results["uncalibrated"].metrics["log_loss"].value
        assert one.change.value == pytest.approx(one.log_loss.value - before, abs=1e-12)
    assert result.best.log_loss.value == min(one.log_loss.value for one in result.bounds)


def test_calibration_is_set_against_the_best_bound(compared):
    result = compare_clipping(compared)
    assert result.calibrator == "temperature"
    loss = compared.results["temperature"].metrics["log_loss"].value
    assert result.gain.value == pytest.approx(loss - result.best.log_loss.value, abs=1e-12)
    assert result.gain.high < 0.0
    assert list(result.frame().index) == [1e-2, 1e-3, 1e-4, 1e-5]


def test_bounds_must_leave_the_first_class_first():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(150), 300)
    rows = Predictions.from_arrays(rng.integers(0, 150, 300), scores)
    result = compare_clipping(compare_multiclass(rows, ("temperature",)))
    assert [one.p_min for one in result.bounds] == [1e-3, 1e-4, 1e-5]

"""Class averages against the two classes computed apart."""

import numpy as np
import pytest

from calib import metrics

RNG = np.random.default_rng(13)
SCORE = RNG.beta(0.3, 3.0, 500)
OUTCOME = RNG.random(500) < SCORE**0.8


def ece(outcome, score, n_bins, strategy):
    return metrics.expected_calibration_error(outcome, score, n_bins=n_bins, strategy=strategy)


@pytest.mark.parametrize(
    ("metric", "strategy"),
    [
        (metrics.static_calibration_error, "uniform"),
        (metrics.adaptive_calibration_error, "quantile"),
    ],
)
@pytest.mark.parametrize("score", [SCORE, SCORE.round(1)])
def test_mean_of_both_classes(metric, strategy, score):
    both = [ece(OUTCOME, score, 9, strategy), ece(~OUTCOME, 1.0 - score, 9, strategy)]
    assert metric(OUTCOME, score, n_bins=9) == pytest.approx(np.mean(both), abs=1e-12)


def test_threshold_drops_the_rows_of_a_class_and_its_count():
    kept = SCORE > 0.02
    both = [
        ece(OUTCOME[kept], SCORE[kept], 7, "quantile"),
        ece(~OUTCOME, 1.0 - SCORE, 7, "quantile"),
    ]
    value = metrics.thresholded_calibration_error(OUTCOME, SCORE, n_bins=7, threshold=0.02)
    assert 0 < kept.sum() < 500
    assert value == pytest.approx(np.mean(both), abs=1e-12)


def test_a_class_without_scores_above_the_threshold_is_left_out():
    assert metrics.thresholded_calibration_error([0, 1], [0.001, 0.001]) == pytest.approx(0.499)

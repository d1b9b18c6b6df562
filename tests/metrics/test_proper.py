"""Log loss and Brier score against scikit-learn, row by row and where scores are certain."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from calib import metrics
from calib.metrics.proper import row_brier, row_log_loss

RNG = np.random.default_rng(1)
SCORE = np.concatenate([RNG.random(20_000), [0.0, 1.0, 0.0, 1.0, 1e-300]])
OUTCOME = np.concatenate([RNG.random(20_000) < 0.3, [False, True, True, False, True]])
WEIGHT = RNG.random(20_005) + 0.1


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_scikit_learn(weight):
    ours = metrics.log_loss(OUTCOME, SCORE, sample_weight=weight)
    assert ours == pytest.approx(sklearn_log_loss(OUTCOME, SCORE, sample_weight=weight), rel=1e-13)
    ours = metrics.brier_score(OUTCOME, SCORE, sample_weight=weight)
    assert ours == pytest.approx(brier_score_loss(OUTCOME, SCORE, sample_weight=weight), rel=1e-13)


@pytest.mark.parametrize("weight", [np.ones(20_005), WEIGHT])
def test_rows_average_to_the_metric(weight):
    for rows, metric in ((row_log_loss, metrics.log_loss), (row_brier, metrics.brier_score)):
        mean = np.average(rows(OUTCOME, SCORE), weights=weight)
        assert metric(OUTCOME, SCORE, sample_weight=weight) == pytest.approx(mean, rel=1e-13)


def test_certain_and_wrong_rows_are_counted():
    assert metrics.certain_and_wrong(OUTCOME, SCORE) == 2
    assert metrics.certain_and_wrong(OUTCOME, SCORE, sample_weight=WEIGHT) == 2
    assert metrics.certain_and_wrong([1, 0], [0.5, np.nextafter(1.0, 0.0)]) == 0


def test_a_certain_row_that_is_wrong_costs_what_the_clip_says():
    assert metrics.log_loss([1], [0.0]) == pytest.approx(-np.log(np.finfo(float).eps))


@pytest.mark.parametrize(("weight", "rows"), [((3.0, 1.0), 2), ((1.0, 3.0), 1), ((1.0, 1.0), 1)])
def test_rows_of_one_score_whose_weights_differ_are_estimated_and_rounded_up(weight, rows):
    # A share of 3/4, 1/4 or 1/2 of the weight of 2 rows is wrong, and the number is rounded up.
    for outcome, score in (([1, 0], 0.0), ([0, 1], 1.0)):
        assert metrics.certain_and_wrong(outcome, [score] * 2, sample_weight=weight) == rows

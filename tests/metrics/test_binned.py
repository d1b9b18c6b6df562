"""Debiasing by hand; the bins themselves are tested with calib.numerics.binning."""

import numpy as np
import pytest

from calib import metrics
from calib.data.cells import ScoreCells
from calib.metrics.binned import flipped


def test_debiased_by_hand():
    # Two bins have 4 rows (rate 1/4, mean 0.2) and 3 rows (rate 1/3, mean 2.35/3).
    score = [0.1, 0.2, 0.2, 0.3, 0.6, 0.8, 0.95]
    outcome = [0, 0, 0, 1, 0, 1, 0]
    first = 0.05**2 - 0.25 * 0.75 / 3
    second = 0.45**2 - 2 / 9 / 2
    value = metrics.expected_calibration_error(outcome, score, n_bins=2, norm="l2", debiased=True)
    assert value == pytest.approx(np.sqrt((4 * first + 3 * second) / 7))


def test_debiased_never_goes_below_0():
    score, outcome = [0.1, 0.2, 0.2, 0.3], [0, 0, 0, 1]
    assert metrics.expected_calibration_error(outcome, score, norm="l2", n_bins=1) > 0.0
    value = metrics.expected_calibration_error(outcome, score, norm="l2", n_bins=1, debiased=True)
    assert value == 0.0


def test_debiased_stays_positive_where_the_error_is_large():
    score = [0.1] * 10 + [0.9] * 10
    outcome = [1] * 5 + [0] * 5 + [1] * 9 + [0]
    terms = [0.4**2 - 0.25 / 9, 0.0 - 0.09 / 9]
    expected = np.sqrt(np.mean(terms))
    value = metrics.expected_calibration_error(outcome, score, n_bins=2, norm="l2", debiased=True)
    assert value == pytest.approx(expected)


def test_a_single_row_of_a_bin_tells_nothing_of_its_bias():
    value = metrics.expected_calibration_error(
        [1, 0], [0.1, 0.9], n_bins=2, norm="l2", debiased=True
    )
    assert value == 0.0


def test_debiased_weights_count_by_their_effective_rows():
    score, outcome = [0.1] * 4, [1, 1, 0, 0]
    weight = np.array([1.0, 2.0, 1.0, 2.0])
    spare = weight.sum() ** 2 / (weight @ weight) - 1.0
    value = metrics.expected_calibration_error(
        outcome, score, sample_weight=weight, norm="l2", debiased=True
    )
    assert value == pytest.approx(np.sqrt(0.4**2 - 0.25 / spare))


@pytest.mark.parametrize(("strategy", "expected"), [("uniform", 0.1), ("fd", 0.1)])
def test_strategies_reach_the_bins(strategy, expected):
    score, outcome = [0.2] * 10 + [0.8] * 10, [1] * 3 + [0] * 7 + [1] * 7 + [0] * 3
    value = metrics.expected_calibration_error(outcome, score, n_bins=2, strategy=strategy)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_other_class_is_counted_as_if_it_had_been_given(weighted):
    rng = np.random.default_rng(4)
    score, outcome = rng.integers(0, 9, 60) / 8, rng.random(60) < 0.4
    weight = rng.uniform(0.5, 2.0, 60) if weighted else None
    result = flipped(ScoreCells.from_arrays(outcome, score, weight))
    expected = ScoreCells.from_arrays(~outcome, 1.0 - score, weight)
    for name in ("score", "rows", "weight", "positive", "weight_sq", "positive_sq"):
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), err_msg=name)


def test_copies_that_are_named_as_a_group_are_debiased_as_single_rows():
    rng = np.random.default_rng(5)
    score = rng.random(300)
    outcome, three = rng.random(300) < score**1.3, np.repeat(np.arange(300), 3)
    single, copied, unnamed = (
        metrics.expected_calibration_error(cells, n_bins=8, norm="l2", debiased=True)
        for cells in (
            ScoreCells.from_arrays(outcome, score),
            ScoreCells.from_arrays(outcome[three], score[three], None, three),
            ScoreCells.from_arrays(outcome[three], score[three]),
        )
    )
    assert copied == pytest.approx(single, rel=1e-3)
    assert unnamed > 1.1 * single

"""Properties of every metric on any rows."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib import metrics
from calib.data.cells import ScoreCells
from calib.metrics import METRICS, matrix_metrics, score_metrics
from tests.rare import members

# Multiples of 1/64 and their complements are exact, and only 0, 1/2 and 1 lie on the edge of a bin.
SCORES = st.one_of(st.integers(0, 64).map(lambda k: k / 64), st.sampled_from([0.0, 1.0]))
ROWS = st.lists(st.tuples(st.booleans(), SCORES, st.integers(1, 3)), min_size=1, max_size=30)
QUICK = settings(max_examples=40)


class Rows(NamedTuple):
    """Rows, and what is done to them."""

    outcome: np.ndarray
    score: np.ndarray
    weight: np.ndarray
    share: float
    scale: float


def drawn(seed):
    """Cells of few or many scores and rows, with one outcome or both."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 4, 10, 30], p=[0.05, 0.1, 0.25, 0.3, 0.3]))
    score = rng.choice(rng.choice([0, 64, *rng.integers(0, 65, 9)], rng.choice([2, 12])), n) / 64
    outcome = rng.random(n) < rng.choice([0.0, 0.3, 0.5, 0.8, 1.0], p=[0.1, 0.3, 0.2, 0.3, 0.1])
    weight = rng.integers(1, 4, n).astype(np.float64)
    return Rows(outcome, score, weight, rng.uniform(0.05, 0.95), 10.0 ** rng.uniform(-3.0, 3.0))


# All metrics share these data, because Hypothesis needs longer to draw them than most metrics.
DRAWN = [drawn(seed) for seed in range(40)]


def keys_of(holds):
    """Keys of the metrics whose declaration fulfils a condition."""
    return [key for key, metric in score_metrics().items() if holds(metric)]


# Weights are inverse sampling probabilities here, not counts.
BY_WEIGHT = keys_of(lambda metric: not metric.weighs_evidence)
PERFECT = keys_of(lambda metric: metric.perfect is not None)
OF_EITHER_CLASS = keys_of(lambda metric: metric.other_class is not None)


def numbers(result):
    """A metric's result as an array of numbers."""
    if not dataclasses.is_dataclass(result):
        return np.array([float(result)])
    values = [getattr(result, field.name) for field in dataclasses.fields(result)]
    return np.array([float(value) for value in values if not isinstance(value, str)])


def check_same(one, two, rows, tolerance=1e-9):
    one, two = numbers(one), numbers(two)
    np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance, err_msg=f"{rows}")


def columns(rows):
    outcome, score, weight = map(np.array, zip(*rows, strict=True))
    return outcome, score, weight.astype(np.float64)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_row_order_does_not_matter(key):
    metric, rng = getattr(metrics, key), np.random.default_rng(0)
    for rows in DRAWN:
        outcome, score, weight = rows[:3]
        order = rng.permutation(len(outcome))
        one = metric(outcome, score, sample_weight=weight)
        check_same(one, metric(outcome[order], score[order], sample_weight=weight[order]), rows)


@pytest.mark.parametrize("key", members(BY_WEIGHT))
def test_weights_are_repeated_rows(key):
    metric = getattr(metrics, key)
    for rows in DRAWN:
        outcome, score, weight = rows[:3]
        times = weight.astype(int)
        repeated = metric(np.repeat(outcome, times), np.repeat(score, times))
        check_same(metric(outcome, score, sample_weight=weight), repeated, rows)


@pytest.mark.parametrize("key", members(BY_WEIGHT))
def test_a_split_row_weighs_the_same(key):
    metric = getattr(metrics, key)
    for rows in DRAWN:
        outcome, score, weight = rows[:3]
        parts = np.concatenate([rows.share * weight, (1.0 - rows.share) * weight])
        one = metric(outcome, score, sample_weight=weight)
        two = metric(np.tile(outcome, 2), np.tile(score, 2), sample_weight=parts)
        check_same(one, two, rows)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_the_scale_of_weights_does_not_matter(key):
    metric = getattr(metrics, key)
    for rows in DRAWN:
        outcome, score, weight = rows[:3]
        one = metric(outcome, score, sample_weight=weight)
        two = metric(outcome, score, sample_weight=weight * rows.scale)
        check_same(one, two, rows, METRICS[key].precision)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_equal_weights_are_no_weights(key):
    metric = getattr(metrics, key)
    for rows in DRAWN:
        outcome, score = rows[:2]
        weight = np.full(len(score), 0.3)
        one, two = metric(outcome, score), metric(outcome, score, sample_weight=weight)
        check_same(one, two, rows, METRICS[key].precision)


def of_both_classes(key, rows):
    """Numbers of a metric, and those if the other class counts as positive."""
    metric, (outcome, score, weight) = getattr(metrics, key), rows[:3]
    one = numbers(metric(outcome, score, sample_weight=weight))
    return one, numbers(metric(~outcome, 1.0 - score, sample_weight=weight))


@pytest.mark.parametrize("key", members(OF_EITHER_CLASS))
def test_the_other_class_gives_what_is_declared(key):
    sign, tolerance = METRICS[key].other_class, METRICS[key].precision
    for rows in DRAWN:
        one, two = of_both_classes(key, rows)
        two = -two if sign == "negated" else two
        least = max(1e-9, tolerance / 10)
        np.testing.assert_allclose(one, two, rtol=tolerance, atol=least, err_msg=f"{rows}")


def test_the_slope_of_the_other_class_is_the_same():
    # The slope keeps its error, bounds and test, and intercepts change their sign.
    same = [0, 1, 2, 3, 12, 13]
    for rows in DRAWN:
        one, two = of_both_classes("calibration_slope_intercept", rows)
        np.testing.assert_allclose(one[same], two[same], rtol=1e-7, atol=1e-8, err_msg=f"{rows}")


@QUICK
@given(rows=ROWS)
def test_ece_of_the_other_class_is_the_same_off_the_edges(rows):
    outcome, score, weight = columns(rows)
    off = (score + 1 / 128) * (63 / 64)
    one = metrics.expected_calibration_error(outcome, off, sample_weight=weight)
    two = metrics.expected_calibration_error(~outcome, 1.0 - off, sample_weight=weight)
    assert one == pytest.approx(two, abs=1e-9)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_values_keep_their_bounds(key):
    low, high = METRICS[key].bounds
    for rows in DRAWN:
        outcome, score, weight = rows[:3]
        result = getattr(metrics, key)(outcome, score, sample_weight=weight)
        value = numbers(result)[0]
        assert np.isnan(value) or low <= value <= high + 1e-12, rows
        if hasattr(result, "p_value"):
            assert np.isnan(result.p_value) or 0.0 <= result.p_value <= 1.0, rows


WORST = ([0] * 40, [1.0] * 40), ([1] * 40, [0.0] * 40), ([0, 1] * 20, [0.0, 1.0] * 20)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_some_scores_reach_an_upper_bound(key):
    high = METRICS[key].bounds[1]
    reached = [numbers(getattr(metrics, key)(*rows))[0] for rows in WORST]
    assert high == np.inf or max(reached) == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5, 1.0]])
@pytest.mark.parametrize("key", PERFECT)
def test_perfect_scores(key, weight):
    result = getattr(metrics, key)([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0], sample_weight=weight)
    assert numbers(result)[0] == pytest.approx(METRICS[key].perfect, abs=1e-15, nan_ok=True)
    if hasattr(result, "null"):
        assert result.p_value == 1.0


@pytest.mark.parametrize("key", PERFECT)
def test_any_certain_and_right_scores_are_perfect(key):
    for rows in DRAWN:
        outcome, weight = rows.outcome, rows.weight
        result = getattr(metrics, key)(outcome, outcome * 1.0, sample_weight=weight)
        one_class = outcome.all() or not outcome.any()
        missing = one_class and METRICS[key].needs_both_classes
        expected = np.nan if missing else METRICS[key].perfect
        assert numbers(result)[0] == pytest.approx(expected, abs=1e-15, nan_ok=True), rows


@pytest.mark.parametrize("key", [m.key for m in matrix_metrics().values() if m.perfect is not None])
def test_perfect_scores_of_a_matrix(key):
    result = getattr(metrics, key)([0, 1, 2, 0], np.eye(3)[[0, 1, 2, 0]])
    assert result == pytest.approx(METRICS[key].perfect, abs=1e-15)


@given(rows=ROWS)
def test_decompositions_add_up(rows):
    outcome, score, weight = columns(rows)
    cells = ScoreCells.from_arrays(outcome, score, weight)
    for metric, decompose in (
        (metrics.brier_score, metrics.brier_decomposition),
        (metrics.log_loss, metrics.log_loss_decomposition),
    ):
        parts = decompose(cells)
        total = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert total == pytest.approx(metric(cells), abs=1e-12)
        assert parts.score == metric(cells)
        assert parts.miscalibration >= 0.0
        assert parts.discrimination >= 0.0


@given(rows=ROWS)
def test_errors_bound_each_other(rows):
    outcome, score, weight = columns(rows)
    cells = ScoreCells.from_arrays(outcome, score, weight)
    ks, kuiper = metrics.ks_error(cells), metrics.kuiper_error(cells)
    assert abs(metrics.signed_calibration_error(cells)) <= ks + 1e-12
    assert ks <= kuiper + 1e-15
    assert kuiper <= 2.0 * ks + 1e-15
    l1, l2, largest = (
        metrics.expected_calibration_error(cells, norm=norm) for norm in ("l1", "l2", "max")
    )
    assert abs(metrics.signed_calibration_error(cells)) <= l1 + 1e-12
    assert l1 <= l2 + 1e-12
    assert l2 <= largest + 1e-12


@pytest.mark.parametrize("key", members(score_metrics()))
def test_cells_of_an_aggregation_are_those_of_the_rows(key):
    metric = getattr(metrics, key)
    for rows in DRAWN:
        outcome, score = rows[:2]
        distinct, cell = np.unique(score, return_inverse=True)
        count = np.bincount(cell).astype(np.float64)
        positive = np.bincount(cell, outcome)
        # The arrays are equal but separate, as a database returns them.
        merged = ScoreCells(distinct, count, count.copy(), positive, count.copy(), positive.copy())
        check_same(metric(outcome, score), metric(merged), rows)

"""The table of bins against SciPy's exact tests, for rows, weights and clusters."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from calib.curves.reliability import bin_tests, reliability_curve
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.numerics.intervals import binomial_p_value
from calib.uncertainty import replicate, resample_rows

RNG = np.random.default_rng(21)
SCORE = RNG.beta(0.6, 1.5, 3000)
OUTCOME = RNG.random(3000) < SCORE**1.2
CELLS = ScoreCells.from_arrays(OUTCOME, SCORE)


def of(cells, n_bins=6, strategy="quantile", clusters=None):
    return bin_tests(cells, reliability_curve(cells, n_bins=n_bins, strategy=strategy), clusters)


def twice_the_smaller_tail(k, n, p):
    tails = [binomtest(k, n, p, alternative=side).pvalue for side in ("less", "greater")]
    return min(1.0, 2.0 * min(tails))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_counts_and_p_values_are_those_of_the_rows_of_each_bin(strategy):
    tests = of(CELLS, strategy=strategy)
    edges = zip(tests.low_edge, tests.high_edge, strict=True)
    for i, (low, high) in enumerate(edges):
        inside = (low < SCORE) & (high >= SCORE)
        n, k = int(inside.sum()), int(OUTCOME[inside].sum())
        assert (tests.rows[i], tests.positive[i]) == (n, k)
        assert tests.expected[i] == pytest.approx(SCORE[inside].sum())
        assert tests.ratio[i] == pytest.approx(k / SCORE[inside].sum())
        expected = twice_the_smaller_tail(k, n, SCORE[inside].mean())
        assert tests.p_value[i] == pytest.approx(expected, rel=1e-6)
    # The last entry is all rows.
    assert tests.rows[-1] == tests.rows[:-1].sum() == 3000


def test_bins_are_adjusted_by_closed_testing_with_bonferroni():
    tests = of(CELLS, 5)
    p = tests.p_value[:-1]
    for i in range(5):
        others = [j for j in range(5) if j != i]
        sets = [(i, *more) for size in range(5) for more in combinations(others, size)]
        largest = max(min(1.0, len(s) * p[list(s)].min()) for s in sets)
        assert tests.p_adjusted[i] == pytest.approx(largest)
    assert tests.p_adjusted[-1] == tests.p_value[-1]


def test_bins_without_rows_are_no_tests():
    cells = ScoreCells.from_arrays([0, 1] * 20, [0.05, 0.95] * 20)
    tests = of(cells, 10, "uniform")
    np.testing.assert_array_equal(tests.rows, [20, 20, 40])
    expected = twice_the_smaller_tail(0, 20, 0.05)
    assert tests.p_adjusted[0] == pytest.approx(min(1.0, 2 * expected))


def test_equal_weights_change_no_p_value():
    tripled = ScoreCells.from_arrays(OUTCOME, SCORE, np.full(3000, 3.0))
    np.testing.assert_allclose(of(tripled).p_value, of(CELLS).p_value, rtol=1e-6)
    np.testing.assert_allclose(of(tripled).expected, 3.0 * of(CELLS).expected)


def test_rows_of_unequal_weight_count_with_their_effective_number():
    weight = np.where(np.arange(3000) % 2 == 0, 1.0, 3.0)
    tests = of(ScoreCells.from_arrays(OUTCOME, SCORE, weight), 4)
    for i in range(4):
        inside = (tests.low_edge[i] < SCORE) & (tests.high_edge[i] >= SCORE)
        w, y = weight[inside], OUTCOME[inside]
        n = w.sum() ** 2 / (w**2).sum()
        k = n * (w @ y) / w.sum()
        mean = (w @ SCORE[inside]) / w.sum()
        # The bound of Clopper and Pearson's interval at level 1 - p is the mean score.
        half = tests.p_value[i] / 2
        bound = beta.isf(half, k + 1, n - k) if k < n * mean else beta.ppf(half, k, n - k + 1)
        assert bound == pytest.approx(mean, rel=1e-5)


def test_copies_in_clusters_are_counted_about_once():
    group = np.repeat(np.arange(3000), 6)
    rows = Predictions.from_arrays(OUTCOME[group], SCORE[group], group=group).view()
    clusters = replicate(resample_rows(rows, rows.cells()), rows.score)
    once, copied = of(CELLS, 4), of(rows.cells(), 4)
    by_cluster = of(rows.cells(), 4, clusters=clusters)
    # A smaller p-value depends too much on the design effect, which is estimated to about 10%.
    some = once.p_value > 0.01
    assert some.any()
    np.testing.assert_allclose(by_cluster.p_value[some], once.p_value[some], rtol=0.4)
    assert (copied.p_value[some] < 0.1 * once.p_value[some]).all()


def test_no_positive_is_expected_at_scores_of_zero():
    tests = of(ScoreCells.from_arrays([0, 1], [0.0, 0.0]), 1)
    assert np.isnan(tests.ratio).all()
    np.testing.assert_array_equal(tests.p_value, [0.0, 0.0])
    nothing = of(ScoreCells.from_arrays([0, 0], [0.0, 0.0]), 1)
    np.testing.assert_array_equal(nothing.p_value, [1.0, 1.0])
    certain = of(ScoreCells.from_arrays([1, 1], [1.0, 1.0]), 1)
    np.testing.assert_array_equal(certain.p_value, [1.0, 1.0])


def test_a_calibrated_model_is_rejected_in_at_most_five_of_a_hundred_samples():
    rng = np.random.default_rng(5)
    positive = rng.binomial(40, 0.1, 20_000)
    n, mean = np.full(20_000, 40.0), np.full(20_000, 0.1)
    rejected = (binomial_p_value(positive / 40, n, mean) < 0.05).mean()
    # Three standard errors of 20,000 samples are 0.005.
    assert 0.01 < rejected < 0.055


def test_the_worst_bin_has_the_largest_gap_of_those_with_enough_rows():
    score = np.r_[np.full(100, 0.1), np.full(100, 0.5), np.full(5, 0.9)]
    outcome = np.r_[np.arange(100) < 10, np.arange(100) < 80, np.zeros(5)]
    curve = reliability_curve(ScoreCells.from_arrays(outcome, score), n_bins=5, strategy="uniform")
    assert curve.worst == 1
    few = ScoreCells.from_arrays(outcome[-5:], score[-5:])
    assert reliability_curve(few, n_bins=5, strategy="uniform").worst == 0


def test_frame_has_a_row_per_bin_and_one_of_all_rows():
    frame = of(CELLS).frame()
    assert len(frame) == 7
    assert frame["rows"].dtype == np.int64
    assert frame["expected"].iloc[-1] == pytest.approx(SCORE.sum())

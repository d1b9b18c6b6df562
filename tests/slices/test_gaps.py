import numpy as np
import pandas as pd
import pytest
from scipy import stats

from calib.analysis.slices import Slicing, slice_by, slice_gaps
from calib.analysis.slices.mix import MIN_ROWS_OF_CLASS
from calib.data.predictions import Predictions


def rows(n: int = 1200, seed: int = 0, **more):
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    return Predictions.from_arrays(rng.random(n) < score**1.3, score, **more).view()


def slicing(n: int = 1200, k: int = 5) -> Slicing:
    codes = np.random.default_rng(9).integers(0, k, n)
    return Slicing(("a",), tuple("abcdefghij"[:k]), codes)


def test_interval_and_p_are_normal():
    view, cut = rows(), slicing()
    gaps = slice_gaps(view, view.score, cut, confidence_level=0.9)
    for i in range(5):
        difference = (view.outcome - view.score)[cut.member(i)]
        error = stats.sem(difference)
        assert gaps.gap[i] == pytest.approx(difference.mean(), abs=1e-14)
        low, high = stats.norm.interval(0.9, difference.mean(), error)
        assert (gaps.low[i], gaps.high[i]) == pytest.approx((low, high), abs=1e-12)
        calibrated = np.sqrt(
            (view.score * (1 - view.score))[cut.member(i)].mean() / len(difference)
        )
        z = difference.mean() / max(error, calibrated)
        assert gaps.p_value[i] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_weights_and_clusters_agree_with_the_textbook_for_each_slice_alone(weighted, grouped):
    rng = np.random.default_rng(2)
    more = {}
    if weighted:
        more["sample_weight"] = rng.uniform(0.2, 3, 1200)
    if grouped:
        more["group"] = rng.integers(0, 90, 1200)
    view, cut = rows(**more), slicing()
    gaps = slice_gaps(view, view.score, cut)
    for i in range(5):
        in_slice = view.rows(cut.member(i))
        weight = in_slice.weight if weighted else np.ones(len(in_slice))
        gap = np.average(in_slice.outcome - in_slice.score, weights=weight)
        residual = pd.Series(weight * (in_slice.outcome - in_slice.score - gap))
        if grouped:
            residual = residual.groupby(in_slice.group).sum()
        n = len(residual)
        half = 1.959963984540054 * residual.std(ddof=0) * n / np.sqrt(n - 1) / weight.sum()
        assert (gaps.gap[i], gaps.low[i], gaps.high[i]) == pytest.approx(
            (gap, gap - half, gap + half), abs=1e-12
        )


def test_a_slice_without_positives_is_not_certain():
    # In 400 rows of score 0.02, eight positives are expected and none is observed, so the rows show
    # no spread.
    view = Predictions.from_arrays(np.zeros(400, int), np.full(400, 0.02)).view()
    gaps = slice_gaps(view, view.score, Slicing.whole(400))
    error = np.sqrt(0.02 * 0.98 / 400)
    assert gaps.z[0] == pytest.approx(-0.02 / error)
    assert gaps.high[0] == pytest.approx(-0.02 + 1.959963984540054 * error)
    # The p-value is not near 0, and the exact probability of no positive is 0.98^400 = 0.0003.
    assert 0.0003 < gaps.p_value[0] < 0.01


def test_small_slices_are_shown_but_neither_judged_nor_counted():
    codes = np.concatenate([np.zeros(600, int), np.ones(580, int), np.full(20, 2)])
    view = rows()
    gaps = slice_gaps(view, view.score, Slicing(("a",), ("x", "y", "z"), codes))
    assert gaps.few.tolist() == [False, False, True]
    assert np.isnan(gaps.p_adjusted[2])
    assert gaps.p_adjusted[:2].min() == pytest.approx(2 * gaps.p_value[:2].min())
    assert gaps.order[-1] == 2
    assert not gaps.significant()[2]
    assert not gaps.significant(gaps.p_adjusted[0])[0]  # This p-value is as large as alpha.
    assert gaps.significant(np.nextafter(gaps.p_adjusted[0], 2.0))[0]


def test_order_is_by_evidence_also_where_p_underflows():
    view = Predictions.from_arrays(
        np.concatenate([np.tile([0, 1], 5000), np.tile([0, 1], 20_000)]), np.full(50_000, 0.01)
    ).view()
    codes = np.repeat([0, 1], [10_000, 40_000])
    gaps = slice_gaps(view, view.score, Slicing(("a",), ("less", "more"), codes))
    assert gaps.p_value.tolist() == [0.0, 0.0]
    assert gaps.order.tolist() == [1, 0]
    assert gaps.frame()["slice"].tolist() == ["more", "less"]


def test_calibrated_slices_are_seldom_accused():
    rng = np.random.default_rng(5)
    false_alarms = 0
    for _ in range(300):
        score = rng.beta(1, 8, 1500)
        view = Predictions.from_arrays(rng.random(1500) < score, score).view()
        cut = slice_by({"a": rng.integers(0, 6, 1500).astype(str)}, ["a"])
        false_alarms += slice_gaps(view, view.score, cut).significant().any()
    # The rate is at most 5%, with three standard deviations of 300 draws.
    assert false_alarms / 300 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_slices_without_rows_are_left_out_and_edges_do_not_fail():
    view = Predictions.from_arrays([1, 0, 0], [1.0, 0.0, 0.0]).view()
    gaps = slice_gaps(view, view.score, Slicing(("a",), ("x", "empty", "y"), np.array([0, 2, 2])))
    assert gaps.names == ("x", "y")
    assert gaps.number.tolist() == [0, 2]
    assert gaps.p_value.tolist() == [1.0, 1.0]
    assert gaps.order.tolist() == [0, 1]


@pytest.mark.parametrize(("n", "positives"), [(60, 36), (2, 1)])
def test_the_interval_is_that_of_a_mean_with_its_own_variance(n, positives):
    view = Predictions.from_arrays(np.arange(n) < positives, np.full(n, 0.5)).view()
    gaps = slice_gaps(view, view.score, Slicing.whole(n))
    residual = np.where(np.arange(n) < positives, 0.5, -0.5)
    half = 1.959963984540054 * residual.std(ddof=1) / np.sqrt(n)
    assert gaps.high[0] - gaps.low[0] == pytest.approx(2 * half, rel=1e-9)


@pytest.mark.parametrize("positives", [MIN_ROWS_OF_CLASS - 1, MIN_ROWS_OF_CLASS])
def test_the_spread_of_calibrated_scores_counts_where_an_outcome_is_rare(positives):
    """Scores far too high: their own spread is small, that of calibrated ones would be large."""
    outcome = np.arange(400) < positives
    view = Predictions.from_arrays(outcome, np.full(400, 0.3)).view()
    gaps = slice_gaps(view, view.score, Slicing.whole(400))
    observed, calibrated = outcome.std(ddof=1) / 20.0, np.sqrt(0.3 * 0.7) / 20.0
    half = stats.norm.ppf(0.975) * (calibrated if positives < MIN_ROWS_OF_CLASS else observed)
    assert (gaps.high[0] - gaps.low[0]) / 2.0 == pytest.approx(half, rel=1e-9)

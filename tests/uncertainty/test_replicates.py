"""Resampled sums against rows that are really drawn, and against textbook standard errors."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, chi2, norm

from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.metrics import (
    expected_calibration_error,
    ks_error,
    kuiper_error,
)
from calib.numerics.binning import bin_cells, bin_edges
from calib.uncertainty import replicate, replicate_cells, resample_rows
from calib.uncertainty.replicates import MAX_POINTS, ResampledSums, replicate_clusters
from tests.rare import common_first


def made(n, seed=0, *, decimals=9, **more):
    rng = np.random.default_rng(seed)
    truth = expit(rng.normal(-0.5, 1.5, n))
    score = expit(1.5 * logit(truth)).round(decimals)
    return Predictions.from_arrays(rng.random(n) < truth, score, **more).view()


def replicates(rows, scores=None, **more):
    return replicate(
        resample_rows(rows, rows.cells(), **more), rows.score if scores is None else scores
    )


def drawn_rows(rows, metric, n_replicates=600):
    """A metric on rows that are drawn one by one."""
    rng = np.random.default_rng(99)
    n, values = len(rows), []
    for _ in range(n_replicates):
        at = rng.integers(n, size=n)
        values.append(metric(ScoreCells.from_arrays(rows.outcome[at], rows.score[at])))
    return np.array(values)


@pytest.mark.parametrize(
    ("n", "decimals"), common_first([(300, 9), (300, 1), (6000, 9)], [(300, 1)])
)
def test_errors_vary_as_those_of_drawn_rows_do(n, decimals):
    rows = made(n, decimals=decimals)
    cells, resampled = rows.cells(), replicates(rows)
    edges = bin_edges(cells, 10, "uniform")
    pairs = {
        "ece": (resampled.ece(edges).deviation, lambda c: expected_calibration_error(c, n_bins=10)),
        "mce": (
            resampled.mce(edges).deviation,
            lambda c: expected_calibration_error(c, n_bins=10, norm="max"),
        ),
        "ks": (resampled.ks.deviation, ks_error),
        "kuiper": (resampled.kuiper.deviation, kuiper_error),
    }
    for name, (deviation, metric) in pairs.items():
        expected = drawn_rows(rows, metric) - metric(cells)
        error = expected.std() / np.sqrt(len(expected))
        assert deviation.mean() == pytest.approx(expected.mean(), abs=5 * error), name
        assert deviation.std() == pytest.approx(expected.std(), rel=0.12), name


@pytest.mark.parametrize("n", [400, 20_000])
def test_cells_alone_give_the_interval_of_their_rows(n):
    rows = made(n)
    cells, value = rows.cells(), ks_error(rows.cells())
    of_rows, of_cells = (
        made_of.ks.estimate(value, 0.95) for made_of in (replicates(rows), replicate_cells(cells))
    )
    # The quantiles of 500 resamples vary by 4% of the length of the interval.
    length = of_rows.high - of_rows.low
    assert of_cells.low == pytest.approx(of_rows.low, abs=0.12 * length)
    assert of_cells.high == pytest.approx(of_rows.high, abs=0.12 * length)
    # Weights of rows are drawn with them.
    heavy = made(n, sample_weight=np.full(n, 4.0))
    assert replicate_cells(heavy.cells()).ks.estimate(value, 0.95).low == pytest.approx(
        of_cells.low
    )


def test_noise_is_that_of_outcomes_drawn_from_the_scores():
    """One score: its gap is that of a binomial count, in resamples and under the null."""
    rows = Predictions.from_arrays([0] * 60 + [1] * 40, np.full(100, 0.7)).view()
    resampled = replicates(rows)
    signed = resampled.gap[-1][1:] - resampled.gap[-1][0]
    assert resampled.gap[-1][0] == pytest.approx(0.4 - 0.7, abs=1e-6)
    assert signed.std() == pytest.approx(np.sqrt(0.4 * 0.6 / 100), rel=0.08)
    for noise in (resampled.ks.noise, resampled.ece(np.array([0.0, 0.5, 1.0])).noise):
        for k in range(3, 12, 2):
            at_least = binom.sf(70 + k - 1, 100, 0.7) + binom.cdf(70 - k, 100, 0.7)
            assert np.mean(noise >= (k - 0.5) / 100) == pytest.approx(at_least, abs=0.06)


def test_noise_does_not_vanish_where_no_row_is_positive():
    rows = Predictions.from_arrays([0] * 300 + [1], np.r_[np.full(300, 0.01), 0.5]).view()
    errors = replicates(rows).ece(np.array([0.0, 0.1, 1.0]))
    assert np.mean(errors.noise) > 0.003


def test_noise_of_clusters_is_wider_than_that_of_rows():
    single = made(400)
    group = np.repeat(np.arange(400), 5)
    copied = Predictions.from_arrays(
        np.repeat(single.outcome, 5), np.repeat(single.score, 5), group=group
    ).view()
    unnamed = Predictions.from_arrays(copied.outcome, copied.score).view()
    ratio = np.quantile(replicates(copied).ks.noise, 0.9) / np.quantile(
        replicates(unnamed).ks.noise, 0.9
    )
    assert ratio == pytest.approx(np.sqrt(5), rel=0.1)


def test_the_default_resample_of_clusters_is_that_of_seed_0():
    rows = made(400, group=np.repeat(np.arange(100), 4))
    by_seed = [replicate_clusters(rows, rows.cells(), seed).ks.noise for seed in (0, 1)]
    np.testing.assert_array_equal(replicate_clusters(rows, rows.cells()).ks.noise, by_seed[0])
    assert (by_seed[0] != by_seed[1]).any()


def test_methods_are_drawn_together():
    """KS errors of two nearly equal methods rise and fall together; their difference does not."""
    rows = made(4000)
    drawn = resample_rows(rows, rows.cells(), np.arange(4000) % 5)
    first, other = replicate(drawn, rows.score), replicate(drawn, 0.99 * rows.score)
    assert (first.ks.deviation - other.ks.deviation).std() < 0.1 * first.ks.deviation.std()


def test_ties_are_one_score_in_every_fold():
    rows = made(3000, decimals=1)
    resampled = replicates(rows, fold=np.arange(3000) % 7)
    np.testing.assert_allclose(resampled.score, rows.cells().score, rtol=1e-9)
    edges = bin_edges(rows.cells(), 10, "quantile")
    exact = expected_calibration_error(rows.cells(), n_bins=10, strategy="quantile")
    gap = np.diff(resampled.gap[np.unique(resampled._before(edges))][:, 0])
    assert np.abs(gap).sum() == pytest.approx(exact, abs=1e-6)


def test_many_rows_need_few_points():
    rows = made(50_000)
    resampled = replicates(rows, n_replicates=5)
    assert len(resampled.score) <= MAX_POINTS
    assert (np.diff(resampled.score) > 0).all()
    np.testing.assert_allclose(resampled.weight[-1], 1.0, atol=1e-5)
    assert resampled.gap[-1][0] == pytest.approx(rows.outcome.mean() - rows.score.mean(), abs=1e-5)


def test_the_design_effect_of_independent_rows_is_1():
    rows = made(4000, group=np.arange(4000))
    bins = bin_cells(rows.cells(), 8, "quantile")
    effect = replicates(rows).design_effect(bins)
    assert (effect >= 1.0).all()
    # Scores within a bin explain a part of its outcomes, so the gap varies less, not more.
    assert (effect < 1.15).all()


def test_the_design_effect_is_what_cluster_sums_vary():
    """Clusters of five rows of one score that share a coin: the textbook's 1 + 4 rho."""
    rng = np.random.default_rng(5)
    shared, group = rng.random(3000) < 0.5, np.repeat(np.arange(3000), 5)
    coin = rng.random(3000) < 0.4
    outcome = np.where(shared[group], coin[group], rng.random(15_000) < 0.4)
    rows = Predictions.from_arrays(outcome, np.full(15_000, 0.3), group=group).view()
    effect = replicates(rows).design_effect(bin_cells(rows.cells(), 1, "uniform"))
    assert effect[0] == pytest.approx(1 + 4 * 0.5, rel=0.12)


def test_weights_that_differ_widen_and_equal_ones_do_nothing():
    rows = made(2000)
    equal = Predictions.from_arrays(rows.outcome, rows.score, np.full(2000, 3.0)).view()
    np.testing.assert_allclose(
        replicates(equal).ks.deviation, replicates(rows).ks.deviation, atol=1e-6
    )
    uneven = np.random.default_rng(0).exponential(size=2000) ** 2 + 1e-3
    weighted = Predictions.from_arrays(rows.outcome, rows.score, uneven).view()
    effective = uneven.sum() ** 2 / (uneven @ uneven) / 2000
    ratio = replicates(weighted).gap[-1][1:].std() / replicates(rows).gap[-1][1:].std()
    assert ratio == pytest.approx(1 / np.sqrt(effective), rel=0.2)


def test_p_values_count_the_noise_that_reaches_the_error():
    errors = replicates(made(500), n_replicates=99).ks
    assert errors.p_value(0.0) == 1.0
    assert errors.p_value(1.0) == 0.01


def test_two_rows_have_errors_too():
    two = Predictions.from_arrays([0, 1], [0.4, 0.6]).view()
    assert np.isfinite(replicates(two).ks.noise).all()


def test_few_clusters_show_how_little_they_tell():
    """Two clusters of opposite outcomes: half of the resamples draw both, and show nothing."""
    rows = Predictions.from_arrays([0] * 5 + [1] * 5, np.full(10, 0.5), group=[0] * 5 + [1] * 5)
    noise = replicates(rows.view(), n_replicates=20_000).ks.noise
    for far in (1.0, 4.0):
        expected = 0.5 * chi2.cdf(2.0 * (0.5 / far) ** 2, 1)
        assert np.mean(noise > far) == pytest.approx(expected, rel=0.1)


# The values are the mean ECE of calibrated rows with Beta(2, 2) scores in 10 quantile bins, and its
# 95th percentile.
@pytest.mark.parametrize(
    ("n", "mean", "percentile"),
    common_first(
        [(60, 0.148, 0.206), (300, 0.064, 0.091), (1000, 0.035, 0.050), (10_000, 0.011, 0.016)],
        [(300, 0.064, 0.091)],
    ),
)
def test_the_noise_floor_of_ece_is_the_known_one(n, mean, percentile):
    floors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        score = rng.beta(2, 2, n)
        rows = Predictions.from_arrays(rng.random(n) < score**2, score).view()
        drawn, edges = replicates(rows), bin_edges(rows.cells(), 10, "quantile")
        errors = drawn.ece(edges, rows.cells())
        assert errors.noise_floor == pytest.approx(errors.noise.mean(), rel=0.05)
        floors.append((errors.noise_floor, np.quantile(errors.noise, 0.95)))
    assert np.mean(floors, axis=0) == pytest.approx([mean, percentile], rel=0.025)


def test_noise_floors_are_the_mean_errors_of_calibrated_rows():
    score = np.sort(np.random.default_rng(5).beta(2, 4, 500))
    rows = Predictions.from_arrays(np.arange(500) % 2, score).view()
    drawn, edges = replicates(rows), bin_edges(rows.cells(), 8, "uniform")
    rng = np.random.default_rng(6)
    cells = [ScoreCells.from_arrays(rng.random(500) < score, score) for _ in range(800)]
    for floor, metric in (
        (drawn.ece(edges, rows.cells()).noise_floor, {"n_bins": 8}),
        (drawn.mce(edges).noise_floor, {"n_bins": 8, "norm": "max"}),
    ):
        expected = np.mean([expected_calibration_error(sample, **metric) for sample in cells])
        assert floor == pytest.approx(expected, rel=0.04)
    expected = np.mean([ks_error(sample) for sample in cells])
    assert drawn.ks.estimate(0.1, 0.95).noise_floor == pytest.approx(expected, rel=0.05)


def test_the_noise_floor_of_clusters_is_that_of_clusters():
    errors, floors, unaware = [], [], []
    for rng in np.random.default_rng(7).spawn(60):
        group = np.repeat(np.arange(100), 10)
        parts = [rng.normal(size=100)[group] + rng.normal(size=1000) for _ in range(2)]
        score, noise = (norm.cdf(part / np.sqrt(2)) for part in parts)
        rows = Predictions.from_arrays(noise < score, score, group=group).view()
        cells = rows.cells()
        drawn, edges = replicates(rows, n_replicates=200), bin_edges(cells, 10, "quantile")
        floors.append(drawn.ece(edges, cells).noise_floor)
        single = Predictions.from_arrays(noise < score, score).view()
        unaware.append(replicates(single, n_replicates=2).ece(edges, cells).noise_floor)
        errors.append(expected_calibration_error(cells, n_bins=10, strategy="quantile"))
    assert np.mean(floors) == pytest.approx(np.mean(errors), rel=0.08)
    assert np.mean(unaware) < 0.93 * np.mean(errors)


def test_resamples_in_16_bits_are_those_that_were_drawn():
    rng = np.random.default_rng(0)
    of_rows = np.array([0.0, 0.25, -3e-4])
    sums = of_rows[:, None] + np.array([0.0, 1e-3, 2.0])[:, None] * rng.standard_normal((3, 1000))
    kept = ResampledSums.of(of_rows, sums, rounded=True)
    assert kept.steps.itemsize == 2
    # The largest of 1,000 normal numbers is about 3.5, so half a step is 5e-5 standard deviations.
    np.testing.assert_allclose(kept[0], 0.0)
    np.testing.assert_allclose(kept[1], sums[1], atol=7e-8)
    np.testing.assert_allclose(kept[[2, 1]], sums[[2, 1]], atol=1.4e-4)


def test_noise_of_two_clusters_keeps_its_middle_beside_its_farthest_draws():
    """Student's t of one degree of freedom: some draws lie thousands of times farther than most."""
    rows = made(400, group=np.arange(400) % 2)
    resampled = replicates(rows)
    whole = np.abs(resampled.noise[:]).max(axis=0)
    assert whole.max() > 100 * np.median(whole)
    np.testing.assert_allclose(whole, resampled.ks.noise, rtol=1e-4)
    assert resampled.noise.steps.base is resampled.gap.steps


def test_a_bin_that_a_resample_has_no_row_of_shows_no_gap():
    y = np.array([0, 0, 1, 0, 1, 0, 1, 1, 0, 1])
    score = np.linspace(0.05, 0.95, 10)
    rows = Predictions.from_arrays(y, score).view()
    cells = rows.cells()
    drawn = replicate(resample_rows(rows, cells), score)
    edges = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    # A mean of differences between outcomes and scores lies within [-1, 1] in every resample.
    largest_gap = np.abs(drawn.gap[:][:, 0]).max()
    largest = drawn.mce(edges).deviation + max(
        abs((y - score)[(score > low) & (score <= high)].mean()) for low, high in pairwise(edges)
    )
    assert largest_gap <= 1.0
    assert largest.max() <= 1.0


def test_rows_that_are_looked_at_alone_are_resampled_only_in_clusters():
    rows = made(200)
    assert replicate_clusters(rows, rows.cells()) is None
    rows = made(200, group=np.repeat(np.arange(40), 5))
    resampled = replicate_clusters(rows, rows.cells(), seed=3)
    assert resampled.clustered
    expected = replicates(rows, max_groups=MAX_POINTS, random_state=3)
    np.testing.assert_array_equal(resampled.ks.deviation, expected.ks.deviation)


@pytest.mark.parametrize("clustered", [False, True])
def test_errors_of_each_resample_are_those_of_its_rows(clustered):
    rng = np.random.default_rng(3)
    group = rng.integers(0, 40, 120) if clustered else None
    rows = made(120, decimals=2, sample_weight=rng.uniform(0.5, 2.0, 120), group=group)
    cells, drawn = rows.cells(), resample_rows(rows, rows.cells(), n_replicates=50)
    resampled = replicate(drawn, rows.score)
    # The reference adds up negatives and positives of each distinct score in every resample.
    share = np.hstack([drawn.share[:, None], drawn.drawn])
    score, at = np.unique(drawn.mean(rows.score).round(9), return_inverse=True)
    weight, gap = np.zeros((2, len(score), 51))
    outcome = (np.arange(len(share)) % 2)[:, None]
    np.add.at(weight, at, share)
    np.add.at(gap, at, share * (outcome - score[at][:, None]))
    cumulative = np.vstack([np.zeros(51), gap.cumsum(axis=0)])
    exact = {"rtol": 0.0, "atol": 1e-6}  # Resamples have single precision.

    def check(errors, value):
        np.testing.assert_allclose(errors.deviation, (value - value[0])[1:], **exact)

    check(resampled.ks, np.abs(cumulative).max(axis=0))
    check(resampled.kuiper, np.ptp(cumulative, axis=0))
    bins = bin_cells(cells, 6, "uniform")
    edges = bin_edges(cells, 6, "uniform")
    bin_of_score = np.searchsorted(edges[1:-1], score)
    of_bins, weights = np.zeros((2, 6, 51))
    np.add.at(of_bins, bin_of_score, gap)
    np.add.at(weights, bin_of_score, weight)
    check(resampled.ece(edges), np.abs(of_bins).sum(axis=0))
    mean = np.divide(of_bins, weights, out=np.zeros_like(of_bins), where=weights > 1e-9)
    assert resampled.mce(edges).deviation == pytest.approx(
        (np.abs(mean).max(axis=0) - np.abs(mean[:, 0]).max())[1:], abs=1e-4
    )
    alone = bins.observed * (1 - bins.observed) / bins.effective_rows
    effect = np.maximum(1.0, mean[:, 1:].var(axis=1) / np.where(alone > 0, alone, 1.0))
    varies = alone > 0.0
    effect[~varies] = np.average(effect[varies], weights=bins.weight[varies])
    np.testing.assert_allclose(resampled.design_effect(bins), effect, rtol=1e-3)
    noise = np.diff(resampled.noise[np.unique(resampled._before(edges))], axis=0)
    spread = np.array([0.1, 0.2, 0.0, 0.1, 0.3, 0.1])
    in_units = np.abs(noise) * bins.weight.sum() / bins.weight[:, None]
    in_units = in_units[spread > 0] / spread[spread > 0, None]
    np.testing.assert_allclose(resampled.largest_deviation(bins, spread), in_units.max(axis=0))
    for value in np.quantile(resampled.ks.noise, [0.1, 0.5, 0.9]):
        reached = np.sum(resampled.ks.noise >= value)
        assert resampled.ks.p_value(value) == (reached + 1) / 51


def test_a_bin_of_one_outcome_has_the_mean_design_effect():
    rows = Predictions.from_arrays(
        np.r_[np.zeros(20), np.arange(60) % 2], np.repeat([0.1, 0.5, 0.9], [20, 30, 30]),
        group=np.arange(80) // 4,
    ).view()  # fmt: skip
    bins = bin_cells(rows.cells(), 3, "uniform")
    effect = replicates(rows).design_effect(bins)
    assert effect[0] == pytest.approx(effect[1:].mean())
    nothing = Predictions.from_arrays([0, 0, 1, 1], [0.1, 0.1, 0.9, 0.9], group=[0, 1, 2, 3]).view()
    effect = replicates(nothing).design_effect(bin_cells(nothing.cells(), 2, "uniform"))
    assert effect.tolist() == [1.0, 1.0]


def test_points_leave_out_neither_a_peak_nor_a_tail():
    score = np.r_[np.linspace(1e-4, 1e-3, 1500), np.linspace(2e-3, 1.0, 500)]
    rows = Predictions.from_arrays(np.arange(2000) % 2, score).view()
    resampled = replicates(rows, n_replicates=5)
    assert MAX_POINTS / 2 < len(resampled.score) <= MAX_POINTS
    # Half of the points cut equal weights, and half of them are even on the axis.
    assert np.diff(resampled.weight[:][:, 0]).max() <= 1.1 * 2 / MAX_POINTS
    assert np.diff(resampled.score).max() <= 1.1 * 2 / MAX_POINTS


@pytest.mark.parametrize("most", [30, 29])
def test_rows_of_one_score_and_fold_are_drawn_together_or_of_neighbouring_scores(most):
    score = np.repeat(np.arange(1, 11) / 11, 30)
    outcome, fold = np.arange(300) % 2, np.arange(300) // 2 % 3
    rows = Predictions.from_arrays(outcome, score).view()
    drawn = resample_rows(rows, rows.cells(), fold, n_replicates=20, max_groups=most)
    # There are ten scores in three folds.
    kinds = np.column_stack([score, fold * (most == 30), rows.outcome])
    for atom in np.unique(drawn.atom):
        rows_of_atom = kinds[drawn.atom == atom]
        assert atom % 2 == rows_of_atom[0, 2]
        assert (rows_of_atom[:, 1:] == rows_of_atom[0, 1:]).all()
        assert (rows_of_atom == rows_of_atom[0]).all() or most == 29
    assert len(drawn.share) == (60 if most == 30 else 2 * len(np.unique(drawn.atom // 2)))
    # Runs of scores do not overlap.
    ends = [np.unique(score[drawn.atom // 2 == run]) for run in np.unique(drawn.atom // 2)]
    if most == 29:
        assert np.concatenate(ends).tolist() == np.unique(score).tolist()
    share = np.bincount(drawn.atom, minlength=len(drawn.share)) / 300
    np.testing.assert_allclose(drawn.share, share)
    np.testing.assert_allclose(drawn.share_of_group, share[::2] + share[1::2])
    np.testing.assert_allclose(drawn.drawn.sum(axis=0), 1.0, rtol=1e-5)
    mean = [
        np.mean(score[drawn.atom == a]) if (drawn.atom == a).any() else 0.0
        for a in range(len(share))
    ]
    np.testing.assert_allclose(drawn.mean(score), mean)


def test_more_than_fifty_thousand_rows_are_many_unless_clusters_are_drawn():
    def many(n, **more):
        rows = Predictions.from_arrays(np.arange(n) % 2, np.full(n, 0.5), **more).view()
        return resample_rows(rows, rows.cells(), n_replicates=1).many

    assert many(50_001)
    assert not many(50_000)
    assert not many(50_001, group=np.arange(50_001) // 2)
    # Half of the weight is in few rows, and the effective number (sum w)^2 / sum w^2 counts.
    assert not many(60_000, sample_weight=np.where(np.arange(60_000) < 600, 100.0, 1.0))

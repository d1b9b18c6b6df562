"""Tests by cluster: against what copies and pairs must give, and in how often they reject."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, norm
from scipy.stats import f as f_distribution

from calib import metrics
from calib.data.predictions import Predictions
from calib.metrics.by_cluster import clustered_tests, resampled_test, widened_line, widened_test
from calib.numerics.binning import bin_cells
from calib.numerics.poisson_binomial import supremum_by_cluster
from calib.uncertainty import Errors
from tests.rare import rare


def clustered(rng, n_clusters, size, *, mean=-0.5, spread=1.5, slope=1.0):
    """Rows of clusters that share 40% of what decides the outcome."""
    group = np.repeat(np.arange(n_clusters), size)
    score = expit(mean + spread * rng.normal(size=len(group)))
    common = math.sqrt(0.4) * rng.normal(size=n_clusters)[group]
    z = common + math.sqrt(0.6) * rng.normal(size=len(group))
    outcome = norm.cdf(z) < expit(slope * logit(score))
    return Predictions.from_arrays(outcome, score, group=group).view()


def by_row(rows):
    y, s = rows.outcome, rows.score
    line = metrics.calibration_slope_intercept(y, s, sample_weight=rows.weight)
    return {
        "spiegelhalter": metrics.spiegelhalter_test(y, s, sample_weight=rows.weight),
        "hosmer_lemeshow": metrics.hosmer_lemeshow_test(y, s, sample_weight=rows.weight),
        "line": metrics.TestResult(line.statistic, line.p_value, ""),
    }


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_of_one_row_are_rows(weighted):
    rng = np.random.default_rng(1)
    score = expit(rng.normal(-0.5, 1.5, 4000))
    rows = Predictions.from_arrays(
        rng.random(4000) < expit(0.93 * logit(score)),
        score,
        rng.random(4000) + 0.5 if weighted else None,
        group=rng.permutation(4000),
    ).view()
    test = clustered_tests(rows)
    for name, single in by_row(rows).items():
        assert test[name].statistic == pytest.approx(single.statistic, rel=1e-9), name
        assert test[name].p_value == pytest.approx(single.p_value, rel=0.02), name


def test_spiegelhalter_by_cluster_by_hand():
    rng = np.random.default_rng(5)
    rows = clustered(rng, 30, 20)
    z = (rows.outcome - rows.score) * (1 - 2 * rows.score)
    null = np.sum((1 - 2 * rows.score) ** 2 * rows.score * (1 - rows.score))
    pairs = sum(np.outer(terms, terms).sum() - terms @ terms for terms in np.split(z, 30))
    f = z.sum() ** 2 / (null + pairs)
    assert pairs > 0
    test = clustered_tests(rows)["spiegelhalter"]
    assert test.p_value == pytest.approx(f_distribution.sf(f, 1, 29), rel=1e-9)


def rejections(n, n_clusters, size, mean):
    rng, counts = np.random.default_rng(2), []
    for _ in range(n):
        rows = clustered(rng, n_clusters, size, mean=mean, spread=1.0)
        counts.append({name: test.p_value < 0.05 for name, test in clustered_tests(rows).items()})
    return {name: sum(one[name] for one in counts) for name in counts[0]}


def test_calibrated_clusters_are_rejected_as_often_as_is_said():
    for name, count in rejections(120, 60, 40, mean=-0.5).items():
        # The expected number is 6 +- 2.4. Tests for independent rows reject at least 30.
        assert count <= 14, name


@rare
def test_calibrated_clusters_of_rare_events_are_rejected_as_often_as_is_said():
    for name, count in rejections(50, 300, 5, mean=-4.5).items():
        # The expected number is 2.5 +- 1.5.
        assert count <= 8, name


def test_scores_that_are_wrong_are_rejected():
    rows = clustered(np.random.default_rng(0), 400, 5, slope=0.6)
    for name, test in clustered_tests(rows).items():
        assert test.p_value < 0.001, name


def test_copies_inside_a_cluster_change_no_p_value_much_and_no_weights_scale_matters():
    rows = clustered(np.random.default_rng(7), 500, 4)
    twice = Predictions.from_arrays(
        np.repeat(rows.outcome, 2), np.repeat(rows.score, 2), group=np.repeat(rows.group, 2)
    ).view()
    weighted = Predictions.from_arrays(
        rows.outcome, rows.score, np.full(len(rows), 7.0), group=rows.group
    ).view()
    result, doubled, scaled = (clustered_tests(of) for of in (rows, twice, weighted))
    for name, test in result.items():
        assert doubled[name].p_value == pytest.approx(test.p_value, rel=0.1), name
        assert scaled[name].p_value == pytest.approx(test.p_value, rel=1e-6), name


def test_what_one_cluster_or_certain_or_separating_scores_cannot_tell(texts):
    rows = clustered(np.random.default_rng(0), 1, 50)
    assert all(math.isnan(test.p_value) for test in clustered_tests(rows).values())
    group = np.arange(8) // 2
    certain = Predictions.from_arrays([0, 0, 0, 0, 1, 1, 1, 1], [0.0] * 4 + [1.0] * 4, group=group)
    result = clustered_tests(certain.view())
    assert result["spiegelhalter"].p_value == 1.0
    assert result["hosmer_lemeshow"].p_value == 1.0
    assert math.isnan(result["line"].p_value)
    with texts.raises(ValueError):
        clustered_tests(Predictions.from_arrays([0, 1], [0.2, 0.7]).view())


def test_equal_scores_are_tested_for_their_mean():
    rng = np.random.default_rng(4)
    group = np.arange(300)
    outcome = rng.random(300) < 0.42
    once = Predictions.from_arrays(outcome, np.full(300, 0.300001), group=group).view()
    copies = Predictions.from_arrays(
        np.repeat(outcome, 3), np.full(900, 0.300001), group=np.repeat(group, 3)
    ).view()
    one, three = (clustered_tests(rows)["line"].p_value for rows in (once, copies))
    by_row = metrics.calibration_slope_intercept(copies.outcome, copies.score).p_value
    assert by_row < 1e-4
    assert 0.01 < one < three < 0.05


def test_resampled_clusters_show_no_less_noise_than_rows():
    narrow = Errors(np.zeros(99), np.full(99, 0.01))
    wide = Errors(np.zeros(99), np.linspace(0.0, 0.98, 99))
    by_rows = metrics.TestResult(0.49, 0.2, "")
    assert resampled_test(by_rows, narrow).p_value == 0.2
    assert resampled_test(by_rows, wide).p_value == pytest.approx(0.51)


def test_the_widened_test_counts_no_copies_and_makes_no_p_value_smaller(texts):
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = rng.random(400) < p**1.15
    single, five = metrics.ks_test(y, p), np.repeat(np.arange(400), 5)
    rows = Predictions.from_arrays(y[five], p[five], group=five).view()
    copied = metrics.ks_test(y[five], p[five])
    assert copied.p_value < 0.01 < single.p_value
    widened = widened_test(copied, rows, rows.cells())
    assert widened.p_value == pytest.approx(single.p_value, rel=0.05)
    texts(widened.null)
    cautious = metrics.TestResult(copied.statistic, 0.9, "")
    assert widened_test(cautious, rows, rows.cells()).p_value == 0.9


def test_without_clusters_the_test_stays_as_it_is():
    rows = Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.4]).view()
    by_rows = metrics.ks_test(rows.outcome, rows.score)
    assert widened_test(by_rows, rows, rows.cells()) is by_rows


def test_the_widened_line_counts_no_copies():
    rng = np.random.default_rng(4)
    score = expit(rng.normal(-0.5, 1.5, 500))
    y, four = rng.random(500) < score**1.2, np.repeat(np.arange(500), 4)
    single = metrics.calibration_slope_intercept(y, score)
    rows = Predictions.from_arrays(y[four], score[four], group=four).view()
    copied = metrics.calibration_slope_intercept(rows.outcome, rows.score)
    result = widened_line(rows, copied)
    assert copied.slope_error == pytest.approx(single.slope_error / 2, rel=1e-3)
    for name in ("slope", "intercept"):
        for part in ("low", "high", "error"):
            expected = getattr(single, f"{name}_{part}")
            # The sandwich estimator by cluster and the model's own errors agree if the model is
            # right.
            assert getattr(result, f"{name}_{part}") == pytest.approx(expected, abs=0.03), (
                name,
                part,
            )


def weighted_clusters(weighted):
    rng = np.random.default_rng(8)
    rows = clustered(rng, 40, 25, mean=0.0, spread=0.6)
    weight = rng.uniform(0.3, 2.0, 1000) if weighted else np.ones(1000)
    given = weight if weighted else None
    return Predictions.from_arrays(rows.outcome, rows.score, given, group=rows.group).view(), weight


def rao_scott(statistic, moments, scale, group, variance=None):
    """The p-value by loops over clusters and pairs of them; moments of shape (n, d)."""
    z = moments @ np.linalg.cholesky(np.linalg.inv(scale))
    d, sums = z.shape[1], [z[group == c].sum(axis=0) for c in np.unique(group)]
    of_rows = np.trace(np.linalg.solve(scale, scale if variance is None else variance)) / d
    mean = of_rows + max(0.0, (sum(s @ s for s in sums) - (z * z).sum()) / d)
    pairs = [(s, t) for i, s in enumerate(sums) for j, t in enumerate(sums) if i != j]
    between = sum((s @ s) * (t @ t) for s, t in pairs)
    freedom = np.clip(between / sum((s @ t) ** 2 for s, t in pairs), 1.0, d)
    n = len(sums)
    return f_distribution.sf(statistic / (mean * d), freedom, freedom * (n - 1))


@pytest.mark.parametrize("weighted", [False, True])
def test_slope_and_intercept_by_cluster_by_hand(weighted):
    rows, weight = weighted_clusters(weighted)
    test = clustered_tests(rows)["line"]
    assert test.statistic == pytest.approx(by_row(rows)["line"].statistic, rel=1e-6)
    features = np.column_stack([np.ones(1000), logit(rows.score)])
    variance = weight * rows.score * (1 - rows.score)
    scale = (weight @ weight) / weight.sum() * (features.T * variance) @ features
    moments = features * (weight * (rows.outcome - rows.score))[:, None]
    known = (features.T * (weight * variance)) @ features
    expected = rao_scott(test.statistic, moments, scale, rows.group, known)
    assert test.p_value == pytest.approx(expected, rel=1e-9)
    assert test.null == "Rao-Scott F, 40 clusters"


@pytest.mark.parametrize("weighted", [False, True])
def test_hosmer_lemeshow_by_cluster_by_hand(weighted):
    rows, weight = weighted_clusters(weighted)
    test = clustered_tests(rows)["hosmer_lemeshow"]
    assert test.statistic == by_row(rows)["hosmer_lemeshow"].statistic
    groups = bin_cells(rows.cells(), 10, "quantile")
    place = np.searchsorted(groups.high_edge[:-1], rows.score)
    moments = np.zeros((1000, 10))
    moments[np.arange(1000), place] = weight * (rows.outcome - rows.score)
    mean = [np.average(rows.score[place == k], weights=weight[place == k]) for k in range(10)]
    scale = [(weight[place == k] ** 2).sum() * mean[k] * (1 - mean[k]) for k in range(10)]
    expected = rao_scott(test.statistic, moments, np.diag(scale), rows.group)
    assert test.p_value == pytest.approx(expected, rel=1e-9)


def test_a_group_of_certain_rows_is_left_out_of_hosmer_lemeshow_by_cluster():
    rows, _ = weighted_clusters(False)
    score = np.where(rows.score < np.quantile(rows.score, 0.1), 0.0, rows.score)
    outcome = rows.outcome & (score > 0.0)
    certain = Predictions.from_arrays(outcome, score, group=rows.group).view()
    test = clustered_tests(certain)["hosmer_lemeshow"]
    assert test.statistic == by_row(certain)["hosmer_lemeshow"].statistic
    groups = bin_cells(certain.cells(), 10, "quantile")
    place = np.searchsorted(groups.high_edge[:-1], score)
    assert (groups.mean_score == 0.0).tolist() == [True] + [False] * 9
    moments = np.zeros((1000, 10))
    moments[np.arange(1000), place] = outcome - score
    mean = np.array([score[place == k].mean() for k in range(1, 10)])
    scale = np.bincount(place)[1:] * mean * (1 - mean)
    expected = rao_scott(test.statistic, moments[:, 1:], np.diag(scale), certain.group)
    # The simulation draws sums of rows, which are approximately normal.
    assert test.p_value == pytest.approx(expected, abs=0.02)
    assert test.null == "simulation, 4,999 draws, 40 clusters"


def test_few_expected_rows_of_clusters_are_simulated_and_widened():
    rng = np.random.default_rng(9)
    group = np.repeat(np.arange(60), 3)
    common = math.sqrt(0.5) * rng.normal(size=60)[group]
    score = np.full(180, 0.050001)  # A score of 0.05 would stand for a range.
    outcome = norm.cdf(common + math.sqrt(0.5) * rng.normal(size=180)) < 0.09
    rows = Predictions.from_arrays(outcome, score, group=group).view()
    test = clustered_tests(rows)["hosmer_lemeshow"]
    # The group has 9 expected positives, which are more than 5.
    assert test.null == "Rao-Scott F, 60 clusters"
    few = rows.rows(np.arange(90))
    test, single = clustered_tests(few)["hosmer_lemeshow"], by_row(few)["hosmer_lemeshow"]
    assert test.null == "simulation, 4,999 draws, 30 clusters"
    # The p-value is that of a smaller statistic of independent rows, which is a square for one
    # group.
    moments = (few.outcome - few.score)[:, None]
    sums = [moments[few.group == c].sum() for c in range(30)]
    mean = max(1.0, 1.0 + (np.square(sums).sum() - (moments**2).sum()) / (90 * 0.05 * 0.95))
    expected = np.sqrt(single.statistic / mean * 90 * 0.05 * 0.95)
    tail = binom.sf(np.ceil(4.5 + expected - 1e-9) - 1, 90, 0.05)
    tail += binom.cdf(np.floor(4.5 - expected + 1e-9), 90, 0.05)
    assert test.p_value == pytest.approx(tail, abs=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_widened_test_by_hand(weighted, texts):
    rows, weight = weighted_clusters(weighted)
    single = metrics.ks_test(rows.outcome, rows.score, sample_weight=weight)
    residual = weight * (rows.outcome - rows.score)
    sums = np.array([residual[rows.group == c].sum() for c in range(40)])
    variance = weight**2 @ (rows.score * (1 - rows.score))
    effect = 1.0 + (sums @ sums - residual @ residual) / variance
    x = single.statistic * weight.sum() / math.sqrt(effect * variance)
    result = widened_test(single, rows, rows.cells())
    assert result.p_value == pytest.approx(supremum_by_cluster(x, 40), rel=1e-9)
    texts(result.null, "each case")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_widened_line_by_hand(weighted):
    rows, weight = weighted_clusters(weighted)
    fit = metrics.calibration_slope_intercept(rows.outcome, rows.score, sample_weight=weight)
    features = np.column_stack([np.ones(1000), logit(rows.score)])
    rate = expit(features @ [fit.intercept, fit.slope])
    information = (features.T * (weight * rate * (1 - rate))) @ features
    influence = np.linalg.solve(
        information, (features * (weight * (rows.outcome - rate))[:, None]).T
    )
    result = widened_line(rows, fit)
    for name, terms in zip(("intercept", "slope"), influence, strict=True):
        sums = np.array([terms[rows.group == c].sum() for c in range(40)])
        effect = max(1.0, (sums @ sums * 40 / 39) / (terms @ terms * 1000 / 999))
        before = [getattr(fit, f"{name}_{part}") for part in ("low", "high", "error")]
        after = [getattr(result, f"{name}_{part}") for part in ("low", "high", "error")]
        value, wider = getattr(fit, name), math.sqrt(effect)
        expected = [value + wider * (end - value) for end in before[:2]] + [wider * before[2]]
        assert after == pytest.approx(expected, rel=1e-6)
    assert result.intercept_only_error == fit.intercept_only_error


def test_a_line_that_does_not_exist_is_not_widened():
    rows = Predictions.from_arrays([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], group=[0, 0, 1, 1]).view()
    fit = metrics.calibration_slope_intercept(rows.outcome, rows.score)
    assert widened_line(rows, fit) is fit


def test_certain_scores_of_clusters_leave_nothing_to_widen():
    certain = Predictions.from_arrays([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0], group=[0, 0, 1, 1]).view()
    single = metrics.ks_test(certain.outcome, certain.score)
    assert widened_test(single, certain, certain.cells()) is single


def test_clusters_without_rows_do_not_count():
    rows = clustered(np.random.default_rng(3), 60, 20)
    test = clustered_tests(rows.rows(rows.group % 3 == 0))
    assert test["spiegelhalter"].null == "Rao-Scott F, 20 clusters"

"""Tests by cluster: against what copies and pairs must give, and in how often they reject."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import f as f_distribution
from scipy.stats import norm

from calib import metrics
from calib.core.predictions import Predictions
from calib.metrics.by_cluster import clustered_tests, resampled_test, widened_line, widened_test
from calib.uncertainty import Errors


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
    found = clustered_tests(rows)
    for name, single in by_row(rows).items():
        assert found[name].statistic == pytest.approx(single.statistic, rel=1e-9), name
        assert found[name].p_value == pytest.approx(single.p_value, rel=0.02), name


def test_spiegelhalter_by_cluster_by_hand():
    rng = np.random.default_rng(5)
    rows = clustered(rng, 30, 20)
    z = (rows.outcome - rows.score) * (1 - 2 * rows.score)
    null = np.sum((1 - 2 * rows.score) ** 2 * rows.score * (1 - rows.score))
    pairs = sum(np.outer(own, own).sum() - own @ own for own in np.split(z, 30))
    f = z.sum() ** 2 / (null + pairs)
    assert pairs > 0
    found = clustered_tests(rows)["spiegelhalter"]
    assert found.p_value == pytest.approx(f_distribution.sf(f, 1, 29), rel=1e-9)


def rejections(n, n_clusters, size, mean):
    rng, counts = np.random.default_rng(2), []
    for _ in range(n):
        rows = clustered(rng, n_clusters, size, mean=mean, spread=1.0)
        counts.append({name: test.p_value < 0.05 for name, test in clustered_tests(rows).items()})
    return {name: sum(each[name] for each in counts) for name in counts[0]}


def test_calibrated_clusters_are_rejected_as_often_as_is_said():
    for name, count in rejections(120, 60, 40, mean=-0.5).items():
        # 6 expected, give or take 2.4; tests of independent rows reject 30 and more.
        assert count <= 14, name


def test_calibrated_clusters_of_rare_events_are_rejected_as_often_as_is_said():
    for name, count in rejections(50, 300, 5, mean=-4.5).items():
        # 2.5 expected, give or take 1.5.
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
    found, doubled, scaled = (clustered_tests(of) for of in (rows, twice, weighted))
    for name, test in found.items():
        assert doubled[name].p_value == pytest.approx(test.p_value, rel=0.1), name
        assert scaled[name].p_value == pytest.approx(test.p_value, rel=1e-6), name


def test_what_one_cluster_or_certain_or_separating_scores_cannot_tell(texts):
    rows = clustered(np.random.default_rng(0), 1, 50)
    assert all(math.isnan(test.p_value) for test in clustered_tests(rows).values())
    group = np.arange(8) // 2
    certain = Predictions.from_arrays([0, 0, 0, 0, 1, 1, 1, 1], [0.0] * 4 + [1.0] * 4, group=group)
    found = clustered_tests(certain.view())
    assert found["spiegelhalter"].p_value == 1.0
    assert found["hosmer_lemeshow"].p_value == 1.0
    assert math.isnan(found["line"].p_value)
    with texts.raises(ValueError):
        clustered_tests(Predictions.from_arrays([0, 1], [0.2, 0.7]).view())


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
    found = widened_line(rows, copied)
    assert copied.slope_error == pytest.approx(single.slope_error / 2, rel=1e-3)
    for name in ("slope", "intercept"):
        for part in ("low", "high", "error"):
            expected = getattr(single, f"{name}_{part}")
            # The sandwich of clusters and the model's own error agree where the model holds.
            assert getattr(found, f"{name}_{part}") == pytest.approx(expected, abs=0.03), (
                name,
                part,
            )

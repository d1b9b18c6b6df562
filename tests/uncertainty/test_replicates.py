"""Resampled sums against rows that are really drawn, and against textbook standard errors."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from calib.cells import ScoreCells
from calib.metrics import (
    auc,
    calibration_slope_intercept,
    expected_calibration_error,
    ks_error,
)
from calib.numerics.binning import bin_cells, bin_edges
from calib.predictions import Predictions
from calib.uncertainty import calibration_slope, replicate, resample_rows
from calib.uncertainty.replicates import MOST_POINTS


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
    n, found = len(rows), []
    for _ in range(n_replicates):
        at = rng.integers(n, size=n)
        found.append(metric(ScoreCells.from_arrays(rows.outcome[at], rows.score[at])))
    return np.array(found)


@pytest.mark.parametrize(("n", "decimals"), [(300, 9), (300, 1), (6000, 9)])
def test_errors_vary_as_those_of_drawn_rows_do(n, decimals):
    rows = made(n, decimals=decimals)
    cells, found = rows.cells(), replicates(rows)
    edges = bin_edges(cells, 10, "uniform")
    pairs = {
        "ece": (found.ece(edges).deviation, lambda c: expected_calibration_error(c, n_bins=10)),
        "mce": (
            found.mce(edges).deviation,
            lambda c: expected_calibration_error(c, n_bins=10, norm="max"),
        ),
        "ks": (found.ks.deviation, ks_error),
        "auc": (found.auc, auc),
    }
    for name, (deviation, metric) in pairs.items():
        expected = drawn_rows(rows, metric) - metric(cells)
        error = expected.std() / np.sqrt(len(expected))
        assert deviation.mean() == pytest.approx(expected.mean(), abs=5 * error), name
        assert deviation.std() == pytest.approx(expected.std(), rel=0.12), name


def test_noise_is_that_of_outcomes_drawn_from_the_scores():
    """One score: its gap is that of a binomial count, in resamples and under the null."""
    rows = Predictions.from_arrays([0] * 60 + [1] * 40, np.full(100, 0.7)).view()
    found = replicates(rows)
    signed = found.gap[-1, 1:] - found.gap[-1, 0]
    assert found.gap[-1, 0] == pytest.approx(0.4 - 0.7, abs=1e-6)
    assert signed.std() == pytest.approx(np.sqrt(0.4 * 0.6 / 100), rel=0.08)
    for noise in (found.ks.noise, found.ece(np.array([0.0, 0.5, 1.0])).noise):
        for k in range(3, 12, 2):
            at_least = binom.sf(70 + k - 1, 100, 0.7) + binom.cdf(70 - k, 100, 0.7)
            assert np.mean(noise >= (k - 0.5) / 100) == pytest.approx(at_least, abs=0.06)


def test_noise_does_not_vanish_where_no_row_is_positive():
    rows = Predictions.from_arrays([0] * 300 + [1], np.r_[np.full(300, 0.01), 0.5]).view()
    found = replicates(rows).ece(np.array([0.0, 0.1, 1.0]))
    assert np.mean(found.noise) > 0.003


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


def test_the_auc_varies_as_delongs_formula_says():
    rows = made(3000)
    y, s = rows.outcome, rows.score
    ranks_of_positives = (s[y][:, None] > s[~y]).mean(axis=1)
    ranks_of_negatives = (s[y][:, None] > s[~y]).mean(axis=0)
    variance = ranks_of_positives.var() / y.sum() + ranks_of_negatives.var() / (~y).sum()
    found = replicates(rows).auc
    assert found.std() == pytest.approx(np.sqrt(variance), rel=0.08)
    assert auc(rows.cells()) == pytest.approx(roc_auc_score(y, s), abs=1e-12)


def test_slopes_vary_as_the_fitted_models_standard_error_says():
    rng = np.random.default_rng(1)
    x = rng.normal(0.0, 1.5, 5000)
    rows = Predictions.from_arrays(rng.random(5000) < expit(0.3 + 0.7 * x), expit(x)).view()
    fit = calibration_slope_intercept(rows.cells())
    assert replicates(rows).slope.std() == pytest.approx(fit.slope_error, rel=0.08)
    assert calibration_slope(rows.cells()) == pytest.approx(fit.slope, abs=1e-9)


def test_a_rising_map_changes_no_auc_and_halved_log_odds_double_the_slope():
    rows = made(5000)
    drawn = resample_rows(rows, rows.cells())
    own, other = replicate(drawn, rows.score), replicate(drawn, expit(logit(rows.score) / 2.0))
    np.testing.assert_allclose(own.auc, other.auc, atol=2e-6)
    np.testing.assert_allclose(2.0 * own.slope, other.slope, atol=1e-3)


def test_methods_are_drawn_together():
    """KS errors of two nearly equal methods rise and fall together; their difference does not."""
    rows = made(4000)
    drawn = resample_rows(rows, rows.cells(), np.arange(4000) % 5)
    own, other = replicate(drawn, rows.score), replicate(drawn, 0.99 * rows.score)
    assert (own.ks.deviation - other.ks.deviation).std() < 0.1 * own.ks.deviation.std()


def test_ties_are_one_score_in_every_fold():
    rows = made(3000, decimals=1)
    found = replicates(rows, fold=np.arange(3000) % 7)
    np.testing.assert_allclose(found.score, rows.cells().score, rtol=1e-9)
    edges = bin_edges(rows.cells(), 10, "quantile")
    exact = expected_calibration_error(rows.cells(), n_bins=10, strategy="quantile")
    gap = np.diff(found.gap[found._ends(edges), 0])
    assert np.abs(gap).sum() == pytest.approx(exact, abs=1e-6)


def test_many_rows_need_few_points():
    rows = made(50_000)
    found = replicates(rows, n_replicates=5)
    assert len(found.score) <= MOST_POINTS
    assert (np.diff(found.score) > 0).all()
    np.testing.assert_allclose(found.weight[-1], 1.0, atol=1e-5)
    assert found.gap[-1, 0] == pytest.approx(rows.outcome.mean() - rows.score.mean(), abs=1e-5)


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    single = made(400)
    copied = Predictions.from_arrays(
        np.repeat(single.outcome, 5), np.repeat(single.score, 5), group=np.repeat(np.arange(400), 5)
    ).view()
    one, five = replicates(single), replicates(copied)
    assert five.auc.std() == pytest.approx(one.auc.std(), rel=0.1)
    assert five.slope.std() == pytest.approx(one.slope.std(), rel=0.1)
    unnamed = Predictions.from_arrays(copied.outcome, copied.score).view()
    assert replicates(unnamed).auc.std() < 0.6 * one.auc.std()


def test_the_design_effect_of_independent_rows_is_1():
    rows = made(4000, group=np.arange(4000))
    bins = bin_cells(rows.cells(), 8, "quantile")
    effect = replicates(rows).design_effect(bins)
    assert (effect >= 1.0).all()
    # Scores within a bin tell a part of what its outcomes do: the gap varies less, not more.
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
    np.testing.assert_allclose(replicates(equal).auc, replicates(rows).auc, atol=1e-6)
    uneven = np.random.default_rng(0).exponential(size=2000) ** 2 + 1e-3
    weighted = Predictions.from_arrays(rows.outcome, rows.score, uneven).view()
    effective = uneven.sum() ** 2 / (uneven @ uneven) / 2000
    ratio = replicates(weighted).auc.std() / replicates(rows).auc.std()
    assert ratio == pytest.approx(1 / np.sqrt(effective), rel=0.2)


def test_p_values_count_the_noise_that_reaches_the_error():
    found = replicates(made(500), n_replicates=99).ks
    assert found.p_value(0.0) == 1.0
    assert found.p_value(1.0) == 0.01


def test_what_cannot_be_estimated_is_nan():
    separated = Predictions.from_arrays([0] * 20 + [1] * 20, np.linspace(0.1, 0.9, 40)).view()
    assert np.isnan(replicates(separated).slope).all()
    assert np.isnan(calibration_slope(separated.cells()))
    two = Predictions.from_arrays([0, 1], [0.4, 0.6]).view()
    found = replicates(two)
    assert np.isnan(found.auc).any()
    assert np.isfinite(found.ks.noise).all()

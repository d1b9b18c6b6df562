"""Intervals of a calibration function from the calibrators of the folds."""

import numpy as np
import pytest
from scipy.special import expit, logit, stdtrit

from calib.calibrators import CALIBRATORS
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.views import BinaryView
from calib.uncertainty import FoldScores, function_interval, unseen_base_rate_variance
from tests.rare import common_first, rare


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and outcomes for which logistic recalibration has the right form."""
    log_odds = rng.normal(-1.0, 1.5, n)
    return expit(log_odds), rng.random(n) < expit(0.3 + 0.7 * log_odds)


def fits(score, outcome, folds, key):
    """A calibrator of all rows, and those of the folds."""

    def fit(rows):
        return (
            CALIBRATORS[key].create().fit_cells(ScoreCells.from_arrays(outcome[rows], score[rows]))
        )

    of_all = fit(np.ones(len(score), dtype=bool))
    return of_all, [fit(folds != number) for number in np.unique(folds)]


def interval(score, outcome, folds, key, at):
    of_all, by_fold = fits(score, outcome, folds, key)
    drawn = FoldScores.of(ScoreCells.from_arrays(outcome, score), [one.predict for one in by_fold])
    points = FoldScores.of(ScoreCells.from_arrays(outcome, score), [lambda given: given] * 5)
    return function_interval(at, of_all.predict(at), drawn, points.score[0], 0.95)


def test_it_is_the_jackknife_that_leaves_out_one_fold_at_a_time():
    rng = np.random.default_rng(0)
    score, outcome = draw(rng, 300)
    folds, at = np.arange(300) % 5, np.sort(score)[[20, 150, 280]]
    low, high = interval(score, outcome, folds, "logistic", at)
    of_all, by_fold = fits(score, outcome, folds, "logistic")
    left_out = np.array([logit(one.predict(at)) for one in by_fold])
    error = np.sqrt(4 / 5 * np.square(left_out - left_out.mean(axis=0)).sum(axis=0))
    half = stdtrit(4, 0.975) * error
    np.testing.assert_allclose(logit(low), logit(of_all.predict(at)) - half, rtol=1e-9)
    np.testing.assert_allclose(logit(high), logit(of_all.predict(at)) + half, rtol=1e-9)


@rare
def test_it_covers_the_truth_where_the_form_fits():
    rng = np.random.default_rng(1)
    at = expit(np.array([-2.5, -1.0, 0.5]))
    truth, held = expit(0.3 + 0.7 * logit(at)), []
    for _ in range(150):
        score, outcome = draw(rng, 600)
        low, high = interval(score, outcome, rng.permutation(600) % 5, "logistic", at)
        held.append((low <= truth) & (truth <= high))
    # The bounds are 95% plus and minus about three standard errors of 150 correlated trials.
    assert 0.90 <= np.mean(held) <= 0.99


def test_there_is_none_beyond_the_data_and_at_certain_values():
    score = np.array([[0.0, 0.3, 0.6], [0.0, 0.4, 0.7]])
    share = np.full(3, 1 / 3)
    folds = FoldScores(np.array([False, True, True]), score, share, share**2)
    grid = np.array([0.1, 0.2, 0.5, 0.8, 0.9])
    calibrated = np.array([0.0, 0.0, 0.35, 1.0, 1.0])
    low, high = function_interval(grid, calibrated, folds, np.array([0.2, 0.5, 0.8]), 0.95)
    assert np.isnan(low).tolist() == [True, True, False, True, True]
    assert low[2] < 0.35 < high[2]


def outcomes_of(n, per_cluster, rng):
    """Scores of slope 0.6, and outcomes that share a normal effect within a cluster."""
    log_odds = rng.normal(-0.5, 1.5, n)
    group = None if per_cluster == 1 else np.arange(n) // per_cluster
    shared = np.zeros(n) if group is None else rng.normal(0.0, 0.7, n // per_cluster)[group]
    return BinaryView(rng.random(n) < expit(0.6 * log_odds + shared), expit(log_odds), group=group)


@rare
@pytest.mark.parametrize("per_cluster", common_first([1, 8], [8]))
def test_folds_by_outcome_do_not_hide_the_variance_of_the_base_rate(per_cluster):
    # Without this variance the interval contained the true value in 75% of samples at this score.
    at, held, middle = np.array([0.4]), [], []
    for seed in range(120):
        rows = outcomes_of(1000, per_cluster, np.random.default_rng(seed))
        fitted = cross_fit_scores(
            CountedRows.of_rows(rows), Settings(methods=("logistic",), seed=seed), n_replicates=2
        )
        calibrated = fitted.calibrators["logistic"].predict(at)
        held.append(fitted.function_interval("logistic", at, calibrated, 0.95))
        middle.append(calibrated)
    bounds = np.array(held)[:, :, 0]
    # Clusters share random effects, so the true value is the mean over samples.
    truth = np.mean(middle)
    covered = np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
    # The bound is 95% minus three standard errors of 120 samples, which are 6 points.
    assert covered >= 0.89
    length = np.diff(logit(bounds)).mean() / (2 * 1.96)
    assert length == pytest.approx(logit(np.array(middle)).std(), rel=0.2)


def test_the_variance_of_the_base_rate_that_folds_do_not_show():
    outcome = np.arange(200) % 4 == 0
    fold = np.arange(200) // 4 % 5
    rows = BinaryView(outcome, np.full(200, 0.5), fold=fold)
    assert unseen_base_rate_variance(rows) == pytest.approx(1 / 50 + 1 / 150)
    # The effective number of rows of each outcome is (sum w)^2 / sum w^2.
    weight = np.where(np.arange(200) // 20 % 2, 1.0, 3.0)
    by_weight = BinaryView(outcome, np.full(200, 0.5), weight, fold=fold)
    effective = [weight[y].sum() ** 2 / (weight[y] ** 2).sum() for y in (outcome, ~outcome)]
    assert unseen_base_rate_variance(by_weight) == pytest.approx(sum(1 / n for n in effective))
    # Equal rows of a cluster are one row: there are 40, of which 10 are positive.
    cluster = np.arange(200) // 5
    equal = BinaryView(cluster % 4 == 0, rows.score, group=cluster, fold=cluster // 4 % 5)
    of_clusters = (1 / 10 + 1 / 30) * 40 / 39
    assert unseen_base_rate_variance(equal) == pytest.approx(of_clusters)
    # If base rates of folds are very different, the folds show the whole variance.
    different = BinaryView(np.arange(200) < 60, rows.score, fold=np.arange(200) // 40)
    assert unseen_base_rate_variance(different) == 0

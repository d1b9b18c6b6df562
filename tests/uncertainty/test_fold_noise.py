"""Intervals of a calibration function from the calibrators of the folds."""

import numpy as np
from scipy.special import expit, logit, stdtrit

from calib.calibrators import CALIBRATORS
from calib.core.cells import ScoreCells
from calib.uncertainty import FoldScores, function_interval


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


def test_it_covers_the_truth_where_the_form_fits():
    rng = np.random.default_rng(1)
    at = expit(np.array([-2.5, -1.0, 0.5]))
    truth, held = expit(0.3 + 0.7 * logit(at)), []
    for _ in range(150):
        score, outcome = draw(rng, 600)
        low, high = interval(score, outcome, rng.permutation(600) % 5, "logistic", at)
        held.append((low <= truth) & (truth <= high))
    # Of 95%, three standard errors of 150 correlated trials.
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

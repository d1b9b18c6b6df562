"""What calibrators fitted in folds add to the noise of a held-out loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, logit, stdtrit

from calib.core.cells import ScoreCells
from calib.numerics.arrays import BoolArray, FloatArray, Locked
from calib.numerics.few_cells import bucket_starts

# A calibrator is smooth, or has fewer steps than this.
MAX_BUCKETS = 512


class Fitted(Protocol):
    """What has been fitted, and calibrates scores."""

    def predict(self, scores: FloatArray) -> FloatArray:
        """Calibrated scores."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores(Locked):
    """The same points, calibrated by the calibrator of every fold.

    A point stands for one row, or for the rows of one outcome whose scores are nearly equal.
    """

    outcome: BoolArray  # shape (m,)
    score: FloatArray  # shape (k, m): by fold
    share: FloatArray  # shape (m,): share in the total weight of the rows that a point stands for
    share_sq: FloatArray  # shape (m,): sum of their squared shares

    @classmethod
    def of(cls, cells: ScoreCells, fitted: Sequence[Fitted]) -> FoldScores:
        """Calibrate at most about 512 runs of neighbouring scores; few cells stay as they are.

        Parameters
        ----------
        cells : ScoreCells
            Of the uncalibrated scores.
        fitted : sequence
            The calibrator of each fold.
        """
        starts = bucket_starts(cells.score, cells.weight, MAX_BUCKETS)
        weight = np.add.reduceat(cells.weight, starts)
        mean = np.add.reduceat(cells.weight * cells.score, starts) / weight
        # The mean of equal numbers may round to one just beyond them.
        mean = np.clip(mean, cells.score[0], cells.score[-1])
        positive = np.add.reduceat(cells.positive, starts)
        positive_sq = np.add.reduceat(cells.positive_sq, starts)
        squares = np.add.reduceat(cells.weight_sq, starts)
        present = np.concatenate([weight - positive, positive]) > 0.0

        def both(of_negatives: FloatArray, of_positives: FloatArray) -> FloatArray:
            return np.asarray(np.concatenate([of_negatives, of_positives])[present])

        return cls(
            outcome=np.repeat([False, True], len(mean))[present],
            score=np.array([np.tile(one.predict(mean), 2)[present] for one in fitted]),
            share=both(weight - positive, positive) / cells.total_weight,
            share_sq=both(squares - positive_sq, positive_sq) / cells.total_weight**2,
        )


def fold_variance(values: FloatArray, share_sq: FloatArray) -> float:
    """Variance of a mean held-out loss that per-row losses do not show, as calibrators are noisy.

    Rows that are fitted on in one fold are scored in another: what two rows add to the held-out
    loss together is counted once by the spread of the losses, which takes the calibrators as
    given, and once more here. The sum over folds of squared deviations from the mean over folds is
    k / (k - 1) times the jackknife's variance that leaves out one fold at a time.

    Parameters
    ----------
    values : ndarray of shape (k, m)
        Loss of each point, or the difference between two methods' losses, under each fold's
        calibrator.
    share_sq : ndarray of shape (m,)
        See `FoldScores`.

    Examples
    --------
    >>> import numpy as np
    >>> round(fold_variance(np.array([[0.2, 0.1], [0.4, 0.1]]), np.array([0.25, 0.25])), 6)
    0.005

    References
    ----------
    Efron and Stein 1981, doi:10.1214/aos/1176345462 (jackknife); Bates, Hastie and Tibshirani 2024,
    doi:10.1080/01621459.2023.2197686 (why cross-validation's usual interval is too short).
    """
    deviation = values - values.mean(axis=0)
    return float(np.square(deviation).sum(axis=0) @ share_sq)


def function_interval(
    score: FloatArray,
    calibrated: FloatArray,
    folds: FoldScores,
    points: FloatArray,
    confidence_level: float,
) -> tuple[FloatArray, FloatArray]:
    """Where a calibrator fitted on other rows of the same source would lie, one score at a time.

    The jackknife that leaves out one fold at a time, on the log-odds, with Student's quantile. What
    no refit would change, a form that does not fit the data, is no part of it. Of isotonic
    regression 95% intervals cover 90% to 93%.

    Parameters
    ----------
    score, calibrated : ndarray of shape (g,)
        The calibrator that was fitted on all rows.
    folds : FoldScores
        Those of the folds.
    points : ndarray of shape (m,)
        The uncalibrated score of each of its points.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    low, high : ndarray of shape (g,)
        NaN beyond the scores of the data, and where a calibrator says exactly 0 or 1: refits there
        show no spread, or an unbounded one.

    Examples
    --------
    >>> folds = FoldScores(
    ...     outcome=np.array([False, True]),
    ...     score=np.array([[0.2, 0.5], [0.3, 0.6]]),
    ...     share=np.array([0.5, 0.5]),
    ...     share_sq=np.array([0.25, 0.25]),
    ... )
    >>> grid = np.array([0.0, 0.4, 0.8])
    >>> low, high = function_interval(grid, grid, folds, np.array([0.4, 0.8]), 0.5)
    >>> low.round(3), high.round(3)
    (array([  nan, 0.337, 0.766]), array([  nan, 0.466, 0.83 ]))

    References
    ----------
    Shao and Tu 1995, doi:10.1007/978-1-4612-0795-5 (jackknife by groups).
    """
    at, first = np.unique(points, return_index=True)
    k = len(folds.score)
    with np.errstate(invalid="ignore"):
        spread = np.sqrt((k - 1) * logit(folds.score[:, first]).var(axis=0))
        half = stdtrit(k - 1, 0.5 + confidence_level / 2.0) * np.interp(
            score, at, spread, left=np.nan, right=np.nan
        )
        middle = logit(calibrated)
        half[~np.isfinite(middle)] = np.nan
        return expit(middle - half), expit(middle + half)

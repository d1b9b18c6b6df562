"""Variance of held-out losses that comes from fitting calibrators in folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, stdtrit

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import BoolArray, FloatArray, Locked
from calib.numerics.clusters import mean_design_effects
from calib.numerics.few_cells import into_buckets
from calib.numerics.intervals import upper_end

MAX_BUCKETS = 512  # Calibrators are smooth or have fewer steps, so more buckets add nothing.


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores(Locked):
    """Scores of the same points by the calibrator of every fold.

    A point is one row, or several rows with the same outcome and nearly equal scores. Arrays have
    shape (m,), and `score` has shape (k, m) with one row per fold.
    """

    outcome: BoolArray
    score: FloatArray
    share: FloatArray  # A share is the weight of a point's rows over the total weight.
    share_sq: FloatArray  # The shares of the rows are squared and added up by point.

    @classmethod
    def of(cls, cells: ScoreCells, fitted: Iterable[Callable[..., FloatArray]]) -> FoldScores:
        """Calibrate at most about 512 groups of neighbouring scores.

        `cells` are those of the uncalibrated scores, and `fitted` the `predict` of each fold.
        """
        buckets = into_buckets(cells.score, cells.weight, cells.positive, MAX_BUCKETS)
        few = cells.joined(buckets.starts, buckets.x)
        given = (few.score,) if few.log_odds is None else (few.score, few.log_odds)
        of_both = np.concatenate([few.negative, few.positive])
        squares = np.concatenate([few.weight_sq - few.positive_sq, few.positive_sq])
        present = of_both > 0.0
        return cls(
            outcome=np.repeat([False, True], len(few))[present],
            score=np.array([np.tile(predict(*given), 2)[present] for predict in fitted]),
            share=of_both[present] / cells.total_weight,
            share_sq=squares[present] / cells.total_weight**2,
        )


def fold_variance(values: FloatArray, share_sq: FloatArray) -> float:
    """Variance of a mean held-out loss that comes from fitting the calibrators.

    The variance of per-row losses treats the calibrators as given. This function adds the variance
    from fitting them: the sum over folds of squared deviations from the mean over folds, which is
    k / (k - 1) times the variance of the jackknife that leaves out one fold.

    `values`, of shape (k, m), are the loss of each point, or the difference of the losses of two
    methods, with the calibrator of each fold. `share_sq` are the squared weight shares of the
    points, see `FoldScores`. See Efron and Stein 1981, doi:10.1214/aos/1176345462 (jackknife);
    Bates, Hastie and Tibshirani 2024, doi:10.1080/01621459.2023.2197686 (why cross-validation's
    usual interval is too short).

    >>> import numpy as np
    >>> round(fold_variance(np.array([[0.2, 0.1], [0.4, 0.1]]), np.array([0.25, 0.25])), 6)
    0.005
    """
    deviation = values - values.mean(axis=0)
    return float(np.square(deviation).sum(axis=0) @ share_sq)


def unseen_base_rate_variance(rows: BinaryView) -> float:
    """Variance of the base rate, on the log-odds, that the differences of folds do not show.

    Folds that are stratified by outcome share the base rate, so that a jackknife over them lacks
    its variance: 1 / N1 + 1 / N0 with N1 and N0 effective rows of each outcome, times the design
    effect of the clusters. What the base rates of the folds do show of it is subtracted.

    >>> rows = BinaryView(np.arange(40) % 2 == 1, np.full(40, 0.5), fold=np.arange(40) // 8)
    >>> round(unseen_base_rate_variance(rows), 9)  # 1 / 20 + 1 / 20
    0.1
    """
    assert rows.fold is not None
    weight, part = rows.weights, np.zeros(len(rows), dtype=np.int64)
    rate = float(np.average(rows.outcome, weights=weight))
    residual = rows.outcome - rate
    by_row = rows.squared_weights @ np.square(residual) / (weight.sum() * rate * (1.0 - rate)) ** 2
    effect = mean_design_effects(weight * residual, part, rows.group, 1)[0]
    fold = np.unique(rows.fold, return_inverse=True)[1]
    total, positive = np.bincount(fold, weight), np.bincount(fold, weight * rows.outcome)
    others = (positive.sum() - positive) / (total.sum() - total)
    seen = (len(total) - 1) * logit(others).var()
    return max(0.0, float(by_row * effect - seen))


def function_interval(
    score: FloatArray,
    calibrated: FloatArray,
    folds: FoldScores,
    points: FloatArray,
    confidence_level: float,
    base_rate_variance: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Pointwise interval of a calibration function, for refits on other rows of the same source.

    It is a jackknife on the log-odds scale that leaves out one fold. The variance of the base rate
    that the folds do not show, `unseen_base_rate_variance`, is added, with Satterthwaite's degrees
    of freedom. It does not contain the bias of a method whose form does not fit the data.

    `score` and `calibrated` are the calibration function that was fitted on all rows, `folds` the
    scores by the calibrators of the folds, and `points` the uncalibrated score of each of their
    points. The bounds are NaN outside the range of the data, and at scores at which a calibrator
    gives exactly 0 or 1, because the variance there is 0 or unbounded. See Shao and Tu 1995,
    doi:10.1007/978-1-4612-0795-5 (jackknife by groups); Satterthwaite 1946, doi:10.2307/3002019.

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
    """
    error, freedom = function_error(score, folds, points, base_rate_variance)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        half = stdtrit(freedom, upper_end(confidence_level)) * error
        middle = logit(calibrated)
        half[~np.isfinite(middle)] = np.nan
        return expit(middle - half), expit(middle + half)


def function_error(
    score: FloatArray, folds: FoldScores, points: FloatArray, base_rate_variance: float
) -> tuple[FloatArray, FloatArray]:
    """Standard error of a calibration function on the log-odds, and its degrees of freedom.

    See `function_interval`.
    """
    at, first = np.unique(points, return_index=True)
    free = len(folds.score) - 1
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        spread = np.sqrt(free * logit(folds.score[:, first]).var(axis=0))
        jackknife = np.interp(score, at, spread, left=np.nan, right=np.nan) ** 2
        both = jackknife + base_rate_variance
        # The jackknife's variance is estimated from few folds, that of the base rate from all rows.
        return np.sqrt(both), free * np.square(both / jackknife)

"""Bootstrap intervals of any metric, the noise of folds, and the calibration slope."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.views import BinaryView, log_odds_of
from calib.numerics.arrays import BoolArray, FloatArray, Locked
from calib.numerics.few_cells import bucket_means, bucket_starts, into_buckets
from calib.numerics.intervals import Estimate, check_level, profile_bounds, upper_end
from calib.numerics.logistic import LogisticFit, fit_logistic
from calib.numerics.resampling import (
    cluster_effect,
    draw_cluster_sums,
    draw_noise,
    draw_sums,
    error_interval,
    freedom,
    mean_design_effects,
    percentile_interval,
    reflected_interval,
    squared_half_width,
    student_factor,
    unit_sums,
)
from calib.numerics.transforms import sigmoid

Kind = Literal["percentile", "reflected", "error"]
Statistic = Callable[[ScoreCells], float]
MAX_CELLS = 1000  # More cells are joined into this many runs, whose rows are drawn together.


class Bootstrap:
    """Resamples of the rows of some cells, drawn once for any number of metrics.

    Efron and Tibshirani 1993, An Introduction to the Bootstrap.

    >>> import numpy as np
    >>> from calib.metrics import auc, ks_error
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> bootstrap = Bootstrap.from_arrays(rng.random(2000) < p, p)
    >>> estimate = bootstrap.estimate(auc)
    >>> round(estimate.low, 2), round(estimate.value, 2), round(estimate.high, 2)
    (0.82, 0.84, 0.86)
    >>> bootstrap.estimate(ks_error, kind="error").low
    0.0
    """

    def __init__(
        self, cells: ScoreCells, *, n_replicates: int = 1000, random_state: int = 0
    ) -> None:
        if n_replicates < 1:
            raise ValueError(f"n_replicates must be at least 1, got {n_replicates}.")
        rng = np.random.default_rng(random_state)
        self.cells, few = cells, _into_few(cells)
        negative, negative_sq = few.negative, few.weight_sq - few.positive_sq
        self._few, self._seed, self._n_clusters = few, random_state, 0
        self._positive = draw_sums(few.positive, few.positive_sq, n_replicates, rng)
        self._negative = draw_sums(negative, negative_sq, n_replicates, rng)

    @classmethod
    def from_arrays(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        n_replicates: int = 1000,
        random_state: int = 0,
    ) -> Bootstrap:
        """Resample rows, or their clusters if `group` names the cluster of each row.

        Raises
        ------
        ValueError
            If the arrays differ in length or contain a value that is not allowed.
        """
        rows = Predictions.from_arrays(y_true, y_prob, sample_weight, group=group).view()
        return cls.of_rows(rows, n_replicates=n_replicates, random_state=random_state)

    @classmethod
    def of_rows(
        cls, rows: BinaryView, *, n_replicates: int = 1000, random_state: int = 0
    ) -> Bootstrap:
        """Resample the rows of a view of predictions, or their clusters if it has groups."""
        cells = rows.cells()
        made = cls(cells, n_replicates=n_replicates, random_state=random_state)
        if rows.group is None:
            return made
        few, rng = made._few, np.random.default_rng(random_state)
        starts = bucket_starts(cells.score, cells.weight, MAX_CELLS)
        atom = 2 * (np.searchsorted(cells.score[starts], rows.score, side="right") - 1)
        drawn = draw_cluster_sums(
            rows.group, atom + rows.outcome, rows.weights, 2 * len(few), n_replicates, rng
        )
        made._negative, made._positive = drawn[0::2], drawn[1::2]
        made._n_clusters = len(np.unique(rows.group))
        return made

    def estimate(
        self, metric: Statistic, *, confidence_level: float = 0.95, kind: Kind = "percentile"
    ) -> Estimate:
        """A metric with its interval.

        Parameters
        ----------
        metric : callable
            A function of ScoreCells that returns a number, such as ``calib.metrics.auc`` or
            ``lambda cells: brier_decomposition(cells).discrimination``.
        confidence_level : float
            In (0, 1).
        kind : {"percentile", "reflected", "error"}
            "percentile" if the metric has no bias from noise; "reflected" if noise increases it;
            "error" for calibration errors that can be 0 (ECE, KS, Kuiper, smECE), see
            `calib.numerics.resampling.error_interval`.

        Returns
        -------
        Estimate
            The bounds are NaN if no resample has a value.

        Raises
        ------
        ValueError
            If a parameter is not allowed.
        """
        check_level(confidence_level)
        if kind not in ("percentile", "reflected", "error"):
            raise ValueError(f"kind must be 'percentile', 'reflected' or 'error', got {kind!r}.")
        value, whole = float(metric(self.cells)), float(metric(self._few))
        values = np.array([metric(sample) for sample in self._samples()])
        deviation = values[np.isfinite(values)] - whole
        if not len(deviation) or math.isnan(value):
            return Estimate(value)
        if kind == "percentile":
            return Estimate(value, *percentile_interval(value, deviation, confidence_level))
        if kind == "reflected":
            return Estimate(value, *reflected_interval(value, deviation, confidence_level))
        noise = np.array([metric(cells) for cells in self._noise()])
        bounds = error_interval(value, deviation, noise, confidence_level)
        return Estimate(value, *bounds, float(noise.mean()))

    def _samples(self) -> list[ScoreCells]:
        """The cells of each resample, without cells that were not drawn."""
        few, samples = self._few, []
        unit = few.weight_sq / few.weight
        for drawn in zip(self._positive.T, self._negative.T, strict=True):
            positive, negative = (sums.astype(np.float64) for sums in drawn)
            weight = positive + negative
            kept = weight > 0.0
            if not kept.any():
                continue
            w, q, u = weight[kept], positive[kept], unit[kept]
            samples.append(ScoreCells(few.score[kept], w / u, w, q, w * u, q * u))
        return samples

    def _noise(self) -> list[ScoreCells]:
        """The cells with outcomes of calibrated scores, or with the noise of resampled clusters."""
        few = self._few
        expected = few.weight * few.score
        if self._n_clusters:
            noise = self._clusters_noise()
        else:
            n_replicates = self._positive.shape[1]
            rng = np.random.default_rng([self._seed, 1])
            noise = draw_noise(few.score, few.weight, few.weight_sq, n_replicates, rng)
        return [
            ScoreCells(
                few.score, few.rows, few.weight, expected + column, few.weight_sq, few.weight_sq
            )
            for column in noise.T
        ]

    def _clusters_noise(self) -> FloatArray:
        few, score = self._few, self._few.score[:, None]
        drawn = self._positive * (1.0 - score) - self._negative * score
        total = (self._positive + self._negative).sum(axis=0)
        gap = few.positive - few.weight * few.score
        rng = np.random.default_rng([self._seed, 1])
        factor = student_factor(self._n_clusters, drawn.shape[1], rng)
        return (drawn * (few.total_weight / total) - gap[:, None]) * factor


def _into_few(cells: ScoreCells) -> ScoreCells:
    starts = bucket_starts(cells.score, cells.weight, MAX_CELLS)
    if len(starts) == len(cells):
        return cells
    return cells.joined(starts, bucket_means(cells.score, cells.weight, starts))


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


def fit_line(cells: ScoreCells) -> LogisticFit | None:
    """The logistic regression of the calibration slope, or None if it cannot be estimated."""
    x = log_odds_of(cells)
    if cells.one_class or x[0] == x[-1]:
        return None
    fit = fit_logistic(_features(x), cells.positive, cells.weight)
    return fit if fit.converged else None


def slope_estimate(
    rows: BinaryView,
    cells: ScoreCells | None = None,
    fit: LogisticFit | None = None,
    *,
    confidence_level: float = 0.95,
) -> Estimate:
    """The calibration slope with an interval from its profile likelihood.

    The likelihood ratio is divided by the variance of the rows over that of the model, which
    accounts for misfit, weights and clusters. With few rows this ratio is shrunk towards 1.

    The cells are those of the same rows, and `fit` is their `fit_line`; what is not given is
    computed. The estimate is NaN if the slope cannot be estimated. See Cox 1958,
    doi:10.1093/biomet/45.3-4.562; Venzon and Moolgavkar 1988, doi:10.2307/2347496; Rao and Scott
    1984, doi:10.1214/aos/1176346391 (scaled likelihood ratios).

    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 0, 1, 0, 1], [0.1, 0.3, 0.4, 0.5, 0.7, 0.9]).view()
    >>> estimate = slope_estimate(rows)
    >>> round(estimate.low, 2), round(estimate.value, 2), round(estimate.high, 2)
    (-0.65, 0.63, 2.71)
    """
    cells = cells or rows.cells()
    fit = fit or fit_line(cells)
    if fit is None:
        return Estimate(math.nan)
    slope, variance = float(fit.coefficients[1]), float(fit.covariance[1, 1])
    if variance <= 0.0:
        return Estimate(slope)
    width = _squared_half_width(rows, fit, confidence_level) / variance
    few = into_buckets(log_odds_of(cells), cells.weight, cells.positive)
    middle = fit_logistic(_features(few.x), few.positive, few.weight)
    peak, error = float(middle.coefficients[1]), math.sqrt(float(middle.covariance[1, 1]))
    low, high = profile_bounds(few.x, few.positive, few.weight, peak, error, width / 2.0)
    return Estimate(slope, slope + low - peak, slope + high - peak)


def _squared_half_width(rows: BinaryView, fit: LogisticFit, confidence_level: float) -> float:
    """Squared half-width of the interval of the slope if the likelihood were normal."""
    x = log_odds_of(rows)
    # The terms are added separately, because a matrix product would copy both columns.
    rate = sigmoid(fit.coefficients[1] * x + fit.coefficients[0])
    toward = fit.covariance[1, 1] * x + fit.covariance[1, 0]
    residual, square = rows.outcome - rate, rows.squared_weights * np.square(toward)
    model = float(square @ (rate * (1.0 - rate)))
    ratio = float(square @ np.square(residual)) / model
    influence = residual * toward * rows.weights
    units = unit_sums(influence, rows.group)
    degrees = freedom(units, rows.multiplicity)
    effect = 1.0 if rows.group is None else cluster_effect(influence, units)
    return model * squared_half_width(ratio, effect, degrees, confidence_level)


def _features(x: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(x)), x])

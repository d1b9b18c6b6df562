"""The result of cross-fitting: held-out scores of every method, and means over rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.views import BinaryView
from calib.metrics.proper import row_brier, row_log_loss
from calib.metrics.ranking import row_auc
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.numerics.intervals import Estimate, mean_interval, normal_quantile
from calib.numerics.resampling import cluster_effect, unit_sums
from calib.text import rounded, without_scale
from calib.uncertainty import (
    FoldScores,
    Replicates,
    fold_variance,
    function_error,
    function_interval,
    unseen_base_rate_variance,
)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Held-out scores of every method on the same rows. Mappings have the keys of the methods.

    Attributes
    ----------
    rows : BinaryView
        The test rows, or all rows with the fold in which each was held out. Each entry counts the
        rows of one score cell, outcome and fold; for a matrix, rows with equal scores. With
        clusters, each row is an entry.
    scores : mapping of str to ndarray
        The calibrated scores of these entries, "uncalibrated" first.
    cells : mapping of str to ScoreCells
        The same scores, counted into cells.
    replicates : mapping of str to Replicates
        The same scores on resampled rows or clusters. All methods use the same resamples.
    calibrators : mapping of str to Calibrator or MatrixCalibrator
        Calibrators for plots and for use, fitted on the calibration rows or on all rows. In a view
        of a matrix they calibrate whole rows.
    fitted_on : ScoreCells
        The cells on which `calibrators` were fitted.
    protocol : {"test rows", "folds"}
    failures : mapping of str to str
        Methods that could not be fitted, with the reason.
    settings : Settings
    counted : CountedRows
        The rows that are scored, counted before they were split into folds (for a matrix, after).
        It does not contain the range of scores within cells.
    source : ndarray of int
        Position in `counted` of each entry of `rows`.
    outcomes : mapping of str to ndarray of bool
        Outcomes that differ from those of `rows`: in a top-r view, if a method changes the ranking
        of the classes of a row.
    calibration : Replicates or None
        Resamples of the uncalibrated scores of the calibration rows, if these have clusters and are
        not the rows that are scored.
    fold_scores : mapping of str to FoldScores
        Scores of the same points by the calibrator of every fold, empty without folds.
    resolution : mapping of str to mapping of str to float
        Largest possible difference from ungrouped scores by method and metric, see
        `calib.metrics.resolution`. Empty if each cell is one score.
    matrix : MatrixFits or None
        The fitted calibrators of the whole matrix, if the rows are a view of one.
    """

    rows: BinaryView
    scores: Mapping[str, FloatArray]
    cells: Mapping[str, ScoreCells]
    replicates: Mapping[str, Replicates]
    calibrators: Mapping[str, Calibrator | MatrixCalibrator]
    fitted_on: ScoreCells
    protocol: str
    failures: Mapping[str, str]
    settings: Settings
    counted: CountedRows
    source: IntArray
    outcomes: Mapping[str, BoolArray] = field(default_factory=dict)
    calibration: Replicates | None = None
    fold_scores: Mapping[str, FoldScores] = field(default_factory=dict)
    resolution: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    matrix: MatrixFits | None = None

    def clusters(self, key: str) -> Replicates | None:
        """The resamples of one method if they are of clusters, for error bars and bands."""
        return None if self.rows.group is None else self.replicates[key]

    @property
    def fitted_clusters(self) -> Replicates | None:
        """The same for the rows on which `calibrators` were fitted."""
        return self.clusters("uncalibrated") if self.protocol == "folds" else self.calibration

    def view(self, key: str) -> BinaryView:
        """The rows with the scores of one method and the outcomes that belong to them."""
        return self.rows.with_score(self.scores[key], self.outcomes.get(key))

    @property
    def given_rows(self) -> BinaryView:
        """The rows that are scored, in their original order, with their uncalibrated scores.

        Raises ValueError if only counts of the rows are known.
        """
        if self.counted.given is None:
            raise ValueError(
                "This needs the rows themselves, got only their counts. Load the predictions, and "
                "analyse them."
            )
        return self.counted.given

    def on(self, rows: BinaryView) -> CrossFitted:
        """A copy in which `given_rows` are counted in another way, as by a slice column."""
        return replace(self, counted=replace(self.counted, given=rows))

    def row_values(self, values: FloatArray) -> FloatArray:
        """Values of entries, for each given row.

        Rows with the same score and outcome are interchangeable and belong to several folds. Each
        of them gets the mean over these folds.
        """
        weight, n = self.rows.weights, len(self.counted.entries)
        mean = np.bincount(self.source, weight * values, n) / np.bincount(self.source, weight, n)
        return mean[self._counted_entry]

    def row_view(self, key: str) -> BinaryView:
        """The given rows with the scores of one method: means over folds, see `row_values`."""
        rows = self.given_rows
        if key == "uncalibrated":
            return rows.at_middles()
        changed = self.outcomes.get(key)
        outcome = rows.outcome if changed is None else changed[self._counted_entry]
        return rows.with_score(self.row_values(self.scores[key]), outcome)

    def row_scores(self, key: str) -> FloatArray:
        """The score of each given row by one method, from one of the folds of such rows.

        The number of rows per score equals the count of the entries, so that bins contain as many
        rows as the curve shows.
        """
        counted_entry = self._counted_entry
        entry = np.empty(len(counted_entry), dtype=np.int64)
        # Entries have the order of the counted entries to which they belong.
        count = self.rows.counts.astype(np.int64)
        entry[np.argsort(counted_entry, kind="stable")] = np.repeat(np.arange(len(count)), count)
        return self.scores[key][entry]

    @cached_property
    def _counted_entry(self) -> IntArray:
        return self.counted.find(self.given_rows)

    def fold_variance(
        self, key: str, loss: Callable[..., FloatArray], reference: str = "uncalibrated"
    ) -> float:
        """The variance of a difference of mean losses that comes from fitting the calibrators.

        It is 0 if the calibrators were fitted on calibration rows that are not scored. `loss` takes
        the outcomes and scores of rows.
        """
        if not self.fold_scores:
            return 0.0
        scored, other = self.fold_scores[key], self.fold_scores[reference]
        change = loss(scored.outcome, scored.score) - loss(other.outcome, other.score)
        return fold_variance(change, scored.share_sq)

    def function_interval(
        self, key: str, score: FloatArray, calibrated: FloatArray, confidence_level: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """Interval of the calibration function of one method at some scores.

        `calibrated` is its value at these scores, fitted on all rows. There is none for the
        uncalibrated scores and without folds. See `calib.uncertainty.function_interval`.
        """
        if key == "uncalibrated" or key not in self.fold_scores:
            return None
        points = self.fold_scores["uncalibrated"].score[0]
        of_base_rate = unseen_base_rate_variance(self.rows)
        scored = self.fold_scores[key]
        return function_interval(score, calibrated, scored, points, confidence_level, of_base_rate)

    def function_error(self, key: str, score: FloatArray) -> FloatArray | None:
        """Standard error of the same function at some scores, as a probability.

        It is NaN where a calibrator gives exactly 0 or 1. A matrix has no function of one score.
        """
        fitted = self.calibrators.get(key)
        if key not in self.fold_scores or not isinstance(fitted, Calibrator):
            return None
        points = self.fold_scores["uncalibrated"].score[0]
        of_base_rate = unseen_base_rate_variance(self.rows)
        error, _ = function_error(score, self.fold_scores[key], points, of_base_rate)
        p = fitted.predict(score)
        return p * (1.0 - p) * error

    def fold_variance_of_auc(self, key: str) -> float:
        """The same for the change of AUC; 0 if the calibrators of all folds rank rows equally."""
        if not self.fold_scores:
            return 0.0
        points = self.fold_scores[key]
        outcome = np.broadcast_to(points.outcome, points.score.shape)
        contributions = [
            np.nan_to_num(row_auc(ScoreCells.from_arrays(y, score, points.share), y, score))
            for y, score in zip(outcome, points.score, strict=True)
        ]
        return fold_variance(np.array(contributions), points.share_sq)


# A log-likelihood that is better by at most this many nats may be so by chance.
CLEAR_GAIN = 2.0
# With fewer effective rows the best of several methods is often best by chance.
MIN_ROWS_TO_PREFER_THE_BEST = 2000
# A member with this share of a stack predicts as well as the stack, and is simpler.
MAIN_WEIGHT = 0.8
# The same rows in another order give a sum that agrees to this many digits.
EXACT_DIGITS = 12


Result = TypeVar("Result", bound="MethodMetrics")


@dataclass(frozen=True, slots=True, eq=False)
class MethodMetrics:
    """Metrics of one method on held-out rows.

    Attributes
    ----------
    key, label : str
    metrics : mapping of str to Estimate
    differences : mapping of str to Estimate
        Differences from the uncalibrated scores, paired by row.
    """

    key: str
    label: str
    metrics: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]

    @property
    def short_label(self) -> str:
        """The label in running sentences, and where there is no room for the scale."""
        return without_scale(self.label)


def lowest_first(losses: Mapping[str, Estimate]) -> tuple[str, ...]:
    """Keys by their loss. Losses that differ by rounding alone are equal, and keep their order."""
    return tuple(sorted(losses, key=lambda key: rounded(losses[key].value, EXACT_DIGITS)))


def by_loss(results: Mapping[str, MethodMetrics]) -> tuple[str, ...]:
    """Keys by held-out log loss, the lowest first: the order of methods in tables."""
    return lowest_first({key: one.metrics["log_loss"] for key, one in results.items()})


def in_order(results: Mapping[str, Result]) -> dict[str, Result]:
    """Results by held-out log loss after the uncalibrated scores, with which all are compared.

    It is the order of methods in controls, legends and sentences.
    """
    others = [key for key in by_loss(results) if key != "uncalibrated"]
    return {key: results[key] for key in ("uncalibrated", *others)}


def metric_table(methods: Mapping[str, MethodMetrics], names: Iterable[str]) -> pd.DataFrame:
    """One row per method. Columns: metric, metric_low, metric_high, metric_diff, ..."""
    names, rows = tuple(names), {}
    for key, method in methods.items():
        row: dict[str, object] = {"method": method.label}
        for name in names:
            row |= method.metrics[name].columns(name)
            if name in method.differences:
                row |= method.differences[name].columns(f"{name}_diff")
        rows[key] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def mean_estimate(
    values: FloatArray, view: BinaryView, confidence_level: float, added_variance: float = 0.0
) -> Estimate:
    """Weighted mean of per-row values with its interval, by cluster if groups are named.

    It is a Student interval with Hall's correction for skewness, see `calib.numerics.intervals`.

    `added_variance` is the variance of the mean that the values do not contain, for independent
    rows: that of calibrators fitted in folds, see `calib.uncertainty.fold_variance`.
    """
    weight = view.weights
    total = float(weight.sum())
    mean = float(weight @ values) / total
    residual = weight * (values - mean)
    units = unit_sums(residual, view.group)
    low, high = mean_interval(mean, units, total, confidence_level, view.multiplicity)
    if added_variance > 0.0:
        effect = 1.0 if view.group is None else max(1.0, cluster_effect(residual, units))
        half = normal_quantile(confidence_level) * math.sqrt(effect * added_variance)
        low, high = mean - math.hypot(mean - low, half), mean + math.hypot(high - mean, half)
    return Estimate(mean, low, high)


LOSSES: Mapping[str, Callable[..., FloatArray]] = {
    "log_loss": row_log_loss,
    "brier_score": row_brier,
}


def losses(held_out: CrossFitted, key: str) -> dict[str, FloatArray]:
    rows = held_out.view(key)
    return {
        "log_loss": row_log_loss(rows.outcome, rows.score, rows.log_odds),
        "brier_score": row_brier(rows.outcome, rows.score),
    }


def choose(
    losses: Mapping[str, Estimate],
    n_rows: float,
    weights: Mapping[str, float],
    *,
    tests_reject: bool,
) -> str:
    """The recommended method, by held-out log losses per row of `n_rows` effective rows.

    From 2,000 rows on, it is the simplest method whose log-likelihood is within 2 nats of the best
    one's. With fewer rows the best of several methods is often best by chance. Then the scores are
    kept if the stack gains at most 2 nats, or nothing where tests reject calibration; otherwise it
    is the stack, or its member with at least 80% of its `weights`. Without a stack the rule for
    many rows holds. `python -m benchmarks quality` compares the rule with every single method.

    >>> losses = {"uncalibrated": Estimate(0.6), "beta": Estimate(0.5004), "stack": Estimate(0.5)}
    >>> mixed = {"beta": 0.6, "spline": 0.4}
    >>> [choose(losses, n, mixed, tests_reject=True) for n in (3000.0, 1000.0)]
    ['beta', 'stack']
    >>> choose(losses, 1000.0, {"beta": 0.9, "spline": 0.1}, tests_reject=True)
    'beta'
    """
    loss = {key: n_rows * estimate.value for key, estimate in losses.items()}
    if not stack_decides(losses, n_rows):
        return simplest_within(CLEAR_GAIN, loss)
    if loss["uncalibrated"] - loss["stack"] <= (0.0 if tests_reject else CLEAR_GAIN):
        return "uncalibrated"
    main = [key for key in losses if weights.get(key, 0.0) >= MAIN_WEIGHT and key != "uncalibrated"]
    return main[0] if main else "stack"


def stack_decides(losses: Mapping[str, Estimate], n_rows: float) -> bool:
    """Whether `choose` follows its rule for few rows: keep the scores or take the stack."""
    return n_rows < MIN_ROWS_TO_PREFER_THE_BEST and "stack" in losses


def simplest_within(margin: float, losses: Mapping[str, float]) -> str:
    """The simplest method whose loss is at most the margin above the lowest.

    Among equally simple methods (Platt and logistic have two parameters) the loss decides.
    """
    near = [key for key in losses if losses[key] <= min(losses.values()) + margin]
    return min(near, key=lambda key: (CALIBRATORS[key].simplicity, losses[key]))

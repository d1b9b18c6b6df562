"""The result of cross-fitting: held-out scores of every method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calib.calibrators import Calibrator, MatrixCalibrator
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.views import BinaryView
from calib.metrics.ranking import row_auc
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
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

"""What cross-fitting gives: every method's scores of rows that it was not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calib.calibrators import Calibrator, MatrixCalibrator
from calib.core.cells import ScoreCells
from calib.core.counted import CountedRows
from calib.core.views import BinaryView
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.settings import Settings
from calib.metrics.ranking import row_auc
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.uncertainty import (
    FoldScores,
    Replicates,
    fold_variance,
)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Every method's scores on the same rows, none of which it was fitted on.

    Attributes
    ----------
    rows : BinaryView
        The rows that are scored: the test rows, or all rows where folds are used. Each entry counts
        the rows of one score cell, outcome and fold, or, of a matrix, those that hold the same
        scores; rows of clusters are entries of their own.
    scores : mapping of str to ndarray of shape (n,)
        Calibrated scores of these entries by method key, "uncalibrated" first.
    cells : mapping of str to ScoreCells
        The same scores, counted.
    replicates : mapping of str to Replicates
        The same scores on resampled rows, or clusters of rows; the same ones for all methods.
    maps : mapping of str to Calibrator or MatrixCalibrator
        Calibrators for drawing and for use: fitted on the calibration rows, or on all rows. In a
        view of a matrix they map whole rows.
    fitted_on : ScoreCells
        The cells that `maps` were fitted on.
    protocol : {"test rows", "folds"}
    failures : mapping of str to str
        Methods that could not be fitted, with the reason.
    settings : Settings
        The settings that the methods were fitted with.
    counted : CountedRows
        The rows that are scored, counted before they were split into folds; of a matrix, after.
        Without their spread within cells.
    source : ndarray of int, shape (n,)
        Position in `counted` of each entry of `rows`.
    outcomes : mapping of str to ndarray of bool, shape (n,)
        Outcomes of the methods whose outcomes are not those of `rows`: the class that comes r-th
        is another where a method ranks the classes of a row otherwise.
    calibration : Replicates or None
        Of the calibration rows' uncalibrated scores, where those come in clusters and are others
        than the rows that are scored.
    fold : ndarray of int, shape (n,), or None
        Which fold each row was held out in; None where the rows that are scored are test rows.
    fold_scores : mapping of str to FoldScores
        Scores of the same points by every fold's calibrator; empty without folds.
    given : BinaryView or None
        The rows that are scored, as they came; None where only their counts are known.
    resolution : mapping of str to mapping of str to float
        By method and metric: how far it may be from that of the scores themselves, where scores are
        grouped in cells; see `calib.metrics.resolution`. Empty where each cell is one score.
    matrix : MatrixFits or None
        The fitted calibrators of the whole matrix, where the rows are a view of one.
    """

    rows: BinaryView
    scores: Mapping[str, FloatArray]
    cells: Mapping[str, ScoreCells]
    replicates: Mapping[str, Replicates]
    maps: Mapping[str, Calibrator | MatrixCalibrator]
    fitted_on: ScoreCells
    protocol: str
    failures: Mapping[str, str]
    settings: Settings
    counted: CountedRows
    source: IntArray
    outcomes: Mapping[str, BoolArray] = field(default_factory=dict)
    calibration: Replicates | None = None
    fold: IntArray | None = None
    fold_scores: Mapping[str, FoldScores] = field(default_factory=dict)
    given: BinaryView | None = None
    resolution: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    matrix: MatrixFits | None = None

    def clusters(self, key: str) -> Replicates | None:
        """One method's replicates where they are of clusters, as bars and bands take them."""
        return None if self.rows.group is None else self.replicates[key]

    @property
    def fitted_clusters(self) -> Replicates | None:
        """The same of the rows that `maps` were fitted on."""
        return self.clusters("uncalibrated") if self.protocol == "folds" else self.calibration

    def view(self, key: str) -> BinaryView:
        """The rows with one method's scores, and the outcomes that these are about."""
        outcome = self.outcomes.get(key, self.rows.outcome)
        return replace(self.rows, outcome=outcome, score=self.scores[key])

    @cached_property
    def given_rows(self) -> BinaryView:
        """The rows that are scored, as they came, with their uncalibrated scores.

        Raises
        ------
        ValueError
            If only counts of the rows are known.
        """
        if self.given is None:
            raise ValueError(
                "This needs the rows themselves, got only their counts. Load the predictions, and "
                "analyse them."
            )
        return self.given

    def on(self, rows: BinaryView) -> CrossFitted:
        """The same, whose `given_rows` are the scored rows counted in another way.

        Parameters
        ----------
        rows : BinaryView
            Such as those of a column of an `Aggregate`.
        """
        return replace(self, given=rows)

    def row_values(self, values: FloatArray) -> FloatArray:
        """What is known of entries, for each given row.

        Rows of one score and outcome are alike, so that no one fold is a row's own: it gets the
        mean over the folds that such rows lie in.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Of the entries.
        """
        weight, n = self.rows.weights, len(self.counted.entries)
        mean = np.bincount(self.source, weight * values, n) / np.bincount(self.source, weight, n)
        return mean[self._counted_entry]

    def row_view(self, key: str) -> BinaryView:
        """The given rows with one method's scores: means over folds, see `row_values`."""
        rows = self.given_rows
        if key == "uncalibrated":
            return rows
        own = self.outcomes.get(key)
        outcome = rows.outcome if own is None else own[self._counted_entry]
        return replace(rows, outcome=outcome, score=self.row_values(self.scores[key]))

    def row_scores(self, key: str) -> FloatArray:
        """One method's score of each given row, in one of the folds that such rows lie in.

        As many rows have a score as entries count: bins hold as many rows as their curve says.
        """
        own = self._counted_entry
        entry = np.empty(len(own), dtype=np.int64)
        # Entries stand in the order of what they are parts of.
        count = self.rows.counts.astype(np.int64)
        entry[np.argsort(own, kind="stable")] = np.repeat(np.arange(len(count)), count)
        return self.scores[key][entry]

    @cached_property
    def _counted_entry(self) -> IntArray:
        """Which counted entry each given row belongs to."""
        return self.counted.find(self.given_rows)

    def fold_variance(
        self, key: str, loss: Callable[..., FloatArray], reference: str = "uncalibrated"
    ) -> float:
        """What the calibrators' own noise adds to the variance of a difference of mean losses.

        0 where calibrators were fitted on other rows than those that are scored: they are given.

        Parameters
        ----------
        key, reference : str
            Methods.
        loss : callable
            Of outcomes and scores.
        """
        if not self.fold_scores:
            return 0.0
        own, other = self.fold_scores[key], self.fold_scores[reference]
        change = loss(own.outcome, own.score) - loss(other.outcome, other.score)
        return fold_variance(change, own.share_sq)

    def fold_variance_of_auc(self, key: str) -> float:
        """The same of the change of AUC; 0 where every fold's calibrator ranks alike."""
        if not self.fold_scores:
            return 0.0
        points = self.fold_scores[key]
        outcome = np.broadcast_to(points.outcome, points.score.shape)
        found = [
            np.nan_to_num(row_auc(ScoreCells.from_arrays(y, score, points.share), y, score))
            for y, score in zip(outcome, points.score, strict=True)
        ]
        return fold_variance(np.array(found), points.share_sq)

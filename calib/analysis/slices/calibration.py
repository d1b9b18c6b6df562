"""Does a slice need its own calibrator? Rows and bins of slices, and one test of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.analysis.groups import FittedGroup, Groups, GroupTable, fitted_groups, lines_of
from calib.analysis.verdict import calibration_tests, strongest
from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator
from calib.crossfit.cross_fitted import CrossFitted, mean_estimate
from calib.crossfit.folds import n_positive
from calib.crossfit.matrix import MatrixFits, create, create_multiclass
from calib.crossfit.settings import Settings
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve, reliability_curve
from calib.data.base import Data
from calib.data.predictions import Predictions
from calib.data.slicing import Slicing
from calib.data.strict_json import added
from calib.data.views import BinaryView, ScoreMatrix
from calib.metrics.base import TestResult
from calib.metrics.by_cluster import clustered_tests, widened_test
from calib.metrics.cumulative import ks_error, ks_test
from calib.metrics.matrix import ROW_METRICS
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    arrays_of,
    over_cores,
    single_thread,
)
from calib.numerics.binning import Strategy, edge_ends
from calib.numerics.intervals import Estimate
from calib.uncertainty import FoldScores, fold_variance, replicate_clusters


@dataclass(frozen=True, slots=True)
class SliceCalibration:
    """Comparison of a slice-specific calibrator with the calibrator of all rows.

    Attributes
    ----------
    method : str
        Key of the method of both calibrators.
    rows, positives : int
        Number of scored rows of the slice, and of positive rows among them. In a matrix, a row is
        positive if its true class has the highest score.
    together, apart : Estimate
        Held-out log loss on the slice with the calibrator of all rows, and with the slice-specific
        calibrator.
    difference : Estimate
        `apart` minus `together`, paired by row. Below 0: the slice-specific calibrator is better.
    confidence_level : float
        Confidence level of the intervals.
    """

    method: str
    rows: int
    positives: int
    together: Estimate
    apart: Estimate
    difference: Estimate
    confidence_level: float


def calibrate_slices(
    view: BinaryView,
    member: BoolArray,
    held_out: CrossFitted,
    method: str,
    *,
    confidence_level: float = 0.95,
) -> SliceCalibration:
    """Fit a calibrator on one slice alone, and compare it with the calibrator of all rows.

    Both are evaluated on held-out rows of the slice: on its test rows, or by cross-fitting with the
    folds of the analysis. For a matrix the loss is the log loss of all classes, which does not
    depend on the view.

    Parameters
    ----------
    view : BinaryView
        All rows, including calibration rows.
    member : ndarray of bool, shape (n,)
        Whether each row belongs to the slice.
    held_out : CrossFitted
        ``analysis.held_out`` of the same rows.
    method : str
        Key of one of its calibrators.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    Raises
    ------
    ValueError
        If the slice has too few rows of a class or no scored row, or the method was not compared.

    References
    ----------
    Richardson and Pospisil 2021, "Why model calibration matters and how to achieve it": calibrate
    globally, and add slice-specific calibrators only if needed.

    Examples
    --------
    The scores are right in one half of the rows and too high in the other half:

    >>> import numpy as np
    >>> import calib
    >>> rng, north = np.random.default_rng(0), np.arange(4000) < 2000
    >>> score = rng.random(4000)
    >>> y = rng.random(4000) < np.where(north, score, score**3)
    >>> analysis = calib.from_predictions(y, score)
    >>> view = calib.Predictions.from_arrays(y, score).view()
    >>> calibrate_slices(view, north, analysis.held_out, "beta").difference.high < 0
    True
    """
    if method not in held_out.scores:
        raise ValueError(
            f"method must be among those compared ({', '.join(held_out.scores)}), got {method!r}."
        )
    scored = member if view.test is None else member[view.test]
    if not scored.any():
        raise ValueError("The slice has no row among those that are scored, got 0.")
    if held_out.matrix is not None:
        losses = _losses_of_matrix(held_out.matrix, member, scored, method)
    else:
        losses = _losses_of_scores(view, member, scored, held_out, method)
    rows, together, apart, added = losses
    return SliceCalibration(
        method=method,
        rows=rows.n_rows,
        positives=n_positive(rows),
        together=mean_estimate(together, rows, confidence_level),
        apart=mean_estimate(apart, rows, confidence_level),
        # The variance of fitting the common calibrator is left out, because it is fitted on more
        # rows, including the slice: the interval is rather too wide than too narrow.
        difference=mean_estimate(apart - together, rows, confidence_level, added),
        confidence_level=confidence_level,
    )


# These are the scored rows of the slice, their losses with the calibrator of all rows and with the
# slice-specific calibrators, and the variance that comes from fitting the latter.
Losses = tuple[BinaryView, FloatArray, FloatArray, float]


def _losses_of_scores(
    view: BinaryView, member: BoolArray, scored: BoolArray, held_out: CrossFitted, method: str
) -> Losses:
    if view.test is not None:
        fitted = _fit(view.rows(member & ~view.test), method, held_out.settings)
        rows, by_fold = held_out.given_rows.rows(scored), [fitted]
        common, alone = (
            held_out.row_view(method).score[scored],
            fitted.predict(rows.score, rows.log_odds),
        )
    else:
        rows, chosen = _slice_in_folds(view.rows(member), member, held_out)
        common = held_out.scores[method][chosen]
        alone, by_fold = _own_scores(rows, method, held_out.settings)
    points = FoldScores.of(rows.cells(), [calibrator.predict for calibrator in by_fold])
    added = fold_variance(row_log_loss(points.outcome, points.score), points.share_sq)
    return rows, row_log_loss(rows.outcome, common), row_log_loss(rows.outcome, alone), added


def _slice_in_folds(
    rows: BinaryView, member: BoolArray, held_out: CrossFitted
) -> tuple[BinaryView, IntArray]:
    """The rows of the slice in the folds of the analysis, and the entries to which they belong.

    Rows with equal scores and outcomes are interchangeable. How many of the slice's rows are in
    each fold is drawn at random, as if they had been split into folds together with all rows.
    """
    split, counted, source = held_out.rows, held_out.counted, held_out.source
    assert split.fold is not None
    n, n_folds = len(counted.entries), int(split.fold.max()) + 1
    place = counted.find(held_out.given_rows)[member]
    rows_of_slice = np.bincount(place, rows.counts, minlength=n).astype(np.int64)
    weight = np.bincount(place, rows.weights, minlength=n)
    square = np.bincount(place, rows.squared_weights, minlength=n)
    every = np.zeros((n_folds, n), dtype=np.int64)
    every[split.fold, source] = split.counts
    drawn = _drawn_from(every, rows_of_slice, np.random.default_rng([held_out.settings.seed, 1]))
    count = drawn[split.fold, source]
    chosen = np.flatnonzero(count)
    share = count[chosen] / rows_of_slice[source[chosen]]
    return replace(
        split.rows(chosen),
        count=count[chosen].astype(np.float64),
        weight=None if split.weight is None else weight[source[chosen]] * share,
        weight_sq=None if split.weight is None else square[source[chosen]] * share,
    ), chosen


def _drawn_from(
    rows_of_fold: IntArray, rows_of_slice: IntArray, rng: np.random.Generator
) -> IntArray:
    """Hypergeometric draw: the number of rows of the slice in each fold."""
    left, rest = rows_of_slice.copy(), rows_of_fold.sum(axis=0)
    drawn = np.empty_like(rows_of_fold)
    for fold, count in enumerate(rows_of_fold):
        rest = rest - count
        drawn[fold] = rng.hypergeometric(count, rest, left)
        left = left - drawn[fold]
    return drawn


def _own_scores(
    rows: BinaryView, method: str, settings: Settings
) -> tuple[FloatArray, list[Calibrator]]:
    """Scores of the held-out rows of the slice by slice-specific calibrators, and these."""
    assert rows.fold is not None
    scores, by_fold = np.empty(len(rows)), []
    for number in np.unique(rows.fold):
        held_out = rows.fold == number
        by_fold.append(_fit(rows.rows(~held_out), method, settings))
        left_out = rows.rows(held_out)
        scores[held_out] = by_fold[-1].predict(left_out.score, left_out.log_odds)
    return scores, by_fold


def _fit(training: BinaryView, method: str, settings: Settings) -> Calibrator:
    positives, n_rows = n_positive(training), training.n_rows
    if not 0 < positives < n_rows:
        raise ValueError(
            f"{CALIBRATORS[method].short_label} cannot be fitted on this slice alone: it needs "
            f"training rows of both classes, got {n_rows} rows with {positives} positive ones."
        )
    return create(method, settings).fit_cells(training.cells())


def _losses_of_matrix(
    fits: MatrixFits, member: BoolArray, scored: BoolArray, method: str
) -> Losses:
    losses, row_loss = np.zeros((2, len(scored))), ROW_METRICS["log_loss"]
    scores, label = fits.scored.scores, fits.scored.label
    chosen = fits.order[scored[fits.order]]
    points, share_sq = fits.some(chosen)
    by_fold = []
    for split in fits.splits:
        rows = split.rows[scored[split.rows]]
        if len(rows):
            alone = _fit_matrix(
                fits.rows.of(split.train[member[split.train]]), method, fits.settings
            )
            by_fold.append(row_loss(alone.predict(scores[points]), label[points]))
            for kind, fitted in enumerate((split.calibrators[method], alone)):
                losses[kind, rows] = row_loss(fitted.predict(scores[rows]), label[rows])
    together, apart = losses[:, chosen]
    of_slice = fits.view("uncalibrated", "top:1").rows(chosen)
    return of_slice, together, apart, fold_variance(np.array(by_fold), share_sq)


def _fit_matrix(training: ScoreMatrix, method: str, settings: Settings) -> MatrixCalibrator:
    present = len(np.unique(training.label))
    if present < 2:
        raise ValueError(
            f"{CALIBRATORS[method].short_label} cannot be fitted on this slice alone: it needs "
            f"training rows of two classes or more, got {len(training.label)} rows of {present}."
        )
    calibrator = create_multiclass(method, settings)
    return calibrator.fit(training.scores, training.label, training.weight, training.group)


LINE = ("slope", "slope_low", "slope_high")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SliceTests(GroupTable):
    """Whether the scores are calibrated in each slice that has rows. Arrays have the shape (k,).

    Attributes
    ----------
    names : tuple of str
    number : ndarray of int
        Position of each slice in its Slicing.
    rows : ndarray of int
    slope, slope_low, slope_high : ndarray
        Calibration slope and its interval. NaN if it cannot be estimated.
    ks : ndarray
        KS error.
    p_value : ndarray
        The smallest p-value of the tests of the slice, after Holm's correction for their number.
        NaN for slices that are `few`.
    p_adjusted : ndarray
        The same after Holm's correction for the number of slices.
    confidence_level : float
        Confidence level of the intervals.
    test : tuple of str
        Key of the test with the smallest p-value: "ks", "kuiper", "spiegelhalter",
        "hosmer_lemeshow" or "line" (slope and intercept); "" for slices that are `few`. Tables of
        reports have none.
    """

    names: tuple[str, ...]
    number: IntArray
    rows: IntArray
    slope: FloatArray
    slope_low: FloatArray
    slope_high: FloatArray
    ks: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    confidence_level: float
    test: tuple[str, ...] = added(())

    @property
    def order(self) -> IntArray:
        """Positions sorted by evidence, strongest first. Slices with few rows are last."""
        return np.lexsort((-self.ks, self.p_value, self.few)).astype(np.int64)

    def frame(self) -> pd.DataFrame:
        """One row per slice, strongest evidence first."""
        columns = {"slice": self.names, **arrays_of(self), "few": self.few}
        return pd.DataFrame(columns).iloc[self.order]


def slice_tests(
    rows: BinaryView, score: FloatArray, slicing: Slicing, *, confidence_level: float = 0.95
) -> SliceTests:
    """Test each slice with the tests of the verdict, and estimate its slope and KS error.

    `slice_gaps` compares means only: scores that are too extreme on both sides have no gap. The
    tests are those of `calib.metrics` that the verdict uses (KS, Kuiper, Spiegelhalter,
    Hosmer-Lemeshow, slope and intercept). If groups are named, they are by cluster, and Kuiper's
    test, which needs resamples, is left out.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    slicing : Slicing
        Slices of the same rows.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    References
    ----------
    Holm 1979, https://www.jstor.org/stable/4615733 (adjusted p-values); Cox 1958,
    doi:10.1093/biomet/45.3-4.562 (slope).

    Examples
    --------
    Scores that are too extreme on both sides have a slope below 1, and no gap:

    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> from calib.data.slicing import slice_by
    >>> site = np.repeat(["north", "south"], 400)
    >>> y = np.tile([0, 0, 0, 1, 1, 1, 1, 0], 100)
    >>> score = np.where(site == "north", np.tile([0.1] * 4 + [0.9] * 4, 100), 0.5)
    >>> rows = Predictions.from_arrays(y, score).view()
    >>> tests = slice_tests(rows, rows.score, slice_by({"site": site}, ["site"]))
    >>> tests.significant(), tests.slope[:1].round(2)
    (array([ True, False]), array([0.5]))
    """
    groups, slices = Groups.of(rows, slicing), fitted_groups(rows, score, slicing)
    with single_thread():
        evidence = over_cores(lambda k: _evidence(slices[k]), range(len(slices))).values()
    p_value = np.array([p for _, p in evidence])
    return SliceTests(
        **groups.head,
        number=groups.number,
        **lines_of(slices, confidence_level, LINE),
        ks=np.array([ks_error(one.cells) for one in slices]),
        p_value=p_value,
        p_adjusted=groups.adjusted(p_value),
        confidence_level=confidence_level,
        test=tuple(test for test, _ in evidence),
    )


def _evidence(of: FittedGroup) -> tuple[str, float]:
    """The test of one slice with the smallest p-value, and that value, which is adjusted."""
    return strongest(_tests(of)) if of.cells.n_rows >= FEW_ROWS else ("", math.nan)


def _tests(of: FittedGroup) -> dict[str, TestResult]:
    if of.rows.group is None:
        return calibration_tests(of.cells, of.fit)
    ks = widened_test(ks_test(of.cells), of.rows, of.cells)
    return {"ks": ks, **clustered_tests(of.rows, of.cells, of.fit)}


def bin_of(curve: ReliabilityCurve, score: float) -> int | None:
    """Position of the bin that contains a score, or None if that bin is empty.

    Parameters
    ----------
    curve : ReliabilityCurve
    score : float
        In [0, 1].

    Examples
    --------
    >>> from calib.data.cells import ScoreCells
    >>> from calib.curves.reliability import reliability_curve
    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.2, 0.9])
    >>> curve = reliability_curve(cells, n_bins=4, strategy="uniform")
    >>> bin_of(curve, 0.25), bin_of(curve, 0.6), bin_of(curve, 0.8)
    (0, None, 1)
    """
    inside = (edge_ends(curve.low_edge) < score) & (score <= edge_ends(curve.high_edge))
    # The first bin contains its lower end, too.
    inside[0] |= score == curve.low_edge[0] == 0.0
    positions = np.flatnonzero(inside)
    return int(positions[0]) if len(positions) else None


def score_in(curve: ReliabilityCurve, position: int) -> float:
    """A score inside a bin with as few digits as possible, by which a link identifies the bin.

    If the number of bins changes, `bin_of` finds the bin that then contains this score.

    Parameters
    ----------
    curve : ReliabilityCurve
    position : int
        Position of the bin among the bins that have rows.

    Examples
    --------
    >>> from calib.data.cells import ScoreCells
    >>> from calib.curves.reliability import reliability_curve
    >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.2, 0.9])
    >>> score_in(reliability_curve(cells, n_bins=4, strategy="uniform"), 1)
    0.9
    """
    mean = float(curve.mean_score[position])
    for digits in range(2, 18):
        score = float(f"{mean:.{digits}g}")
        if bin_of(curve, score) == position:
            return score
    return float(curve.high_edge[position])


def bin_rows(curve: ReliabilityCurve, position: int, score: FloatArray) -> IntArray:
    """Indices of the rows in a bin.

    Parameters
    ----------
    curve : ReliabilityCurve
    position : int
        Position of the bin among the bins that have rows.
    score : ndarray of shape (n,)
        The scores that were binned.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.cells import ScoreCells
    >>> from calib.curves.reliability import reliability_curve
    >>> score = np.array([0.0, 0.9, 0.5, 0.6])
    >>> cells = ScoreCells.from_arrays([0, 1, 1, 0], score)
    >>> bin_rows(reliability_curve(cells, n_bins=2, strategy="uniform"), 0, score)
    array([0, 2])
    """
    low, high = edge_ends(np.array([curve.low_edge[position], curve.high_edge[position]]))
    above = score >= low if low == 0.0 else score > low
    return np.flatnonzero(above & (score <= high)).astype(np.int64)


def row_table(
    predictions: Predictions, held_out: CrossFitted, method: str, rows: IntArray
) -> pd.DataFrame:
    """Table of some of the scored rows, with all columns of the predictions.

    Parameters
    ----------
    predictions : Predictions
    held_out : CrossFitted
        ``analysis.held_out`` of the same predictions.
    method : str
        Key of the method whose held-out scores are shown beside the uncalibrated scores.
    rows : ndarray of int
        Indices of scored rows, as from `bin_rows`.

    Returns
    -------
    DataFrame
        Row number (from 1 among all rows), outcome, scores, weight, group and other columns.

    Examples
    --------
    >>> import calib, numpy as np
    >>> rows = calib.Predictions.from_arrays([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> held_out = calib.analyze(rows, {"methods": ("platt",)}).held_out
    >>> row_table(rows, held_out, "platt", np.array([0, 1])).columns.tolist()
    ['row', 'outcome', 'score', 'score, platt']
    """
    number = rows if predictions.test is None else np.flatnonzero(predictions.test)[rows]
    view = held_out.given_rows
    table: dict[str, NDArray[Any]] = {
        "row": number + 1,
        predictions.outcome_name: np.array(predictions.class_names)[predictions.outcome[number]],
    }
    if predictions.n_classes > 2:
        outcome = held_out.row_view(method).outcome
        table["positive"] = outcome[rows].astype(np.int64)
    table[predictions.score_name] = view.score[rows]
    if method != "uncalibrated":
        table[f"{predictions.score_name}, {method}"] = held_out.row_scores(method)[rows]
    if view.weight is not None:
        table["weight"] = view.weight[rows]
    if predictions.group is not None:
        table["group"] = predictions.group[number]
    for name, values in predictions.columns.items():
        # A column of the file can have the name of one of the columns above.
        table[f"{name} (column)" if name in table else name] = values[number]
    return pd.DataFrame(table)


def slice_reliability(
    rows: BinaryView,
    score: FloatArray,
    member: BoolArray,
    *,
    n_bins: int = 15,
    strategy: Strategy = "quantile",
    confidence_level: float = 0.95,
) -> ReliabilityCurve:
    """Reliability curve of the rows of one slice, with its own bins.

    If groups are named, intervals and bands are by cluster.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    member : ndarray of bool, shape (n,)
        Whether each row belongs to the slice, as from `Slicing.member`.
    n_bins, strategy, confidence_level
        As in `calib.curves.reliability.reliability_curve`.

    Raises
    ------
    ValueError
        If the slice is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).view()
    >>> curve = slice_reliability(rows, rows.score, rows.score > 0.5, n_bins=1)
    >>> curve.mean_score, curve.observed
    (array([0.8]), array([1.]))
    """
    rows_of_slice = rows.with_score(score).rows(member)
    cells = rows_of_slice.cells()
    return reliability_curve(
        cells,
        n_bins=n_bins,
        strategy=strategy,
        confidence_level=confidence_level,
        clusters=replicate_clusters(rows_of_slice, cells),
    )


@dataclass(frozen=True, eq=False)
class SlicedRows:
    """Rows, or their counts, by slice, with the held-out scores of every method.

    Attributes
    ----------
    slicing : Slicing
        Slices of all rows, including calibration rows.
    held_out : CrossFitted
        Held-out scores. Its `row_view` contains the scored rows.
    rows : BinaryView
        All rows or their counts in the view of the analysis, including calibration rows.
    """

    slicing: Slicing
    held_out: CrossFitted
    rows: BinaryView

    @cached_property
    def scored(self) -> Slicing:
        """The slices of the rows that are scored."""
        return self.slicing if self.rows.test is None else self.slicing.rows(self.rows.test)


def sliced_rows(
    data: Data, held_out: CrossFitted, names: Sequence[str], *, n_ranges: int = 5
) -> SlicedRows:
    """Cut the data of an analysis into slices.

    Parameters
    ----------
    data : Predictions or Aggregate
    held_out : CrossFitted
        ``analysis.held_out`` of the same data.
    names : sequence of str
        One column, or two columns that are crossed. An aggregate must have been counted by them.
    n_ranges : int
        Number of ranges into which a column with many numbers is cut. No effect on an aggregate.

    Raises
    ------
    ValueError
        If a column is unknown, or the aggregate was not counted by it or by the crossing.

    Examples
    --------
    >>> import numpy as np
    >>> import calib
    >>> from calib.analysis.slices import slice_gaps
    >>> from calib.data.aggregating import aggregate
    >>> from calib.data.predictions import Predictions
    >>> site = np.repeat(["north", "south"], 100)
    >>> y = np.concatenate([np.tile([0, 1], 50), np.tile([0, 0, 0, 1], 25)])
    >>> counted = aggregate(Predictions.from_arrays(y, np.full(200, 0.5), columns={"site": site}))
    >>> cut = sliced_rows(counted, calib.analyze(counted, {"methods": ()}).held_out, ["site"])
    >>> rows = cut.held_out.row_view("uncalibrated")
    >>> slice_gaps(rows, rows.score, cut.scored).gap
    array([ 0.  , -0.25])
    """
    slicing, rows = data.sliced(names, held_out.settings.view, n_ranges)
    return SlicedRows(slicing, held_out if data.has_rows else held_out.on(rows.scored), rows)

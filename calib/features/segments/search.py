"""Segments in which the scores fail: searched on one half of the rows, confirmed on the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.analysis.groups import GroupTable
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import calibrator
from calib.crossfit.cross_fitted import CrossFitted, mean_estimate
from calib.crossfit.folds import n_positive
from calib.curves.reliability import FEW_ROWS
from calib.data.base import Data, Progress, check_data, no_progress
from calib.data.predictions import Predictions
from calib.data.slicing import MAX_VALUES, crossed_name, slice_by
from calib.data.views import BinaryView
from calib.metrics.by_cluster import RANGE, widened_test
from calib.metrics.cumulative import kuiper_error, kuiper_test
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    arrays_of,
    canonical_order,
    row_words,
    run_starts,
    single_thread,
)
from calib.numerics.few_cells import bucket_starts
from calib.numerics.intervals import Estimate, check_level, holm
from calib.numerics.poisson_binomial import range_survival
from calib.text import p_value, percent, plural

# A segment needs this share of the rows in each half, and at least 30.
MIN_SHARE = 0.001
# The number of positives of a calibrated segment has at least this variance. With 5 instead, and
# rare positives, the range law rejects calibrated segments up to three times too often.
MIN_VARIANCE = 10.0
MIN_CLUSTERS = 10  # Fewer clusters give no useful variance between them.
# At most this many segments are tested in the confirming half, because every further one makes
# Holm's correction stricter.
MAX_TESTED = 20
# Segments are examined in the order of their evidence, and at most this many.
MAX_EXAMINED = 1000
# While searching, neighbouring scores are joined into about this many runs.
MAX_RUNS = 64


@dataclass(frozen=True, slots=True)
class Cut:
    """A column of the scored rows, cut into slices."""

    column: str
    names: tuple[str, ...]
    codes: IntArray


def in_halves(
    rows: BinaryView, cuts: list[Cut], min_rows: int | None, seed: int
) -> tuple[Half, Half]:
    """The half that searches, and the half that confirms.

    Rows are first sorted by their contents, so that their order has no effect.
    """
    word = np.zeros(len(rows), dtype=np.uint64)
    for i, cut in enumerate(cuts):
        # Codes of different columns are different numbers, so that no two columns can be swapped.
        word += row_words(np.asarray(cut.codes + i * 2.0**32, dtype=np.float64)[:, None])
    # Some codes of clusters can have no row, for example those of calibration rows.
    group = rows.group if rows.group is None else np.unique(rows.group, return_inverse=True)[1]
    order, group = canonical_order([rows.score, rows.weight, word], rows.outcome, group)
    ordered = replace(rows.rows(order), group=group)
    unit = np.arange(len(rows)) if group is None else group
    n_units = int(unit.max()) + 1
    if n_units < 2:
        one = "row" if group is None else "cluster"
        raise ValueError(f"Two halves need at least 2 {one}s, got {n_units}.")
    # Neighbours are not paired: rows that are equal would then be split evenly, and the halves
    # would not be independent.
    searching = np.random.default_rng(seed).permutation(n_units) < n_units // 2
    cuts = [replace(cut, codes=cut.codes[order]) for cut in cuts]
    first = searching[unit]
    return Half(ordered, cuts, first, min_rows), Half(ordered, cuts, ~first, min_rows)


# The columns of a segment as positions among the cuts, and its code in each of them.
Place = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """The segments of one column, or of two that are crossed, with enough rows."""

    columns: tuple[int, ...]
    codes: tuple[IntArray, ...]  # One array of codes for each column.
    ratio: FloatArray

    def place(self, at: int) -> Place:
        return tuple((i, int(code[at])) for i, code in zip(self.columns, self.codes, strict=True))


class Half:
    """One half of the rows, sorted by score, with the sums that the range law needs."""

    def __init__(
        self, rows: BinaryView, cuts: list[Cut], part: BoolArray, min_rows: int | None
    ) -> None:
        self.cuts = [replace(cut, codes=cut.codes[part]) for cut in cuts]
        self.rows = rows.rows(part)
        score, weight = self.rows.score, self.rows.weights
        self.residual = weight * (self.rows.outcome - score)
        self.information = weight * score * (1.0 - score)
        self.variance = weight * self.information
        self.min_rows = min_rows or max(FEW_ROWS, int(MIN_SHARE * len(score)))
        self.run, self.n_runs = _runs(score, weight)

    def member(self, place: Place) -> IntArray:
        """Positions of the rows of a segment."""
        inside = [self.cuts[i].codes == code for i, code in place]
        return np.flatnonzero(np.logical_and.reduce(inside))

    def enough(self, member: IntArray) -> bool:
        """Whether these rows are enough for the range law."""
        if len(member) < self.min_rows:
            return False
        information, variance = self.information[member].sum(), self.variance[member].sum()
        group = self.rows.group
        return bool(_certain_enough(information, variance)) and (
            group is None or len(np.unique(group[member])) >= MIN_CLUSTERS
        )

    def ratio(self, member: IntArray) -> float:
        """Kuiper error of these rows in units of its standard deviation, of joined scores."""
        steps = np.bincount(self.run[member], self.residual[member]).astype(np.float64)
        return float(_range(steps[None])[0]) / math.sqrt(float(self.variance[member].sum()))

    def search(self, progress: Progress) -> tuple[int, list[Place]]:
        """The number of segments with enough rows, and those to be tested, strongest first."""
        tables = list(self._tables(progress))
        ratio = np.concatenate([np.empty(0), *(table.ratio for table in tables)])
        sizes = [len(table.ratio) for table in tables]
        place = [
            (table, at) for table, size in zip(tables, sizes, strict=True) for at in range(size)
        ]
        chosen: list[Place] = []
        covered = np.zeros(len(self.rows), dtype=np.bool_)
        # Two segments can have the same rows. The sort is stable, so that fewer columns come first.
        for i in np.argsort(-ratio, kind="stable")[:MAX_EXAMINED].tolist():
            if len(chosen) == MAX_TESTED or range_survival(ratio[i]) >= SIGNIFICANCE:
                break
            table, at = place[i]
            member = self.member(table.place(at))
            rest = member[~covered[member]]
            alone = len(rest) == len(member)
            if self.enough(rest) and (
                alone or len(ratio) * range_survival(self.ratio(rest)) < SIGNIFICANCE
            ):
                chosen.append(table.place(at))
                covered[member] = True
        return len(ratio), chosen

    def _tables(self, progress: Progress) -> Iterator[_Table]:
        # Values with too few rows become one more code, which is in no segment.
        common = [self._common(cut.codes, len(cut.names)) for cut in self.cuts]
        columns = range(len(common))
        every = [*((i,) for i in columns), *combinations(columns, 2)]
        for done, chosen in enumerate(every):
            progress(0.25 + 0.7 * done / len(every), "Searching")
            codes, kept = common[chosen[0]]
            if len(chosen) == 1:
                at, ratio = self._ratios(codes, len(kept))
                yield _Table(chosen, (kept[at],), ratio)
                continue
            other, of_other = common[chosen[1]]
            n = len(of_other) + 1
            pair, pairs = self._common(codes * n + other, (len(kept) + 1) * n)
            one, two = np.divmod(pairs, n)
            at, ratio = self._ratios(pair, len(pairs))
            inside = (one[at] < len(kept)) & (two[at] < len(of_other))
            at, ratio = at[inside], ratio[inside]
            yield _Table(chosen, (kept[one[at]], of_other[two[at]]), ratio)

    def _common(self, codes: IntArray, n: int) -> tuple[IntArray, IntArray]:
        """Codes of the values with enough rows, one more code for all others, and these values."""
        kept = np.flatnonzero(np.bincount(codes, minlength=n) >= self.min_rows)
        number = np.full(n, len(kept), dtype=np.int64)
        number[kept] = np.arange(len(kept))
        return number[codes], kept.astype(np.int64)

    def _ratios(self, codes: IntArray, n: int) -> tuple[IntArray, FloatArray]:
        """The codes below n that are enough for the range law, and the ratio of each."""
        information = np.bincount(codes, self.information, minlength=n)[:n]
        variance = np.bincount(codes, self.variance, minlength=n)[:n]
        at = np.flatnonzero(_certain_enough(information, variance))
        steps = np.bincount(codes * self.n_runs + self.run, self.residual, (n + 1) * self.n_runs)
        table = steps.astype(np.float64).reshape(-1, self.n_runs)[at]
        return at.astype(np.int64), _range(table) / np.sqrt(variance[at])


def _certain_enough(information: Any, variance: Any) -> Any:
    """Whether the variance of the number of positives, in effective rows, is large enough."""
    return (variance > 0.0) & (np.square(information) >= MIN_VARIANCE * variance)


def _range(steps: FloatArray) -> FloatArray:
    """Range of each line's cumulative sums, which begin at 0."""
    path = np.cumsum(steps, axis=1)
    return np.asarray(np.maximum(path.max(axis=1), 0.0) - np.minimum(path.min(axis=1), 0.0))


def _runs(score: FloatArray, weight: FloatArray) -> tuple[IntArray, int]:
    """The run of scores of each row, sorted by score, and their number."""
    starts = run_starts(score)
    cell = np.cumsum(np.bincount(starts, minlength=len(score))) - 1
    first = bucket_starts(score[starts], np.bincount(cell, weight).astype(np.float64), MAX_RUNS)
    return np.searchsorted(first, cell, side="right") - 1, len(first)


# The calibrator of a segment's own has two parameters, so that few rows are enough to fit it.
OWN_CALIBRATOR = "logistic"
# The columns of a table of segments.
TEXTS = ("names", "columns", "values")
COUNTS = ("rows", "rows_confirming")
NUMBERS = (
    *("mean_score", "observed", "gap", "kuiper", "p_value", "p_adjusted"),
    *("saved", "saved_low", "saved_high", "saved_in_all"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Segments(GroupTable):
    """Segments whose scores are miscalibrated, confirmed on rows that did not choose them.

    Arrays have the shape (k,), sorted by `saved_in_all`, largest first. All numbers but `rows` are
    those of the confirming half.

    Attributes
    ----------
    names : tuple of str
        Each segment in words, such as "region north × age 30 to 40".
    columns, values : tuple of tuple of str
        The one or two columns of each segment, and the names of its slices in them, as
        `calib.slices.slice_by` names them.
    rows, rows_confirming : ndarray of int
        Number of rows of the segment, and of those that confirmed it.
    mean_score, observed, gap : ndarray
        Weighted mean score, observed frequency, and observed minus predicted.
    kuiper : ndarray
        Kuiper error.
    p_value, p_adjusted : ndarray
        Kuiper test, and the same after Holm's correction for `n_tested` segments and all rows.
    saved, saved_low, saved_high : ndarray
        Log loss per row of the segment that is saved by a logistic calibrator fitted to the
        segment's rows of the searching half, and its interval. NaN if those rows have one class.
    saved_in_all : ndarray
        The same per row of the data.
    n_searched, n_tested : int
        Number of segments with enough rows, and of those that were tested on the confirming half.
    p_of_all : float
        Kuiper test of all rows of the confirming half, after the same correction. If it is small,
        segments fail because the scores fail everywhere.
    left_out : mapping of str to str
        Columns that were not searched, with the reason.
    confidence_level : float
        Level of the intervals. With this probability no calibrated segment is confirmed.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    values: tuple[tuple[str, ...], ...]
    rows: IntArray
    rows_confirming: IntArray
    mean_score: FloatArray
    observed: FloatArray
    gap: FloatArray
    kuiper: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    saved: FloatArray
    saved_low: FloatArray
    saved_high: FloatArray
    saved_in_all: FloatArray
    n_searched: int
    n_tested: int
    p_of_all: float
    left_out: Mapping[str, str]
    confidence_level: float

    @property
    def one_class(self) -> BoolArray:
        """Segments for which no calibrator could be fitted: their searching rows have one class."""
        return np.isnan(self.saved)

    def saved_estimate(self, i: int) -> Estimate:
        """Log loss per row that a calibrator of segment i saves, with its interval."""
        values = self.saved[i], self.saved_low[i], self.saved_high[i]
        return Estimate(*map(float, values))

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not self.n_searched:
            return "No segment has enough rows with scores between 0 and 1 to be searched."
        searched = f"{plural(self.n_searched, 'segment')} searched"
        if not len(self):
            return f"No segment is miscalibrated beyond chance ({searched})."
        numbers = (
            f"observed {percent(self.observed[0])}, predicted {percent(self.mean_score[0])} "
            f"({p_value(self.p_adjusted[0])}, {searched})."
        )
        if len(self) == 1:
            return f"1 segment is miscalibrated: {self.names[0]}, {numbers}"
        return f"{len(self)} segments are miscalibrated, most of all {self.names[0]}: {numbers}"

    @property
    def remark(self) -> str:
        """A sentence if the scores fail in all rows together, else ""."""
        if not self.p_of_all < SIGNIFICANCE:
            return ""
        return (
            f"The scores are miscalibrated in all rows together ({p_value(self.p_of_all)}). "
            "Search the calibrated scores to see where calibration is not enough."
        )

    def frame(self) -> pd.DataFrame:
        """One row per confirmed segment, the one with the largest saving first."""
        return pd.DataFrame({"segment": self.names, **arrays_of(self)})


def find_segments(
    predictions: Data,
    columns: Sequence[str] | None = None,
    *,
    held_out: CrossFitted | None = None,
    method: str = "uncalibrated",
    n_ranges: int = 5,
    min_rows: int | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Segments:
    """Find the segments of the data in which the scores are miscalibrated.

    A segment is a slice of one column, or of two that are crossed, as `calib.slices.slice_by` cuts
    them. One half of the rows (or of the clusters) searches: segments are ordered by the Kuiper
    error divided by its standard deviation under calibration. At most 20 are tested on the other
    half, by the law of the range of Brownian motion (by simulation if there are fewer than 100
    distinct scores, with a wider law if rows have clusters), with Holm's correction. A segment that
    overlaps one with more evidence is only tested if its remaining rows show evidence of their
    own after Bonferroni's correction.

    The order of the rows has no effect: they are sorted by all that is read of them before a seeded
    permutation splits them. If the data name test rows, only these are searched.

    Parameters
    ----------
    predictions : Predictions
        Rows with columns. Counts without rows are refused.
    columns : sequence of str, optional
        Columns to search. Default: all columns. Columns that identify rows, reveal the outcome or
        repeat the score are left out; `left_out` says why.
    held_out : CrossFitted, optional
        ``analysis.held_out`` of the same predictions: its view is searched, with the scores of
        `method`. Default: the uncalibrated scores of the default view.
    method : str
        Key of one of the methods of `held_out`. With the recommended one, the segments are those
        that calibration of all rows does not correct.
    n_ranges : int
        Number of ranges into which a column with many numbers is cut, at least 2.
    min_rows : int, optional
        Least number of rows of a segment in each half. Default: 30, or 0.1% of the half.
    confidence_level : float
        In (0, 1). With this probability no segment of calibrated scores is confirmed.
    seed : int
        Seed of the halves.
    progress : callable, optional
        Called as ``progress(share, step)``. An exception that it raises ends the search.

    Raises
    ------
    ValueError
        If there are no rows, no column, or an unknown one; fewer than 2 clusters; a method that
        was not compared; or a level outside (0, 1).

    References
    ----------
    Feller 1951, doi:10.1214/aoms/1177729589 (range); Arrieta-Ibarra et al. 2022, arXiv:2205.09680
    (Kuiper error); Holm 1979, https://www.jstor.org/stable/4615733.

    Examples
    --------
    The scores are right except on mobile phones in the north:

    >>> import numpy as np
    >>> from calib import Predictions
    >>> rng, n = np.random.default_rng(0), 8000
    >>> device, region = rng.choice(["web", "mobile"], n), rng.choice(["north", "south"], n)
    >>> score = rng.random(n)
    >>> fails = (device == "mobile") & (region == "north")
    >>> y = rng.random(n) < np.where(fails, score**2, score)
    >>> rows = Predictions.from_arrays(y, score, columns={"device": device, "region": region})
    >>> find_segments(rows).names
    ('device mobile × region north',)
    """
    check_data(predictions)
    check_level(confidence_level)
    rows = _rows(predictions, held_out, method)
    assert isinstance(predictions, Predictions)
    if min_rows is not None and min_rows < 1:
        raise ValueError(f"min_rows must be at least 1, got {min_rows}.")
    cuts, left_out = _cut_columns(predictions, columns, rows, n_ranges, progress)
    first, second = in_halves(rows, cuts, min_rows, seed)
    n_searched, chosen = first.search(progress)
    progress(0.95, "Confirming")
    with single_thread():
        lines = [_tested(place, first, second, confidence_level) for place in chosen]
        p_value_of_all = _kuiper_p_value(second.rows)
    tested = [line for line in lines if line is not None]
    # All rows are one of the hypotheses, because the remark says whether they are miscalibrated.
    p_of_all, *adjusted = holm(np.array([p_value_of_all, *(line["p_value"] for line in tested)]))
    for line, p in zip(tested, adjusted, strict=True):
        line["p_adjusted"] = p
    confirmed = [line for line in tested if line["p_adjusted"] < 1.0 - confidence_level]
    # A segment without a calibrator of its own comes last.
    confirmed.sort(key=lambda line: np.nan_to_num(-line["saved_in_all"], nan=math.inf))
    table: dict[str, Any] = {name: tuple(line[name] for line in confirmed) for name in TEXTS}
    for names, kind in ((COUNTS, np.int64), (NUMBERS, np.float64)):
        table |= {name: np.array([line[name] for line in confirmed], kind) for name in names}
    return Segments(
        **table,
        n_searched=n_searched,
        n_tested=len(tested),
        p_of_all=float(p_of_all),
        left_out=left_out,
        confidence_level=confidence_level,
    )


def _rows(predictions: Data, held_out: CrossFitted | None, method: str) -> BinaryView:
    """The scored rows with the scores of the method."""
    if not isinstance(predictions, Predictions):
        raise ValueError(
            "Segments are searched in rows, got counts without rows. Load the predictions with "
            "their columns."
        )
    if held_out is not None:
        if method not in held_out.scores:
            raise ValueError(
                f"method must be among those compared ({', '.join(held_out.scores)}), "
                f"got {method!r}."
            )
        return held_out.row_view(method)
    if method != "uncalibrated":
        raise ValueError(f"Calibrated scores need held_out, got only method={method!r}.")
    return predictions.view(predictions.default_view).scored


def _cut_columns(
    predictions: Predictions,
    columns: Sequence[str] | None,
    rows: BinaryView,
    n_ranges: int,
    progress: Progress,
) -> tuple[list[Cut], dict[str, str]]:
    """The columns in the order of their names, and those that are left out, with the reason."""
    wanted = sorted(set(predictions.columns if columns is None else columns))
    if not wanted:
        raise ValueError("Segments need at least one column of the data, got none.")
    cuts: list[Cut] = []
    left_out = {}
    for i, column in enumerate(wanted):
        progress(0.25 * i / len(wanted), f"Cutting {column}")
        reason = _unsuitable(predictions, column)
        if reason is None:
            slicing = slice_by(predictions.columns, [column], n_ranges=n_ranges)
            scored = slicing if predictions.test is None else slicing.rows(predictions.test)
            cuts.append(Cut(column, scored.names, scored.codes))
            reason = _says_nothing(scored.codes, rows)
        if reason is not None:
            left_out[column] = reason
    return [cut for cut in cuts if cut.column not in left_out], left_out


def _unsuitable(predictions: Predictions, column: str) -> str | None:
    """Why a column is not cut, or None if it is."""
    values = predictions.columns.get(column)
    if values is None:  # The error of `slice_by` names the columns that exist.
        return None
    if _is_score(predictions, values):
        return "It is the score."
    # Numbers and dates are cut into ranges, however many they are.
    if values.dtype.kind not in "iufM" and (n := len(pd.unique(values))) > MAX_VALUES:
        return f"It has {n:,} values, more than {MAX_VALUES:,}: it identifies rows."
    return None


def _says_nothing(codes: IntArray, rows: BinaryView) -> str | None:
    """Why a column that was cut is not searched, or None if it is."""
    count, positive = np.bincount(codes), np.bincount(codes, rows.outcome)
    if (count > 0).sum() == 1:
        return "All scored rows have one value, or values in one range."
    if ((positive == 0) | (positive == count)).all():
        return "It reveals the outcome: all rows of each value have the same outcome."
    return None


def _is_score(predictions: Predictions, values: NDArray[Any]) -> bool:
    scores = predictions.scores
    if values.dtype.kind not in "iuf" or predictions.is_matrix:
        return False
    return np.array_equal(values, scores) or np.array_equal(values, 1.0 - scores)


def _kuiper_p_value(rows: BinaryView) -> float:
    """The p-value of the Kuiper test of some rows, by cluster if groups are named."""
    cells = rows.cells()
    return widened_test(kuiper_test(cells), rows, cells, RANGE).p_value


def _tested(
    place: Place, first: Half, second: Half, confidence_level: float
) -> dict[str, Any] | None:
    """The numbers of a segment on the confirming half. None if it has too few rows there."""
    searching, confirming = first.member(place), second.member(place)
    if not second.enough(confirming):
        return None
    rows = second.rows.rows(confirming)
    cells = rows.cells()
    saved = _saved(first.rows.rows(searching), rows, confidence_level)
    columns = tuple(second.cuts[i].column for i, _ in place)
    values = tuple(second.cuts[i].names[code] for i, code in place)
    share = float(rows.weights.sum() / second.rows.weights.sum())
    return {
        "names": crossed_name(" ".join(pair) for pair in zip(columns, values, strict=True)),
        "columns": columns,
        "values": values,
        "rows": len(searching) + len(confirming),
        "rows_confirming": len(confirming),
        "mean_score": cells.mean_score,
        "observed": cells.base_rate,
        "gap": cells.base_rate - cells.mean_score,
        "kuiper": kuiper_error(cells),
        "p_value": _kuiper_p_value(rows),
        "saved": saved.value,
        "saved_low": saved.low,
        "saved_high": saved.high,
        "saved_in_all": share * saved.value,
    }


def _saved(searching: BinaryView, confirming: BinaryView, confidence_level: float) -> Estimate:
    """Log loss saved by a calibrator fitted on one half of a segment, on the other half."""
    if not 0 < n_positive(searching) < len(searching):
        return Estimate(math.nan, math.nan, math.nan)
    fitted, log_odds = calibrator(OWN_CALIBRATOR).fit_cells(searching.cells()), confirming.log_odds
    after = row_log_loss(confirming.outcome, fitted.predict(confirming.score, log_odds))
    before = row_log_loss(confirming.outcome, confirming.score, log_odds)
    return mean_estimate(before - after, confirming, confidence_level)

"""Count predictions into an Aggregate, in total and by slice and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib.crossfit.cross_fitted import CrossFitted
from calib.data.aggregate import Aggregate
from calib.data.aggregating import aggregate_rows
from calib.data.origin import conversion_of
from calib.data.predictions import Predictions
from calib.data.slicing import (
    MAX_VALUES,
    Slicing,
    days_or_values,
    singles_and_pairs,
    slice_by,
    too_many,
)
from calib.data.strata import crossed_name
from calib.data.views import BinaryView
from calib.numerics.cell_table import MAX_SCORES
from calib.text import quoted


def aggregate(
    predictions: Predictions,
    slices: Sequence[str | tuple[str, str]] | None = None,
    *,
    view: str = "",
    n_ranges: int = 5,
    max_scores: int = MAX_SCORES,
) -> Aggregate:
    """Count predictions into cells. The result contains no rows.

    Parameters
    ----------
    predictions : Predictions
    slices : sequence of str or pair of str, optional
        Slice columns by which rows are counted. Two columns in a tuple are crossed. Default: all
        columns, without crossings.
    view : str
        Binary view that is counted, see `Predictions.view`. Default: class 1 for one score per row,
        and the top label for a matrix.
    n_ranges : int
        Number of ranges into which a slice column with many numbers is cut.
    max_scores : int
        If there are at most this many distinct scores, every cell is one score. With more, scores
        are grouped in the cells of a fixed grid.

    Raises
    ------
    ValueError
        If a slice column is unknown, it or a crossing has more than 1,000 values, or the view does
        not exist.

    Examples
    --------
    >>> predictions = Predictions.from_arrays(
    ...     [0, 1, 1], [0.2, 0.7, 0.7], columns={"site": ["north", "north", "south"]}
    ... )
    >>> aggregate(predictions).frame()[["column", "value", "score", "outcome", "rows"]]
      column  value  score  outcome  rows
    0                  0.2        0     1
    1                  0.7        1     2
    2   site  north    0.2        0     1
    3   site  north    0.7        1     1
    4   site  south    0.7        1     1
    """
    chosen = view or ("top:1" if predictions.is_matrix else "class:1")
    known = [name for name in predictions.columns if name != predictions.time_name]
    time = predictions.time_name
    singles, pairs = singles_and_pairs(known if slices is None else slices, time)
    columns = {}
    for names in (*((name,) for name in singles), *pairs):
        cut = slice_by(predictions.columns, names, n_ranges=n_ranges)
        if len(cut) > MAX_VALUES:
            raise ValueError(too_many(names, len(cut)))
        columns[crossed_name(names)] = cut.names, cut.codes
    if time:
        columns[time] = days_or_values(predictions.columns[time])
    return aggregate_rows(
        predictions.view(chosen),
        columns,
        max_scores=max_scores,
        view_key=chosen,
        name=predictions.name,
        score_name=predictions.score_name,
        outcome_name=predictions.outcome_name,
        positive_name=predictions.view_label(chosen),
        class_names=predictions.class_names,
        time_name=time,
        time_kind=predictions.columns[time].dtype.kind if time else "",
        set_aside=dict(predictions.set_aside),
        sources=(predictions.fingerprint,),
        fold_names=predictions.fold_names,
        **conversion_of(predictions.origin),
    )


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SlicedRows:
    """Rows, or their counts, by slice, with the held-out scores of every method.

    Attributes
    ----------
    slicing : Slicing
        Slices of all rows, including calibration rows.
    held_out : CrossFitted
        Held-out scores. Its `row_view` contains the scored rows.
    source : Predictions or BinaryView
        The rows or their counts.
    """

    slicing: Slicing
    held_out: CrossFitted
    source: Predictions | BinaryView

    @property
    def scored(self) -> Slicing:
        """The slices of the rows that are scored."""
        return self.slicing if self.source.test is None else self.slicing.rows(self.source.test)

    @property
    def rows(self) -> BinaryView:
        """All rows in the view of the analysis, including calibration rows."""
        if isinstance(self.source, BinaryView):
            return self.source
        return self.source.view(self.held_out.settings.view)


def sliced_rows(
    data: Predictions | Aggregate, held_out: CrossFitted, names: Sequence[str], *, n_ranges: int = 5
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
    >>> site = np.repeat(["north", "south"], 100)
    >>> y = np.concatenate([np.tile([0, 1], 50), np.tile([0, 0, 0, 1], 25)])
    >>> counted = aggregate(Predictions.from_arrays(y, np.full(200, 0.5), columns={"site": site}))
    >>> cut = sliced_rows(counted, calib.analyze(counted, {"methods": ()}).held_out, ["site"])
    >>> rows = cut.held_out.row_view("uncalibrated")
    >>> slice_gaps(rows, rows.score, cut.scored).gap
    array([ 0.  , -0.25])
    """
    if isinstance(data, Predictions):
        slicing = slice_by(data.columns, names, n_ranges=n_ranges)
        return SlicedRows(slicing, held_out, data)
    column = data.by(_crossing(data, names) if len(names) > 1 else names[0])
    rows = column.rows.entries
    return SlicedRows(
        Slicing(tuple(names), column.names, column.codes),
        held_out.on(rows if rows.test is None else rows.rows(rows.test)),
        rows,
    )


def _crossing(data: Aggregate, names: Sequence[str]) -> str:
    """The name of the crossing of these columns, in the order in which it was counted."""
    pair = next((pair for pair in data.crossings if set(pair) == set(names)), None)
    if pair is None:
        known = "; ".join(map(crossed_name, data.crossings)) or "none"
        raise ValueError(
            f"These columns were not counted together: {' and '.join(map(quoted, names))} "
            f"(crossings that were counted: {known}). Count them again, with "
            f"slices=[..., {tuple(names)!r}]."
        )
    return crossed_name(pair)

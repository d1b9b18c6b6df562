"""The rows of an analysis, or their counts, by slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib.crossfit.cross_fitted import CrossFitted
from calib.data.aggregate import Aggregate
from calib.data.predictions import Predictions
from calib.data.slicing import Slicing, slice_by
from calib.data.strata import crossed_name
from calib.data.views import BinaryView
from calib.text import quoted


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
    >>> from calib.data.aggregating import aggregate
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

"""The rows of an analysis, or their counts, by slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib.crossfit.cross_fitted import CrossFitted
from calib.data.base import Data
from calib.data.slicing import Slicing
from calib.data.views import BinaryView


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
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

    @property
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

"""Observed and predicted frequency of slices in each period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.analysis.periods.cutting import Periods
from calib.analysis.slices.mix import slice_gaps
from calib.data.slicing import Slicing
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, Locked


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SliceOverTime(Locked):
    """A slice by period. Arrays have the shape (p,); values of periods without rows are NaN.

    Attributes
    ----------
    observed, mean_score : ndarray
        Observed frequency, and mean score.
    half : ndarray
        Half the length of the interval of observed minus predicted.
    """

    observed: FloatArray
    mean_score: FloatArray
    half: FloatArray


def slices_over_time(
    rows: BinaryView,
    score: FloatArray,
    slicing: Slicing,
    periods: Periods,
    *,
    confidence_level: float = 0.95,
) -> dict[int, SliceOverTime]:
    """Observed and predicted frequency of each slice in each period, by the number of the slice.

    The numbers are those of `slice_gaps`, for the rows of each slice in each period.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    slicing : Slicing
        Slices of the same rows.
    periods : Periods
        Periods of the same rows. Rows without a time are left out.
    confidence_level : float
        Confidence level of the interval, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> from calib.analysis.periods import cut_periods
    >>> rows = Predictions.from_arrays([0, 1, 0, 0], [0.2, 0.6, 0.4, 0.1]).view()
    >>> years = cut_periods(np.array([2024, 2024, 2025, 2025]))
    >>> slices_over_time(rows, rows.score, Slicing.whole(4), years)[0].observed
    array([0.5, 0. ])
    """
    shape = len(slicing), len(periods)
    timed = periods.codes >= 0
    codes = slicing.codes[timed] * shape[1] + periods.codes[timed]
    cells = Slicing((), ("",) * (shape[0] * shape[1]), codes)
    gaps = slice_gaps(rows.rows(timed), score[timed], cells, confidence_level=confidence_level)

    def placed(values: FloatArray) -> FloatArray:
        table = np.full(shape[0] * shape[1], np.nan)
        table[gaps.number] = values
        return table.reshape(shape)

    columns = map(placed, (gaps.observed, gaps.mean_score, (gaps.high - gaps.low) / 2.0))
    return {
        number: SliceOverTime(*lines) for number, lines in enumerate(zip(*columns, strict=True))
    }

"""Centres: calibration in each, how much the centres differ, and what a new one can expect."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from pandas import DataFrame, Index

from calib.analysis.groups import Grouping, fitted_groups
from calib.analysis.slices import SliceGaps, SliceTests
from calib.data.base import Data
from calib.data.views import BinaryView
from calib.metrics.observed_expected import intercept_estimate, ratio_estimate
from calib.numerics.arrays import FloatArray, IntArray, Locked
from calib.numerics.intervals import Estimate, normal_quantile
from calib.uncertainty.new_group import BetweenGroups, between_groups

MAX_RANGES = 5  # A column of many numbers is cut into this many ranges, as slices are.


@dataclass(frozen=True, slots=True, eq=False)
class Centres(Locked):
    """Calibration of each centre, and of a new one. Centres without rows are left out.

    Attributes
    ----------
    names : tuple of str
    rows : ndarray of int
    positives : ndarray
        Weight of the positive rows of each centre.
    ratio, intercept, slope : tuple of Estimate
        O:E ratio, intercept at slope 1, and calibration slope of each centre. NaN if a centre has
        none, for example because its rows are of one class.
    ratios, intercepts, slopes : BetweenGroups or None
        Over the centres that have an interval; None if none has. `ratios` has its mean and
        intervals as ratios, and its tau on the log scale.
    """

    names: tuple[str, ...]
    rows: IntArray
    positives: FloatArray
    ratio: tuple[Estimate, ...]
    intercept: tuple[Estimate, ...]
    slope: tuple[Estimate, ...]
    ratios: BetweenGroups | None
    intercepts: BetweenGroups | None
    slopes: BetweenGroups | None

    def frame(self) -> DataFrame:
        """One row per centre."""
        columns = {"rows": self.rows, "positives": self.positives}
        for name in ("ratio", "intercept", "slope"):
            for end in ("value", "low", "high"):
                column = name if end == "value" else f"{name}_{end}"
                columns[column] = np.array([getattr(one, end) for one in getattr(self, name)])
        return DataFrame(columns, index=Index(self.names, name="centre"))


def centres(rows: BinaryView, grouping: Grouping, *, confidence_level: float = 0.95) -> Centres:
    """O:E ratio, intercept and slope per centre, their spread, and intervals of a new centre.

    The spread needs two centres, and the intervals of a new centre five. They are of the true
    value in a new centre that is drawn like these; an observed value also varies by chance.

    Parameters
    ----------
    rows : BinaryView
    grouping : Slicing
        The centre of each row, see `calib.data.slicing.slice_by`.
    confidence_level : float
        In (0, 1).

    Examples
    --------
    >>> from calib.data.slicing import slice_by
    >>> rng = np.random.default_rng(0)
    >>> score, centre = rng.random(900), np.arange(900) % 6
    >>> rows = BinaryView(rng.random(900) < score, score)
    >>> table = centres(rows, slice_by({"centre": centre.astype(str)}, ["centre"]))
    >>> len(table.names), table.ratios.new_group.low < 1 < table.ratios.new_group.high
    (6, True)
    """
    parts = fitted_groups(rows, rows.score, grouping)
    present = [code for code in range(len(grouping)) if (grouping.codes == code).any()]
    lines = [part.line(confidence_level) for part in parts]
    ratio = tuple(ratio_estimate(part.rows, confidence_level) for part in parts)
    return summarised(
        names=tuple(grouping.names[code] for code in present),
        rows=np.array([part.rows.n_rows for part in parts], dtype=np.int64),
        positives=np.array([part.cells.total_positive for part in parts]),
        ratio=ratio,
        intercept=tuple(intercept_estimate(part.rows, confidence_level) for part in parts),
        slope=tuple(Estimate(line.slope, line.slope_low, line.slope_high) for line in lines),
        confidence_level=confidence_level,
    )


def next_centre(data: Data, column: str, *, confidence_level: float = 0.95) -> Centres:
    """Calibration of the uncalibrated scores per centre, and what a new centre can expect.

    The prediction interval is that of a confidence distribution of the spread; it needs five
    centres. The usual t interval covers less than it states.

    Parameters
    ----------
    data : Predictions or Aggregate
        With a slice column of centres.
    column : str
        Name of the column.
    confidence_level : float
        In (0, 1).

    Returns
    -------
    Centres
        `ratios.new_group` is the prediction interval of the O:E ratio.

    Raises
    ------
    ValueError
        If the data have no such column.

    References
    ----------
    Debray et al. 2017, doi:10.1136/bmj.i6460; Nagashima, Noma and Furukawa 2019,
    doi:10.1177/0962280218773520.

    Examples
    --------
    >>> from calib.data.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> score, site = rng.random(900), np.arange(900) % 6
    >>> columns = {"site": site.astype(str)}
    >>> data = Predictions.from_arrays(rng.random(900) < score, score, columns=columns)
    >>> table = next_centre(data, "site")
    >>> len(table.names), table.ratios.new_group.low < 1 < table.ratios.new_group.high
    (6, True)
    """
    slicing, rows = data.sliced([column], data.default_view, MAX_RANGES)
    return centres(rows, slicing, confidence_level=confidence_level)


def centres_of_slices(
    gaps: SliceGaps, tests: SliceTests, intercept: tuple[Estimate, ...] = ()
) -> Centres:
    """The same from the slices of a report, whose rows have neither weights nor clusters.

    Reports of earlier versions have no intercept at slope 1, so it is NaN.
    """
    level, n = gaps.confidence_level, len(gaps)
    z = normal_quantile(level)
    ratio = []
    for i in range(n):
        rows, rate, expected = float(gaps.rows[i]), float(gaps.observed[i]), gaps.mean_score[i]
        if not (rate > 0.0 and expected > 0.0):
            ratio.append(Estimate(0.0 if rate == 0.0 else math.nan))
            continue
        factor = math.exp(z * math.sqrt((1.0 - rate) / (rate * rows)))
        value = float(rate / expected)
        ratio.append(Estimate(value, value / factor, value * factor))
    slopes = zip(tests.slope, tests.slope_low, tests.slope_high, strict=True)
    return summarised(
        names=gaps.names,
        rows=gaps.rows,
        positives=gaps.positives.astype(np.float64),
        ratio=tuple(ratio),
        intercept=intercept or tuple(Estimate(math.nan) for _ in range(n)),
        slope=tuple(Estimate(*map(float, ends)) for ends in slopes),
        confidence_level=level,
    )


def summarised(
    names: tuple[str, ...],
    rows: IntArray,
    positives: FloatArray,
    ratio: tuple[Estimate, ...],
    intercept: tuple[Estimate, ...],
    slope: tuple[Estimate, ...],
    confidence_level: float,
) -> Centres:
    """Centres with these numbers, and the summaries over them."""
    ratios = _between([_logarithm(one) for one in ratio], confidence_level)
    return Centres(
        names=names,
        rows=rows,
        positives=positives,
        ratio=ratio,
        intercept=intercept,
        slope=slope,
        ratios=None if ratios is None else ratios.transformed(math.exp),
        intercepts=_between(intercept, confidence_level),
        slopes=_between(slope, confidence_level),
    )


def _logarithm(ratio: Estimate) -> Estimate:
    """The estimate on the log scale, or NaN if its lower end is 0 and it has no standard error."""
    if not ratio.low > 0.0:
        return Estimate(math.nan)
    return Estimate(math.log(ratio.value), math.log(ratio.low), math.log(ratio.high))


def _between(
    estimates: list[Estimate] | tuple[Estimate, ...], confidence_level: float
) -> BetweenGroups | None:
    """The summary of the estimates that have an interval; all intervals are value +- z SE."""
    z = normal_quantile(confidence_level)
    value = np.array([one.value for one in estimates])
    error = np.array([(one.high - one.low) / (2.0 * z) for one in estimates])
    has = np.isfinite(value) & (error > 0.0)
    if not has.any():
        return None
    return between_groups(value[has], error[has] ** 2, confidence_level=confidence_level)

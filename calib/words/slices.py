"""Results of slices: one heading, one sentence, and the names of slices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from calib.analysis.slices import SliceErrorRates, SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.data.slicing import CROSSED
from calib.numerics.arrays import IntArray
from calib.numerics.intervals import Estimate
from calib.text import interval, level, number, p_value, percent, plural, points, shortened
from calib.words.measures import KS

# More slices are sorted by evidence, because the few that matter would be hard to find.
MAX_IN_ORDER = 24
RATES = {"false_positive": "false-positive rate", "false_negative": "false-negative rate"}


def in_reading_order(table: SliceGaps | SliceTests, most: int) -> IntArray:
    """Positions of at most this many slices, in the order of their values, or by evidence."""
    chosen = table.order[:most]
    return np.sort(chosen) if len(table) <= MAX_IN_ORDER else chosen


def slice_names(columns: Sequence[str], names: Iterable[str]) -> list[str]:
    """Names that say of which column each value is, such as "ink 5.03 to 5.36"."""
    return [_slice_name(columns, name) for name in names]


def _slice_name(columns: Sequence[str], name: str) -> str:
    values = name.split(CROSSED) if len(columns) > 1 else [name]
    if len(values) != len(columns):  # A value can contain the sign of a crossing.
        return name
    return CROSSED.join(f"{column} {value}" for column, value in zip(columns, values, strict=True))


def sentence(tests: SliceTests, gaps: SliceGaps) -> str:
    """The slice with the strongest evidence, and that with the largest gap; "" if there is none."""
    if not tests.significant(SIGNIFICANCE).any():
        return ""
    i = int(tests.order[0])
    slope = Estimate(tests.slope[i], tests.slope_low[i], tests.slope_high[i])
    at = level(tests.confidence_level)
    line = f"the slope is {number(slope.value, 2)} ({at} CI {interval(slope, 2)}), and "
    line = "" if math.isnan(slope.value) else line
    return (
        f"Most clearly {_slice_name(gaps.columns, tests.names[i])}: {line}the {KS} is "
        f"{percent(tests.ks[i])} ({p_value(tests.p_adjusted[i])} after Holm's correction). "
        f"{_largest_gap(gaps, tests)}"
    )


def heading(tests: SliceTests, columns: Sequence[str]) -> str:
    """In how many slices the scores are miscalibrated."""
    judged = int((~tests.few).sum())
    by = f"by {shortened(CROSSED.join(columns))}"
    if not judged:
        return f"No slice {by} has {FEW_ROWS} rows, so none is tested"
    n = int(tests.significant(SIGNIFICANCE).sum())
    if not n:
        return f"No evidence of miscalibration in any of {plural(judged, 'slice')} {by}"
    are = "is" if n == 1 else "are"
    return f"{n:,} of {plural(judged, 'slice')} {by} {are} miscalibrated"


def _largest_gap(gaps: SliceGaps, tests: SliceTests) -> str:
    wrong = tests.significant(SIGNIFICANCE)
    i = int(np.where(wrong, np.abs(gaps.gap), -1.0).argmax())
    low, high = points(gaps.low[i]), points(gaps.high[i])
    return (
        f"Their largest difference: {_slice_name(gaps.columns, gaps.names[i])}, observed "
        f"{percent(gaps.observed[i])}, predicted {percent(gaps.mean_score[i])} "
        f"({points(gaps.gap[i])} points, {level(gaps.confidence_level)} CI {low} to {high})."
    )


def widest_rate(rates: SliceErrorRates, columns: Sequence[str]) -> str:
    """The largest difference of an error rate between two slices; "" if there are not two."""
    widest = rates.widest()
    if widest is None:
        return ""
    name, highest, lowest = widest

    def rate(i: int) -> str:
        where = _slice_name(columns, rates.names[i])
        return f"{percent(getattr(rates, name)[i])} for {where}"

    overlap = getattr(rates, f"{name}_low")[highest] <= getattr(rates, f"{name}_high")[lowest]
    chance = " The intervals overlap, so this may be chance." if overlap else ""
    return f"Largest difference: {RATES[name]} {rate(highest)}, {rate(lowest)}.{chance}"

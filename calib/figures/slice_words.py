"""Results of slices in sentences, for pages and reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from calib.analysis.slices import SliceErrorRates, SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.data.strata import CROSSED
from calib.figures.words import KS
from calib.numerics.arrays import IntArray
from calib.numerics.estimate import Estimate
from calib.text import interval, level, number, p_value, percent, plural, shortened

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


def miscalibrated(tests: SliceTests, columns: Sequence[str]) -> str:
    """How many slices show evidence of miscalibration, and the one with the strongest."""
    judged = int((~tests.few).sum())
    if not judged:
        return f"No slice has {FEW_ROWS} rows, so none is tested."
    n_significant = int(tests.significant(SIGNIFICANCE).sum())
    if not n_significant:
        return f"No evidence of miscalibration in any of {plural(judged, 'slice')}."
    first = _slice_name(columns, tests.names[tests.order[0]])
    if n_significant == 1:
        return f"1 of {plural(judged, 'slice')} shows evidence of miscalibration: {first}."
    return (
        f"{n_significant:,} of {plural(judged, 'slice')} show evidence of miscalibration, most "
        f"clearly {first}."
    )


def strongest(tests: SliceTests) -> str:
    """The numbers of the slice that `miscalibrated` names, or "" if no slice has evidence."""
    if not tests.significant(SIGNIFICANCE).any():
        return ""
    i = int(tests.order[0])
    slope = Estimate(tests.slope[i], tests.slope_low[i], tests.slope_high[i])
    at = level(tests.confidence_level)
    line = f"the slope is {number(slope.value, 2)} ({at} CI {interval(slope, 2)}), and "
    line = "" if math.isnan(slope.value) else line
    return (
        f"There {line}the {KS} is {percent(tests.ks[i])} ({p_value(tests.p_adjusted[i])} after "
        "Holm's correction)."
    )


def how_many_gaps(gaps: SliceGaps) -> str:
    """In how many slices the observed rate differs from the mean score, as a title.

    Names of slices have to fit beside an axis, so the title names the columns.
    """
    judged = int((~gaps.few).sum())
    by = f"by {shortened(CROSSED.join(gaps.columns))}"
    if not judged:
        return f"No slice {by} has {FEW_ROWS} rows, so none is tested"
    n = int(gaps.significant(SIGNIFICANCE).sum())
    if not n:
        return f"No significant gap in any of {plural(judged, 'slice')} {by}"
    have = "has" if n == 1 else "have"
    return f"{n:,} of {plural(judged, 'slice')} {by} {have} a significant gap"


def with_gaps(gaps: SliceGaps) -> str:
    """In how many slices the observed rate differs from the mean score; "" if none is tested."""
    if gaps.few.all():
        return ""
    marked = [i for i in gaps.order if gaps.p_adjusted[i] < SIGNIFICANCE]
    if not marked:
        return "No slice has a significant gap."
    i = int(marked[0])
    first = _slice_name(gaps.columns, gaps.names[i])
    which = f"1 slice has a significant gap, {first}"
    if len(marked) > 1:
        which = f"{len(marked):,} slices have a significant gap, most clearly {first}"
    return (
        f"{which}: observed {percent(gaps.observed[i])}, predicted {percent(gaps.mean_score[i])} "
        f"({p_value(gaps.p_adjusted[i])}, Holm)."
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

"""Results of the tests and the gaps of slices, in sentences for pages and reports."""

from __future__ import annotations

import math

from calib.analysis.slices import SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.numerics.estimate import Estimate
from calib.text import interval, level, number, p_value, percent, plural, shortened


def miscalibrated(tests: SliceTests) -> str:
    """How many slices are miscalibrated, and the one with the strongest evidence."""
    judged = int((~tests.few).sum())
    if not judged:
        return f"no slice has {FEW_ROWS} rows, so none is tested."
    n_significant = int(tests.significant(SIGNIFICANCE).sum())
    if not n_significant:
        return f"no evidence of miscalibration in any of {plural(judged, 'tested slice')}."
    i = int(tests.order[0])
    are = "is" if n_significant == 1 else "are"
    slope = Estimate(tests.slope[i], tests.slope_low[i], tests.slope_high[i])
    at = level(tests.confidence_level)
    line = f"slope {number(slope.value, 2)}, {at} CI {interval(slope, 2)}; "
    line = "" if math.isnan(slope.value) else line
    return (
        f"{n_significant} of {plural(judged, 'tested slice')} {are} miscalibrated. "
        f"Strongest evidence: {shortened(tests.names[i])} ({line}KS error {number(tests.ks[i])}; "
        f"{p_value(tests.p_adjusted[i])} after Holm's correction)."
    )


def with_gaps(gaps: SliceGaps) -> str:
    """In how many slices the observed rate differs from the mean score; "" if none is tested."""
    if gaps.few.all():
        return ""
    marked = [i for i in gaps.order if gaps.p_adjusted[i] < SIGNIFICANCE]
    if not marked:
        return "No slice has a significant gap between observed rate and mean score."
    i = int(marked[0])
    count = "1 slice has" if len(marked) == 1 else f"{len(marked):,} slices have"
    return (
        f"{count} a significant gap between observed rate and mean score, first "
        f"{shortened(gaps.names[i])}: observed {percent(gaps.observed[i])}, predicted "
        f"{percent(gaps.mean_score[i])} ({p_value(gaps.p_adjusted[i])} after Holm's correction)."
    )

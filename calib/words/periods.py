"""Results of periods: one heading, and one sentence about the change over time."""

from __future__ import annotations

import math

import numpy as np

from calib.analysis.periods import PeriodChange, PeriodTable
from calib.analysis.periods.cutting import LastDays
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.numerics.arrays import IntArray
from calib.text import day_words, p_value, percents, period, plural


def sentence(change: PeriodChange, unit: str) -> str:
    """Since when, until when or in which periods the predictions are wrong, and the p-value."""
    if math.isnan(change.p_value):
        return "Too few rows to compare periods."
    at = p_value(change.p_value)
    if not change.significant(SIGNIFICANCE):
        return f"No change over time is visible ({at})."
    when, are, otherwise = _when(change, unit)
    wrong = "low" if change.observed > change.mean_score else "high"
    mean, observed = percents(change.mean_score, change.observed)
    other_mean, other_observed = percents(change.mean_score_else, change.observed_else)
    return (
        f"{when} predictions {are} too {wrong}: {mean} predicted, {observed} observed; {otherwise} "
        f"{other_mean}, {other_observed} ({at})."
    )


def counted_until(days: LastDays) -> str:
    """Up to which day rows are counted, and how many days' outcomes may not be final.

    >>> from datetime import date
    >>> counted_until(LastDays(date(2026, 6, 1), date(2026, 8, 31), 30))[39:]
    'Outcomes of the last 30 days may not be final; Monitor leaves these days out.'
    """
    until = f"Rows up to {day_words(days.last)} are counted."
    if not days.horizon:
        return until
    last = "last day" if days.horizon == 1 else f"last {plural(days.horizon, 'day')}"
    return f"{until} Outcomes of the {last} may not be final; Monitor leaves these days out."


def heading(table: PeriodTable) -> str:
    """In how many periods the scores are miscalibrated."""
    judged = int((~table.few).sum())
    if not judged:
        return f"No period has {FEW_ROWS} rows, so none is tested"
    n = int(table.significant(SIGNIFICANCE).sum())
    if not n:
        return f"No error found in any of {plural(judged, 'period')}"
    return f"{n:,} of {plural(judged, 'period')} {'is' if n == 1 else 'are'} miscalibrated"


def _when(change: PeriodChange, unit: str) -> tuple[str, str, str]:
    """The wrong periods, the verb of the predictions in them, and the other periods."""
    names = [period(name, unit) for name in change.names]
    first, last = _ends(np.flatnonzero(change.wrong))
    if change.wrong[first : last + 1].all():
        if last == len(names) - 1:
            return f"Since {names[first]}", "are", "before"
        if first == 0:
            return f"Until {names[last]}", "were", "since then"
        return _stretch(names[first], names[last]), "were", "in the other periods"
    first, last = _ends(np.flatnonzero(~change.wrong))
    return f"Except {_stretch(names[first], names[last], 'in', 'from')},", "are", "in that time"


def _ends(positions: IntArray) -> tuple[int, int]:
    return int(positions[0]), int(positions[-1])


def _stretch(first: str, last: str, one: str = "In", several: str = "From") -> str:
    return f"{one} {first}" if first == last else f"{several} {first} to {last}"

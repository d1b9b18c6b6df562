"""Results of slices: one heading, one sentence, and the names of slices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date

import numpy as np

from calib.analysis.grades import GradeNote
from calib.analysis.slices import SliceErrorRates, SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS
from calib.data.slicing import CROSSED
from calib.numerics.arrays import IntArray
from calib.numerics.intervals import Estimate
from calib.text import (
    day_words,
    interval,
    joined,
    level,
    number,
    p_value,
    percent,
    plural,
    points,
    shortened,
)
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
        return f"No error found in any of {plural(judged, 'slice')} {by}"
    are = "is" if n == 1 else "are"
    return f"{n:,} of {plural(judged, 'slice')} {by} {are} miscalibrated"


def headline(tests: SliceTests, gaps: SliceGaps, since: date | None = None) -> str:
    """Which slices are miscalibrated, with the direction if it is only one."""
    when = f" since {day_words(since)}" if since else ""
    wrong, judged = np.flatnonzero(tests.significant(SIGNIFICANCE)), int((~tests.few).sum())
    if len(wrong) != 1 or judged == 1:
        return f"{heading(tests, gaps.columns)}{when if judged else ''}"
    i = int(wrong[0])
    name = _slice_name(gaps.columns, shortened(tests.names[i]))
    others = judged - 1
    rest = "slice" if others == 1 else f"{others:,} slices"
    error = _direction(gaps, i) or "miscalibrated"
    return f"{name[:1].upper()}{name[1:]} is {error}{when}; no error found in the other {rest}"


def _direction(gaps: SliceGaps, i: int) -> str:
    """Whether the scores of a slice are too high or too low; "" if neither is clear."""
    if gaps.low[i] > 0.0:
        return "too low"
    return "too high" if gaps.high[i] < 0.0 else ""


def lead(
    tests: SliceTests,
    gaps: SliceGaps,
    after: SliceTests | None = None,
    by: str = "",
    since: date | None = None,
) -> str:
    """The slice with the strongest evidence, with its difference and test, and what is left."""
    wrong, judged = tests.significant(SIGNIFICANCE), int((~tests.few).sum())
    when = f"Since {day_words(since)}, " if since else ""
    said = []
    if wrong.any():
        i = int(tests.order[0])
        error, at = _direction(gaps, i), p_value(tests.p_adjusted[i])
        name = _slice_name(gaps.columns, shortened(tests.names[i]))
        rates = f"{percent(gaps.observed[i])} observed, {percent(gaps.mean_score[i])} predicted"
        mean = f"are {error} on average" if error else "have the right mean but are miscalibrated"
        said.append(f"{when}scores of {name} {mean}: {rates} ({at}).")
        said[0] = f"{said[0][:1].upper()}{said[0][1:]}"
    if after is not None:
        left = int(after.significant(SIGNIFICANCE).sum())
        still = f"{left:,} of {plural(judged, 'slice')}" if left else f"no slice of {judged:,}"
        said.append(f"After {by}, {still} {'are' if left > 1 else 'is'} miscalibrated.")
    return " ".join(said)


def without(tests: SliceTests, slice_words: str) -> str:
    """What is found in slices of which the rows of another slice are left out."""
    wrong = int(tests.significant(SIGNIFICANCE).sum())
    slices = plural(int((~tests.few).sum()), "slice")
    words = f"{wrong:,} of {slices} {'are' if wrong > 1 else 'is'} miscalibrated"
    if not wrong:
        words = f"no error is found in any of {slices}"
    return f"Without the rows of {shortened(slice_words)}, {words}."


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


def grade_note(note: GradeNote) -> str:
    """What a reader of the table of grades must know, as a sentence.

    >>> grade_note(GradeNote("order", ("B", "C"), (0.02, 0.015)))
    'The PD of C (1.5%) is not above that of B (2.0%), so the order of these grades is broken.'
    """
    first = note.grades[0] if note.grades else ""
    shares = [percent(value, 2 if value < 0.01 else 1) for value in note.numbers]
    match note.kind:
        case "no-rows":
            return f"Grade {first} has no rows and is left out."
        case "pd-varies":
            if not shares:
                return f"The PD varies within {joined(note.grades)}. The table has its mean."
            return (
                f"The PD of grade {first} is not constant: it is from {shares[0]} to {shares[1]}. "
                "The table has its mean."
            )
        case "order":
            return (
                f"The PD of {note.grades[1]} ({shares[1]}) is not above that of {first} "
                f"({shares[0]}), so the order of these grades is broken."
            )
        case "no-defaults":
            return (
                "The portfolio has no default. The p-values stay valid; discrimination is not "
                "defined."
            )
        case _:
            return (
                f"Grade {first} has no default and too few rows for evidence. Its p-value is small "
                "only because the prior of the test has the mean 1/2."
            )

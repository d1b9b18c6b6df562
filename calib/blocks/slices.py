"""Slices as blocks: which are miscalibrated, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calib.analysis import Analysis, MethodResult
from calib.analysis.slices import SliceGaps, SliceTests
from calib.analysis.verdict import SIGNIFICANCE, adjusted
from calib.blocks.kinds import (
    Annotated,
    Block,
    Drawing,
    Fold,
    Heading,
    Note,
    Paragraph,
    Table,
    Tabs,
    Value,
)
from calib.curves.reliability import FEW_ROWS
from calib.figures.slices import slice_chart
from calib.numerics.intervals import Estimate
from calib.text import (
    count,
    interval,
    level,
    number,
    p_value,
    percent,
    plural,
    points,
)
from calib.words import slices as wording
from calib.words.measures import KS
from calib.words.overview import why_shown
from calib.words.slices import MAX_IN_ORDER, in_reading_order, slice_names

# A page lists more slices than paper; the CSV file of a report has all of its slices.
MAX_LISTED, MAX_PRINTED = 500, 40
TOO_FEW = f"< {FEW_ROWS} rows"
READING = Fold(
    (
        "Right of zero the scores of a slice are too low, left of zero too high. Shaded slices are "
        "miscalibrated with a method that is drawn.",
        f"Grey and hollow slices have fewer than {FEW_ROWS} rows and are not tested.",
        "A slice without a difference can be miscalibrated: scores that are too extreme on both "
        "sides have the right mean.",
    )
)
TESTED = (
    "The smallest p-value of the tests of the verdict in the slice, after Holm's correction for "
    "the tests and for the slices."
)
MARKED = f"Marked: evidence of miscalibration, p < {SIGNIFICANCE:g} in the last column."
REVEALS_OUTCOME = Note(
    "All rows of each slice have the same outcome, so this column reveals the outcome. It may have "
    "been recorded after the outcome; in that case it says nothing about the scores.",
    warning=True,
)


def slices(
    analysis: Analysis,
    gaps: Mapping[str, SliceGaps],
    tests: Mapping[str, SliceTests],
    of_all: Mapping[str, SliceGaps] | None = None,
    *,
    most: int = MAX_PRINTED,
    n_left_out: int = 0,
    n_merged: int = 0,
    explained: bool = True,
) -> tuple[Block, ...]:
    """The finding, the chart with a sentence per method, and the tables.

    The keys are methods. `of_all` are the gaps of all rows, `n_left_out` and `n_merged` numbers of
    slices that are not shown on their own. If a section has several such lists, only the first is
    `explained`.
    """
    first, n_slices = gaps["uncalibrated"], len(gaps["uncalibrated"])
    mixed = (first.positives > 0) & (first.positives < first.rows)
    # A slice of one row has one outcome in any column.
    reveals = n_slices > 1 and not mixed.any() and not first.few.all()
    drawn = slice_chart(gaps, tests, recommended=analysis.recommendation.method)
    notes: list[Block] = [
        Paragraph(sentence, about=analysis.methods[key].label)
        for key, one in tests.items()
        if (sentence := _sentence(key, one, gaps[key]))
    ]
    if n_slices > MAX_IN_ORDER:
        largest = f"The {MAX_IN_ORDER} slices with the largest differences for their size"
        notes.append(Note(f"{largest}, of {n_slices:,}. The table below lists more."))
    if explained:
        notes += [Note(reason) for key in tests if (reason := why_shown(analysis, key))]
        notes.append(READING)
    caption = _caption(tests, first.columns, most, n_slices + n_left_out, n_merged)
    tables = {
        analysis.methods[key].label: _table(
            gaps[key], one, of_all[key] if of_all else None, analysis.methods[key], caption, most
        )
        for key, one in tests.items()
    }
    return (
        Heading(wording.heading(tests["uncalibrated"], first.columns)),
        *([REVEALS_OUTCOME] if reveals else []),
        Annotated(Drawing(drawn, "slices", has_rows=True), tuple(notes)),
        Tabs("Slices", tables),
    )


def _sentence(key: str, tests: SliceTests, gaps: SliceGaps) -> str:
    """The heading says how many slices of the uncalibrated scores show evidence."""
    sentence = wording.sentence(tests, gaps)
    if key == "uncalibrated":
        return sentence
    return f"{wording.heading(tests, gaps.columns)}. {sentence}".strip()


def _caption(
    tests: Mapping[str, SliceTests], columns: Sequence[str], most: int, n_slices: int, n_merged: int
) -> str:
    n_shown = min(most, len(tests["uncalibrated"]))
    by_evidence = ", strongest evidence first" if n_slices > MAX_IN_ORDER else ""
    first = f"The first {n_shown} of {n_slices:,} slices{by_evidence}."
    merged = f"{n_merged:,} slices are merged into one, so that no slice shows fewer than ten rows."
    marked = any(one.significant(SIGNIFICANCE).any() for one in tests.values())
    at = level(tests["uncalibrated"].confidence_level)
    by = f"By {' and '.join(columns)}, with {at} intervals."
    said = [by, MARKED if marked else "", first if n_shown < n_slices else ""]
    return " ".join(filter(None, [*said, merged if n_merged else ""]))


def _table(
    gaps: SliceGaps,
    tests: SliceTests,
    of_all: SliceGaps | None,
    method: MethodResult,
    caption: str,
    most: int,
) -> Table:
    at = level(gaps.confidence_level)
    meanings = {
        "Predicted": "Mean score.",
        "Observed": "Share of positive rows.",
        "Difference (points)": f"Observed minus predicted, with its {at} interval.",
        "Slope": f"1 is calibrated. With its {at} interval.",
        KS: "Largest cumulative gap up to any score.",
        "Calibration, p (Holm)": TESTED,
    }
    names, marked = slice_names(gaps.columns, gaps.names), tests.significant(SIGNIFICANCE)
    rows = [_row_of_all(of_all, method)] if of_all else []
    for i in in_reading_order(tests, most).tolist():
        slope = Estimate(tests.slope[i], tests.slope_low[i], tests.slope_high[i])
        p = TOO_FEW if tests.few[i] else p_value(tests.p_adjusted[i])
        tested = slope_value(slope), Value(percent(tests.ks[i])), Value(p)
        rows.append((*_gap_values(names[i], gaps, i, marked=bool(marked[i])), *tested))
    return Table(caption, ("Slice", *meanings), tuple(rows), meanings=meanings)


def _row_of_all(gaps: SliceGaps, method: MethodResult) -> tuple[Value, ...]:
    p = min((p for p in adjusted(method.all_tests).values() if not math.isnan(p)), default=math.nan)
    tested = Value(percent(method.ks.statistic)), Value(p_value(p))
    return (*_gap_values("All rows", gaps, 0), slope_value(method.metrics["slope"]), *tested)


def _gap_values(name: str, gaps: SliceGaps, i: int, *, marked: bool = False) -> tuple[Value, ...]:
    return (
        Value(name, plural(gaps.rows[i], "row"), marked=marked),
        Value(percent(gaps.mean_score[i])),
        Value(percent(gaps.observed[i]), f"{count(gaps.positives[i])} positive"),
        Value(points(gaps.gap[i]), f"{points(gaps.low[i])} to {points(gaps.high[i])}"),
    )


def slope_value(slope: Estimate) -> Value:
    """A slope or an intercept with its interval."""
    if math.isnan(slope.value):
        return Value("not estimable")
    return Value(number(slope.value, 2), interval(slope, 2))

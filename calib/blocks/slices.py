"""Slices as blocks: which are miscalibrated, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calib.analysis import Analysis
from calib.analysis.centres import Centres
from calib.analysis.grades import RED_BELOW, YELLOW_BELOW, Grades
from calib.analysis.slices import SliceGaps, SliceOverTime, SliceTests
from calib.analysis.verdict import SIGNIFICANCE
from calib.blocks.kinds import (
    Annotated,
    Block,
    Bullets,
    Drawing,
    Fold,
    Heading,
    Note,
    Paragraph,
    Table,
    Tabs,
    Value,
    row,
)
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.slice_rows import Scores, SliceRow
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
    probability,
    significant,
)
from calib.uncertainty.new_group import MIN_GROUPS
from calib.words import slices as wording
from calib.words.measures import KS
from calib.words.overview import why_shown
from calib.words.slices import MAX_IN_ORDER, in_reading_order, slice_names

# A page draws the slices with the strongest evidence.
MAX_DRAWN = 12
# A page lists more slices than paper; the CSV file of a report has all of its slices.
MAX_LISTED, MAX_PRINTED = 500, 40
COPIED = (
    *("Slice", "Scores", "Rows", "Positives", "Predicted", "Observed", "Difference"),
    *("Difference low", "Difference high", "Slope", "Slope low", "Slope high", KS, "p (Holm)"),
)
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
    *,
    most: int = MAX_PRINTED,
    n_left_out: int = 0,
    n_merged: int = 0,
    explained: bool = True,
) -> tuple[Block, ...]:
    """The finding, the chart with a sentence per method, and the tables.

    The keys are methods. `n_left_out` and `n_merged` are numbers of slices that are not shown
    on their own. If a section has several such lists, only the first is
    `explained`.
    """
    first, n_slices = gaps["uncalibrated"], len(gaps["uncalibrated"])
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
        analysis.methods[key].label: _table(gaps[key], one, caption, most)
        for key, one in tests.items()
    }
    return (
        Heading(wording.heading(tests["uncalibrated"], first.columns)),
        *([REVEALS_OUTCOME] if reveals_outcome(first) else []),
        Annotated(Drawing(drawn, "slices", has_rows=True), tuple(notes)),
        Tabs("Slices", tables),
    )


def reveals_outcome(gaps: SliceGaps) -> bool:
    """Whether all rows of each slice have the same outcome. A slice of one row always has."""
    mixed = (gaps.positives > 0) & (gaps.positives < gaps.rows)
    return len(gaps) > 1 and not mixed.any() and not gaps.few.all()


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


def tables(
    labels: Mapping[str, str],
    gaps: Mapping[str, SliceGaps],
    tests: Mapping[str, SliceTests],
    of_all: Mapping[str, tuple[SliceGaps, SliceTests]],
) -> Tabs:
    """The exact numbers of all slices and of all rows, by the label of the scores."""
    n_slices = len(next(iter(gaps.values())))
    caption = _caption(tests, next(iter(gaps.values())).columns, MAX_LISTED, n_slices, 0)
    return Tabs(
        "Slices",
        {
            label: _table(gaps[key], tests[key], caption, MAX_LISTED, of_all[key])
            for key, label in labels.items()
        },
    )


def _table(
    gaps: SliceGaps,
    tests: SliceTests,
    caption: str,
    most: int,
    of_all: tuple[SliceGaps, SliceTests] | None = None,
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
    rows = [_row("All rows", *of_all, 0)] if of_all else []
    rows += [
        _row(names[i], gaps, tests, i, marked=bool(marked[i]))
        for i in in_reading_order(tests, most).tolist()
    ]
    return Table(caption, ("Slice", *meanings), tuple(rows), meanings=meanings)


def in_one_table(tables: Sequence[tuple[SliceGaps, SliceTests]], most: int) -> Table:
    """The slices of several columns below each other, at most this many."""
    parts = [_table(gaps, tests, "", len(gaps)) for gaps, tests in tables]
    rows = [row for part in parts for row in part.rows]
    cut = f" The first {most} of {len(rows)} slices." if len(rows) > most else ""
    at = level(tables[0][0].confidence_level)
    caption = f"Uncalibrated scores, with {at} intervals. {MARKED}{cut}"
    return replace(parts[0], caption=caption, rows=tuple(rows[:most]))


def _row(
    name: str, gaps: SliceGaps, tests: SliceTests, i: int, *, marked: bool = False
) -> tuple[Value, ...]:
    slope = Estimate(tests.slope[i], tests.slope_low[i], tests.slope_high[i])
    return (
        Value(name, plural(gaps.rows[i], "row"), marked=marked),
        Value(percent(gaps.mean_score[i])),
        Value(percent(gaps.observed[i]), f"{count(gaps.positives[i])} positive"),
        Value(points(gaps.gap[i]), f"{points(gaps.low[i])} to {points(gaps.high[i])}"),
        slope_value(slope),
        Value(percent(tests.ks[i])),
        Value(TOO_FEW if tests.few[i] else p_value(tests.p_adjusted[i])),
    )


def slope_value(slope: Estimate) -> Value:
    """A slope or an intercept with its interval."""
    if math.isnan(slope.value):
        return Value("not estimable")
    return Value(number(slope.value, 2), interval(slope, 2))


@dataclass(frozen=True, slots=True, eq=False)
class SlicedScores:
    """Slices and all rows under the uncalibrated scores, and under those after calibration.

    The keys are those of `labels`, the uncalibrated scores first. Curves and periods are by the
    number of a slice; those of all rows have no number.
    """

    labels: Mapping[str, str]
    gaps: Mapping[str, SliceGaps]
    tests: Mapping[str, SliceTests]
    of_all: Mapping[str, tuple[SliceGaps, SliceTests]]
    curves: Mapping[tuple[str, int | None], ReliabilityCurve]
    ks_errors: Mapping[tuple[str, int | None], Estimate]
    over_time: Mapping[tuple[str, int | None], SliceOverTime]

    def rows(self, actions: Mapping[int | None, str]) -> tuple[SliceRow, ...]:
        """The slices with the strongest evidence first, and all rows. `actions` are by number."""
        (first, *_), names = self.labels, slice_names(self.columns, self.gaps_now.names)
        drawn = [
            self._row(i, names[i], int(self.tests[first].number[i]), actions)
            for i in self.tests[first].order[:MAX_DRAWN].tolist()
        ]
        return (*drawn, self._row(0, "All rows", None, actions))

    @property
    def gaps_now(self) -> SliceGaps:
        return next(iter(self.gaps.values()))

    @property
    def columns(self) -> tuple[str, ...]:
        return self.gaps_now.columns

    def _row(
        self, i: int, name: str, number: int | None, actions: Mapping[int | None, str]
    ) -> SliceRow:
        keys = list(self.labels)
        before, *others = (self._scores(key, i, number) for key in keys)
        # A plan for other rows keeps the scores of this slice, and changes nothing here.
        after = next((one for one in others if not _are_equal(before, one)), None)
        gaps = self.gaps_now if number is not None else self.of_all[keys[0]][0]
        times = self.over_time.get((keys[0], number))
        return SliceRow(
            name,
            int(gaps.rows[i]),
            int(gaps.positives[i]),
            before,
            after,
            over_time=None if times is None else times.observed,
            half=None if times is None else times.half,
            action=actions.get(number, ""),
            is_total=number is None,
        )

    def _scores(self, key: str, i: int, number: int | None) -> Scores:
        gaps, tests = (self.gaps[key], self.tests[key]) if number is not None else self.of_all[key]
        times = self.over_time.get((key, number))
        return Scores(
            Estimate(float(gaps.gap[i]), float(gaps.low[i]), float(gaps.high[i])),
            float(gaps.observed[i]),
            float(gaps.mean_score[i]),
            self.ks_errors[key, number],
            float(tests.p_adjusted[i]),
            tests.test[i],
            self.curves.get((key, number)),
            None if times is None else times.mean_score,
        )

    def copied(self) -> list[list[str]]:
        """The numbers of all slices, as they are copied, the head first."""
        lines = [list(COPIED)]
        for key, label in self.labels.items():
            gaps, tests = self.gaps[key], self.tests[key]
            names = slice_names(gaps.columns, gaps.names)
            lines.append(_copied("All rows", label, *self.of_all[key], 0))
            lines += [_copied(names[i], label, gaps, tests, i) for i in range(len(gaps))]
        return lines


def _are_equal(one: Scores, other: Scores) -> bool:
    return (one.gap.value, one.ks.value) == (other.gap.value, other.ks.value)


def _copied(name: str, label: str, gaps: SliceGaps, tests: SliceTests, i: int) -> list[str]:
    numbers = (
        *(gaps.mean_score[i], gaps.observed[i], gaps.gap[i], gaps.low[i], gaps.high[i]),
        *(tests.slope[i], tests.slope_low[i], tests.slope_high[i], tests.ks[i]),
        tests.p_adjusted[i],
    )
    exact = ["" if math.isnan(value) else significant(value, 6) for value in numbers]
    return [name, label, str(gaps.rows[i]), str(gaps.positives[i]), *exact]


CENTRES_READING = Note(
    "The prediction interval is of the true value in a new centre that is drawn like these. It "
    "is wider than the usual t interval, which covers less than it states."
)
TOO_FEW_CENTRES = (
    f"A prediction interval needs {MIN_GROUPS} centres with an estimate. With fewer there are tau "
    "and the table only."
)


def centres(table: Centres, column: str, at: str) -> tuple[Block, ...]:
    """O:E ratio, intercept and slope per centre, and what a new centre can expect.

    `at` is the level of the intervals in words.
    """
    shown = {
        "O:E ratio": (table.ratio, table.ratios),
        "Intercept at slope 1": (table.intercept, table.intercepts),
        "Slope": (table.slope, table.slopes),
    }
    shown = {name: one for name, one in shown.items() if one[1] is not None}
    rows = [
        row(
            name,
            count(table.rows[i]),
            count(table.positives[i]),
            *(_estimate(values[i]) for values, _ in shown.values()),
        )
        for i, name in enumerate(table.names)
    ]
    between = [one for _, one in shown.values() if one is not None]
    means = (Value("Mean of the centres"), Value(""), Value(""))
    rows.append((*means, *(_estimate(one.mean) for one in between)))
    taus = ("Spread between centres (tau; of ln O:E)", "", "")
    rows.append(row(*taus, *(number(one.tau, 3) for one in between)))
    is_predicted = any(math.isfinite(one.new_group.low) for one in between)
    if is_predicted:
        new = (Value("New centre", "prediction interval", marked=True), Value(""), Value(""))
        rows.append((*new, *(_predicted(one.new_group) for one in between)))
    caption = f"By {column}, with {at} intervals."
    printed = Table(caption, ("Centre", "Rows", "Positives", *shown), tuple(rows), name="Centres")
    return printed, CENTRES_READING if is_predicted else Note(TOO_FEW_CENTRES)


def _estimate(estimate: Estimate) -> Value:
    return Value(number(estimate.value, 2), interval(estimate, 2))


def _predicted(estimate: Estimate) -> Value:
    return Value(interval(estimate, 2))


SMALLEST_P = 0.001
GRADES_READING = Note(
    "A small p is evidence that the PD is too low (one-sided; Jeffreys with the prior Beta(1/2, "
    "1/2)). Both tests assume that defaults are independent. Colours are the policy of the house "
    f"and not of the supervisor: yellow below p = {YELLOW_BELOW:g}, red below {RED_BELOW:g}."
)


def grades(graded: Grades, column: str, at: str) -> tuple[Block, ...]:
    """PD, rows, defaults, observed rate and the tests of each grade and of the portfolio.

    `at` is the level of the intervals in words.
    """
    bounds = zip(graded.rate_low.tolist(), graded.rate_high.tolist(), strict=True)
    rows = tuple(
        (
            Value(name, marked=light != "green"),
            Value(percent(graded.pd[i], 2)),
            Value(count(graded.rows[i])),
            Value(count(graded.defaults[i])),
            Value(percent(graded.rate[i], 2), f"{percent(low, 2)} to {percent(high, 2)}"),
            Value(_small(graded.jeffreys[i])),
            Value(_small(graded.binomial[i])),
            Value(light),
            *([Value(count(graded.exposure[i]))] if graded.exposure is not None else []),
        )
        for i, (name, light, (low, high)) in enumerate(
            zip(graded.names, graded.lights, bounds, strict=True)
        )
    )
    head = ("Grade", "PD", "Rows", "Defaults", "Observed", "p (Jeffreys)", "p (exact)", "Light")
    exposure = ("Exposure",) if graded.exposure is not None else ()
    caption = f"By {column}, with {at} Jeffreys intervals. The PD of the portfolio counts rows."
    table = Table(caption, (*head, *exposure), rows, name="Grades")
    notes = tuple(map(wording.grade_note, graded.notes))
    return table, *([Bullets(notes)] if notes else []), GRADES_READING


def _small(p: float) -> str:
    """A p-value, of which very small ones need no digits."""
    return probability(p) if p >= SMALLEST_P else f"< {SMALLEST_P:g}"

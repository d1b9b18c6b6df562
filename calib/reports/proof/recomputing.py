"""Recompute a report from the counts that it contains, and find the differences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.periods import Periods, period_table
from calib.analysis.plans import with_advice
from calib.analysis.slices import slice_gaps, slice_tests
from calib.calibrators import CALIBRATORS
from calib.data.strict_json import short
from calib.numerics.cell_table import CellTable
from calib.reports.contents.codec import encode
from calib.reports.contents.disclosure import aggregated
from calib.reports.contents.evidence import SLICE, TIME, Evidence
from calib.reports.contents.slices_periods_decisions import certificate_part, decision_part
from calib.reports.contents.structure import Contents, Parts, PeriodPart, SlicePart
from calib.reports.proof.collecting import entry_table

Json = dict[str, Any]
# These texts were written by the program. They are never compared, because another version may word
# them differently. The columns of the metric table are headings, their order and digits.
WORDS = (
    r"analysis\.columns"
    r"|(analysis|parts)\..*\.(label|sentence|notes|reasons|null|formula|tested_on|finding)\b"
    r"|analysis\.(verdict|after)\.evidence\b"
)
# Counts cannot confirm words, what a person wrote, the names in the file, or which rows were left
# out before counting. Only the seal protects these values.
UNCOUNTED_PLACES = re.compile(
    rf"{WORDS}|analysis\.recommendation\.plan|(analysis\.(warnings|data\.(origin|name|score_name|outcome_name|set_aside)))"
    r"|parts\.(notes|unit|n_ranges|time|slices\[\d+\]\.n_(merged|left_out)|periods\.column)"
    r"|parts\.periods\.tables\.\w+\.(unit|position)"
    r"|parts\.judge"
)
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in a report whose value differs from that of its counts."""

    place: str  # An example is "analysis.methods.beta.metrics.log_loss.value".
    # A value is None if there is none at this place.
    printed: Any
    recomputed: Any

    @property
    def distance(self) -> float:
        """Distance of two numbers; infinite for other values."""
        both = (self.printed, self.recomputed)
        if not all(type(value) in (int, float) for value in both):
            return math.inf
        return abs(float(self.printed) - float(self.recomputed))

    @property
    def sentence(self) -> str:
        return f"{self.place} is {_short(self.printed)}; the cells give {_short(self.recomputed)}"


def _short(value: Any) -> str:
    return "nothing" if value is None else short(value)


def recomputed(report: Contents, evidence: Evidence, analysis: LiveAnalysis) -> Json:
    """Analysis and parts as report.json would hold them, by an analysis of the cells."""
    parts = report.parts and recomputed_parts(report.parts, evidence, report.analysis.data.n_rows)
    if parts is not None and parts.decisions is not None:
        costs = parts.decisions.table.costs
        parts = replace(parts, decisions=decision_part(analysis, costs))
    if parts is not None and parts.certificate is not None:
        limit, settings = parts.certificate.limit, report.analysis.settings
        certificate = certificate_part(evidence.cells, settings, limit)
        parts = replace(parts, certificate=certificate)
    return {"analysis": encode(aggregated(analysis)), "parts": encode(parts)}


def recomputed_parts(parts: Parts, evidence: Evidence, n_rows: int) -> Parts:
    """Slices and periods made again from the counts; what was not counted stays."""
    slices = (
        _slices(part, evidence, name) if (name := SLICE.format(i)) in evidence.columns else part
        for i, part in enumerate(parts.slices)
    )
    periods = parts.periods
    if periods is not None and TIME in evidence.columns:
        periods = _periods(periods, evidence, n_rows)
    return replace(parts, slices=tuple(slices), periods=periods)


def _slices(part: SlicePart, evidence: Evidence, column: str) -> SlicePart:
    gaps, tests = {}, {}
    for key, printed_gaps in part.gaps.items():
        rows, cut = evidence.rows(key, column)
        cut, level = replace(cut, columns=part.columns), printed_gaps.confidence_level
        gaps[key] = slice_gaps(rows, rows.score, cut, confidence_level=level)
        tests[key] = slice_tests(rows, rows.score, cut, confidence_level=level)
    return replace(part, gaps=gaps, tests=tests)


def _periods(part: PeriodPart, evidence: Evidence, n_rows: int) -> PeriodPart:
    tables = {}
    for key, printed_table in part.tables.items():
        rows, cut = evidence.rows(key, TIME)
        place = dict(zip(printed_table.names, printed_table.position.tolist(), strict=True))
        position = np.array([place.get(name, 0) for name in cut.names], dtype=np.int64)
        periods = Periods(printed_table.unit, cut.names, position, cut.codes)
        table = period_table(
            rows, rows.score, periods, confidence_level=printed_table.confidence_level
        )
        tables[key] = replace(table, n_missing=n_rows - int(table.rows.sum()))
    return replace(part, tables=tables)


def differences(printed: Any, again: Any, place: str, *, earlier: bool) -> Iterator[Difference]:
    """Every place where two JSON values differ, in the order of the first one.

    A report of an earlier version lacks results that were added since. It has all of its methods.
    """
    if isinstance(printed, dict) and isinstance(again, dict):
        added = (name for name in again if not earlier or name in CALIBRATORS)
        for name in dict.fromkeys((*printed, *added)):
            where = f"{place}.{name}"
            yield from differences(printed.get(name), again.get(name), where, earlier=earlier)
    elif isinstance(printed, list) and isinstance(again, list):
        if len(printed) != len(again):
            yield Difference(place, f"a list of {len(printed)}", f"a list of {len(again)}")
            return
        for i, (one, other) in enumerate(zip(printed, again, strict=True)):
            yield from differences(one, other, f"{place}[{i}]", earlier=earlier)
    elif printed != again or isinstance(printed, bool) != isinstance(again, bool):
        yield Difference(place, printed, again)


def counted_differences(printed: Json, again: Json, *, earlier: bool) -> Iterator[Difference]:
    """Differences of analysis and parts, except those of values that counts cannot confirm."""
    for name in again:
        for difference in differences(printed.get(name), again[name], name, earlier=earlier):
            if not UNCOUNTED_PLACES.match(difference.place):
                yield difference


def refitted_differences(
    report: Contents, evidence: Evidence, printed: Json, *, earlier: bool, to_the_bit: bool
) -> Iterator[Difference]:
    """Differences between an exact report and the analysis of its cells.

    `earlier`: another version of calib made the report. `to_the_bit`: numbers must be equal.
    """
    analysis = analyze(evidence.cells, report.analysis.settings)
    if report.analysis.recommendation.plan is not None:
        analysis = with_advice(analysis, report.analysis.recommendation)
    again = recomputed(report, evidence, analysis)
    for difference in counted_differences(printed, again, earlier=earlier):
        if difference.distance > (0.0 if to_the_bit else _slack(difference)):
            yield difference
    yield from _wrong_cells(analysis, evidence)


def _slack(difference: Difference) -> float:
    value = difference.printed
    return ROUNDING * max(1.0, abs(value)) if type(value) in (int, float) else 0.0


def _wrong_cells(analysis: LiveAnalysis, evidence: Evidence) -> Iterator[Difference]:
    """Held-out cells of an exact report are those that the fits give."""
    for key in analysis.methods:
        if not _have_same_cells(entry_table(analysis.held_out.view(key)), evidence.table(key)[1]):
            yield Difference(f"evidence.methods, {key}", "one set of cells", "another")
    for column in evidence.columns:
        if evidence.cells.fold_names:
            continue  # Folds of the rows of a slice are not counted.
        yield from _wrong_slices(analysis, evidence, column)


def _wrong_slices(analysis: LiveAnalysis, evidence: Evidence, column: str) -> Iterator[Difference]:
    rows, cut = evidence.rows("uncalibrated", column)
    if analysis.held_out.rows.test is not None:
        rows = replace(rows, test=np.ones(len(rows), dtype=np.bool_))
    timed = analysis.held_out.on(rows)
    for key in evidence.methods.models:
        printed_cells = evidence.table(key, column)[1]
        if len(printed_cells) and not _have_same_cells(
            entry_table(timed.row_view(key), cut.codes), printed_cells
        ):
            yield Difference(f"evidence.methods, {key} by {column}", "one set of cells", "another")


def _have_same_cells(one: CellTable, other: CellTable) -> bool:
    if len(one) != len(other):
        return False
    pairs = ((getattr(one, n), getattr(other, n)) for n in ("stratum", "outcome", "rows"))
    sums = ((getattr(one, n), getattr(other, n)) for n in ("low", "weight", "weight_sq"))
    return all(np.array_equal(*pair) for pair in pairs) and all(
        np.allclose(*pair, rtol=ROUNDING, atol=ROUNDING) for pair in sums
    )

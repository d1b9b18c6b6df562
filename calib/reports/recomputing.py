"""Recompute a report from the counts that it contains, and find the differences."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.periods import Periods, period_table
from calib.analysis.slices import slice_gaps, slice_tests
from calib.core.strict_json import short
from calib.core.views import BinaryView
from calib.metrics import auc
from calib.metrics.proper import row_brier, row_log_loss
from calib.numerics.arrays import FloatArray
from calib.numerics.cell_table import CellTable
from calib.reports.build_parts import decision_part
from calib.reports.codec import encode
from calib.reports.contents import Contents, Parts, PeriodPart, SlicePart
from calib.reports.disclosure import aggregated
from calib.reports.evidence import SLICE, TIME, Evidence

Json = dict[str, Any]
# What a person wrote or the file is called, and what was left out before anything was counted. The
# seal holds them; counts know nothing of them.
WORDS = re.compile(
    r"(analysis\.(warnings|data\.(origin|name|score_name|outcome_name|set_aside)))"
    r"|parts\.(notes|unit|n_ranges|time|slices\[\d+\]\.n_(merged|left_out)|periods\.column)"
    r"|parts\.periods\.tables\.\w+\.(unit|position)"
)
# Merged cells have other numbers of these by their nature.
OF_CELLS = re.compile(r"(n_distinct|named_folds|n_empty|resolution|distinct\.value)$")
# Along which a curve with other points is compared.
ACROSS = ("fractile", "mean_score", "score")
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """A place in a report whose value differs from that of its counts."""

    place: str  # such as "analysis.methods.beta.metrics.log_loss.value"
    # None where there is no such value.
    printed: Any
    recomputed: Any

    @property
    def kind(self) -> str:
        """The place without positions in lists: those of one list have one bound."""
        return re.sub(r"\[\d+\]", "", self.place)

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
    for key, own in part.gaps.items():
        rows, cut = evidence.rows(key, column)
        cut, level = replace(cut, columns=part.columns), own.confidence_level
        gaps[key] = slice_gaps(rows, rows.score, cut, confidence_level=level)
        if key in part.tests:
            tests[key] = slice_tests(rows, rows.score, cut, confidence_level=level)
    return replace(part, gaps=gaps, tests=tests)


def _periods(part: PeriodPart, evidence: Evidence, n_rows: int) -> PeriodPart:
    tables = {}
    for key, own in part.tables.items():
        rows, cut = evidence.rows(key, TIME)
        place = dict(zip(own.names, own.position.tolist(), strict=True))
        position = np.array([place.get(name, 0) for name in cut.names], dtype=np.int64)
        periods = Periods(own.unit, cut.names, position, cut.codes)
        found = period_table(rows, rows.score, periods, confidence_level=own.confidence_level)
        tables[key] = replace(found, n_missing=n_rows - int(found.rows.sum()))
    return replace(part, tables=tables)


def ranges_of(report: Contents, evidence: Evidence) -> dict[str, tuple[float, float]]:
    """Smallest and largest possible value of each number, from the held-out cells alone.

    No fit is needed for these, and nothing that the report says of itself: within a cell each row
    has some score between the cell's bounds, and the mean of all is known.
    """
    rows = evidence.rows("uncalibrated")[0]
    scored = rows.cells()
    found: dict[str, float] = {
        "n_rows": rows.n_rows,
        "n_positive": int(rows.counts[rows.outcome].sum()),
        "base_rate": scored.base_rate,
        "mean_score": scored.mean_score,
    }
    ranges = {f"analysis.data.{name}": (value, value) for name, value in found.items()}
    for key in report.analysis.methods:
        for name, ends in _ranges_of_method(evidence, key).items():
            ranges[f"analysis.methods.{key}.metrics.{name}.value"] = ends
    return ranges


def _ranges_of_method(evidence: Evidence, key: str) -> dict[str, tuple[float, float]]:
    rows, table = evidence.rows(key)[0], evidence.table(key)[1]
    share = rows.weights / rows.weights.sum()
    found = {"ks_error": _range_of_ks(table)}
    for name, loss in (("log_loss", row_log_loss), ("brier_score", row_brier)):
        ends = np.array([loss(rows.outcome, score) for score in (table.low, table.high)])
        found[name] = (float(share @ ends.min(axis=0)), float(share @ ends.max(axis=0)))
    if key == "uncalibrated":
        found["auc"] = _range_of_auc(rows, table)
    return found


def _by_cell(table: CellTable) -> tuple[FloatArray, ...]:
    """Positive and negative weight of each cell, its sum of scores, and its bounds."""
    starts = np.flatnonzero(np.diff(table.key, prepend=table.key[0] - 1))
    positive = np.where(table.outcome, table.weight, 0.0)
    negative = np.where(table.outcome, 0.0, table.weight)
    return (
        *(np.add.reduceat(each, starts) for each in (positive, negative, table.score_sum)),
        np.minimum.reduceat(table.low, starts),
        np.maximum.reduceat(table.high, starts),
    )


def _range_of_ks(table: CellTable) -> tuple[float, float]:
    """The cumulative difference is known where cells end, and bounded within them."""
    positive, negative, score, low, high = _by_cell(table)
    whole = float((positive + negative).sum())
    least = float(np.abs(np.cumsum(positive - score)).max()) / whole
    beyond = np.where(high > low, np.minimum(positive * (1.0 - low), negative * high), 0.0)
    return least, least + float(beyond.max()) / whole


def _range_of_auc(rows: BinaryView, table: CellTable) -> tuple[float, float]:
    """Pairs within a cell may be in any order."""
    positive, negative, _, low, high = _by_cell(table)
    pairs = float(positive.sum() * negative.sum())
    loose = 0.5 * float((positive * negative)[high > low].sum()) / pairs if pairs else math.nan
    area = auc(rows.cells())
    return area - loose, area + loose


def outside(printed: Json, ranges: Mapping[str, tuple[float, float]]) -> Iterator[Difference]:
    """Numbers of a report that its held-out cells cannot give."""
    for place, (low, high) in ranges.items():
        value: Any = printed
        for name in place.split("."):
            value = value[name]
        slack = ROUNDING * max(1.0, abs(low), abs(high))
        if value is not None and not low - slack <= value <= high + slack:
            yield Difference(place, value, low if value < low else high)


def differences(printed: Any, again: Any, place: str) -> Iterator[Difference]:
    """Every place where two JSON values differ, in the order of the first one."""
    if isinstance(printed, dict) and isinstance(again, dict):
        again = _at_the_same_points(printed, again)
        for name in dict.fromkeys((*printed, *again)):
            where = f"{place}.{name}"
            yield from differences(printed.get(name), again.get(name), where)
    elif isinstance(printed, list) and isinstance(again, list):
        if len(printed) != len(again):
            yield Difference(place, f"a list of {len(printed)}", f"a list of {len(again)}")
            return
        for i, (one, other) in enumerate(zip(printed, again, strict=True)):
            yield from differences(one, other, f"{place}[{i}]")
    elif printed != again or isinstance(printed, bool) != isinstance(again, bool):
        yield Difference(place, printed, again)


def _at_the_same_points(printed: Json, again: Json) -> Json:
    """Interpolate a curve at the points of the printed curve."""
    name = next(
        (x for x in ACROSS if _is_numbers(printed.get(x)) and _is_numbers(again.get(x))), ""
    )
    if not name or len(printed[name]) == len(again[name]):
        return again
    xs, at = np.array(again[name]), np.array(printed[name])
    order = np.argsort(xs, kind="stable")
    lists = {
        key: np.interp(at, xs[order], np.array(values)[order]).tolist()
        for key, values in again.items()
        if _is_numbers(values) and len(values) == len(xs)
    }
    return again | lists


def _is_numbers(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) > 0 and all(type(v) in (int, float) for v in value)
    )


def found_differences(printed: Json, again: Json) -> Iterator[Difference]:
    """Differences of analysis and parts. Words are protected only by the seal."""
    for name in again:
        for found in differences(printed.get(name), again[name], name):
            if not WORDS.match(found.place):
                yield found


def with_bounds(report: Contents, evidence: Evidence) -> Evidence:
    """The evidence of a guarded report, with how far its cells' numbers are from those printed."""
    if evidence.grade == "exact" or not evidence.refits:
        return evidence
    bounds: dict[str, float] = {}
    others: dict[str, None] = {}
    analysis = analyze(evidence.cells, report.analysis.settings)
    for each in found_differences(encode(report), recomputed(report, evidence, analysis)):
        if OF_CELLS.search(each.kind):
            continue
        if math.isinf(each.distance):
            others[each.kind] = None
        else:
            bounds[each.kind] = max(bounds.get(each.kind, 0.0), each.distance)
    upward = {kind: _rounded_up(bound) for kind, bound in sorted(bounds.items())}
    return replace(evidence, bounds=upward, others=tuple(sorted(others)))


def _rounded_up(bound: float) -> float:
    """With two digits, and not smaller."""
    bound = max(bound, 1e-300)  # the unit of a smaller one may be no float
    unit = 10.0 ** (math.floor(math.log10(bound)) - 1)
    return float(f"{math.ceil(bound / unit * (1.0 + 1e-12)) * unit:.2g}")

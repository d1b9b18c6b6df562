"""Checks of a report beyond its types, so that every table and chart can be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from calib.analysis import Analysis, MethodResult
from calib.analysis.decisions import Certificate
from calib.analysis.limits import LIMITS
from calib.analysis.plans import PLAN_METHODS
from calib.analysis.recommendation import Recommendation
from calib.calibrators import CALIBRATORS
from calib.crossfit.matrix_comparison import MulticlassComparison
from calib.crossfit.settings import Settings
from calib.data.views import parse_view
from calib.metrics import matrix_metrics
from calib.metrics.matrix import ROW_METRICS as OVERALL
from calib.numerics.arrays import arrays_of
from calib.reports.contents.codec import ReportError
from calib.reports.contents.structure import (
    Contents,
    DecisionPart,
    JudgePart,
    Parts,
    SlicePart,
    moment,
)


def check_contents(contents: Contents) -> None:
    """Refuse a report that cannot be drawn. The message names the place."""
    # Later checks rely on what earlier ones have checked.
    if problem := next(_problems(contents), ""):
        raise ReportError(problem)


def _problems(contents: Contents) -> Iterator[str]:
    try:
        moment(contents.created)
    except (ValueError, OverflowError):
        yield f"created must be an ISO 8601 date, got {contents.created[:60]!r}."
    names = {field.name for field in fields(Settings)}
    for name in contents.settings_changed:
        if name not in names:
            yield f"settings_changed must name settings, got {name!r:.60}."
    yield from _check_analysis(contents.analysis)
    yield from _check_limits(contents)
    if contents.parts is not None:
        yield from _check_parts(contents.parts, contents.analysis.methods)
        if contents.parts.judge is not None:
            yield from _check_judge(contents.parts.judge, contents.analysis.data.n_rows)
    for key in contents.analysis.methods:
        if not len(contents.evidence.table(key)[1]):
            yield f"evidence.methods must hold the scores of {key!r:.60}, got none."


def _check_limits(contents: Contents) -> Iterator[str]:
    limits = {limit.argument: limit for limit in LIMITS}
    columns = {column.key for column in contents.analysis.columns}
    for name, bound in contents.limits.items():
        if name not in limits or not limits[name].allows(bound):
            yield f"limits must be bounds of {', '.join(limits)}, got {bound:g} of {name!r:.60}."
        column = limits[name].column
        if column is not None and column(contents.analysis) not in columns:
            yield f"limits: {name} needs a metric that is not in the report."


def _check_analysis(analysis: Analysis) -> Iterator[str]:
    if "uncalibrated" not in analysis.methods:
        yield "the report's methods must hold 'uncalibrated', got none."
    try:
        parse_view(analysis.settings.view)
    except ValueError as error:
        yield f"settings: {error}"
    recommended = analysis.recommendation.method
    if recommended and recommended not in analysis.methods:
        yield f"the recommended method must be in the report, got {recommended!r:.60}."
    yield from _check_plan(analysis.recommendation)
    yield from _check_lengths("fitted_reliability", analysis.fitted_reliability)
    yield from _check_lengths("compact_logit", analysis.compact_logit)
    columns = [column.key for column in analysis.columns]
    if "log_loss" not in columns:
        yield "the report's columns must hold 'log_loss', got none."
    for key, method in analysis.methods.items():
        yield from _check_method(key, method, columns)
    if analysis.multiclass is not None:
        yield from _check_matrix(analysis.multiclass)


def _check_plan(advice: Recommendation) -> Iterator[str]:
    plan = advice.plan
    if plan is None:
        return
    if plan.method not in PLAN_METHODS or plan.since is None:
        yield f"recommendation.plan must have a method and a first day, got {plan.method!r:.60}."
    if advice.method:
        yield f"a plan must be recommended alone, got the method {advice.method!r:.60} too."


def _check_matrix(compared: MulticlassComparison) -> Iterator[str]:
    if "uncalibrated" not in compared.results:
        yield "multiclass.results must hold 'uncalibrated', got none."
    for key, result in compared.results.items():
        for entries, needed in ((result.metrics, matrix_metrics()), (result.differences, OVERALL)):
            for name in needed:
                if name not in entries:
                    yield f"multiclass.results.{key} must have {name!r}, got none."


def _check_method(key: str, method: MethodResult, columns: list[str]) -> Iterator[str]:
    if method.key != key:
        yield f"methods.{key} must have that key, got {method.key!r:.60}."
    for name in ("log_loss", *columns):
        if name not in method.metrics:
            yield f"methods.{key} must have the metric {name!r:.60}, got none."
    if "log_loss" not in method.differences:
        yield f"methods.{key} must have the difference 'log_loss', got none."
    drawn = ("reliability", "cumulative", *(("function",) if method.function.has_curve else ()))
    for name in drawn:
        yield from _check_lengths(f"methods.{key}.{name}", getattr(method, name))


def _check_parts(parts: Parts, methods: Iterable[str]) -> Iterator[str]:
    for number, part in enumerate(parts.slices):
        yield from _check_tables(f"parts.slices[{number}].gaps", part.gaps, methods)
        yield from _check_tables(f"parts.slices[{number}].tests", part.tests, methods)
        yield from _check_same_slices(f"parts.slices[{number}].tests", part)
    if parts.periods is not None:
        yield from _check_tables("parts.periods.tables", parts.periods.tables, methods)
    if parts.decisions is not None:
        yield from _check_decisions(parts.decisions, methods)
    if parts.certificate is not None:
        yield from _check_certificate(parts.certificate)


def _check_judge(part: JudgePart, n_rows: int) -> Iterator[str]:
    yield from _check_lengths("parts.judge.ranges", part.ranges)
    if (part.ranges.labels < 1).any():
        yield "parts.judge.ranges must have labels each, got none."
    for place, labels in {
        "numbers.n_labels": part.numbers.n_labels,
        "ranges.labels": int(part.ranges.labels.sum()),
    }.items():
        if labels != n_rows:
            yield f"parts.judge.{place} must be the {n_rows} rows of the analysis, got {labels}."


def _check_certificate(certificate: Certificate) -> Iterator[str]:
    for side, name in zip(certificate.sides, ("above", "below"), strict=False):
        where = f"parts.certificate.{name}"
        if side.side != name:
            yield f"{where}.side must be {name!r}, got {side.side!r}."
        if len({len(values) for values in arrays_of(side).values()}) > 1:
            yield f"{where} must hold lists of one length."
        least = 0 if side.threshold is None else 1
        if not least <= side.n_rows <= certificate.n_rows:
            yield f"{where}.n_rows must be rows of the certificate, got {side.n_rows}."


def _check_decisions(part: DecisionPart, methods: Iterable[str]) -> Iterator[str]:
    yield from _check_method_keys("parts.decisions.table.methods", part.table.methods, methods)
    yield from _check_method_keys("parts.decisions.left_out", part.left_out, methods)
    yield from _check_lengths("parts.decisions.benefit", part.benefit)
    for where, curves, threshold in (
        ("cost", part.cost.cost, part.cost.threshold),
        ("benefit", part.benefit.benefit, part.benefit.threshold),
    ):
        yield from _check_keys(f"parts.decisions.{where}", curves, methods)
        if any(len(curve) != len(threshold) for curve in curves.values()):
            yield (
                f"parts.decisions.{where} must hold curves as long as its thresholds, got "
                f"{len(threshold)} of those."
            )


def _check_tables(where: str, tables: Mapping[str, Any], methods: Iterable[str]) -> Iterator[str]:
    yield from _check_keys(where, tables, methods)
    for key, table in tables.items():
        yield from _check_lengths(f"{where}.{key}", table)
        if len(table.names) != len(table.rows):
            yield f"{where}.{key} must hold as many names as rows, got {len(table.names)}."


def _check_same_slices(where: str, part: SlicePart) -> Iterator[str]:
    for key, gaps in part.gaps.items():
        if key not in part.tests or part.tests[key].names != gaps.names:
            yield f"{where}.{key} must hold the slices of its gaps, got others."


def _check_keys(where: str, entries: Mapping[str, Any], methods: Iterable[str]) -> Iterator[str]:
    if "uncalibrated" not in entries:
        yield f"{where} must hold 'uncalibrated', got none."
    yield from _check_method_keys(where, entries, methods)


def _check_method_keys(where: str, entries: Iterable[str], methods: Iterable[str]) -> Iterator[str]:
    for key in entries:
        if key not in methods or key not in CALIBRATORS:
            yield f"{where} must hold methods of the report, got {key!r:.60}."


def _check_lengths(where: str, curve: Any) -> Iterator[str]:
    lengths = {name: len(values) for name, values in arrays_of(curve).items() if name != "knots"}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        sizes = ", ".join(f"{name} of {n}" for name, n in lengths.items())
        yield f"{where} must hold lists of one length, got {sizes}."

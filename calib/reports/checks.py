"""Checks of a report beyond its types, so that every table and chart can be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from calib.analysis import Analysis, MethodResult
from calib.calibrators import CALIBRATORS
from calib.core.views import parse_view
from calib.crossfit.matrix_comparison import MulticlassComparison
from calib.crossfit.settings import Settings
from calib.metrics import matrix_metrics
from calib.metrics.matrix import ROW_METRICS as OVERALL
from calib.numerics.arrays import arrays_of
from calib.reports.codec import ReportError
from calib.reports.contents import Contents, DecisionPart, Parts, moment


def check_contents(contents: Contents) -> None:
    """Refuse a report that cannot be drawn. The message names the place."""
    _check_created(contents.created)
    _check_settings(contents.settings_changed)
    _check_analysis(contents.analysis)
    if contents.parts is not None:
        _check_parts(contents.parts, contents.analysis.methods)


def _check_created(created: str) -> None:
    try:
        moment(created)
    except (ValueError, OverflowError) as error:
        raise ReportError(f"created must be an ISO 8601 date, got {created[:60]!r}.") from error


def _check_settings(changed: Iterable[str]) -> None:
    known = {field.name for field in fields(Settings)}
    for name in changed:
        if name not in known:
            raise ReportError(f"settings_changed must name settings, got {name!r:.60}.")


def _check_analysis(analysis: Analysis) -> None:
    if "uncalibrated" not in analysis.methods:
        raise ReportError("the report's methods must hold 'uncalibrated', got none.")
    try:
        parse_view(analysis.settings.view)
    except ValueError as error:
        raise ReportError(f"settings: {error}") from error
    recommended = analysis.recommendation.method
    if recommended and recommended not in analysis.methods:
        raise ReportError(f"the recommended method must be in the report, got {recommended!r:.60}.")
    _check_lengths("fitted_reliability", analysis.fitted_reliability)
    _check_lengths("compact_logit", analysis.compact_logit)
    for key, method in analysis.methods.items():
        _check_method(key, method, [column.key for column in analysis.columns])
    if analysis.multiclass is not None:
        _check_matrix(analysis.multiclass)


def _check_matrix(compared: MulticlassComparison) -> None:
    if "uncalibrated" not in compared.results:
        raise ReportError("multiclass.results must hold 'uncalibrated', got none.")
    for key, result in compared.results.items():
        for found, needed in ((result.metrics, matrix_metrics()), (result.differences, OVERALL)):
            missing = [name for name in needed if name not in found]
            if missing:
                raise ReportError(f"multiclass.results.{key} must have {missing[0]!r}, got none.")


def _check_method(key: str, method: MethodResult, columns: list[str]) -> None:
    if method.key != key:
        raise ReportError(f"methods.{key} must have that key, got {method.key!r:.60}.")
    missing = [name for name in ("log_loss", *columns) if name not in method.metrics]
    if missing:
        raise ReportError(f"methods.{key} must have the metric {missing[0]!r:.60}, got none.")
    if "log_loss" not in method.differences:
        raise ReportError(f"methods.{key} must have the difference 'log_loss', got none.")
    drawn = ("reliability", "cumulative", *(("function",) if method.function.has_curve else ()))
    for name in drawn:
        _check_lengths(f"methods.{key}.{name}", getattr(method, name))


def _check_parts(parts: Parts, methods: Iterable[str]) -> None:
    for number, part in enumerate(parts.slices):
        _check_tables(f"parts.slices[{number}].gaps", part.gaps, methods)
    if parts.periods is not None:
        _check_tables("parts.periods.tables", parts.periods.tables, methods)
    if parts.decisions is not None:
        _check_decisions(parts.decisions, methods)


def _check_decisions(part: DecisionPart, methods: Iterable[str]) -> None:
    _check_known("parts.decisions.table.methods", part.table.methods, methods)
    _check_known("parts.decisions.left_out", part.left_out, methods)
    _check_lengths("parts.decisions.benefit", part.benefit)
    for where, curves, threshold in (
        ("cost", part.cost.cost, part.cost.threshold),
        ("benefit", part.benefit.benefit, part.benefit.threshold),
    ):
        _check_keys(f"parts.decisions.{where}", curves, methods)
        if any(len(curve) != len(threshold) for curve in curves.values()):
            raise ReportError(
                f"parts.decisions.{where} must hold curves as long as its thresholds, got "
                f"{len(threshold)} of those."
            )


def _check_tables(where: str, tables: Mapping[str, Any], methods: Iterable[str]) -> None:
    _check_keys(where, tables, methods)
    for key, table in tables.items():
        _check_lengths(f"{where}.{key}", table)
        if len(table.names) != len(table.rows):
            raise ReportError(
                f"{where}.{key} must hold as many names as rows, got {len(table.names)}."
            )


def _check_keys(where: str, found: Mapping[str, Any], methods: Iterable[str]) -> None:
    if "uncalibrated" not in found:
        raise ReportError(f"{where} must hold 'uncalibrated', got none.")
    _check_known(where, found, methods)


def _check_known(where: str, found: Iterable[str], methods: Iterable[str]) -> None:
    for key in found:
        if key not in methods or key not in CALIBRATORS:
            raise ReportError(f"{where} must hold methods of the report, got {key!r:.60}.")


def _check_lengths(where: str, curve: Any) -> None:
    lengths = {name: len(own) for name, own in arrays_of(curve).items() if name != "knots"}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ReportError(
            f"{where} must hold lists of one length, got "
            f"{', '.join(f'{name} of {n}' for name, n in lengths.items())}."
        )

"""Checks of a report beyond its types, so that every table and chart can be drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields

from calib.analysis import Analysis
from calib.analysis.plans import PLAN_METHODS
from calib.analysis.recommendation import Recommendation
from calib.analysis.summary import LIMITS
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings
from calib.data.views import parse_view
from calib.metrics import matrix_metrics
from calib.metrics.matrix import ROW_METRICS
from calib.reports.contents.codec import ReportError
from calib.reports.contents.structure import Contents, Parts, moment

UNCALIBRATED = ("uncalibrated",)


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
    settings = [field.name for field in fields(Settings)]
    for name in contents.settings_changed:
        if name not in settings:
            yield f"settings_changed must name settings, got {name!r:.60}."
    yield from _of_analysis(contents.analysis)
    yield from _of_limits(contents)
    for key in contents.analysis.methods:
        if not len(contents.evidence.table(key)[1]):
            yield f"evidence.methods must hold the scores of {key!r:.60}, got none."
    if (parts := contents.parts) is not None:
        yield from _of_methods(parts, contents.analysis.methods)
        yield from _of_certificate(parts)
        yield from _of_judge(parts, contents.analysis.data.n_rows)
        yield from _of_models(parts)


def _of_analysis(analysis: Analysis) -> Iterator[str]:
    methods, recommended = analysis.methods, analysis.recommendation.method
    columns = [column.key for column in analysis.columns]
    yield from _missing("the report's methods", methods, UNCALIBRATED)
    yield from _missing("the report's columns", columns, ["log_loss"])
    try:
        parse_view(analysis.settings.view)
    except ValueError as error:
        yield f"settings: {error}"
    if recommended and recommended not in methods:
        yield f"the recommended method must be in the report, got {recommended!r:.60}."
    yield from _of_plan(analysis.recommendation)
    for key, method in methods.items():
        if method.key != key:
            yield f"methods.{key} must have that key, got {method.key!r:.60}."
        yield from _missing(f"methods.{key}.metrics", method.metrics, ["log_loss", *columns])
        yield from _missing(f"methods.{key}.differences", method.differences, ["log_loss"])
    results = analysis.multiclass.results if analysis.multiclass else {}
    yield from _missing("multiclass.results", results, UNCALIBRATED if analysis.multiclass else ())
    for key, result in results.items():
        place = f"multiclass.results.{key}"
        yield from _missing(f"{place}.metrics", result.metrics, matrix_metrics())
        yield from _missing(f"{place}.differences", result.differences, ROW_METRICS)


def _of_plan(advice: Recommendation) -> Iterator[str]:
    plan = advice.plan
    if plan is None:
        return
    if plan.method not in PLAN_METHODS or plan.since is None:
        yield f"recommendation.plan must have a method and a first day, got {plan.method!r:.60}."
    if advice.method:
        yield f"a plan must be recommended alone, got the method {advice.method!r:.60} too."


def _missing(place: str, given: Collection[str], needed: Iterable[str]) -> Iterator[str]:
    for name in needed:
        if name not in given:
            yield f"{place} must hold {name!r:.60}, got none."


def _of_methods(parts: Parts, methods: Collection[str]) -> Iterator[str]:
    """Each part has results of methods of the report, and slices have gaps and tests."""
    for place, keys, needed in _by_method(parts):
        yield from _missing(f"parts.{place}", keys, needed)
        for key in keys:
            if key not in methods or key not in CALIBRATORS:
                yield f"parts.{place} must hold methods of the report, got {key!r:.60}."
    for i, part in enumerate(parts.slices):
        if any(part.tests[key].names != part.gaps[key].names for key in part.gaps):
            yield f"parts.slices[{i}].tests must hold the slices of its gaps, got others."


def _by_method(parts: Parts) -> Iterator[tuple[str, Collection[str], Collection[str]]]:
    """Each place with an entry per method, the methods that it has, and those that it needs."""
    for i, part in enumerate(parts.slices):
        yield f"slices[{i}].gaps", part.gaps, UNCALIBRATED
        yield f"slices[{i}].tests", part.tests, list(part.gaps)
    if parts.periods is not None:
        yield "periods.tables", parts.periods.tables, UNCALIBRATED
    if (decided := parts.decisions) is not None:
        yield "decisions.table.methods", decided.table.methods, ()
        yield "decisions.left_out", decided.left_out, ()
        yield "decisions.cost", decided.cost.cost, UNCALIBRATED
        yield "decisions.benefit", decided.benefit.benefit, UNCALIBRATED


def _of_limits(contents: Contents) -> Iterator[str]:
    limits = {limit.argument: limit for limit in LIMITS}
    columns = {column.key for column in contents.analysis.columns}
    for name, bound in contents.limits.items():
        if name not in limits or not limits[name].allows(bound):
            yield f"limits must be bounds of {', '.join(limits)}, got {bound:g} of {name!r:.60}."
        column = limits[name].column
        if column is not None and column(contents.analysis) not in columns:
            yield f"limits: {name} needs a metric that is not in the report."


def _of_certificate(parts: Parts) -> Iterator[str]:
    if parts.certificate is None:
        return
    for side, name in zip(parts.certificate.sides, ("above", "below"), strict=False):
        where = f"parts.certificate.{name}"
        if side.side != name:
            yield f"{where}.side must be {name!r}, got {side.side!r}."
        least = 0 if side.threshold is None else 1
        if not least <= side.n_rows <= parts.certificate.n_rows:
            yield f"{where}.n_rows must be rows of the certificate, got {side.n_rows}."


def _of_models(parts: Parts) -> Iterator[str]:
    """Every model has each metric of every method, so that the best can be found."""
    if parts.models is None:
        return
    compared, place = parts.models.comparison, "parts.models"
    yield from _missing(f"{place}.comparison.models", compared.models, [parts.models.shown])
    yield from _missing(f"{place}.comparison.methods", compared.methods, UNCALIBRATED)
    columns = [column.key for column in compared.columns]
    if columns[:1] != ["log_loss"]:
        yield f"{place}.comparison.columns must begin with 'log_loss', got {columns[:1]}."
    for name, one in compared.models.items():
        at = f"{place}.comparison.models.{name:.60}"
        for entry, by_method in (("metrics", one.metrics), ("differences", one.differences)):
            yield from _missing(f"{at}.{entry}", by_method, compared.methods)
            needed = columns if entry == "metrics" else columns[:1]
            for method in compared.methods:
                yield from _missing(f"{at}.{entry}.{method:.60}", by_method[method], needed)
        yield from _missing(f"{at}.paired", one.paired, compared.methods)


def _of_judge(parts: Parts, n_rows: int) -> Iterator[str]:
    if parts.judge is None:
        return
    labels = parts.judge.ranges.labels
    if (labels < 1).any():
        yield "parts.judge.ranges must have labels each, got none."
    for place, n_labels in {
        "numbers.n_labels": parts.judge.numbers.n_labels,
        "ranges.labels": int(labels.sum()),
    }.items():
        if n_labels != n_rows:
            yield f"parts.judge.{place} must be the {n_rows} rows of the analysis, got {n_labels}."

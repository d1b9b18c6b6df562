"""Two reports compared, as a document."""

from __future__ import annotations

from collections.abc import Sequence

from calib.blocks.kinds import (
    Block,
    Bullets,
    Drawing,
    Facts,
    Paragraph,
    ReportDocument,
    Section,
    Table,
    Value,
    row,
)
from calib.figures.reliability import overlay_chart
from calib.reports.comparison.changes import Change, Compared, MetricChange
from calib.reports.contents.structure import Contents
from calib.text import level, moment
from calib.words.measures import metric_change, metric_interval, metric_text

METHOD = (
    "Differences are second minus first. The reports contain no rows, so intervals are unpaired: "
    "interval bounds are combined in quadrature (Zou and Donner 2008). This assumes that the "
    "rows of the two reports are independent."
)
SAME_ROWS = (
    "Both reports use the same rows. Their numbers are correlated, so these intervals are too "
    "wide. Compare methods within one report instead."
)
OTHER_VIEWS = "The reports show different problems, so their curves are not overlaid."


def document_of_comparison(comparison: Compared) -> ReportDocument:
    first, second = comparison.first, comparison.second
    return ReportDocument(
        heading=f"{first.heading} against {second.heading}",
        made="Two reports compared",
        facts=Facts(
            (("First", _heading_author_date(first)), ("Second", _heading_author_date(second)))
        ),
        note="",
        sections=comparison_sections(comparison),
        version=second.versions.get("calib", ""),
        contains=second.evidence.contains,
    )


def _heading_author_date(report: Contents) -> str:
    return ", ".join(filter(None, (report.heading, report.author, moment(report.date))))


def comparison_sections(comparison: Compared) -> tuple[Section, ...]:
    """What changed, the curves of both, every number, and what they were made from."""
    return (
        Section("What changed", _summary(comparison)),
        Section("Reliability", _curves(comparison)),
        Section("Metrics", _metrics(comparison)),
        Section("Verdict", (_changes("Verdict and recommendation.", comparison.verdict),)),
        Section("Data", (_changes("Data and model.", comparison.data),)),
        Section("Settings", (_changes("All settings of both.", comparison.settings),)),
    )


def _summary(comparison: Compared) -> tuple[Block, ...]:
    verdict, data = comparison.verdict[0], comparison.data
    moved = f'changed from "{verdict.first}" to "{verdict.second}"'
    sentence = f"The verdict {moved if verdict.changed else f'is the same: {verdict.first}'}."
    rows = "The same rows." if comparison.same_rows else f"Other data: {_changed_names(data)}."
    chosen = _changed_names(comparison.settings)
    settings = f"Other settings: {chosen}." if chosen else "The same settings."
    missing = [
        f"Only in the {which}: {', '.join(labels)}."
        for which, labels in (("first", comparison.only_first), ("second", comparison.only_second))
        if labels
    ]
    return (Paragraph(sentence, lead=True), Bullets((rows, settings, *missing)))


def _changed_names(changes: Sequence[Change]) -> str:
    return ", ".join(change.name for change in changes if change.changed)


def _curves(comparison: Compared) -> tuple[Block, ...]:
    if not comparison.same_view:
        return (Paragraph(OTHER_VIEWS),)
    reports = {"First": comparison.first, "Second": comparison.second}
    curves = {
        f"{place}: {report.heading}": report.analysis.uncalibrated.reliability
        for place, report in reports.items()
    }
    sentences = [
        f"{place}: {report.analysis.verdict.sentence}" for place, report in reports.items()
    ]
    alt = f"Reliability of the scores of both reports. {' '.join(sentences)}"
    return (
        Paragraph("The uncalibrated scores, on each report's rows and in its bins."),
        Drawing(overlay_chart(curves, alt)),
    )


def _metrics(comparison: Compared) -> tuple[Block, ...]:
    blocks: list[Block] = [Paragraph(METHOD)]
    if comparison.same_rows:
        blocks.append(Paragraph(SAME_ROWS))
    labels = dict.fromkeys(change.label for change in comparison.metrics)
    blocks += [_metric_table(comparison, label) for label in labels]
    reasons = dict.fromkeys(change.reason for change in comparison.metrics if change.reason)
    if reasons:
        notes = tuple(f"[{n}] {reason}." for n, reason in enumerate(reasons, 1))
        blocks.append(Bullets(notes))
    return tuple(blocks)


def _metric_table(comparison: Compared, label: str) -> Table:
    reasons = list(dict.fromkeys(change.reason for change in comparison.metrics if change.reason))
    rows = tuple(
        row(
            change.column.label,
            _estimate(change, "first"),
            _estimate(change, "second"),
            _difference(change, reasons),
        )
        for change in comparison.metrics
        if change.label == label
    )
    at = level(comparison.first.analysis.settings.confidence_level)
    caption = f"{label}, with {at} intervals."
    return Table(caption, ("Metric", "First", "Second", "Second − first"), rows)


def _estimate(change: MetricChange, which: str) -> Value:
    estimate, key, digits = getattr(change, which), change.column.key, change.column.digits
    return Value(metric_text(key, estimate.value, digits), metric_interval(key, estimate, digits))


def _difference(change: MetricChange, reasons: list[str]) -> Value:
    digits, difference = change.column.digits, change.difference
    clear = difference.low > 0.0 or difference.high < 0.0
    note = f" [{reasons.index(change.reason) + 1}]" if change.reason else ""
    before, after = change.first.value, change.second.value
    key = change.column.key
    printed, bounds = metric_change(key, before, after, difference, digits)
    return Value(f"{printed}{note}", bounds, marked=clear)


def _changes(caption: str, changes: Sequence[Change]) -> Table:
    rows = tuple(
        row(
            Value(change.name, marked=change.changed),
            change.first,
            change.second,
            "changed" if change.changed else "same",
        )
        for change in changes
    )
    return Table(caption, ("", "First", "Second", " "), rows, n_text=4)

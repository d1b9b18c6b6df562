"""Two reports compared, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isnan

from calib.blocks.kinds import (
    Block,
    Drawing,
    Facts,
    Note,
    Paragraph,
    ReportDocument,
    Section,
    Table,
    Tabs,
    Value,
    row,
)
from calib.figures.reliability import overlay_chart
from calib.reports.comparison.changes import FINGERPRINT, Change, Compared, MetricChange
from calib.reports.contents.structure import Contents
from calib.text import UNKNOWN, level, moment, plural
from calib.words.measures import metric_change, metric_text

METHOD = (
    "Differences are after minus before. The reports contain no rows, so intervals are unpaired: "
    "interval bounds are combined in quadrature (Zou and Donner 2008). This assumes that the "
    "rows of the two reports are independent."
)
SAME_ROWS = (
    "Both reports use the same rows. Their numbers are correlated, so these intervals are too "
    "wide. Compare methods within one report instead."
)
OTHER_VIEWS = "The reports show different problems, so their curves are not overlaid."
NOTHING_CHANGED = "Data, settings and verdict are the same."
HEAD = ("", "Before", "After")


def document_of_comparison(comparison: Compared) -> ReportDocument:
    first, second = comparison.first, comparison.second
    return ReportDocument(
        heading=f"{first.heading} against {second.heading}",
        made="Two reports compared",
        facts=Facts(
            (("Before", _heading_author_date(first)), ("After", _heading_author_date(second)))
        ),
        note="",
        sections=comparison_sections(comparison),
        version=second.versions.get("calib", ""),
        contains=second.evidence.contains,
    )


def _heading_author_date(report: Contents) -> str:
    return ", ".join(filter(None, (report.heading, report.author, moment(report.date))))


def comparison_sections(comparison: Compared) -> tuple[Section, ...]:
    """What changed and every number, which a page shows at once, and what they were made from."""
    facts = (*comparison.verdict, *comparison.data, *comparison.settings)
    return (
        Section(
            "What changed",
            (Paragraph(sentence_of_comparison(comparison), lead=True), _changed(comparison)),
        ),
        Section("Metrics", _metrics(comparison)),
        Section("Reliability", _curves(comparison)),
        Section("Verdict, data and settings", (_table("All that was compared.", facts),)),
    )


def sentence_of_comparison(comparison: Compared) -> str:
    """Whether verdict, rows and settings are the same."""
    verdict, settings = comparison.verdict[0], comparison.settings
    moved = f'changed from "{verdict.first}" to "{verdict.second}"'
    said = moved if verdict.changed else f"is the same, {verdict.first}"
    rows = "on the same rows" if comparison.same_rows else "on other rows"
    n_changed = sum(change.changed for change in settings)
    chosen = plural(n_changed, "changed setting") if n_changed else "the same settings"
    return f"The verdict {said}, {rows}, with {chosen}."


def _changed(comparison: Compared) -> Block:
    """The facts that differ. A fingerprint says nothing to a person: that rows differ is said."""
    methods = (", ".join(labels) for labels in (comparison.only_first, comparison.only_second))
    facts = (*comparison.settings, *comparison.data, *comparison.verdict)
    facts = (*facts, Change("Methods of one report only", *(names or "none" for names in methods)))
    changed = [one for one in facts if one.changed and one.name != FINGERPRINT]
    return _table("What changed.", changed) if changed else Paragraph(NOTHING_CHANGED)


def _curves(comparison: Compared) -> tuple[Block, ...]:
    if not comparison.same_view:
        return (Paragraph(OTHER_VIEWS),)
    reports = {"Before": comparison.first, "After": comparison.second}
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
    """A table per method, the one first that the later report recommends."""
    second = comparison.second.analysis
    advised, labels = second.recommendation.method, {c.key: c.label for c in second.columns}
    changes = sorted(comparison.metrics, key=lambda change: change.method != advised)
    reasons = list(dict.fromkeys(change.reason for change in changes if change.reason))
    at = level(comparison.first.analysis.settings.confidence_level)
    head = ("Metric", "Before", "After", "Difference", f"{at} interval")
    tables = {
        label: Table("", head, tuple(_metric_row(one, labels, reasons) for one in of_method))
        for label, of_method in groupby(changes, lambda change: change.label)
    }
    notes = [METHOD, *([SAME_ROWS] if comparison.same_rows else [])]
    notes += [f"[{n}] {reason}." for n, reason in enumerate(reasons, 1)]
    return Tabs("Metrics before and after", tables), *map(Note, notes)


def _metric_row(
    change: MetricChange, labels: Mapping[str, str], reasons: list[str]
) -> tuple[Value, ...]:
    """A metric in both reports. `labels` are those of the later one, which may have other bins."""
    key, digits, difference = change.column.key, change.column.digits, change.difference
    before, after = change.first.value, change.second.value
    printed, bounds = metric_change(key, before, after, difference, digits)
    # Two numbers that were made with other settings have no difference.
    printed = UNKNOWN if isnan(difference.value) else printed
    clear = difference.low > 0.0 or difference.high < 0.0
    note = f"[{reasons.index(change.reason) + 1}]" if change.reason else ""
    values = (metric_text(key, value, digits) for value in (before, after))
    label = change.column.label
    name = Value(label, "" if labels[key] == label else f"after: {labels[key]}")
    return row(name, *values, Value(printed, marked=clear), bounds or note)


def _table(caption: str, changes: Sequence[Change]) -> Table:
    rows = tuple(
        row(Value(change.name, marked=change.changed), change.first, change.second)
        for change in changes
    )
    return Table(caption, HEAD, rows, n_text=len(HEAD))

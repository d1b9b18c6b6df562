"""compare_reports: the differences between two reports."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

from calib.reports.comparison.changes import (
    Compared,
    changes_of,
    data_facts,
    metric_change,
    row_of,
    setting_facts,
    verdict_facts,
)
from calib.reports.contents.codec import encode
from calib.reports.contents.structure import Contents
from calib.reports.render.files import Printable

if TYPE_CHECKING:
    from calib.blocks.kinds import ReportDocument


class ReportComparison(Compared, Printable):
    """The differences between two reports. `compare_reports` makes it."""

    __slots__ = ()
    formats: ClassVar = {".html": "html", ".json": "json", ".md": "markdown"}

    def json(self) -> str:
        """The comparison as strict JSON: the same two reports give the same text."""
        return (
            json.dumps(encode(_contents(self)), allow_nan=False, ensure_ascii=False, indent=1)
            + "\n"
        )

    def document(self) -> ReportDocument:
        """The comparison as a document of sections."""
        from calib.reports.comparison.document import document_of_comparison

        return document_of_comparison(self)


def _contents(comparison: ReportComparison) -> dict[str, Any]:
    return {
        "first": _title_author_created(comparison.first),
        "second": _title_author_created(comparison.second),
        "same_rows": comparison.same_rows,
        **{
            name: [asdict(change) | {"changed": change.changed} for change in changes]
            for name, changes in (
                ("data", comparison.data),
                ("settings", comparison.settings),
                ("verdict", comparison.verdict),
            )
        },
        "metrics": [row_of(change) for change in comparison.metrics],
        "only_first": comparison.only_first,
        "only_second": comparison.only_second,
    }


def _title_author_created(report: Contents) -> dict[str, str]:
    return {"title": report.heading, "author": report.author, "created": report.created}


def compare_reports(first: Contents, second: Contents) -> ReportComparison:
    """Compare two reports: data, settings, verdict and all metrics.

    A difference is computed only if both reports have the same settings that affect the metric: the
    view, the bins (for binned errors), and protocol, folds and epsilon (for calibrated scores). Its
    interval is unpaired and computed from the intervals in the two reports.

    Parameters
    ----------
    first, second : Report
        Two reports, the earlier one first. Differences are second minus first.

    References
    ----------
    Zou and Donner 2008, doi:10.1002/sim.3095 (intervals).

    Examples
    --------
    >>> import calib
    >>> from calib.reports import Report
    >>> rows = calib.examples.EXAMPLES["logistic"].load()
    >>> reports = [
    ...     Report.from_analysis(calib.analyze(rows, calib.Settings(methods=(), n_bins=n)))
    ...     for n in (10, 20)
    ... ]
    >>> comparison = compare_reports(*reports)
    >>> [change.name for change in comparison.settings if change.changed]
    ['n_bins']
    >>> comparison.metrics[2].column.key, comparison.metrics[2].reason
    ('ece_uniform', 'n_bins differs: 10 and 20')
    """
    one, two = first.analysis, second.analysis
    both = [key for key in one.methods if key in two.methods]
    columns = [c for c in one.columns if c.key in {other.key for other in two.columns}]
    return ReportComparison(
        first=first,
        second=second,
        data=changes_of(data_facts(first), data_facts(second)),
        settings=changes_of(setting_facts(one), setting_facts(two)),
        verdict=changes_of(verdict_facts(one), verdict_facts(two)),
        metrics=tuple(metric_change(one, two, key, column) for key in both for column in columns),
        only_first=tuple(m.label for key, m in one.methods.items() if key not in both),
        only_second=tuple(m.label for key, m in two.methods.items() if key not in both),
    )

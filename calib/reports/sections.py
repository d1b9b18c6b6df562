"""What a report says, in order; HTML and Markdown only dress it."""

from __future__ import annotations

from collections.abc import Callable

from calib.reports import appendix, findings
from calib.reports.blocks import Facts, Section
from calib.reports.document import Report

DECLARED = {
    "yes": "Yes, declared by the author: the model was not trained on these rows",
    "no": "No, declared by the author: the model was trained on these rows",
    "unknown": "Not declared",
}

SECTIONS: tuple[Callable[[Report], Section], ...] = (
    findings.verdict,
    findings.recommendation,
    findings.reliability,
    findings.comparison,
    findings.cumulative,
    findings.functions,
    appendix.bins,
    appendix.data,
    appendix.warnings,
    appendix.settings,
    appendix.maps,
    appendix.reading,
    appendix.reproduction,
)


def sections(report: Report) -> tuple[Section, ...]:
    """All sections of a report, in order."""
    return tuple(make(report) for make in SECTIONS)


def data_facts(report: Report) -> Facts:
    """What the head of a report says about the data."""
    data = report.analysis.data
    return Facts(
        (
            ("Data", data.name),
            ("Fingerprint", data.fingerprint),
            ("Held-out predictions", DECLARED[report.held_out_declared]),
        )
    )

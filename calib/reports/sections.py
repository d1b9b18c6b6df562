"""What a report says, in order; HTML and Markdown only dress it."""

from __future__ import annotations

from collections.abc import Callable

from calib.reports import appendix, main_sections, part_sections
from calib.reports.blocks import Facts, ReportDocument, Section
from calib.reports.contents import Contents
from calib.text import moment

DECLARED = {
    "yes": "Yes, declared by the author: the model was not trained on these rows",
    "no": "No, declared by the author: the model was trained on these rows",
    "unknown": "Not declared",
}

SECTIONS: tuple[Callable[[Contents], Section | None], ...] = (
    main_sections.verdict,
    main_sections.recommendation,
    main_sections.reliability,
    main_sections.whole_matrix,
    main_sections.comparison,
    main_sections.cumulative,
    appendix.bins,
    part_sections.slices,
    part_sections.periods,
    part_sections.decisions,
    appendix.data,
    appendix.warnings,
    appendix.settings,
    appendix.maps,
    appendix.reading,
    appendix.reproduction,
)


def sections(report: Contents) -> tuple[Section, ...]:
    """All sections of a report, in order; those of parts that it has not are left out."""
    made = (make(report) for make in SECTIONS)
    return tuple(section for section in made if section is not None)


def document_of(report: Contents) -> ReportDocument:
    """The whole document."""
    return ReportDocument(
        heading=report.heading,
        made=" · ".join(filter(None, (report.author, moment(report.date)))),
        facts=_data_facts(report),
        note=report.note,
        sections=sections(report),
        version=report.versions.get("calib", ""),
        contains=report.contains,
    )


def _data_facts(report: Contents) -> Facts:
    data = report.analysis.data
    return Facts(
        (
            ("Model", f"scores in column {data.score_name}"),
            ("Data", data.name),
            ("Fingerprint", data.fingerprint),
            ("Held-out predictions", DECLARED[report.held_out_declared]),
        )
    )

"""What a report says, in order; HTML and Markdown only dress it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calib.figures.explorer import explorer_data
from calib.reports import appendix, main_sections, part_sections
from calib.reports.blocks import ReportDocument, Section
from calib.reports.contents import Contents, shown_methods
from calib.reports.evidence import CLUSTERS
from calib.text import moment

SECTIONS: tuple[Callable[[Contents], Section | None], ...] = (
    main_sections.verdict,
    main_sections.warnings,
    main_sections.whole_matrix,
    main_sections.comparison,
    main_sections.cumulative,
    part_sections.slices,
    part_sections.periods,
    part_sections.decisions,
    appendix.bins,
    appendix.calibrators,
    appendix.reading,
    appendix.data,
    appendix.settings,
    appendix.reproduction,
    appendix.verification,
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
        facts=None,
        note=report.note,
        sections=sections(report),
        version=report.versions.get("calib", ""),
        contains=report.contains,
        explorer=_explorer(report),
    )


def _explorer(report: Contents) -> dict[str, Any] | None:
    """The cells that the report carries, and its own settings to begin with.

    Intervals by cluster need resamples of rows, which the explorer has not.
    """
    evidence, settings = report.evidence, report.analysis.settings
    if evidence is None or CLUSTERS in evidence.needs_rows:
        return None
    cells = {key: evidence.scores(key) for key in report.analysis.methods}
    chosen = {
        "strategy": settings.strategy,
        "n_bins": settings.n_bins,
        "axis": "linear",
        "hidden": [],
        "shown": list(shown_methods(report.analysis)),
        "range": None,
    }
    return {
        **explorer_data(report.analysis, cells, list(cells)),
        "chosen": chosen,
        "auto": False,
        "simultaneous": settings.band == "simultaneous",
        "answered": 0,
        "merged": evidence.grade == "guarded",
    }

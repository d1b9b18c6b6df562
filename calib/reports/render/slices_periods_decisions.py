"""The sections of slices, time and decisions in a report."""

from __future__ import annotations

from calib.analysis import Analysis
from calib.blocks import decisions as decision_blocks
from calib.blocks.kinds import Block, Note, Section
from calib.blocks.periods import MAX_PRINTED
from calib.blocks.periods import periods as period_blocks
from calib.blocks.slices import slices as slice_blocks
from calib.reports.contents.structure import Contents, DecisionPart
from calib.words.overview import why_shown


def slices(report: Contents) -> Section | None:
    if report.parts is None or not report.parts.slices:
        return None
    made = [
        slice_blocks(
            report.analysis,
            part.gaps,
            part.tests,
            n_left_out=part.n_left_out,
            n_merged=part.n_merged,
            explained=number == 0,
        )
        for number, part in enumerate(report.parts.slices)
    ]
    return Section("Slices", tuple(block for blocks in made for block in blocks))


def periods(report: Contents) -> Section | None:
    part = report.parts.periods if report.parts else None
    if part is None:
        return None
    made = period_blocks(report.analysis, part.column, part.tables, most=MAX_PRINTED)
    return Section("Over time", made)


def decisions(report: Contents) -> Section | None:
    part = report.parts.decisions if report.parts else None
    certificate = report.parts.certificate if report.parts else None
    made = [
        *(_costs(report.analysis, part) if part else ()),
        *(decision_blocks.certified(certificate) if certificate else ()),
    ]
    return Section("Decisions", tuple(made)) if made else None


def _costs(analysis: Analysis, part: DecisionPart) -> tuple[Block, ...]:
    shown, decided = list(part.benefit.benefit), part.table
    decides = [key for key in shown if key in decided.methods]
    reasons = [Note(reason) for key in decides if (reason := why_shown(analysis, key))]
    left_out = ", ".join(analysis.methods[key].label for key in part.left_out)
    missing = Note(
        "Not shown, because they flag fewer than ten rows, or all but fewer than ten: "
        f"{left_out}. The curves merge such rows with their neighbours."
    )
    return (
        *decision_blocks.finding(analysis, decided, decides),
        *reasons,
        *decision_blocks.curves(analysis, decided, part.benefit, part.cost, shown),
        *([decision_blocks.table(analysis, decided)] if decided.methods else []),
        *([missing] if left_out else []),
    )

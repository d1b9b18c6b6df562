"""The section of a judge in a report."""

from __future__ import annotations

from calib.blocks.judge import agreement, pass_rates, ranges
from calib.blocks.kinds import Block, Bullets, Note, Paragraph, Section
from calib.figures.judged import RANDOM_SAMPLE
from calib.reports.contents.structure import Contents

NO_LISTS = (
    "Rows are not part of a report. The page Automate, calib judge --next and calib.judge list the "
    "disagreements and the rows to label next."
)


def judge(report: Contents) -> Section | None:
    part = report.parts.judge if report.parts else None
    if part is None:
        return None
    notes: list[Block] = [Bullets(part.notes)] if part.notes else []
    return Section(
        "Pass rate",
        (
            Paragraph(part.numbers.sentence, lead=True),
            *pass_rates(part.numbers),
            agreement(part.numbers),
            ranges(part.ranges),
            Note(f"{RANDOM_SAMPLE} {NO_LISTS}"),
            *notes,
        ),
    )

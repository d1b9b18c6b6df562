"""The section of a judge in a report."""

from __future__ import annotations

from calib.blocks.kinds import Block, Bullets, Paragraph, Section, Table, row
from calib.figures import judged
from calib.numerics.intervals import Estimate
from calib.reports.contents.judged import N_NEXT
from calib.reports.contents.structure import Contents, JudgePart
from calib.text import count, level, percent, percent_with_interval, significant, with_interval

NO_LISTS = (
    "Rows are not part of a report. The page Judge, calib judge --next and calib.judge list the "
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
            _estimates(part),
            _agreement(part),
            _ranges(part),
            Paragraph(f"{judged.support(part.numbers)} {judged.RANDOM_SAMPLE} {NO_LISTS}"),
            *notes,
        ),
    )


def _estimates(part: JudgePart) -> Table:
    at = level(part.numbers.confidence_level)
    rows = tuple(row(*cells) for cells in judged.estimates(part.numbers))
    return Table(
        f"Pass rate with and without the judge, with {at} intervals.",
        tuple(judged.ESTIMATE_HEAD),
        rows,
    )


def _agreement(part: JudgePart) -> Table:
    numbers = part.numbers
    agreement = Estimate(numbers.agreement, *numbers.agreement_interval)
    cells = {
        "Agreement": percent_with_interval(agreement),
        "Constant answer": percent(numbers.constant_accuracy),
        "Kappa": with_interval(Estimate(numbers.kappa, *numbers.kappa_interval), 2),
        "Disagreements": f"{count(numbers.n_disagreements)} of {count(numbers.n_labels)}",
        "Labels saved": count(numbers.labels_saved),
    }
    return Table(
        f"Agreement of the judge's answer (pass from a score of {numbers.threshold:g}) with the "
        "gold labels. The constant answer is the commoner label for every row; its kappa is 0.",
        ("", "Value"),
        tuple(row(name, value) for name, value in cells.items()),
    )


def _ranges(part: JudgePart) -> Table:
    ranges = part.ranges
    rows = tuple(
        row(
            f"{significant(ranges.low[i])} to {significant(ranges.high[i])}",
            count(ranges.rows[i]),
            count(ranges.labels[i]),
            percent(ranges.passing[i] / ranges.labels[i]),
            count(ranges.disagreements[i]),
            count(ranges.labels_next[i]),
        )
        for i in range(len(ranges.rows))
    )
    return Table(
        "The judge's scores, disagreements, and where the next labels are needed: "
        f"{count(N_NEXT)} of them bring the labels of all ranges nearest to their share of the "
        "rows. Ranges with fewer than ten labels are merged.",
        ("Scores", "Rows", "Labels", "Labels that pass", "Disagreements", "Label next"),
        rows,
    )

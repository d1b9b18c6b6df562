"""A judge as blocks: pass rates, agreement with the labels, and what its scores cover."""

from __future__ import annotations

from collections.abc import Mapping

from calib.analysis.judge import JudgedRanges, JudgeNumbers, JudgeResult
from calib.blocks.kinds import Block, Heading, Note, Table, Value, row
from calib.figures.judged import support
from calib.numerics.intervals import Estimate
from calib.text import (
    count,
    level,
    number,
    percent,
    percent_with_interval,
    significant,
    with_interval,
)

ESTIMATES = {
    "Pass rate": "Share of the rows that pass, with its {} interval.",
    "Labels": "Gold labels that it uses.",
    "Rows": "Judged rows that it uses.",
}


def pass_rates(numbers: JudgeNumbers) -> tuple[Block, ...]:
    """The pass rate with and without the judge, and whether the labels cover the scores."""
    at, labels, rows = level(numbers.confidence_level), count(numbers.n_labels), numbers.n_rows
    meanings = {name: meaning.format(at) for name, meaning in ESTIMATES.items()}
    lines = (
        row("Debiased", percent_with_interval(numbers.estimate), labels, count(rows)),
        row("Labels alone", percent_with_interval(numbers.labels_mean), labels, "0"),
        row("PPI++", percent_with_interval(numbers.ppi), labels, count(rows)),
        row("Judge's mean", percent(numbers.plain_mean), "0", count(rows)),
    )
    listed = Table(
        f"With {at} intervals.", ("Estimate", *meanings), lines, meanings=meanings, name="Pass rate"
    )
    return Heading("Pass rate with and without the judge"), listed, Note(support(numbers))


def agreement(numbers: JudgeNumbers) -> Table:
    """How well the judge's answers agree with the labels."""
    agrees = Estimate(numbers.agreement, *numbers.agreement_interval)
    cells = {
        "Agreement": percent_with_interval(agrees),
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


def judges(results: Mapping[str, JudgeResult], shown: JudgeResult) -> Table:
    """Judges or models beside each other, the shown one marked."""
    rows = tuple(
        row(
            Value(name, marked=one is shown),
            percent_with_interval(one.estimate),
            number(one.kappa, 2),
            count(one.n_labels),
            count(one.labels_saved),
        )
        for name, one in results.items()
    )
    head = ("Name", "Pass rate", "Kappa", "Labels", "Labels saved")
    return Table("", head, rows, name="Judges and models")


def ranges(by_score: JudgedRanges) -> Table:
    """The judged rows by range of score. Ranges have at least ten labels in reports."""
    n_next = count(by_score.labels_next.sum())
    rows = tuple(
        row(
            f"{significant(by_score.low[i])} to {significant(by_score.high[i])}",
            count(by_score.rows[i]),
            count(by_score.labels[i]),
            percent(by_score.passing[i] / by_score.labels[i]),
            count(by_score.disagreements[i]),
            count(by_score.labels_next[i]),
        )
        for i in range(len(by_score.rows))
    )
    return Table(
        "The judge's scores, disagreements, and where the next labels are needed: "
        f"{n_next} of them bring the labels of all ranges nearest to their share of the "
        "rows. Ranges with fewer than ten labels are merged.",
        ("Scores", "Rows", "Labels", "Labels that pass", "Disagreements", "Label next"),
        rows,
    )

"""The sections of slices, time and decisions in a report."""

from __future__ import annotations

from collections.abc import Iterable

from calib.analysis.decisions import Certificate, Decision, DecisionTable
from calib.blocks.kinds import (
    Beside,
    Block,
    Drawing,
    Paragraph,
    Section,
    Table,
    Value,
    row,
)
from calib.blocks.periods import MAX_PRINTED
from calib.blocks.periods import periods as period_blocks
from calib.blocks.slices import slices as slice_blocks
from calib.figures.certified_error import NAMES, table_head, table_row
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.reports.contents.structure import Contents, DecisionPart
from calib.text import (
    count,
    interval,
    level,
    number,
    score_percent,
    signed,
    significant,
)
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


def _reasons_shown(report: Contents, shown: Iterable[str]) -> tuple[Block, ...]:
    """Why a calibrator is shown that is not recommended."""
    reasons = [why_shown(report.analysis, key) for key in shown]
    return tuple(Paragraph(reason) for reason in reasons if reason)


def periods(report: Contents) -> Section | None:
    part = report.parts.periods if report.parts else None
    if part is None:
        return None
    made = period_blocks(report.analysis, part.column, part.tables, most=MAX_PRINTED)
    return Section("Over time", made)


def decisions(report: Contents) -> Section | None:
    part = report.parts.decisions if report.parts else None
    certificate = report.parts.certificate if report.parts else None
    blocks = [*(_costs(report, part) if part else ()), *(_certified(certificate))]
    return Section("Decisions", tuple(blocks)) if blocks else None


def _certified(certificate: Certificate | None) -> tuple[Block, ...]:
    """Which rows can be decided automatically."""
    if certificate is None:
        return ()
    rows = tuple(row(*table_row(certificate, side)) for side in certificate.sides)
    caption = (
        f"{certificate.tested_on} At most {significant(100.0 * certificate.max_error)}% errors "
        f"are certified with {level(certificate.confidence)} confidence."
    )
    table = Table(caption, tuple(table_head(certificate)), rows)
    # If no side is certified, the sentence has these reasons.
    reasons = (
        Paragraph(f"{NAMES[side.side]}: none, because {side.why_not}.")
        for side in certificate.sides
        if certificate.share and side.why_not
    )
    return Paragraph(certificate.sentence, lead=True), table, *reasons


def _costs(report: Contents, part: DecisionPart) -> list[Block]:
    table = part.table
    shown = [key for key in part.cost.cost if key in table.methods]
    at = None if table.costs.capacity else table.costs.threshold
    advised = report.analysis.recommendation.method
    n_rows = report.analysis.data.n_rows
    costs = (
        cost_chart(part.cost, table, shown, n_rows=n_rows, recommended=advised) if shown else None
    )
    cost = [Drawing(costs)] if costs else []
    drawn = list(part.benefit.benefit)
    benefit = net_benefit_chart(
        part.benefit, drawn, threshold=at, n_rows=n_rows, recommended=advised
    )
    blocks: list[Block] = [Paragraph(_rule(table), lead=True), *_reasons_shown(report, shown)]
    blocks.append(Beside((*cost, Drawing(benefit))))
    if table.methods:
        blocks.append(_decision_table(report, table))
    blocks += [Paragraph(text) for text in _left_out(report, part)]
    return blocks


def _rule(table: DecisionTable) -> str:
    costs = table.costs
    prices = (
        f"A false positive costs {costs.false_positive:g}, a false negative "
        f"{costs.false_negative:g}"
    )
    if costs.capacity is not None:
        return (
            f"{prices}. The {100 * costs.capacity:g}% of rows with the highest scores are flagged."
        )
    return f"{prices}. Rows with a score of {score_percent(costs.threshold)} or more are flagged."


def _decision_table(report: Contents, table: DecisionTable) -> Table:
    rows = tuple(
        _decision(key, report.analysis.methods[key].label, table.methods[key])
        for key in report.analysis.ranked
        if key in table.methods
    )
    counted = "sums of row weights" if report.analysis.data.weighted else "rows"
    at = level(table.confidence_level)
    return Table(
        f"Decisions based on held-out scores, counts in {counted}, with {at} intervals of "
        f"the costs. Flagging all costs {number(table.treat_all, 4)} per row, flagging none "
        f"{number(table.treat_none, 4)}. Change: compared with decisions based on the "
        "uncalibrated scores, paired by row.",
        ("Method", "Threshold", "Flagged", "False pos.", "False neg.", "Cost per row", "Change"),
        rows,
    )


def _decision(key: str, label: str, decision: Decision) -> tuple[Value, ...]:
    change = decision.change
    return row(
        label,
        score_percent(decision.threshold),
        count(decision.n_flagged),
        count(decision.false_positives),
        count(decision.false_negatives),
        Value(number(decision.cost.value, 4), interval(decision.cost, 4)),
        ""
        if key == "uncalibrated"
        else Value(signed(change.value, 4), interval(change, 4, sign=True)),
    )


def _left_out(report: Contents, part: DecisionPart) -> list[str]:
    if not part.left_out:
        return []
    labels = ", ".join(report.analysis.methods[key].label for key in part.left_out)
    return [
        f"Not shown, because they flag fewer than ten rows, or all but fewer than ten: {labels}. "
        "The curves merge such rows with their neighbours."
    ]

"""Decisions as blocks: what is decided, what it costs, and which rows are decided automatically."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calib.analysis import Analysis
from calib.analysis.decisions import (
    Certificate,
    CostCurves,
    Decision,
    DecisionTable,
    ExpectedCounts,
    NetBenefit,
)
from calib.analysis.decisions.certificate import CertifiedSide
from calib.analysis.slices import SliceErrorRates
from calib.blocks.kinds import (
    Annotated,
    Beside,
    Block,
    Drawing,
    Heading,
    Note,
    Paragraph,
    Table,
    Tabs,
    Value,
    row,
)
from calib.figures.certified_error import NAMES, certified_error_chart
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.text import (
    UNKNOWN,
    count,
    interval,
    level,
    number,
    percent,
    plural,
    score_percent,
    signed,
    significant,
    with_interval,
)
from calib.words.decisions import change_sentence, decision_sentence, headline, rule
from calib.words.slices import slice_names, widest_rate

# By the rule that decides: each explains what its chart draws. The chart that follows a hand has
# the dots of the cost chart explained beside them.
DOTS_OF_COSTS = (
    "Dots of the cost chart, chosen in hindsight, are optimistic and do not rank methods."
)
DOTS_OF_CAPACITY = (
    "Dots: as many rows are flagged as the capacity allows. Costs do not rank methods."
)
CHARTS_READING = (
    "A calibrator that keeps the order of the scores reaches the same decisions at another "
    "threshold. In the decision curve, well calibrated scores are never worse than flagging all "
    "rows or nobody, apart from chance (Vickers and Elkin 2006, "
    "https://doi.org/10.1177/0272989X06295361)."
)
RATES = {"false_positive": "False-positive rate", "false_negative": "False-negative rate"}
RATES_NOTE = "Both rates also depend on the base rate of the slice."
MAX_SLICES = 500  # Longer tables of slices are cut.
IN_HINDSIGHT = "Lowest cost on these rows"
# Meanings of the columns. The headings are short, so that all columns fit.
MEANINGS = {
    "Threshold": "Lowest score that is flagged.",
    "Flagged": "Rows at or above the threshold.",
    "True positives": "Positive rows that are flagged.",
    "False positives": "False alarms: negative rows that are flagged.",
    "False negatives": "Missed positives: positive rows that are not flagged.",
    "True negatives": "Negative rows that are not flagged.",
    "Cost per row": "Mean cost of the errors, with its {} interval.",
    "Change": "Cost minus that of the uncalibrated scores, paired by row, with its {} interval.",
    "Net benefit": "True positives minus false positives weighted by the odds t / (1 − t) of the "
    "threshold t, per row.",
    IN_HINDSIGHT: "And its threshold. It is chosen in hindsight, so it is optimistic.",
}
CERTIFIED_BOUND = (
    "Upper confidence bound of their error rate. Thresholds are tested from the strictest to "
    "looser ones, until one fails. The bound of the first and of every later test up to the dot is "
    "at most the highest error. Calibrators that keep the order of the scores decide the same rows."
)
ALL_ALIKE = "Errors of all rows together are rarer than the limit. Enter a lower one."


def finding(analysis: Analysis, decided: DecisionTable, shown: Sequence[str]) -> tuple[Block, ...]:
    """What is decided, what calibration changes about it, and where the threshold comes from."""
    if "uncalibrated" not in shown:
        return (Paragraph(rule(decided), lead=True),)
    weighted, planned = analysis.data.weighted, analysis.recommendation.plan is not None
    return (
        Heading(headline(decided, shown, weighted=weighted, planned=planned)),
        Paragraph(decision_sentence(decided, shown, weighted=weighted)),
        Paragraph(f"{rule(decided)} {change_sentence(decided, shown)}".strip()),
    )


def curves(
    analysis: Analysis,
    decided: DecisionTable,
    benefit: NetBenefit,
    cost: CostCurves,
    shown: Sequence[str],
) -> tuple[Block, ...]:
    """Net benefit and costs over the threshold, of the methods that are shown and have them."""
    costs = decided.costs
    advised, n_rows = analysis.recommendation.method, analysis.data.n_rows
    at = None if costs.capacity else costs.threshold
    drawn = [key for key in shown if key in benefit.benefit]
    charts = {
        "benefit": net_benefit_chart(
            benefit, drawn, threshold=at, n_rows=n_rows, recommended=advised
        )
    }
    # A report has no decisions of methods that flag too few rows.
    if decides := [key for key in shown if key in decided.methods]:
        charts["cost"] = cost_chart(cost, decided, decides, n_rows=n_rows, recommended=advised)
    dots = DOTS_OF_CAPACITY if costs.capacity is not None else DOTS_OF_COSTS
    drawings = (Drawing(chart, name) for name, chart in charts.items())
    return Beside(tuple(drawings)), Note(dots, help=CHARTS_READING)


def table(analysis: Analysis, decided: DecisionTable) -> Table:
    """The decisions of every method."""
    costs, at = decided.costs, level(decided.confidence_level)
    meanings = {name: meaning.format(at) for name, meaning in MEANINGS.items()}
    if costs.capacity is not None:
        del meanings[IN_HINDSIGHT]
    rows = []
    for key in analysis.ranked:
        if key in decided.methods:
            cells = _cells(key, decided.methods[key])
            rows.append(row(analysis.methods[key].label, *(cells[name] for name in meanings)))
    weighted = " Counts are sums of the rows' weights." if analysis.data.weighted else ""
    caption = (
        f"A false positive costs {costs.false_positive:g}, a false negative "
        f"{costs.false_negative:g}. Cost per row of flagging all {number(decided.treat_all)}, "
        f"flagging none {number(decided.treat_none)}.{weighted}"
    )
    head = ("Method", *meanings)
    return Table(caption, head, tuple(rows), meanings=meanings, name="Decisions by method")


def _cells(key: str, decision: Decision) -> dict[str, Value]:
    cost, change = decision.cost, decision.change
    none = decision.hindsight > 1.0
    place = "none flagged" if none else f"at {score_percent(decision.hindsight)}"
    changed = Value(signed(change.value), interval(change, sign=True))
    return {
        "Threshold": Value(score_percent(decision.threshold)),
        "Flagged": Value(count(decision.n_flagged)),
        "True positives": Value(count(decision.true_positives)),
        "False positives": Value(count(decision.false_positives)),
        "False negatives": Value(count(decision.false_negatives)),
        "True negatives": Value(count(decision.true_negatives)),
        "Cost per row": Value(number(cost.value), interval(cost)),
        "Change": Value(UNKNOWN) if key == "uncalibrated" else changed,
        "Net benefit": Value(number(decision.net_benefit.value)),
        IN_HINDSIGHT: Value(number(decision.hindsight_cost), place),
    }


def expected(
    analysis: Analysis, bands: Sequence[ExpectedCounts], shown: Sequence[str], at: str
) -> Table:
    """Expected and observed positives by band of scores. The last two are a range and all rows.

    `at` is the level of the intervals in words.
    """
    head, meanings = ["Uncalibrated score", "Rows", "Observed"], {"Observed": "Positive rows."}
    for key in shown:
        expects = f"{analysis.methods[key].label} expects"
        difference = "Observed − expected"
        meanings |= {expects: "Sum of its scores.", difference: f"With its {at} interval."}
        head += [expects, difference]
    n_bands, rows = len(bands) - 2, []
    for i, band in enumerate(bands):
        name = f"{score_percent(band.low)} to {score_percent(band.high)}"
        name = name if i < n_bands else ("Chosen: " + name, "All rows")[i - n_bands]
        cells = [count(band.rows), count(band.observed)]
        for key in shown:
            excess = with_interval(band.excess[key], 1, sign=True)
            cells += [number(band.expected[key], 1), excess if band.rows else UNKNOWN]
        rows.append(row(Value(name, marked=i == n_bands), *cells))
    name = "Expected and observed positives"
    return Table("", tuple(head), tuple(rows), meanings=meanings, name=name)


def certified(certificate: Certificate, *, drawn: bool = False) -> tuple[Block, ...]:
    """Which rows can be decided automatically. A report has no curves that could be drawn."""
    bound = f"Bound ({level(certificate.level_of_sides)})"
    meanings = {
        "Score": "The threshold lies between two distinct scores.",
        "Share": "Of the tested rows.",
        "Errors": "Among these rows.",
        bound: CERTIFIED_BOUND,
    }
    error = f"{significant(100.0 * certificate.max_error)}%"
    confidence = level(certificate.confidence)
    listed = Table(
        f"{certificate.tested_on} At most {error} errors are certified with {confidence} "
        "confidence.",
        ("Rows", *meanings),
        tuple(_certified_row(certificate, side) for side in certificate.sides),
        meanings=meanings,
        name="Rows decided automatically",
    )
    # If no side is certified, the sentence has these reasons.
    reasons = [
        Note(f"{NAMES[side.side]} none: {side.why_not}.")
        for side in certificate.sides
        if certificate.share and side.why_not
    ]
    alike = [Note(ALL_ALIKE)] if certificate.decides_all_alike else []
    notes: tuple[Block, ...] = (listed, *alike, *reasons)
    if drawn:
        chart = Drawing(certified_error_chart(certificate), "certified", has_rows=True)
        notes = (Annotated(chart, notes),)
    return Paragraph(certificate.sentence, lead=True), *notes


def _certified_row(certificate: Certificate, side: CertifiedSide) -> tuple[Value, ...]:
    """What one side decides."""
    name = NAMES[side.side]
    if side.threshold is None:
        return row(name, UNKNOWN, percent(0.0, 0), UNKNOWN, UNKNOWN)
    sign = "≥" if side.side == "above" else "≤"
    rate = percent(side.n_errors / side.n_rows)
    return row(
        name,
        f"{sign} {significant(100.0 * side.threshold, 15)}%",
        percent(certificate.share_of(side)),
        f"{count(side.n_errors)} of {count(side.n_rows)} ({rate})",
        percent(side.bound),
    )


def error_rates(
    analysis: Analysis,
    decided: DecisionTable,
    rates: Mapping[str, tuple[SliceErrorRates, SliceErrorRates]],
    columns: Sequence[str],
) -> tuple[Block, ...]:
    """False-positive and false-negative rates of slices, and of all rows, by method."""
    n = len(rates["uncalibrated"][0].names)
    listed = f" The first {MAX_SLICES} of {n:,} slices." if n > MAX_SLICES else ""
    tables = {
        analysis.methods[key].label: _rates_table(*both, columns, f"{RATES_NOTE}{listed}")
        for key, both in rates.items()
    }
    widest = (
        Paragraph(widest_rate(of_slices, columns), about=analysis.methods[key].label)
        for key, (of_slices, _) in rates.items()
    )
    return Heading(_rates_heading(decided)), *widest, Tabs("Error rates", tables)


def _rates_heading(decided: DecisionTable) -> str:
    if decided.costs.capacity is None:
        return f"Error rates at a threshold of {score_percent(decided.costs.threshold)}"
    return f"Error rates if the highest {percent(decided.costs.capacity, 3)} of scores are flagged"


def _rates_table(
    of_slices: SliceErrorRates, of_all: SliceErrorRates, columns: Sequence[str], caption: str
) -> Table:
    rows = [_rates_row("All rows", of_all, 0)]
    names = slice_names(columns, of_slices.names[:MAX_SLICES])
    rows += [_rates_row(name, of_slices, i) for i, name in enumerate(names)]
    return Table(caption, ("Slice", *RATES.values(), "Flagged"), tuple(rows))


def _rates_row(name: str, rates: SliceErrorRates, i: int) -> tuple[Value, ...]:
    values = [Value(name, plural(rates.rows[i], "row"))]
    for rate in RATES:
        value, low, high = (getattr(rates, f"{rate}{end}")[i] for end in ("", "_low", "_high"))
        spread = f"{percent(low)} to {percent(high)}"
        values.append(Value("–") if math.isnan(value) else Value(percent(value), spread))
    return (*values, Value(percent(rates.flagged[i])))

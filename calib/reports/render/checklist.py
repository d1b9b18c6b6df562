"""A report under the items of a checklist: numbers, reasons why there are none, and fields."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from calib.analysis.centres import centres_of_slices
from calib.analysis.grades import Grades, grades_of_counts
from calib.analysis.summary import LIMITS
from calib.blocks import methods
from calib.blocks import slices as slice_blocks
from calib.blocks.kinds import (
    Beside,
    Block,
    Bullets,
    Code,
    Drawing,
    Facts,
    Heading,
    Note,
    Paragraph,
    Section,
    Table,
    Value,
    row,
)
from calib.figures.decisions import net_benefit_chart
from calib.figures.reliability import reliability_chart, scores_by_outcome_chart
from calib.metrics.ranking import auc_variance
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate, normal_quantile
from calib.reports.contents.checklist import Checklist, Item
from calib.reports.contents.structure import Contents, SlicePart
from calib.reports.render import appendix
from calib.text import (
    count,
    formula,
    interval,
    joined,
    level,
    moment,
    number,
    p_value,
    percent,
    plural,
    quoted,
    with_interval,
)
from calib.words.measures import undrawn

# The blocks of an item, or the reason why there are none.
Shown: TypeAlias = tuple[Block, ...] | str
# Names of columns that are read as centres and grades if the author names none.
CENTRE_NAMES = ("centre", "center", "hospital", "site", "clinic")
GRADE_NAMES = ("grade", "rating")
# These come first in the table of measures, in the order of the checklists.
FIRST = ("observed_expected_ratio", "intercept_at_slope_1", "slope")
WITHOUT_PARTS = "The report was made without slices, periods and decisions."
BY_PD = "The grades are in the order of their PD"
WITHOUT_EXPOSURE = (
    "Not answered: exposure at the start. A report counts rows. Exposure is never a weight: "
    "calib.grades prints its sum per grade, and all other numbers stay the same."
)
DEFAULT_THRESHOLDS = (0.1, 0.2, 0.5)
MAX_SUBGROUPS = (
    24  # A longer table would fill a page; the report without a template has all slices.
)
SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")
WANTED_WIDTH = 0.2  # Published examples use this width of the intervals of O:E and AUC.


def sections(report: Contents) -> tuple[Section, ...]:
    """The sections of the report's template, and how to verify it."""
    chosen = report.checklist
    assert chosen is not None
    shown = {item: [SHOWN[name](report) for name in item.show] for item in chosen.template.items}
    made = [
        Section(
            group.title, tuple(b for item in group.items for b in _item(chosen, item, shown[item]))
        )
        for group in chosen.template.sections
    ]
    states = Counter(state(item, blocks) for item, blocks in shown.items())
    return (_first(chosen, states), *made, appendix.verification(report))


def _first(chosen: Checklist, states: Mapping[str, int]) -> Section:
    template = chosen.template
    n_written = sum(bool(chosen.answers.get(item.key)) for item in template.written)
    said = (
        f"Of {plural(len(template.items), 'item')}, this report answers {states['answered']} with "
        f"its numbers and refuses {states['refused']} with the reason. The author alone can answer "
        f"the other {states['written']}, and has filled in {n_written} of "
        f"{plural(len(template.written), 'field')}."
    )
    about = (Paragraph(template.about),) if template.about else ()
    return Section(template.title, (*about, Note(said)))


def state(item: Item, shown: Sequence[Shown]) -> str:
    """Whether an item is "answered" by numbers, "refused", or "written" by the author alone."""
    if any(not isinstance(one, str) for one in shown):
        return "answered"
    return "refused" if shown or item.refuse else "written"


def _item(chosen: Checklist, item: Item, shown: Sequence[Shown]) -> list[Block]:
    blocks: list[Block] = [Heading(f"{item.id} {item.name}")]
    for one in shown:
        for block in (Note(f"Not answered: {one}"),) if isinstance(one, str) else one:
            match blocks[-1], block:
                case Facts(before), Facts(more):
                    blocks[-1] = Facts((*before, *more))
                case Drawing() as drawing, Drawing():
                    blocks[-1] = Beside((drawing, block))
                case _:
                    blocks.append(block)
    if item.refuse:
        blocks.append(Note(f"Not answered: {item.refuse}"))
    if item.write:
        blocks.append(Facts(((item.write, chosen.answers.get(item.key, "")),)))
    return blocks


def _answer(report: Contents, key: str) -> str:
    return report.checklist.answers.get(key, "").strip() if report.checklist else ""


def _level(report: Contents) -> str:
    return level(report.analysis.settings.confidence_level)


def _facts(*items: tuple[str, str]) -> Shown:
    return (Facts(items),)


def title(report: Contents) -> Shown:
    return _facts(("Title", report.heading), ("Prepared by", report.author))


def file(report: Contents) -> Shown:
    data = report.analysis.data
    return _facts(("File", data.name), ("Columns", data.read_as), ("Fingerprint", data.fingerprint))


def dates(report: Contents) -> Shown:
    part = report.parts.periods if report.parts else None
    if part is None:
        return "Needs a column of dates."
    names = part.tables["uncalibrated"].names
    return _facts(("First and last period", f"{names[0]}, {names[-1]} (column {part.column})"))


def participants(report: Contents) -> Shown:
    data = report.analysis.data
    n_negative = data.n_rows - data.n_positive
    parts = f"{count(data.n_positive)} with the outcome, {count(n_negative)} without"
    fitted = count(data.n_calibration)
    return _facts(("Rows evaluated", f"{count(data.n_rows)}: {parts}"), ("Rows fitted on", fitted))


def left_out(report: Contents) -> Shown:
    gone = report.analysis.data.set_aside
    said = (
        ", ".join([f"{count(rows)} ({reason})" for reason, rows in gone.items() if rows]) or "none"
    )
    return _facts(("Rows left out", said))


def outcome(report: Contents) -> Shown:
    data = report.analysis.data
    mean, rate = percent(data.mean_score), percent(data.base_rate)
    return _facts(
        ("Outcome", f"{data.outcome_name} = {data.positive_name}"),
        ("Observed and predicted", f"{rate} of rows; mean prediction {mean}"),
    )


def protocol(report: Contents) -> Shown:
    data, settings = report.analysis.data, report.analysis.settings
    split = (
        f"{settings.n_folds} folds, seed {settings.seed}: each row is scored by a calibrator that "
        "was fitted on the other folds"
        if data.protocol == "folds"
        else f"calibrators are fitted on {count(data.n_calibration)} other rows"
    )
    return _facts(
        ("Held-out predictions", appendix.DECLARED[report.held_out_declared]),
        ("Evaluation of calibrators", split),
    )


def measures(report: Contents) -> Shown:
    """Every metric with its interval: a row for each, before and after."""
    analysis = report.analysis
    made = methods.metric_columns(analysis.columns, analysis.methods, {})
    kept = [one for one in made if not one.is_change and one.key != "distinct"]
    kept.sort(key=lambda one: FIRST.index(one.key) if one.key in FIRST else len(FIRST))
    shown = report.shown
    labels = {one.key: one.label for one in report.analysis.columns}
    rows = tuple((Value(labels[one.key]), *(one.cells[m.key] for m in shown)) for one in kept)
    head = ("Measure", *(method.label for method in shown))
    return (Table(f"On held-out rows, with {_level(report)} intervals.", head, rows),)


def calibration(report: Contents) -> Shown:
    analysis = report.analysis
    if reason := undrawn(analysis.uncalibrated.reliability):
        return reason
    keys = [method.key for method in report.shown]
    return (Drawing(reliability_chart(analysis, keys)),)


def risks(report: Contents) -> Shown:
    """Distribution of the uncalibrated scores of positives and of negatives."""
    cells = report.evidence.scores("uncalibrated")
    if cells.one_class:
        return "Needs rows of both outcomes."
    near = "" if report.evidence.grade == "exact" else ", grouped to at least ten rows"
    names = report.analysis.words.outcomes
    return (Drawing(scores_by_outcome_chart(cells, names, details=f"Uncalibrated scores{near}")),)


def decision_curve(report: Contents) -> Shown:
    part = report.parts.decisions if report.parts else None
    if part is None:
        return WITHOUT_PARTS
    analysis = report.analysis
    keys = [m.key for m in report.shown if m.key in part.benefit.benefit]
    advised = analysis.recommendation.method
    return (Drawing(net_benefit_chart(part.benefit, keys, recommended=advised)),)


def net_benefit(report: Contents) -> Shown:
    """Net benefit at the stated thresholds, and its difference to flagging all rows."""
    written = _answer(report, "thresholds")
    try:
        thresholds = _thresholds(written) if written else DEFAULT_THRESHOLDS
    except ValueError as error:
        return str(error)
    if report.analysis.data.weighted or report.evidence.uncounted == "clusters":
        return "Intervals of net benefit need rows without weights and clusters."
    rows, z = [], normal_quantile(report.analysis.settings.confidence_level)
    for method in report.shown:
        cells = report.evidence.scores(method.key)
        for t in thresholds:
            model, gain = _benefit(cells.score, cells.positive, cells.weight, t, z)
            rows.append(row(method.label, percent(t), _value(model), _value(gain)))
    head = ("Scores", "Threshold", "Net benefit", "Minus that of treating all")
    by = "" if written else " No threshold was stated; these are examples."
    near = "" if report.evidence.grade == "exact" else " Scores are grouped to at least ten rows."
    caption = (
        f"Net benefit per row, with {_level(report)} intervals. Treating none has 0.{by}{near}"
    )
    return (Table(caption, head, tuple(rows), n_text=2),)


def _thresholds(written: str) -> tuple[float, ...]:
    """The shares in a text such as "0.1, 20%"."""
    thresholds = [float(value) / (100.0 if sign else 1.0) for value, sign in SHARE.findall(written)]
    if not thresholds or not all(0.0 < one < 1.0 for one in thresholds):
        raise ValueError(
            f"Thresholds must be numbers between 0 and 1, or per cents, got {quoted(written)}."
        )
    return tuple(dict.fromkeys(thresholds))


def _benefit(
    score: FloatArray, positive: FloatArray, rows: FloatArray, t: float, z: float
) -> tuple[Estimate, Estimate]:
    """Net benefit at a threshold, and minus that of treating all, with intervals of a mean."""
    w, treated = t / (1.0 - t), score >= t
    n = rows.sum()
    true, false = positive[treated].sum() / n, (rows - positive)[treated].sum() / n
    missed, spared = positive[~treated].sum() / n, (rows - positive)[~treated].sum() / n

    def mean(up: float, down: float) -> Estimate:
        value = up - w * down
        half = z * math.sqrt(max(up + w * w * down - value * value, 0.0) / n)
        return Estimate(value, value - half, value + half)

    gain = mean(missed, spared).scaled(-1.0)
    return mean(true, false), Estimate(
        gain.value, min(gain.low, gain.high), max(gain.low, gain.high)
    )


def _value(estimate: Estimate, digits: int = 4) -> Value:
    return Value(number(estimate.value, digits), interval(estimate, digits))


def subgroups(report: Contents) -> Shown:
    parts = report.parts.slices if report.parts else ()
    if not parts:
        return "Needs a column of groups."
    tables = [(part.gaps["uncalibrated"], part.tests["uncalibrated"]) for part in parts]
    return (slice_blocks.in_one_table(tables, MAX_SUBGROUPS),)


def fairness(report: Contents) -> Shown:
    parts = report.parts.slices if report.parts else ()
    if not parts:
        return "Needs a column of groups."
    said = []
    for part in parts:
        tests = part.tests["uncalibrated"]
        wrong = [tests.names[i] for i in np.flatnonzero(tests.significant())]
        result = f"miscalibrated: {joined(wrong)}" if wrong else "no evidence of miscalibration"
        said.append(f"{' and '.join(part.columns)}, {plural(len(tests), 'group')}: {result}.")
    return (Bullets(tuple(said)),)


def _part(report: Contents, key: str, names: tuple[str, ...], kind: str) -> SlicePart | str:
    """The slices of the column that the author named, or that has one of these names."""
    parts = report.parts.slices if report.parts else ()
    single = {part.columns[0]: part for part in parts if len(part.columns) == 1}
    written = _answer(report, key)
    if written and written not in single:
        has = f"The report has slices of {joined(list(single))}" if single else "It has no slices"
        return f"No slices of a column {quoted(written)}. {has}."
    chosen = written or next((name for name in single if name.casefold() in names), "")
    if not chosen:
        return f"Needs a column of {kind}. Name it in the field {quoted(key)}."
    if report.analysis.data.weighted or report.evidence.uncounted == "clusters":
        return "The formulas need rows without weights and clusters."
    return single[chosen]


def centres(report: Contents) -> Shown:
    part = _part(report, "centres", CENTRE_NAMES, "centres")
    if isinstance(part, str):
        return part
    key = "uncalibrated"
    table = centres_of_slices(part.gaps[key], part.tests[key], part.intercept)
    return (*slice_blocks.centres(table, part.columns[0], _level(report)), *_merged(part))


def grades(report: Contents) -> Shown:
    part = _part(report, "grades", GRADE_NAMES, "grades")
    if isinstance(part, str):
        return part
    gaps, lines = part.gaps["uncalibrated"], part.tests["uncalibrated"]
    order = tuple(name.strip() for name in _answer(report, "order").split(",") if name.strip())

    def graded(order: tuple[str, ...] | None) -> Grades:
        return grades_of_counts(
            gaps.names,
            gaps.mean_score,
            gaps.rows,
            gaps.positives,
            # A report does not have the PD of rows. A slope can be estimated only if they differ.
            varies=np.isfinite(lines.slope),
            order=order,
            confidence_level=report.analysis.settings.confidence_level,
        )

    said = f"{BY_PD}, because no order was written." if not order else ""
    try:
        table = graded(order or None)
    except ValueError as error:
        table, said = graded(None), f"{BY_PD}, and not in the written one: {error}"
    blocks = slice_blocks.grades(table, part.columns[0], _level(report))
    notes = [Note(said)] if said else []
    return (*blocks, *notes, Note(WITHOUT_EXPOSURE), *_merged(part))


def _merged(part: SlicePart) -> tuple[Block, ...]:
    said = [
        f"{plural(part.n_merged, 'group')} of fewer than ten rows are merged."
        * bool(part.n_merged),
        f"{plural(part.n_left_out, 'group')} are left out." * bool(part.n_left_out),
    ]
    return (Note(" ".join(filter(None, said))),) if any(said) else ()


def concentration(report: Contents) -> Shown:
    part = _part(report, "grades", GRADE_NAMES, "grades")
    if isinstance(part, str):
        return part
    share = part.gaps["uncalibrated"].rows / part.gaps["uncalibrated"].rows.sum()
    if len(share) < 2:
        return "Needs at least two grades."
    cv, index = _concentration(share)
    said = (
        ("Coefficient of variation, by rows", number(cv, 3)),
        ("Herfindahl index", number(index, 3)),
    )
    later = "The test against the initial validation needs the shares of the grades at that time."
    return (Facts(said), Note(f"Not answered: {later}"))


def _concentration(share: FloatArray) -> tuple[float, float]:
    """Coefficient of variation and Herfindahl index of the shares of two grades or more."""
    k = len(share)
    cv = math.sqrt(k * float(np.square(share - 1.0 / k).sum()))
    return cv, 1.0 + math.log(float(np.square(share).sum())) / math.log(k)


def initial_auc(report: Contents) -> Shown:
    """The test of a worse AUC than at initial validation, whose AUC is taken as known."""
    auc = report.analysis.uncalibrated.metrics["auc"]
    written = _answer(report, "initial_auc")
    now = ("AUC now", with_interval(auc, 3))
    if not written:
        return (Facts((now,)), Note("Not answered: the test needs the AUC at initial validation."))
    try:
        before = float(written)
    except ValueError:
        before = math.nan
    if not 0.0 <= before <= 1.0:
        return f"The AUC at initial validation must be a number from 0 to 1, got {quoted(written)}."
    if report.analysis.data.weighted or report.evidence.uncounted == "clusters":
        why = "the test against the initial validation needs rows without weights and clusters."
        return (Facts((now,)), Note(f"Not answered: {why}"))
    error = math.sqrt(auc_variance(report.evidence.scores("uncalibrated")))
    if not error > 0.0:
        return "The AUC now has no standard error."
    s = (before - auc.value) / error
    return _facts(
        ("AUC at initial validation", number(before, 3)),
        now,
        ("S and p (small: worse now)", f"{number(s, 3)}, {p_value(float(ndtr(-s)))}"),
    )


def updating(report: Contents) -> Shown:
    """What each calibrator changes: its formula, and losses before and after."""
    analysis = report.analysis
    keys = ("observed_expected_ratio", "brier_score", "log_loss")
    made = methods.metric_columns(analysis.columns, analysis.methods, {})
    kept = [one for one in made if one.key in keys and not one.is_change]
    rows = tuple(
        row(m.label, formula(m.function.formula), *(one.cells[m.key] for one in kept))
        for m in (analysis.methods[key] for key in analysis.ranked)
        if len(m.function.knots) < 3
    )
    labels = {one.key: one.label for one in analysis.columns}
    head = ("Update", "Formula (s is the score)", *(labels[one.key] for one in kept))
    caption = f"Fitted on all rows; measures on held-out rows, with {_level(report)} intervals."
    blocks: list[Block] = [Table(caption, head, rows, n_text=2)]
    if "intercept" not in analysis.methods:
        blocks.append(
            Note("An update of the intercept alone was not compared: add the method intercept.")
        )
    return tuple(blocks)


def sample_size(report: Contents) -> Shown:
    """Rows for intervals of a stated width, by the formulas of Riley et al. 2021."""
    data, area = report.analysis.data, report.analysis.uncalibrated.metrics["auc"].value
    rate, error = data.base_rate, WANTED_WIDTH / (2.0 * 1.959964)
    ratio = math.ceil((1.0 - rate) / (rate * error**2)) if rate > 0.0 else math.nan
    has = f"{count(data.n_rows)}, with {plural(data.n_positive, 'positive row')}"
    wanted = f"for an interval of width {WANTED_WIDTH:g}"
    return _facts(
        ("Rows evaluated", has),
        (f"Rows needed {wanted} of O:E", count(ratio)),
        (f"Rows needed {wanted} of the AUC", count(_rows_of_auc(area, rate, error))),
    )


def _rows_of_auc(area: float, rate: float, error: float) -> float:
    """The smallest number of rows whose AUC has this standard error (Riley et al. 2021)."""
    if not (0.0 < area < 1.0 and 0.0 < rate < 1.0):
        return math.nan

    def square(n: float) -> float:
        pairs = n / 2.0 - 1.0
        both = 1.0 + pairs * (1.0 - area) / (2.0 - area) + pairs * area / (1.0 + area)
        return area * (1.0 - area) * both / (n * n * rate * (1.0 - rate))

    low, high = 1, 2
    while square(high) > error**2:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if square(middle) > error**2 else (low, middle)
    return high


def verdict(report: Contents) -> Shown:
    analysis = report.analysis
    said = (analysis.verdict.sentence, analysis.recommendation.sentence, analysis.after_sentence)
    return tuple(Paragraph(one) for one in said if one)


def limitations(report: Contents) -> Shown:
    return (Bullets((appendix.caveat(report), *report.warnings)),)


def formula_used(report: Contents) -> Shown:
    advised = report.analysis.advised
    data = report.analysis.data
    scores = ("Predictions", f"column {data.score_name}, as given")
    if advised is None:
        return _facts(scores, ("Calibrator", report.analysis.recommendation.sentence))
    return _facts(scores, ("Calibrator", f"{advised.label}: {formula(advised.function.formula)}"))


def software(report: Contents) -> Shown:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return _facts(
        ("Software", versions), ("File to keep", "report.json, checked by calib verify report.json")
    )


def metrics(report: Contents) -> Shown:
    shown = [one for one in report.analysis.columns if one.key != "distinct"]
    return (Facts(tuple((one.label, one.meaning) for one in shown)),)


def limits(report: Contents) -> Shown:
    said = [
        one.finding(report.analysis, "uncalibrated", report.limits[one.argument]).sentence
        for one in LIMITS
        if one.argument in report.limits
    ]
    return (Bullets(tuple(said)),) if said else "No limits were set, such as --max-ks."


def declare(report: Contents) -> Shown:
    """A paragraph to copy into the instructions for use."""
    analysis, at = report.analysis, _level(report)
    keys = ("auc", "brier_score", "ks_error")
    labels = {one.key: one.label for one in analysis.columns}
    shown = analysis.uncalibrated.metrics
    said = [f"{labels[key]} {with_interval(shown[key], 3)}" for key in keys if key in shown]
    data = analysis.data
    text = (
        f"Measured on {count(data.n_rows)} rows of {data.name} (fingerprint {data.fingerprint}), "
        f"{moment(report.date)}, with {at} intervals: {'; '.join(said)}."
    )
    return (Paragraph("A paragraph to copy:"), Code(text))


def guide(report: Contents) -> Shown:
    """What predictions of a size mean here: five bins of scores, in counts per 100 rows."""
    curve = report.analysis.uncalibrated.reliability
    chosen = np.unique(np.linspace(0, len(curve.rows) - 1, 5).round().astype(int))
    words, at = report.analysis.words.positive, _level(report)
    said = []
    for i in chosen.tolist():
        rate, low, high = (number(100.0 * x[i], 0) for x in (curve.observed, curve.low, curve.high))
        near = percent(curve.mean_score[i], 0)
        text = f"Of 100 rows with a prediction near {near}, {rate} {words}"
        said.append(f"{text} ({at} interval {low} to {high}).")
    return (Bullets(tuple(said)),)


def version(report: Contents) -> Shown:
    data = report.analysis.data
    return _facts(("Model and its version", report.model_version), ("Data", data.fingerprint))


def signature(report: Contents) -> Shown:
    return _facts(
        ("Date", moment(report.date)),
        ("Prepared by", report.author),
        ("Reviewed by", report.reviewer),
        ("Responsible person (name, date, signature)", report.sign_off),
    )


SHOWN: Mapping[str, Callable[[Contents], Shown]] = {
    "calibration": calibration,
    "centres": centres,
    "concentration": concentration,
    "dates": dates,
    "decision-curve": decision_curve,
    "declare": declare,
    "fairness": fairness,
    "file": file,
    "formula": formula_used,
    "grades": grades,
    "guide": guide,
    "initial-auc": initial_auc,
    "left-out": left_out,
    "limitations": limitations,
    "limits": limits,
    "measures": measures,
    "metrics": metrics,
    "net-benefit": net_benefit,
    "outcome": outcome,
    "participants": participants,
    "protocol": protocol,
    "risks": risks,
    "sample-size": sample_size,
    "signature": signature,
    "software": software,
    "subgroups": subgroups,
    "title": title,
    "updating": updating,
    "verdict": verdict,
    "version": version,
}

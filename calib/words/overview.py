"""The answer of an analysis: what is wrong, what corrects it, and why this is recommended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.analysis.summary import Held, Parts, best_calibrator
from calib.curves.cumulative import CumulativeCurve
from calib.words.recommendations import calibration_by, change_text

PERIODS = {name: name for name in ("slice", "day", "week", "month", "quarter", "year")}
MIN_PART = 0.05  # A smaller part of the rows is not described on its own.


def headline(analysis: Analysis, parts: Parts) -> str:
    """The answer in one sentence, with the day of a change and the slices that are wrong."""
    verdict = analysis.verdict
    scores = "confidences" if is_of_answers(analysis) else "probabilities"
    if parts.plan is not None:
        return f"{_changed(parts.plan)}."
    if verdict.answer == "no evidence":
        if parts.wrong:
            where = text.joined(list(dict.fromkeys(f"every {one.unit}" for one in parts.wrong)))
            return f"These {scores} are calibrated on average, but not in {where}."
        return f"These {scores} look calibrated."
    if verdict.answer == "inconclusive":
        return f"It is unclear whether these {scores} are calibrated."
    return f"These {scores} are {verdict.summary}."


def _changed(plan: PlanChoice) -> str:
    """What the scores were until a change, and are since then."""
    until, since = text.until_and_since(plan.since)
    wrong = plan.now.answer == "not calibrated"
    now = f"{plan.now.summary if wrong else 'no error found'}{_of_slice(plan)} since {since}"
    if plan.before.answer == "inconclusive":
        return f"Changed: {now}"
    before = "calibrated" if plan.before.answer == "no evidence" else plan.before.summary
    return f"{before.capitalize()} until {until}; {now}"


def _of_slice(plan: PlanChoice) -> str:
    """The slice of a plan, if the error of its rows has the sign of the error of all rows."""
    if not plan.plan.column:
        return ""
    now = plan.of_plan[0]
    kind = "too low" if now.base_rate > now.mean_score else "too high"
    return f" for {plan.plan.slice_words}" if kind == plan.now.summary else ""


def is_of_answers(analysis: Analysis) -> bool:
    """Whether a score is the confidence of an answer: a predicted class, or a logged answer."""
    return analysis.words.top_label


def finding(analysis: Analysis, parts: Parts) -> str:
    verdict, data = analysis.verdict, analysis.data
    if parts.plan is not None:
        cells = parts.plan.cells[1]
        mean, rate = text.percents(cells.mean_score, cells.base_rate)
        since = text.day_words(parts.plan.since)
        return f"Since {since} they average {mean}, but {rate} {analysis.words.positive}."
    if verdict.finding is None or verdict.answer != "no evidence":
        return verdict.finding or verdict.body
    mean, rate = text.percents(data.mean_score, data.base_rate, distinct=False)
    predicted, observed = names_of_averages(analysis)
    on_average = f"{predicted} is {mean}, {observed} {rate}."
    if parts.wrong:
        return f"{on_average} But {wrong_parts(parts.wrong)}."
    return f"{on_average} {verdict.finding}".rstrip()


def wrong_parts(held: Sequence[Held]) -> str:
    """How many slices and periods are miscalibrated.

    >>> wrong_parts([Held("plan", "slice", 1, 3), Held("day", "month", 2, 12)])
    '1 of 3 slices by plan and 2 of 12 months are miscalibrated'
    """
    counts = []
    for one in held:
        unit = PERIODS.get(one.unit, "period")
        by = f" by {text.shortened(one.column)}" if one.unit == "slice" else ""
        counts.append(f"{one.wrong:,} of {text.plural(one.tested, unit)}{by}")
    are = "is" if [one.wrong for one in held] == [1] else "are"
    return f"{text.joined(counts)} {are} miscalibrated"


def names_of_averages(analysis: Analysis) -> tuple[str, str]:
    """What the mean score and the observed frequency are called."""
    top = is_of_answers(analysis)
    return ("Mean confidence", "accuracy") if top else ("Mean prediction", "base rate")


def correction(analysis: Analysis, parts: Parts) -> str:
    """What is recommended does about it, and what it leaves."""
    result, after = analysis.advised, analysis.after
    if parts.plan is not None:
        return _correction_of_plan(parts, parts.plan)
    if result is None or after is None:
        return ""
    name = calibration_by(result.short_label)
    # A calibrator can turn an order around, but cannot make one.
    if analysis.verdict.kind == "uninformative":
        return f"{name} corrects their size, but not their order."
    if after.answer == "no evidence":
        if parts.failing:
            return f"{name} corrects the average. After it {wrong_parts(parts.failing)}."
        return _corrected(name, parts)
    return f"After {name}: {after.summary}."


def _corrected(name: str, parts: Parts) -> str:
    """What no test of the rows and their parts contradicts, if all parts are tested."""
    if not parts.unchecked:
        return f"{name} corrects it."
    columns = text.plural(parts.unchecked, "column")
    return f"{name} corrects the average. The slices of {columns} were not checked."


def _correction_of_plan(parts: Parts, plan: PlanChoice) -> str:
    name = plan.plan.words
    if plan.plan.method in ("", "uncalibrated"):
        return "No calibrator clearly lowers the log loss since then."
    if plan.after.rejected:
        return f"After {name}: {plan.after.summary}."
    if parts.failing:
        return f"After {name}, {wrong_parts(parts.failing)}."
    return _corrected(name, parts)


def reasons_of_plan(plan: PlanChoice, level: float) -> list[str]:
    """The evidence for a plan, in sentences. The losses themselves stand above them."""
    change = change_text(plan.losses[""], plan.loss.value, plan.change, level)
    return [f"Change {change}.", *plan.reasons]


def name_of_loss(analysis: Analysis) -> str:
    loss = "log loss" if analysis.multiclass is None else "multiclass log loss"
    rows = "test rows" if analysis.data.protocol == "test rows" else "unseen rows"
    return f"{loss} on {rows}, lower is better"


def in_plain_words(analysis: Analysis) -> str:
    """What the calibrated scores say and what was observed; for a matrix, what changed."""
    result = analysis.advised
    if result is None:
        return ""
    before, after = analysis.uncalibrated.cumulative, result.cumulative
    if not result.function.has_curve:
        # Another class may have the highest score after it, so the outcomes are compared as well.
        names, old, new = names_of_averages(analysis), _means(before), _means(after)
        first, second = (
            f"{name} {text.percent(a)} → {text.percent(b)}"
            for name, a, b in zip(names, old, new, strict=True)
        )
        return f"{first}, {second}."
    scores, positive = analysis.words.scores.lower(), analysis.words.positive
    # A cut at a bin's edge has the same numbers on the page, in its table and in a report.
    bins = result.reliability
    share = np.cumsum(bins.weight) / bins.weight.sum()
    # The range below it is the one that is worst before.
    worst = before.fractile[np.abs(before.difference).argmax()]
    cut = int(np.abs(share - worst).argmin()) + 1

    def said(part: slice) -> tuple[str, str]:
        weight = bins.weight[part]
        mean, observed = (
            float(np.average(values[part], weights=weight))
            for values in (bins.mean_score, bins.observed)
        )
        return text.percents(mean, observed, distinct=False)

    if not MIN_PART <= share[cut - 1] <= 1.0 - MIN_PART:
        mean, rate = said(slice(None))
        return f"After {result.short_label}, {scores} average {mean}, and {rate} {positive}."
    (mean, rate), (mean_above, rate_above) = said(slice(cut)), said(slice(cut, None))
    return (
        f"After {result.short_label}, low {scores} average {mean}, and {rate} "
        f"{positive}; high ones {mean_above} and {rate_above}."
    )


def _means(curve: CumulativeCurve) -> tuple[float, float]:
    """Mean score and observed frequency."""
    return float(curve.cumulative_score[-1]), float(curve.cumulative_outcome[-1])


def evidence(analysis: Analysis) -> list[str]:
    """The reasons for the recommendation, in sentences."""
    result, reasons = analysis.advised, analysis.recommendation.reasons
    if result is None:
        return list(reasons)
    ranked, level = analysis.ranked_results, analysis.settings.confidence_level
    before, after = (ranked[key].metrics["log_loss"].value for key in ("uncalibrated", result.key))
    change = change_text(before, after, ranked[result.key].differences["log_loss"], level)
    sentences = [f"Change {change}.", *reasons]
    still = analysis.after is not None and analysis.after.answer == "not calibrated"
    # The scores of all classes can get better while those of the shown view get worse.
    worse = analysis.multiclass is not None and still
    return [*sentences, analysis.after_sentence] if worse else sentences


def why_shown(analysis: Analysis, key: str) -> str:
    """The reason why a calibrator is shown although it is not recommended, or ""."""
    advised, plan = analysis.recommendation.method, analysis.recommendation.plan
    if key in ("uncalibrated", advised) or key not in analysis.methods:
        return ""
    label = analysis.methods[key].short_label
    if plan is not None:
        return f"{label} of all rows is shown for comparison."
    lead = {
        "": "No calibrator is recommended.",
        "uncalibrated": "The recommendation is to keep the uncalibrated scores.",
    }.get(advised)
    if lead is None:
        return ""
    is_best = key == best_calibrator(analysis)
    reason = "its held-out log loss is the lowest" if is_best else "it was chosen"
    return f"{lead} {label} is shown for comparison, because {reason}."

"""The answer of an analysis: what is wrong, what corrects it, and why this is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.analysis.summary import Held, Parts, best_calibrator
from calib.curves.reliability import CumulativeCurve
from calib.metrics.cumulative import ks_test
from calib.words.recommendations import calibration_by, loss_change

PERIODS = {name: name for name in ("slice", "day", "week", "month", "quarter", "year")}
ROUND_NUMBERS = (100, 1_000, 10_000, 100_000)
MIN_SHOWN = 2.0  # A smaller difference is told of more rows.
MAX_NAMED = 2  # More columns would make the sentence long.
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
            return f"Calibrated on average, but not in {where}."
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
        return f"Since {since} all scores average {mean}, but {rate} {analysis.words.positive}."
    if verdict.finding is None or verdict.answer != "no evidence":
        return _both_sides(analysis) or verdict.finding or verdict.body
    mean, rate = text.percents(data.mean_score, data.base_rate, distinct=False)
    predicted, observed = names_of_averages(analysis)
    on_average = f"{predicted} is {mean}, {observed} {rate}."
    if parts.wrong:
        return f"{on_average} But {wrong_parts(parts.wrong)}."
    return f"{on_average} {verdict.finding}".rstrip()


def _both_sides(analysis: Analysis) -> str:
    """Low and high scores with errors of opposite signs, whose numbers stand beside the answer."""
    counted = counts(analysis) if analysis.verdict.answer == "not calibrated" else []
    sides = ["low" if one.now < one.observed else "high" for one in counted]
    if sides not in (["low", "high"], ["high", "low"]):
        return ""
    first, second = sides
    return f"Low {analysis.words.scores.lower()} are too {first}, high ones too {second}."


def wrong_parts(held: Sequence[Held], still: str = "") -> str:
    """How many slices and periods are miscalibrated, by the columns of which most are.

    >>> wrong_parts([Held("plan", "slice", 1, 3), Held("day", "month", 2, 12)])
    '1 of 3 slices by plan and 2 of 12 months are miscalibrated'
    >>> wrong_parts([Held(name, "slice", 1, 4) for name in ("a", "b", "c", "d")], "still ")
    '1 of 4 slices by a, 1 of 4 by b and slices of 2 more columns are still miscalibrated'
    """
    counts, unit = list[str](), ""
    worst = sorted(held, key=lambda one: -one.share)[:MAX_NAMED]
    for one in (one for one in held if one in worst):
        of = text.plural(one.tested, PERIODS.get(one.unit, "period"))
        # The unit is said once.
        of = f"{one.tested:,}" if one.unit == unit == "slice" else of
        by = f" by {text.shortened(one.column)}" if one.unit == "slice" else ""
        counts.append(f"{one.wrong:,} of {of}{by}")
        unit = one.unit
    if more := len(held) - len(worst):
        counts.append(f"slices of {text.plural(more, 'more column')}")
    are = "is" if [one.wrong for one in held] == [1] else "are"
    return f"{text.joined(counts)} {are} {still}miscalibrated"


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
            return f"After {name}, {wrong_parts(parts.failing, 'still ')}."
        return _corrected(name, parts)
    return f"After {name}: {after.summary}."


def _corrected(name: str, parts: Parts) -> str:
    """What no test of the rows and their parts contradicts, if all parts are tested."""
    if parts.others:
        return f"{name} corrects the average, but not all of: {text.joined(parts.others)}."
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
        return f"After {name}, {wrong_parts(parts.failing, 'still ')}."
    return _corrected(name, parts)


def what_to_do(analysis: Analysis, plan: PlanChoice | None = None) -> str:
    """The recommendation as a heading."""
    if plan is not None and plan.calibrator is not None:
        return f"Use {plan.plan.words}"
    result = analysis.advised
    if result is None:
        return analysis.recommendation.sentence.rstrip(".")
    return f"Use {calibration_by(result.short_label)}"


@dataclass(frozen=True, slots=True)
class Counts:
    """Of some rows, shares that were positive and were predicted, before and after calibration.

    Attributes
    ----------
    rows : str
        Which rows, such as "rows with a low score".
    n : int
        The round number of rows that is spoken of.
    observed, now, after : float
        Shares of the rows.
    """

    rows: str
    n: int
    observed: float
    now: float
    after: float

    def of(self, share: float) -> str:
        """A share as a number of rows."""
        return f"{round(share * self.n):,}"

    def sentence(self, positive: str) -> str:
        """All of it.

        >>> Counts("rows", 100, 0.21, 0.1, 0.2).sentence("were positive")
        'Of 100 rows, 21 were positive: 10 were predicted now, and 20 after calibration.'
        """
        observed, now, after = map(self.of, (self.observed, self.now, self.after))
        return (
            f"Of {self.n:,} {self.rows}, {observed} {positive}: {now} were predicted now, and "
            f"{after} after calibration."
        )


def counts(analysis: Analysis, plan: PlanChoice | None = None) -> list[Counts]:
    """What the recommendation changes, for the low and the high scores if both are wrong."""
    result = analysis.advised
    if plan is not None and plan.calibrator is not None:
        now, after = plan.of_plan
        of_slice = f" of {plan.plan.slice_words}" if plan.plan.column else ""
        rows = f"rows{of_slice} since {text.day_words(plan.since)}"
        return _counted([(rows, (now.base_rate, now.mean_score, after.mean_score))])
    # Another class may have the highest score after it, so the outcomes are other ones, too.
    if result is None or not result.function.has_curve:
        return []
    before, curve = analysis.uncalibrated.cumulative, result.cumulative
    (stated, observed), (calibrated, _) = _means(before), _means(curve)
    # The cumulative difference is largest where the low scores end that have one error.
    at = int(np.abs(before.difference).argmax())
    part = float(before.fractile[at])
    rises = result.function.calibrated[-1] > result.function.calibrated[0]
    if not rises or not MIN_PART <= part <= 1.0 - MIN_PART:
        return _counted([("rows", (observed, stated, calibrated))])
    # A calibrator that rises keeps the order, so its lowest scores are those of the same rows.
    low = np.interp(part, curve.fractile, curve.cumulative_score)
    sums = (before.cumulative_outcome[at], before.cumulative_score[at], float(low))
    below = [total / part for total in sums]
    wholes = (observed, stated, calibrated)
    above = [(whole - total) / (1.0 - part) for whole, total in zip(wholes, sums, strict=True)]
    name = "confidence" if is_of_answers(analysis) else "score"
    return _counted([(f"rows with a low {name}", below), (f"rows with a high {name}", above)])


def _counted(parts: Sequence[tuple[str, Sequence[float]]]) -> list[Counts]:
    """Observed, stated and calibrated shares of as few rows as show the difference."""
    largest = max(abs(observed - now) for _, (observed, now, _) in parts)
    enough = (n for n in ROUND_NUMBERS if n * largest >= MIN_SHOWN)
    n = next(enough, ROUND_NUMBERS[-1] if largest > 0.0 else ROUND_NUMBERS[0])
    return [Counts(rows, n, *shares) for rows, shares in parts]


def _means(curve: CumulativeCurve) -> tuple[float, float]:
    """Mean score and observed frequency."""
    return float(curve.cumulative_score[-1]), float(curve.cumulative_outcome[-1])


def log_loss(analysis: Analysis, plan: PlanChoice | None = None) -> str:
    """The log loss before and after what is recommended, and its change; "" if nothing is."""
    level = analysis.settings.confidence_level
    rows = "test rows" if analysis.data.protocol == "test rows" else "held-out rows"
    if plan is not None and plan.calibrator is not None:
        before, after, change = plan.losses[""], plan.loss.value, plan.change
        return f"Log loss on {rows} since then {loss_change(before, after, change, level)}."
    result, ranked = analysis.advised, analysis.ranked_results
    if result is None:
        return ""
    before, after = (ranked[key].metrics["log_loss"].value for key in ("uncalibrated", result.key))
    change = ranked[result.key].differences["log_loss"]
    loss = "Log loss" if analysis.multiclass is None else "Multiclass log loss"
    return f"{loss} on {rows} {loss_change(before, after, change, level)}."


def calibration_error(analysis: Analysis, plan: PlanChoice | None = None) -> str:
    """The KS calibration error with its p-value, before and after what is recommended."""
    if plan is not None and plan.calibrator is not None:
        tests = [ks_test(cells) for cells in plan.cells[1:]]
    else:
        shown = [analysis.uncalibrated, *([analysis.advised] if analysis.advised else [])]
        tests = [one.ks for one in shown]
    errors = [f"{text.percent(one.statistic)} ({text.p_value(one.p_value)})" for one in tests]
    return f"KS calibration error {' → '.join(errors)}."


def evidence(analysis: Analysis, plan: PlanChoice | None = None) -> list[str]:
    """The reasons for the recommendation, in sentences, besides the change of the log loss."""
    if plan is not None and plan.calibrator is not None:
        return list(plan.reasons)
    reasons = list(analysis.recommendation.reasons)
    still = analysis.after is not None and analysis.after.answer == "not calibrated"
    # The scores of all classes can get better while those of the shown view get worse.
    worse = analysis.multiclass is not None and still
    return [*reasons, analysis.after_sentence] if worse else reasons


def compared(analysis: Analysis, plan: PlanChoice | None = None) -> tuple[str, str]:
    """How many calibrators are compared, and the range of their log losses."""
    if plan is not None and plan.calibrator is not None:
        plans = [loss for kind, loss in plan.losses.items() if kind]
        what, first = f"{text.plural(len(plans), 'way')} to recalibrate", plan.losses[""]
        least, most = min(plan.loss.value, *plans), max(plans)
    else:
        losses = {
            key: one.metrics["log_loss"].value for key, one in analysis.ranked_results.items()
        }
        first = losses.pop("uncalibrated")
        what = text.plural(len(losses), "calibrator")
        least, most = min(losses.values()), max(losses.values())
    ends = " to ".join(dict.fromkeys(text.number(loss) for loss in (least, most)))
    return f"{what} compared", f"log loss {text.number(first)} → {ends}"


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

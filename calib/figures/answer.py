"""The answer in HTML: verdict, key numbers, one chart and the recommendation, with `answer.css`.

The page Overview and the first screen of a report show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from html import escape
from importlib.resources import files

import numpy as np
import pandas as pd

from calib import text
from calib.analysis import Analysis, DataSummary
from calib.analysis.parts import Held, Parts
from calib.analysis.plans import PlanChoice
from calib.analysis.summary import grouped_scores
from calib.curves.cumulative import CumulativeCurve
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.figures.summary import (
    advised,
    before_after_panel,
    change_bars,
    ranked_results,
    summary_chart,
)
from calib.figures.svg import to_svg
from calib.metrics.cumulative import ks_test
from calib.words import titles, verdicts
from calib.words.measures import details, on_average, positives, without_band
from calib.words.recommendations import calibration_by, change_text

# Symbol and colour of an answer. The symbol has the same meaning as the colour.
ANSWER_LOOKS = {
    "not calibrated": ("✕", "red"),
    "no evidence": ("✓", "green"),
    "inconclusive": ("?", "orange"),
}
# The badges of scores whose error has a beginning, or lies in parts of the rows only.
ON_AVERAGE = ("! Calibrated on average only", "orange")
CHANGED = "! Changed on {}"
INCOMPLETE = ("! Correction incomplete", "orange")
PERIODS = {name: name for name in ("slice", "day", "week", "month", "quarter", "year")}
PHONE_PANEL_PIXELS = 108
# The chart of Overview is drawn in these widths, because scaled text is too small or too large.
SUMMARY_WIDTHS = (366, 438, 544)
NEW_LINE = "\n"
MIN_SHOWN = 0.5  # A smaller number of positives is that of more rows.
MIN_PART = 0.05  # A smaller part of the rows is not described on its own.


def style() -> str:
    """The CSS of everything here, for light and dark pages."""
    return (files("calib.figures") / "answer.css").read_text(encoding="utf-8")


def section(analysis: Analysis, *, is_example: bool, parts: Parts | None = None) -> str:
    """The answer as a sentence, and three numbers."""
    parts = parts or Parts()
    pills = [_pill(analysis, parts), *([INCOMPLETE] if _incomplete(analysis, parts) else [])]
    example = '<span class="pill">Example, not your data</span>' if is_example else ""
    badges = "".join(f'<span class="pill {color}">{escape(words)}</span>' for words, color in pills)
    lead = " ".join(filter(None, (_finding(analysis, parts), _correction(analysis, parts))))
    return (
        f'<section class="answer"><div><p>{example}{badges}</p>'
        f"<h2>{escape(_headline(analysis, parts, is_example))}</h2>"
        f'<p class="lead">{escape(lead)}</p></div>'
        f"<dl>{''.join(_key_numbers(analysis, parts.plan))}</dl></section>"
    )


def _pill(analysis: Analysis, parts: Parts) -> tuple[str, str]:
    answer, plan = analysis.verdict.answer, parts.plan
    if plan is not None and plan.before.answer == "no evidence" and plan.now.rejected:
        return CHANGED.format(text.day_words(plan.since)), "orange"
    if answer == "no evidence" and parts.wrong:
        return ON_AVERAGE
    symbol, color = ANSWER_LOOKS[answer]
    return f"{symbol} {verdicts.HEADINGS[answer]}", color


def _incomplete(analysis: Analysis, parts: Parts) -> bool:
    """Whether tests reject what is recommended, of all rows or of parts of them."""
    after = analysis.after if parts.plan is None else parts.plan.after
    return after is not None and bool(parts.failing or after.rejected)


def _headline(analysis: Analysis, parts: Parts, is_example: bool) -> str:
    verdict = analysis.verdict
    scores = "confidences" if _of_answers(analysis) else "probabilities"
    whose = "These example" if is_example else "These"
    if parts.plan is not None:
        return f"{whose} {scores} {_changed(parts.plan)}."
    if verdict.answer == "no evidence":
        if parts.wrong:
            where = text.joined(list(dict.fromkeys(f"every {one.unit}" for one in parts.wrong)))
            return f"{whose} {scores} are calibrated on average, but not in {where}."
        return f"{whose} {scores} look calibrated."
    if verdict.answer == "inconclusive":
        return f"It is unclear whether {whose.lower()} {scores} are calibrated."
    return f"{whose} {scores} are {verdict.summary}."


def _changed(plan: PlanChoice) -> str:
    """What the scores were until a change, and are since then."""
    until, since = text.until_and_since(plan.since)
    wrong = plan.now.answer == "not calibrated"
    now = f"are {plan.now.summary}" if wrong else "look calibrated"
    if plan.before.answer == "inconclusive":
        return f"changed: since {since} they {now}"
    before = "calibrated" if plan.before.answer == "no evidence" else plan.before.summary
    return f"were {before} until {until}, and {now} since {since}"


def _of_answers(analysis: Analysis) -> bool:
    """Whether a score is the confidence of an answer: a predicted class, or a logged answer."""
    return analysis.words.top_label


def _finding(analysis: Analysis, parts: Parts) -> str:
    verdict, data = analysis.verdict, analysis.data
    if parts.plan is not None:
        cells = parts.plan.cells[1]
        mean, rate = text.percents(cells.mean_score, cells.base_rate)
        since = text.day_words(parts.plan.since)
        return f"Since {since} they average {mean}, but {rate} {analysis.words.positive}."
    if verdict.finding is None or verdict.answer != "no evidence":
        return verdict.finding or verdict.body
    mean, rate = text.percents(data.mean_score, data.base_rate, distinct=False)
    predicted, observed = _averages(analysis)
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


def _averages(analysis: Analysis) -> tuple[str, str]:
    """What the mean score and the observed frequency are called."""
    top = _of_answers(analysis)
    return ("Mean confidence", "accuracy") if top else ("Mean prediction", "base rate")


def _correction(analysis: Analysis, parts: Parts) -> str:
    """What is recommended does about it, and what it leaves."""
    result, after = advised(analysis), analysis.after
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


def _key_numbers(analysis: Analysis, plan: PlanChoice | None) -> list[str]:
    if plan is not None:
        return _numbers_since(analysis, plan)
    data, ks, result = analysis.data, analysis.uncalibrated.ks, advised(analysis)
    p = text.p_value(ks.p_value)
    error = text.percent(ks.statistic)
    if result is not None:
        error += f" → {text.percent(result.ks.statistic)}"
    mean, rate = text.percents(data.mean_score, data.base_rate, distinct=False)
    predicted, observed = _averages(analysis)
    positive = "correct" if _of_answers(analysis) else "positive"
    meaning = next(column.meaning for column in analysis.columns if column.key == "ks_error")
    ks_help = f"{meaning} {p}. {on_average(analysis.uncalibrated.metrics['ks_error'])}"
    rows = "Test rows" if data.protocol == "test rows" else "Rows"
    bounds = {key: one.resolution for key, one in analysis.uncalibrated.metrics.items()}
    # If cells hold several scores, log loss is not exact.
    grouped = [grouped_scores(data.n_distinct, bounds)] if bounds["log_loss"] > 0.0 else []
    distinct = f"{text.plural(data.n_distinct, 'distinct score')}."
    rows_help = " ".join(filter(None, [distinct, *grouped, _set_aside(data)]))
    numbers = (
        (
            "KS calibration error",
            error,
            _in_rows(analysis) if result is not None else f"largest cumulative gap\n{p}",
            ks_help,
        ),
        (
            predicted,
            mean,
            f"{observed} {rate}",
            f"For a calibrated model it is near the {observed}.",
        ),
        (rows, f"{data.n_rows:,}", f"{data.n_positive:,} {positive}", rows_help),
    )
    return _listed(numbers)


def _numbers_since(analysis: Analysis, plan: PlanChoice) -> list[str]:
    """The numbers of the rows since a change."""
    _, now, after = plan.cells
    before_ks, after_ks = (ks_test(cells) for cells in (now, after))
    mean, rate = text.percents(now.mean_score, now.base_rate, distinct=False)
    predicted, observed = _averages(analysis)
    meaning = next(column.meaning for column in analysis.columns if column.key == "ks_error")
    since = f"since {text.day_words(plan.since)}"
    first, last = (text.day_words(day) for day in (plan.since_low, plan.since_high))
    when = f"The change began between {first} and {last} (95% likelihood interval)."
    positives = round(now.total_positive)
    return _listed(
        (
            (
                "KS calibration error",
                f"{text.percent(before_ks.statistic)} → {text.percent(after_ks.statistic)}",
                f"{since}\n{text.p_value(before_ks.p_value)} → {text.p_value(after_ks.p_value)}",
                f"{meaning} {when}",
            ),
            (predicted, mean, f"{observed} {rate},\n{since}", when),
            ("Rows", f"{now.n_rows:,}", f"{positives:,} positive,\n{since}", when),
        )
    )


def _listed(numbers: Sequence[tuple[str, str, str, str]]) -> list[str]:
    return [
        f'<div title="{escape(about)}"><dt>{escape(label)}</dt><dd>{escape(value)}'
        f"<small>{escape(below).replace(NEW_LINE, '<br>')}</small></dd></div>"
        for label, value, below, about in numbers
    ]


def _in_rows(analysis: Analysis) -> str:
    """What the KS calibration error of the uncalibrated scores means for a number of rows."""
    curve = analysis.uncalibrated.cumulative
    peak = int(np.abs(curve.difference).argmax())
    # An error of rare events would be 0.0 of 100 rows.
    enough = (n for n in (100, 1_000, 10_000) if n * abs(curve.difference[peak]) >= MIN_SHOWN)
    rows = next(enough, 100_000)
    error = text.number(rows * abs(curve.difference[peak]), 1)
    side = "few" if curve.difference[peak] > 0.0 else "many"
    # The finding says up to which score, in a report with more digits than its curve has.
    inside = MIN_PART <= curve.fractile[peak] <= 1.0 - MIN_PART
    which = "low scores" if inside else "scores"
    return f"of every {rows:,} rows, {which}\npredict {error} {positives(analysis)} too {side}"


def _set_aside(data: DataSummary) -> str:
    """Rows of the file that are not used, and why; "" if there are none."""
    if not data.set_aside:
        return ""
    total = sum(data.set_aside.values())
    reasons = "; ".join(f"{count:,} {reason}" for reason, count in data.set_aside.items())
    return f"{total:,} rows are not used: {reasons}."


def summaries(analysis: Analysis) -> dict[int, str]:
    """The summary by the width of its chart in pixels."""
    return {pixels: summary(analysis, pixels) for pixels in SUMMARY_WIDTHS}


def summary(analysis: Analysis, pixels: int = SUMMARY_WIDTHS[1]) -> str:
    """Before and after in one chart, or in two where there is no room for its labels."""
    curve, result = analysis.uncalibrated.reliability, advised(analysis)
    keys = ["uncalibrated", *([] if result is None else [result.key])]
    pair = "".join(
        to_svg(before_after_panel(analysis, key, side=PHONE_PANEL_PIXELS)) for key in keys
    )
    n_bins = text.plural(len(curve.rows), f"{curve.strategy} bin")
    no_band = without_band(curve)
    return (
        f'<figure class="summary"><figcaption><b>{escape(titles.reliability(analysis))}</b>'
        f'{details(analysis, n_bins)} <span class="wide">· orange: uncalibrated error</span>'
        f"{f'<br>{escape(no_band)}' if no_band else ''}</figcaption>"
        f'<div class="wide">{to_svg(summary_chart(analysis).at_width(pixels))}</div>'
        f'<div class="small">{pair}</div></figure>'
    )


def recommended_plan(plan: PlanChoice) -> str:
    """The plan for scores that changed, with the held-out log loss of the rows since then."""
    before, after, _ = text.adding_up(plan.losses[""], plan.loss.value, plan.change)
    return (
        '<div class="recommended"><p class="eyebrow">Recommended · log loss on unseen rows since '
        f"{text.day_words(plan.since)}, lower is better</p>"
        f"<h3>{escape(plan.plan.words)} <span>{before} → </span>{after}</h3></div>"
    )


def reasons_of_plan(plan: PlanChoice, level: float) -> list[str]:
    """The evidence for a plan, in sentences. The losses themselves stand above them."""
    change = change_text(plan.losses[""], plan.loss.value, plan.change, level)
    return [f"Change {change}.", *plan.reasons]


def since_curves(analysis: Analysis, plan: PlanChoice) -> dict[str, ReliabilityCurve]:
    """Reliability before a change, since then, and since then under the plan."""
    settings = analysis.settings
    # A longer name would be cut beside its line.
    names = (
        f"Until {text.day_words(plan.since - timedelta(1))}",
        f"Since {text.day_words(plan.since)}",
        "After calibration",
    )
    return {
        name: reliability_curve(
            cells,
            n_bins=settings.n_bins,
            strategy=settings.strategy,
            confidence_level=settings.confidence_level,
        )
        for name, cells in zip(names, plan.cells, strict=True)
    }


def recommended(analysis: Analysis) -> str:
    """The recommended calibrator with its log loss, or why there is none."""
    result = advised(analysis)
    if result is None:
        sentence = escape(analysis.recommendation.sentence)
        return f'<div class="recommended sentence"><h3>{sentence}</h3></div>'
    ranked = ranked_results(analysis)
    before, after, _ = text.adding_up(
        ranked["uncalibrated"].metrics["log_loss"].value,
        ranked[result.key].metrics["log_loss"].value,
        ranked[result.key].differences["log_loss"],
    )
    return (
        f'<div class="recommended"><p class="eyebrow">Recommended · {_loss_name(analysis)}</p>'
        f"<h3>{escape(result.label)} <span>{before} → </span>{after}</h3></div>"
    )


def _loss_name(analysis: Analysis) -> str:
    loss = "log loss" if analysis.multiclass is None else "multiclass log loss"
    rows = "test rows" if analysis.data.protocol == "test rows" else "unseen rows"
    return f"{loss} on {rows}, lower is better"


def in_plain_words(analysis: Analysis) -> str:
    """What the calibrated scores say and what was observed; for a matrix, what changed."""
    result = advised(analysis)
    if result is None:
        return ""
    before, after = analysis.uncalibrated.cumulative, result.cumulative
    if not result.function.has_curve:
        # Another class may have the highest score after it, so the outcomes are compared as well.
        names, old, new = _averages(analysis), _means(before), _means(after)
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
    result, reasons = advised(analysis), analysis.recommendation.reasons
    if result is None:
        return list(reasons)
    ranked, level = ranked_results(analysis), analysis.settings.confidence_level
    before, after = (ranked[key].metrics["log_loss"].value for key in ("uncalibrated", result.key))
    change = change_text(before, after, ranked[result.key].differences["log_loss"], level)
    sentences = [f"Change {change}.", *reasons]
    still = analysis.after is not None and analysis.after.answer == "not calibrated"
    # The scores of all classes can get better while those of the shown view get worse.
    worse = analysis.multiclass is not None and still
    return [*sentences, analysis.after_sentence] if worse else sentences


def calibrators_table(analysis: Analysis) -> str:
    """Every calibrator with its log loss, and its change with the interval drawn."""
    if len(analysis.methods) == 1:
        return ""
    chosen, ranked = analysis.recommendation.method, ranked_results(analysis)
    rows = "".join(
        f'<tr{" class=marked" if key == chosen else ""}><th scope="row">'
        f"{_name(analysis.methods[key].label)}</th>"
        f"<td>{text.number(ranked[key].metrics['log_loss'].value)}</td>"
        f"<td>{bar}</td></tr>"
        for key, bar in change_bars(analysis).items()
    )
    at = text.level(analysis.settings.confidence_level)
    loss = "Log loss" if analysis.multiclass is None else "Multiclass log loss"
    return (
        '<div class="metric-table"><table class="calibrators"><thead><tr>'
        f'<th scope="col">Calibrator</th><th scope="col">{loss}</th>'
        f'<th scope="col">Change, {at} CI (vertical line: no change)</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def calibrators_frame(analysis: Analysis) -> pd.DataFrame:
    """The numbers of that table, one row per calibrator."""
    ranked = ranked_results(analysis)
    return pd.DataFrame(
        [
            {
                "calibrator": analysis.methods[key].label,
                **ranked[key].metrics["log_loss"].with_bounds("log_loss"),
                **ranked[key].differences["log_loss"].with_bounds("log_loss_change"),
            }
            for key in change_bars(analysis)
        ]
    )


def _name(label: str) -> str:
    """The label of a method. A phone shows its start."""
    name, bracket, which = label.partition(" (")
    if not bracket:
        return escape(name)
    return f"{escape(name)} <span>({escape(which)}</span>"

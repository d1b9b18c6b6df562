"""The answer in HTML: verdict, key numbers, one chart and the recommendation, with `answer.css`.

The page Overview and the first screen of a report show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from html import escape
from importlib.resources import files

import pandas as pd

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.analysis.summary import Parts, grouped_scores
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.figures.summary import (
    before_after_panel,
    change_bars,
    summary_chart,
)
from calib.figures.svg import to_svg
from calib.metrics.cumulative import ks_test
from calib.words import overview, titles, verdicts
from calib.words.measures import details, on_average, without_band

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
PHONE_PANEL_PIXELS = 108
# The chart of Overview is drawn in these widths, because scaled text is too small or too large.
SUMMARY_WIDTHS = (366, 438, 544)
NEW_LINE = "\n"


def style() -> str:
    """The CSS of everything here, for light and dark pages."""
    return (files("calib.figures") / "answer.css").read_text(encoding="utf-8")


def section(analysis: Analysis, *, is_example: bool, parts: Parts | None = None) -> str:
    """The answer as a sentence, and three numbers."""
    parts = parts or Parts()
    pills = [_pill(analysis, parts), *([INCOMPLETE] if _incomplete(analysis, parts) else [])]
    example = '<span class="pill">Example, not your data</span>' if is_example else ""
    badges = "".join(f'<span class="pill {color}">{escape(words)}</span>' for words, color in pills)
    lead = (overview.finding(analysis, parts), overview.correction(analysis, parts))
    return (
        f'<section class="answer"><div><p>{example}{badges}</p>'
        f"<h2>{escape(overview.headline(analysis, parts, is_example))}</h2>"
        f'<p class="lead">{escape(" ".join(filter(None, lead)))}</p></div>'
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


def _key_numbers(analysis: Analysis, plan: PlanChoice | None) -> list[str]:
    if plan is not None:
        return _numbers_since(analysis, plan)
    data, ks, result = analysis.data, analysis.uncalibrated.ks, analysis.advised
    p = text.p_value(ks.p_value)
    error = text.percent(ks.statistic)
    if result is not None:
        error += f" → {text.percent(result.ks.statistic)}"
    mean, rate = text.percents(data.mean_score, data.base_rate, distinct=False)
    predicted, observed = overview.names_of_averages(analysis)
    positive = "correct" if overview.is_of_answers(analysis) else "positive"
    meaning = next(column.meaning for column in analysis.columns if column.key == "ks_error")
    ks_help = f"{meaning} {p}. {on_average(analysis.uncalibrated.metrics['ks_error'])}"
    rows = "Test rows" if data.protocol == "test rows" else "Rows"
    bounds = {key: one.resolution for key, one in analysis.uncalibrated.metrics.items()}
    # If cells hold several scores, log loss is not exact.
    grouped = [grouped_scores(data.n_distinct, bounds)] if bounds["log_loss"] > 0.0 else []
    distinct = f"{text.plural(data.n_distinct, 'distinct score')}."
    rows_help = " ".join(filter(None, [distinct, *grouped, overview.set_aside(data)]))
    numbers = (
        (
            "KS calibration error",
            error,
            overview.in_rows(analysis) if result is not None else f"largest cumulative gap\n{p}",
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
    predicted, observed = overview.names_of_averages(analysis)
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


def summaries(analysis: Analysis) -> dict[int, str]:
    """The summary by the width of its chart in pixels."""
    return {pixels: summary(analysis, pixels) for pixels in SUMMARY_WIDTHS}


def summary(analysis: Analysis, pixels: int = SUMMARY_WIDTHS[1]) -> str:
    """Before and after in one chart, or in two where there is no room for its labels."""
    curve, result = analysis.uncalibrated.reliability, analysis.advised
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
    result = analysis.advised
    if result is None:
        sentence = escape(analysis.recommendation.sentence)
        return f'<div class="recommended sentence"><h3>{sentence}</h3></div>'
    ranked = analysis.ranked_results
    before, after, _ = text.adding_up(
        ranked["uncalibrated"].metrics["log_loss"].value,
        ranked[result.key].metrics["log_loss"].value,
        ranked[result.key].differences["log_loss"],
    )
    return (
        '<div class="recommended"><p class="eyebrow">'
        f"Recommended · {overview.name_of_loss(analysis)}</p>"
        f"<h3>{escape(result.label)} <span>{before} → </span>{after}</h3></div>"
    )


def calibrators_table(analysis: Analysis) -> str:
    """Every calibrator with its log loss, and its change with the interval drawn."""
    if len(analysis.methods) == 1:
        return ""
    chosen, ranked = analysis.recommendation.method, analysis.ranked_results
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
    ranked = analysis.ranked_results
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

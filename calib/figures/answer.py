"""The answer in HTML: verdict, key numbers, one chart and the recommendation, with `answer.css`.

The page Overview and the first screen of a report show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

import pandas as pd

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.analysis.summary import Parts
from calib.figures.summary import SummaryLine, change_bars, summary_lines, summary_of
from calib.figures.svg import to_svg
from calib.words import overview, titles
from calib.words.measures import without_band

# The badge of an answer and its colour. The symbol has the same meaning as the colour.
ANSWER_LOOKS = {
    "not calibrated": ("✕ Not calibrated", "red"),
    "no evidence": ("✓ No error found", "green"),
    "inconclusive": ("? Not enough data", "orange"),
}
# The badges of scores whose error has a beginning, or lies in parts of the rows only.
ON_AVERAGE = ("! Calibrated on average only", "orange")
CHANGED = "! Changed on {}"
INCOMPLETE = ("! Correction incomplete", "orange")
# The chart of Overview is drawn in these widths, because scaled text is too small or too large.
SUMMARY_WIDTHS = (342, 440, 540, 640, 734, 936)
WIDTH_OF_PAGE = 734  # The width in a window of 1,440 pixels.


def style() -> str:
    """The CSS of everything here, for light and dark pages."""
    return (files("calib.figures") / "answer.css").read_text(encoding="utf-8")


def section(
    analysis: Analysis, *, is_example: bool, parts: Parts | None = None, tag: str = "h2"
) -> str:
    """The answer as a sentence in a heading, the badges beside it, and a line below.

    `tag` is that of the heading, which is the first of its page or stands below another.
    """
    parts = parts or Parts()
    pills = [_pill(analysis, parts), *([INCOMPLETE] if _incomplete(analysis, parts) else [])]
    badges = "".join(f'<span class="pill {color}">{escape(words)}</span>' for words, color in pills)
    example = '<span class="pill">Example, not your data</span>' if is_example else ""
    lead = (overview.finding(analysis, parts), overview.correction(analysis, parts))
    return (
        f'<section class="answer"><div><div class="said">'
        f"<{tag}>{escape(overview.headline(analysis, parts))}</{tag}>"
        f"<p>{badges}{example}</p></div>"
        f'<p class="lead">{escape(" ".join(filter(None, lead)))}</p></div></section>'
    )


def _pill(analysis: Analysis, parts: Parts) -> tuple[str, str]:
    answer, plan = analysis.verdict.answer, parts.plan
    if plan is not None and plan.before.answer == "no evidence" and plan.now.rejected:
        return CHANGED.format(text.day_words(plan.since)), "orange"
    if answer == "no evidence" and parts.wrong:
        return ON_AVERAGE
    return ANSWER_LOOKS[answer]


def _incomplete(analysis: Analysis, parts: Parts) -> bool:
    """Whether tests reject what is recommended, of all rows or of parts of them."""
    after = analysis.after if parts.plan is None else parts.plan.after
    return after is not None and bool(parts.failing or after.rejected)


def summaries(analysis: Analysis, plan: PlanChoice | None = None) -> dict[int, str]:
    """The summary by the width of its chart in pixels."""
    lines = summary_lines(analysis, plan)
    return {width: _figure(analysis, lines, plan, [("wide", width)]) for width in SUMMARY_WIDTHS}


def summary(analysis: Analysis) -> str:
    """Before and after in one chart, or in a narrow one on a phone."""
    lines = summary_lines(analysis)
    return _figure(analysis, lines, None, [("wide", WIDTH_OF_PAGE), ("small", SUMMARY_WIDTHS[0])])


def _figure(
    analysis: Analysis,
    lines: Sequence[SummaryLine],
    plan: PlanChoice | None,
    widths: Sequence[tuple[str, int]],
) -> str:
    curve = lines[0].curve
    bins = text.plural(len(curve.rows), f"{curve.strategy} bin")
    at = text.level(curve.confidence_level)
    rows = text.plural(int(curve.rows.sum()), "row")
    no_band = without_band(curve)
    charts = "".join(
        f'<div class="{name}">{to_svg(summary_of(analysis, lines, plan, width))}</div>'
        for name, width in widths
    )
    return (
        f'<figure class="summary"><figcaption><b>{escape(titles.summary(analysis, plan))}</b>'
        f"{rows} · {bins} · {at} intervals{f'<br>{escape(no_band)}' if no_band else ''}"
        f"</figcaption>{charts}</figure>"
    )


def recommended_plan(plan: PlanChoice) -> str:
    """The plan for scores that changed, with the held-out log loss of the rows since then."""
    before, after, _ = text.adding_up(plan.losses[""], plan.loss.value, plan.change)
    return (
        '<div class="recommended"><p class="eyebrow">Recommended · log loss on unseen rows since '
        f"{text.day_words(plan.since)}, lower is better</p>"
        f"<h2>{escape(plan.plan.words)} <span>{before} → </span>{after}</h2></div>"
    )


def recommended(analysis: Analysis) -> str:
    """The recommended calibrator with its log loss, or why there is none."""
    result = analysis.advised
    if result is None:
        sentence = escape(analysis.recommendation.sentence)
        return f'<div class="recommended sentence"><h2>{sentence}</h2></div>'
    ranked = analysis.ranked_results
    before, after, _ = text.adding_up(
        ranked["uncalibrated"].metrics["log_loss"].value,
        ranked[result.key].metrics["log_loss"].value,
        ranked[result.key].differences["log_loss"],
    )
    return (
        '<div class="recommended"><p class="eyebrow">'
        f"Recommended · {overview.name_of_loss(analysis)}</p>"
        f"<h2>{escape(result.label)} <span>{before} → </span>{after}</h2></div>"
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

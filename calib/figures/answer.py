"""The answer in HTML: verdict, key numbers, one chart and the recommendation, with `answer.css`.

The page Overview and the first screen of a report show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

import pandas as pd

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice
from calib.analysis.summary import Parts
from calib.figures.summary import (
    SummaryLine,
    change_bars,
    change_lines,
    log_loss_changes,
    summary_lines,
    summary_of,
)
from calib.figures.svg import to_svg
from calib.words import overview, titles
from calib.words.checks import FAILS, HOLDS, LEGEND, Check
from calib.words.measures import without_band
from calib.words.overview import Counts

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
SUMMARY_WIDTHS = (342, 440, 540, 640, 734, 900, 1060)
CALIBRATION = "Calibration turns each score into a probability that agrees with what is observed."
HOLDS_TITLE = "Does it hold?"
MARKS: Mapping[str, str] = {HOLDS: "holds", FAILS: "fails"}
MIN_REST = 0.35  # A label needs this share of a bar's width, and is inside of a longer bar.
MIN_WHOLE = 0.1  # If no bar is at least this long, all of them are drawn longer.
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
    return after is not None and bool(parts.failing or parts.others or after.rejected)


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


def advice(analysis: Analysis, plan: PlanChoice | None = None) -> str:
    """What to do, and what it changes in numbers of rows."""
    positive = escape(analysis.words.positive)
    about = escape(analysis.verdict.finding or "") if plan is None else ""
    counted = "".join(_bars(one, positive, about) for one in overview.counts(analysis, plan))
    return (
        f'<div class="recommended"><p class="eyebrow">What to do</p>'
        f'<h2 title="{CALIBRATION}">{escape(overview.what_to_do(analysis, plan))}</h2>'
        f"{counted}</div>"
    )


def _bars(counts: Counts, positive: str, about: str) -> str:
    """Two bars, before and after, up to what was predicted, with a line at what was observed."""
    seen, now, after = (counts.of(share) for share in (counts.observed, counts.now, counts.after))
    return (
        f'<p class="counted" title="{about}">Of {counts.n:,} {escape(counts.rows)}, '
        f"<b>{seen}</b> {positive}</p>"
        f'<div class="bars">{_bar(counts, counts.now, "now", f"<b>{now}</b> predicted now")}'
        f"{_bar(counts, counts.after, 'after', f'<b>{after}</b> after')}</div>"
    )


def _bar(counts: Counts, value: float, name: str, words: str) -> str:
    """A bar as a table, because a report allows no styles of single elements."""
    # The bars of rare events would be too short to see.
    whole = max(counts.observed, counts.now, counts.after)
    end = 1.0 if whole >= MIN_WHOLE else whole / MIN_WHOLE
    low, high = sorted((value / end, counts.observed / end))
    missing = "seen " if value <= counts.observed else ""
    over = "" if missing else "seen "
    error = "error" if name == "now" else ("" if missing else name)
    cells = [(f"{over}{name}", low, ""), (f"{missing}{error}", high - low, "")]
    rest = 1.0 - high
    inside = rest < MIN_REST
    cells[0] = (*cells[0][:2], words if inside else "")
    cells.append(("", rest, "" if inside else words))
    drawn = "".join(
        f'<td class="{escape(look.strip())}" width="{text.number(100 * share, 2)}%">{said}</td>'
        for look, share, said in cells
    )
    return f'<table role="presentation"><tr>{drawn}</tr></table>'


def small_print(
    analysis: Analysis, plan: PlanChoice | None = None, *, finding: bool = False
) -> str:
    """The log loss and the calibration error, before and after what is recommended.

    If nothing can be recommended, it says why. With `finding` it begins with where the scores are
    wrong, which the line below the answer says in short.
    """
    said = [analysis.verdict.finding or ""] if finding else []
    said += [overview.log_loss(analysis, plan), overview.calibration_error(analysis, plan)]
    said += [] if is_answered(analysis) else overview.evidence(analysis)
    return f'<p class="eyebrow">{escape(" ".join(filter(None, said)))}</p>'


def is_answered(analysis: Analysis) -> bool:
    """Whether there are enough rows for an answer that can hold, or for a recommendation."""
    return analysis.verdict.answer != "inconclusive" or analysis.advised is not None


def holds_head() -> str:
    """The head above lines with their marks."""
    return f'<div class="holds-head"><h2>{HOLDS_TITLE}</h2><span>now</span><span>after</span></div>'


def holds(checks: Sequence[Check]) -> str:
    """Whether the answer holds, as a table; "" if there is no line."""
    if not checks:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(check.name)}</th><td class="text">{escape(check.words)}</td>'
        f'<td class="{MARKS.get(check.now, "")}">{escape(check.now)}</td>'
        f'<td class="{MARKS.get(check.after, "")}">{escape(check.after)}</td></tr>'
        for check in checks
    )
    return (
        f'<table class="holds"><thead><tr><th scope="col" colspan="2">{HOLDS_TITLE}</th>'
        f'<th scope="col">now</th><th scope="col">after</th></tr></thead><tbody>{rows}</tbody>'
        f'</table><p class="eyebrow">{LEGEND}</p>'
    )


def calibrators(
    analysis: Analysis, plan: PlanChoice | None = None, *, is_open: bool = False
) -> str:
    """The calibrators in one line with their intervals, which opens; "" if there is no advice."""
    if not is_answered(analysis):
        return ""
    is_plan = plan is not None and plan.calibrator is not None
    table = "" if is_plan else calibrators_table(analysis)
    if not is_plan and not table:
        return ""
    reasons, (what, losses) = (
        " ".join(overview.evidence(analysis, plan)),
        overview.compared(analysis, plan),
    )
    drawn = "" if is_plan else change_lines(analysis)
    return (
        f'<details class="compared"{" open" if is_open else ""}>'
        f"<summary><span><b>{escape(what)}</b><small>{escape(losses)}</small></span>{drawn}</summary>"
        f'<p class="eyebrow">{escape(reasons)}</p>{table}</details>'
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
        for key, bar in change_bars(log_loss_changes(analysis), chosen).items()
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
            for key in log_loss_changes(analysis)
        ]
    )


def _name(label: str) -> str:
    """The label of a method. A phone shows its start."""
    name, bracket, which = label.partition(" (")
    if not bracket:
        return escape(name)
    return f"{escape(name)} <span>({escape(which)}</span>"

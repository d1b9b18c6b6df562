"""Slices: observed minus predicted as a forest plot, and reliability diagrams in one square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.analysis.slices import SliceGaps
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.chart import Chart, make_chart
from calib.figures.forest import forest_axes, zero_line
from calib.figures.overlay import overlay_chart
from calib.figures.panels import few_entry, legend_entry
from calib.figures.theme import FRAME, style_of
from calib.figures.trace import Trace, scatter, whiskers
from calib.methods import method_of
from calib.numerics.arrays import BoolArray, IntArray
from calib.text import between, count, escaped, p_value, probability, shortened, signed

WIDTH, ROW = 460, 30
MAX_ROWS = 24


def slice_chart(gaps: Mapping[str, SliceGaps], *, most: int = MAX_ROWS) -> Chart:
    """Forest plot of observed minus predicted, the strongest evidence on top.

    Parameters
    ----------
    gaps : mapping of str to SliceGaps
        By method, of the same slices; the first one's evidence orders them.
    most : int
        Slices to draw.

    Returns
    -------
    Chart
        A star stands beside an interval whose Holm-adjusted p-value is below 0.05. Slices of fewer
        than 30 rows are grey and hollow.
    """
    first = next(iter(gaps.values()))
    shown = first.order[:most]
    traces = [zero_line(len(shown))]
    limits = _limits(gaps, shown)
    for place, (key, each) in enumerate(gaps.items()):
        offset = 0.0 if len(gaps) == 1 else (place - (len(gaps) - 1) / 2) * 0.32
        traces += _method(key, each, shown, offset, limits)
    if first.few[shown].any():
        traces.append(few_entry())
    names = [shortened(first.names[i]) for i in shown]
    row = ROW if len(gaps) == 1 else ROW + 8
    longest = max(map(len, names))
    return make_chart(
        traces,
        forest_axes("Observed − predicted", limits, [escaped(name) for name in names]),
        _alt(gaps),
        plot_width=WIDTH,
        plot_height=row * max(len(shown), 2),
        left=24 + round(6.8 * longest),
        revision="slices",
    )


def _alt(gaps: Mapping[str, SliceGaps]) -> str:
    said = []
    for key, each in gaps.items():
        n = int(each.significant().sum())
        found = f"{n} of {len(each)} slices differ from what was predicted after Holm's correction"
        strongest = each.order[0]
        named = f"; strongest evidence: {each.names[strongest]}, {signed(each.gap[strongest], 3)}"
        said.append(f"{method_of(key).label}: {found}{named if n else ''}.")
    return "Observed minus predicted of each slice, with intervals. " + " ".join(said)


def _limits(gaps: Mapping[str, SliceGaps], shown: IntArray) -> tuple[float, float]:
    """All intervals, and zero, with a margin for the stars."""
    ends = [end[shown] for each in gaps.values() for end in (each.low, each.high, each.gap)]
    low, high = min(0.0, *(e.min() for e in ends)), max(0.0, *(e.max() for e in ends))
    margin = 0.09 * (high - low) or 0.01
    return float(low - margin), float(high + margin)


def _method(
    key: str, gaps: SliceGaps, shown: IntArray, offset: float, limits: tuple[float, float]
) -> list[Trace]:
    y = np.arange(len(shown)) + offset
    few, marked = gaps.few[shown], gaps.significant(SIGNIFICANCE)[shown]
    traces = [_entry(key), _dots(key, gaps, shown, y, ~few, "")]
    if few.any():
        traces.append(_dots(key, gaps, shown, y, few, " few"))
    if marked.any():
        traces.append(_stars(key, gaps, shown, y, marked, 0.035 * (limits[1] - limits[0])))
    return traces


def _entry(key: str) -> Trace:
    return legend_entry(key, escaped(method_of(key).label), style_of(key), mode="markers")


def _dots(key: str, gaps: SliceGaps, shown: IntArray, y: Any, among: BoolArray, kind: str) -> Trace:
    chosen, style = shown[among], style_of(key)
    color = FRAME if kind else style.color
    return scatter(
        x=gaps.gap[chosen],
        y=y[among],
        mode="markers",
        name=escaped(method_of(key).label),
        uid=f"gaps {key}{kind}",
        legendgroup=key,
        marker={"color": color, "symbol": style.hollow if kind else style.symbol, "size": 8},
        error_x=whiskers(
            gaps.gap[chosen],
            gaps.low[chosen],
            gaps.high[chosen],
            color,
            thickness=1.5,
            width=3,
        ),
        # Which slice was selected: its number in the slicing.
        customdata=gaps.number[chosen],
        hovertext=[_describe(gaps, int(i)) for i in chosen],
        hovertemplate="<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _stars(
    key: str, gaps: SliceGaps, shown: IntArray, y: Any, marked: BoolArray, away: float
) -> Trace:
    chosen = shown[marked]
    beyond = np.where(gaps.gap[chosen] > 0, gaps.high[chosen] + away, gaps.low[chosen] - away)
    return scatter(
        x=beyond,
        y=y[marked],
        mode="markers",
        name=f"p &lt; {SIGNIFICANCE:g} (Holm)",
        uid=f"stars {key}",
        legendgroup=key,
        marker={"color": style_of(key).color, "symbol": "star", "size": 9},
        hoverinfo="skip",
        showlegend=True,
    )


def _describe(gaps: SliceGaps, i: int) -> str:
    lines = [
        escaped(gaps.names[i]),
        f"{count(gaps.rows[i])} rows, {count(gaps.positives[i])} positive",
        f"mean score {probability(gaps.mean_score[i])}, observed {probability(gaps.observed[i])}",
        f"difference {signed(gaps.gap[i])} ({between(gaps.low[i], gaps.high[i], sign=True)})",
    ]
    if gaps.few[i]:
        return "<br>".join([*lines, f"fewer than {FEW_ROWS} rows: not judged"])
    return "<br>".join([*lines, f"{p_value(gaps.p_adjusted[i])} after Holm's correction"])


def slice_reliability_chart(curves: Mapping[str, ReliabilityCurve]) -> Chart:
    """Reliability diagrams of some slices in one square.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve
        By the slices' names, at most six.

    Raises
    ------
    ValueError
        If there are no curves, or more than six.
    """
    alt = f"Reliability diagrams of {len(curves)} slices: {', '.join(curves)}."
    return overlay_chart(curves, alt)

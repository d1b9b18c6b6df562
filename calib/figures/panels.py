"""What reliability panels share: the square, its diagonal, and the dots of a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.scales import Scale
from calib.figures.theme import BAND, FRAME, LINE_WIDTH, MethodStyle, faded
from calib.figures.trace import Trace, scatter, whiskers
from calib.figures.words import band_name
from calib.text import count, probability, span

# Area of a dot that holds all the weight, as a squared diameter in pixels.
FULL_AREA = 30.0**2
SMALLEST_DOT = 5.0


def square(x_axis: str = "x") -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of an x-axis and a y-axis that keep their panel square at any width."""
    across = {"constrain": "domain", "constraintoward": "left"}
    upward = {"constrain": "domain", "constraintoward": "bottom", "scaleanchor": x_axis}
    return across, upward


def diagonal(scale: Scale, name: str = "Ideal", **place: Any) -> Trace:
    """Where observed equals predicted."""
    ends = [scale.low, scale.high]
    return scatter(
        x=ends,
        y=ends,
        mode="lines",
        name=name,
        uid="diagonal" + place.get("xaxis", ""),
        line={"color": FRAME, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        **place,
    )


def band(curve: ReliabilityCurve, scale: Scale, **place: Any) -> Trace:
    """The consistency band of a curve, shaded from bin to bin."""
    x = scale.at(curve.mean_score)
    low, high = scale.at(curve.band_low), scale.at(curve.band_high)
    return scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([low, high[::-1]]),
        mode="lines",
        fill="toself",
        fillcolor=BAND,
        # One bin alone has no area: its band is a thick stroke.
        line={"color": BAND, "width": 8 if len(x) == 1 else 0},
        name=band_name(curve),
        uid="band" + place.get("xaxis", ""),
        hoverinfo="skip",
        **place,
    )


def dots(
    key: str,
    name: str,
    curve: ReliabilityCurve,
    style: MethodStyle,
    scale: Scale,
    *,
    joined: bool = True,
    **place: Any,
) -> Trace:
    """The bins of a curve: area by weight, interval bars, hollow where a bin holds few rows."""
    y, low, high = scale.at(curve.observed), scale.at(curve.low), scale.at(curve.high)
    return scatter(
        x=scale.at(curve.mean_score),
        y=y,
        mode="lines+markers" if joined else "markers",
        name=name,
        uid=f"dots {key}" + place.get("xaxis", ""),
        legendgroup=key,
        line={"color": faded(style.color, 0.6), "width": 1, "dash": style.dash},
        marker={
            "color": style.color,
            "symbol": [style.hollow if few else style.symbol for few in curve.few],
            "size": curve.weight,
            "sizemode": "area",
            # Plotly's unit: twice the weight over the squared diameter in pixels.
            "sizeref": 2.0 * float(curve.weight.sum()) / FULL_AREA,
            "sizemin": SMALLEST_DOT / 2,
            "opacity": 1.0,
            "line": {"width": 1.25, "color": style.color},
        },
        error_y=whiskers(y, low, high, faded(style.color, 0.7)),
        # A click selects a dot; the others stay as they are.
        unselected={"marker": {"opacity": 1.0}},
        # Which bin was selected: its position in the curve, and the curve's method.
        customdata=[[position, key] for position in range(len(y))],
        hovertext=describe_bins(curve),
        hovertemplate="<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>",
        showlegend=False,
        **place,
    )


def describe_bins(curve: ReliabilityCurve) -> list[str]:
    """What to say about each bin under the pointer."""
    return [_describe_bin(curve, position) for position in range(len(curve.rows))]


def _describe_bin(curve: ReliabilityCurve, i: int) -> str:
    weighted = curve.weight[i] != curve.rows[i]
    weight = f", weight {count(curve.weight[i])}" if weighted else ""
    lines = [
        f"scores {span(curve.low_edge[i], curve.high_edge[i])}",
        f"{count(curve.rows[i])} rows{weight}, {count(curve.positive[i])} positive",
        f"mean score {probability(curve.mean_score[i])}, "
        f"observed {probability(curve.observed[i])} "
        f"({probability(curve.low[i])} to {probability(curve.high[i])})",
    ]
    if curve.few[i]:
        lines.append(f"fewer than {FEW_ROWS} rows: too few to trust")
    return "<br>".join(lines)


def legend_entry(key: str, name: str, style: MethodStyle, mode: str) -> Trace:
    """A method's line in the legend.

    Dots have no entry of their own: plotly would show the first bin's marker, which may be hollow.
    """
    return scatter(
        x=[None],
        y=[None],
        mode=mode,
        name=name,
        uid=f"legend {key}",
        legendgroup=key,
        line={"color": style.color, "width": LINE_WIDTH, "dash": style.dash},
        marker={"color": style.color, "symbol": style.symbol, "size": 8},
        showlegend=True,
    )


def few_entry() -> Trace:
    """What a hollow marker means."""
    return scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=f"&lt; {FEW_ROWS} rows",
        uid="legend few",
        marker={"color": FRAME, "symbol": "circle-open", "size": 8, "line": {"width": 1.25}},
        showlegend=True,
    )

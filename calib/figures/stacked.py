"""Two panels on one x-axis: a loss above, and what goes with it below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.figures.theme import FRAME, TICK_SIZE, MethodStyle, axis_look, faded
from calib.figures.trace import Trace, scatter
from calib.numerics.arrays import FloatArray

WIDTH, UPPER, GAP, LOWER = 460, 220, 16, 84
HEIGHT = UPPER + GAP + LOWER
LEFT = 74
# Of a loss: what differs by less is drawn as equal, and what differs by this is still drawn.
MIN_SPAN, WIDE_SPAN = 1e-3, 0.02


def stacked_axes(
    across: Mapping[str, Any], above: Mapping[str, Any], below: Mapping[str, Any]
) -> dict[str, object]:
    """Layout of both panels; the x-axis is labelled under the lower one, `y2`.

    Parameters
    ----------
    across, above, below : mapping
        Options of the x-axis, and of the y-axis of each panel.
    """
    return {
        "xaxis": axis_look(**across, anchor="y2", mirror="all"),
        "yaxis": axis_look(**above, domain=[1.0 - UPPER / HEIGHT, 1.0]),
        "yaxis2": axis_look(**below, domain=[0.0, LOWER / HEIGHT], anchor="x", nticks=4),
    }


def log_axis(title: str, values: FloatArray) -> dict[str, Any]:
    """Options of a logarithmic axis that holds all values, labelled by powers of ten."""
    low, high = float(np.log10(values.min())), float(np.log10(values.max()))
    margin = 0.03 * (high - low) or 0.5
    return {
        "title": title,
        "type": "log",
        "range": [low - margin, high + margin],
        "dtick": max(1, round((high - low) / 5)),
        "exponentformat": "power",
        # Plotly sets powers larger than other labels by a quarter.
        "tickfont": {"size": TICK_SIZE / 1.25},
    }


def loss_axis(title: str, *losses: FloatArray) -> dict[str, Any]:
    """Options of an axis on which low losses can be told apart.

    At the end of a path a loss may be many times the least, and drawn whole it would flatten all
    others: such an end leaves the panel. Differences that do not matter are not blown up either.
    """
    values = np.concatenate(losses)
    low, middle, high = (float(np.quantile(values, share)) for share in (0.0, 0.5, 1.0))
    top = min(high, low + max(6.0 * (middle - low), WIDE_SPAN))
    spare = max(MIN_SPAN - (top - low), 0.0) / 2
    margin = 0.08 * (top - low) + spare
    return {
        "title": title,
        "range": [low - margin, top + margin],
        "nticks": 6,
        "tickformat": "~g",
    }


def upright(x: float, span: list[float], name: str, uid: str, **place: Any) -> Trace:
    """A dotted line across a panel, with its entry in the legend."""
    return scatter(
        x=[x, x],
        y=span,
        mode="lines",
        name=name,
        uid=uid,
        line={"color": FRAME, "width": 1.25, "dash": "dot"},
        hoverinfo="skip",
        **place,
    )


def path_look(style: MethodStyle, chosen: int, n: int) -> dict[str, Any]:
    """Line and markers of a path of n points, one of which is in use."""
    sizes, symbols = np.full(n, 5.0), ["circle"] * n
    sizes[chosen], symbols[chosen] = 14.0, style.symbol
    return {
        "mode": "lines+markers",
        "line": {"color": faded(style.color, 0.7), "width": 1.5, "dash": style.dash},
        "marker": {
            "color": style.color,
            "size": sizes,
            "symbol": symbols,
            "opacity": 1.0,
            "line": {"width": 0},
        },
    }

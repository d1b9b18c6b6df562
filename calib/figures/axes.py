"""Axes: one look for all, and the ranges that hold what is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.figures.theme import FRAME, GRID, TICK_SIZE, TITLE_SIZE
from calib.numerics.arrays import FloatArray

Axis = dict[str, Any]
# Of a loss: what differs by less is drawn as equal, and what differs by this is still drawn.
MIN_SPAN, WIDE_SPAN = 1e-3, 0.02


def axis(title: str = "", **options: Any) -> Axis:
    """An axis in the house's look: thin frame, light grid, nothing that plotly has to measure."""
    look: Axis = {
        "title": {"text": title, "standoff": 10, "font": {"size": TITLE_SIZE}},
        "automargin": False,
        "showgrid": True,
        "gridcolor": GRID,
        "gridwidth": 1,
        "zeroline": False,
        "showline": True,
        "mirror": True,
        "linecolor": FRAME,
        "linewidth": 1,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": FRAME,
        "tickfont": {"size": TICK_SIZE},
        "tickangle": 0,
        "ticklabelposition": "outside",
    }
    return look | options


def count_axis(title: str, highest: float, **options: Any) -> Axis:
    """An axis of rows, from none to the highest number."""
    # Below a thousand the SI prefix would be a fraction: 500m for 0.5.
    shown = "~s" if highest >= 1000.0 else "~g"
    return axis(title, rangemode="tozero", fixedrange=True, tickformat=shown, **options)


def log_axis(title: str, values: FloatArray) -> Axis:
    """A logarithmic axis that holds all values, labelled by powers of ten."""
    powers = np.log10(values)
    return axis(
        title,
        type="log",
        range=padded(powers, margin=0.03, least=0.5),
        dtick=max(1, round(float(np.ptp(powers)) / 5)),
        exponentformat="power",
        # Plotly sets powers larger than other labels by a quarter.
        tickfont={"size": TICK_SIZE / 1.25},
    )


def loss_axis(title: str, *losses: FloatArray) -> Axis:
    """An axis on which low losses can be distinguished.

    At the end of a path a loss may be many times the least, and drawn whole it would flatten all
    others: such an end leaves the panel. Differences that do not matter are not blown up either.
    """
    values = np.concatenate(losses)
    low, middle, high = (float(np.quantile(values, share)) for share in (0.0, 0.5, 1.0))
    top = min(high, low + max(6.0 * (middle - low), WIDE_SPAN))
    aside = 0.08 * (top - low) + max(MIN_SPAN - (top - low), 0.0) / 2
    return axis(title, range=[low - aside, top + aside], nticks=6, tickformat="~g")


def padded(*values: ArrayLike, margin: float, least: float = 0.01) -> list[float]:
    """A range that holds all finite values, with a share of it, `margin`, on both sides.

    If all values are equal, `least` is on both sides.
    """
    ends = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in values])
    known = ends[np.isfinite(ends)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    aside = margin * (high - low) or least
    return [low - aside, high + aside]


def spread(at: FloatArray, least: float) -> list[int]:
    """Positions of values at least so far from each other, the first among them."""
    shown = [0]
    for i in range(1, len(at)):
        if abs(at[i] - at[shown[-1]]) >= least:
            shown.append(i)
    return shown

"""Axes: one look for all, the two scales of a probability, and ranges that hold what is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calib.curves.reliability import ReliabilityCurve
from calib.figures.theme import FRAME, GRID, TICK_SIZE, TITLE_SIZE
from calib.numerics.arrays import FloatArray

Axis = dict[str, Any]
AxisKind = Literal["linear", "logit"]
TAIL_TICKS = tuple(10.0**-k for k in range(1, 10))
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# More labels would overlap on a phone.
MAX_LABELS = 7
# Log-odds of 0 and 1 where a line passes through them: no double but these lies farther out.
FAR = 750.0
LOGIT_TICKS = (*reversed(TAIL_TICKS), 0.5, *(1.0 - p for p in TAIL_TICKS))


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


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Where a probability lies on an axis."""

    kind: AxisKind
    # Ends of the axis, in its own coordinates.
    low: float
    high: float

    def at(self, p: FloatArray) -> FloatArray:
        """Coordinates of probabilities; beyond the ends of a logit axis, the nearer end."""
        if self.kind == "linear":
            return self.beyond(p)
        return np.clip(self.beyond(p), self.low, self.high)

    def beyond(self, p: FloatArray) -> FloatArray:
        """Coordinates of the points of a line, which the ends of the axis cut; 0 and 1 are far."""
        if self.kind == "linear":
            return np.asarray(p, dtype=np.float64)
        with np.errstate(divide="ignore"):
            odds = np.log(p) - np.log1p(-np.asarray(p, dtype=np.float64))
        return np.clip(odds, -FAR, FAR)

    def axis(self, title: str = "", **options: Any) -> Axis:
        """An axis with this scale's range and ticks, of which at most seven have labels."""
        if self.kind == "linear":
            ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
            labels = [f"{p:.1f}" for p in ticks]
        else:
            shown = [p for p in LOGIT_TICKS if self.low <= _log_odds(p) <= self.high]
            # Counted from 1/2, so that both tails label the same steps.
            middle, step = shown.index(0.5), math.ceil(len(shown) / MAX_LABELS)
            ticks = [_log_odds(p) for p in shown]
            labels = [
                _tick_label(p) if (i - middle) % step == 0 else "" for i, p in enumerate(shown)
            ]
        look = {"range": [self.low, self.high], "tickvals": ticks, "ticktext": labels}
        return axis(title, **(look | options))


# The margin keeps dots at 0 and 1 whole.
LINEAR = Scale("linear", -0.02, 1.02)


def scale_for(kind: AxisKind, curves: Iterable[ReliabilityCurve]) -> Scale:
    """The scale on which all dots of some curves are seen; a ValueError for an unknown kind."""
    if kind == "linear":
        return LINEAR
    if kind != "logit":
        raise ValueError(f"axis must be 'linear' or 'logit', got {kind!r}.")
    dots = np.concatenate([part for c in curves for part in (c.mean_score, c.observed)])
    inside = dots[(dots > 0.0) & (dots < 1.0)]
    lowest, highest = (inside.min(), inside.max()) if len(inside) else (0.5, 0.5)
    low = max((p for p in LOGIT_TICKS if p <= min(lowest, 0.1)), default=LOGIT_TICKS[0])
    high = min((p for p in LOGIT_TICKS if p >= max(highest, 0.9)), default=LOGIT_TICKS[-1])
    margin = 0.04 * (_log_odds(high) - _log_odds(low))
    return Scale("logit", _log_odds(low) - margin, _log_odds(high) + margin)


def _log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def _tick_label(p: float) -> str:
    if p < 0.001:
        return _power(p)
    if p > 0.999:
        return f"1−{_power(1.0 - p)}"
    return f"{p:.10g}"


def _power(p: float) -> str:
    return "10" + f"{math.log10(p):.0f}".translate(SUPERSCRIPT)

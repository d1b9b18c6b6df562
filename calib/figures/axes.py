"""Axes: their properties, the two scales of a probability, and ranges that contain the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from calib.curves.reliability import ReliabilityCurve
from calib.numerics.arrays import FloatArray
from calib.text import SUPERSCRIPT

AxisKind = Literal["linear", "logit"]
TAIL_TICKS = tuple(10.0**-k for k in range(1, 10))
# Plotly's format of ticks that are percentages.
PERCENT_TICKS = "~%"
# More labels would overlap on a phone.
MAX_LABELS = 7
# The log-odds of 0 and 1 on a line. Those of any other double are nearer to 0.
MAX_LOG_ODDS = 750.0
LOGIT_TICKS = (*reversed(TAIL_TICKS), 0.5, *(1.0 - p for p in TAIL_TICKS))


@dataclass(frozen=True, slots=True, eq=False)
class PanelAxis:
    """Properties of an axis, by Plotly's names. Plotly chooses those that are None."""

    title: str = ""
    _: KW_ONLY
    range: Sequence[float] | None = None
    rangemode: Literal["tozero"] | None = None
    type: Literal["log"] | None = None
    nticks: int | None = None
    dtick: float | None = None
    tickvals: Sequence[float] | None = None
    ticktext: Sequence[str] | None = None
    tickformat: str | None = None
    exponentformat: Literal["e"] | None = None
    # The table of the drawn numbers turns log-odds into probabilities, and positions into names.
    log_odds: bool = False
    names: Mapping[float, str] | None = None
    showticklabels: bool | None = None
    side: Literal["left", "right"] | None = None
    showgrid: bool = False  # By default `calib.figures.panels` draws horizontal lines alone.
    fixedrange: bool | None = None
    matches: str | None = None
    # The position of the axis, which `calib.figures.panels` sets.
    domain: Sequence[float] | None = None
    anchor: str | None = None
    constrain: Literal["domain"] | None = None
    constraintoward: Literal["left", "bottom"] | None = None
    scaleanchor: str | None = None
    scaleratio: float | None = None


def count_axis(title: str, highest: float, *, nticks: int | None = None) -> PanelAxis:
    """An axis of rows, from 0 to the highest number."""
    return PanelAxis(
        title,
        rangemode="tozero",
        fixedrange=True,
        # Below a thousand the SI prefix would be a fraction: 500m for 0.5.
        tickformat="~s" if highest >= 1000.0 else "~g",
        nticks=nticks,
    )


def log_axis(title: str, values: FloatArray) -> PanelAxis:
    """A logarithmic axis that contains all values, with labels such as 1e-5."""
    powers = np.log10(values)
    return PanelAxis(
        title,
        type="log",
        range=padded(powers, margin=0.03, least=0.5),
        dtick=max(1, round(float(np.ptp(powers)) / 5)),
        exponentformat="e",
    )


def padded(*values: ArrayLike, margin: float, least: float = 0.01) -> list[float]:
    """A range that contains all finite values, with a share of it, `margin`, added on both sides.

    If all values are equal, `least` is added on both sides.
    """
    ends = np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in values])
    finite = ends[np.isfinite(ends)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
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
    """Positions of probabilities on an axis, whose ends `low` and `high` are in its coordinates."""

    kind: AxisKind
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
        return np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)

    def axis(self, title: str = "", ticks: Mapping[float, str] | None = None) -> PanelAxis:
        """An axis with this range, and by default with ticks, of which at most 7 have labels."""
        ticks = ticks or self._ticks()
        return PanelAxis(
            title,
            range=[self.low, self.high],
            tickvals=list(ticks),
            ticktext=list(ticks.values()),
            log_odds=self.kind == "logit",
        )

    def _ticks(self) -> dict[float, str]:
        if self.kind == "linear":
            return {p: f"{p:.0%}" for p in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}
        shown = [p for p in LOGIT_TICKS if self.low <= _log_odds(p) <= self.high]
        # Labels are counted from 1/2, so that both tails label the same steps.
        middle, step = shown.index(0.5), math.ceil(len(shown) / MAX_LABELS)
        return {
            _log_odds(p): _tick_label(p) if (i - middle) % step == 0 else ""
            for i, p in enumerate(shown)
        }


# Dots at 0 and 1 are drawn whole because of the margin.
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
    # The percentages of smaller probabilities are too long for an axis on a phone.
    if p < 1e-4:
        return power(p)
    if p > 1.0 - 1e-4:
        return f"1−{power(1.0 - p)}"
    return f"{100.0 * p:.6g}%"


def power(p: float) -> str:
    return "10" + f"{math.log10(p):.0f}".translate(SUPERSCRIPT)

"""Panels of a chart and their axes."""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
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


# Pixels: the width of a timeline, and that of panels on a phone.
TIMELINE_WIDTH, PHONE_PANEL_WIDTH = 640, 280
AxisNames = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Panel:
    """Two axes around a plot area. A square panel is square at any width."""

    x: PanelAxis
    y: PanelAxis
    title: str = ""  # The title stands above the panel and is escaped for Plotly.
    square: bool = False


@dataclass(frozen=True, slots=True)
class SharedTitles:
    """One title below all panels, and one beside them, `left` pixels away."""

    across: str
    upward: str
    left: int = 34


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """All panels of a chart. `width` and `height` are pixels, with the gaps between panels."""

    axes: Mapping[str, PanelAxis]  # Keys are Plotly's names: "x", "y", "x2", ...
    names: Sequence[AxisNames]  # The names of the axes of each panel.
    width: int
    height: int
    titles: Mapping[AxisNames, str] = field(default_factory=dict)
    shared_titles: SharedTitles | None = None

    @property
    def are_square(self) -> bool:
        """Whether the first panel is square at any width."""
        return self.axes["y"].scaleanchor is not None


def one(x: PanelAxis, y: PanelAxis, width: int, height: int) -> Panels:
    """A single panel."""
    return grid([Panel(x, y)], 1, width, height)


def square(x: PanelAxis, y: PanelAxis, side: int) -> Panels:
    """A single square panel."""
    return grid([Panel(x, y, square=True)], 1, side, side)


def grid(
    panels: Sequence[Panel],
    columns: int,
    width: int,
    height: int,
    *,
    gaps: tuple[int, int] = (0, 0),
    shared: bool = False,
    shared_titles: SharedTitles | None = None,
) -> Panels:
    """Panels of one size in rows and columns, in reading order.

    `columns` is the largest number of panels beside each other, `width` and `height` are the pixels
    of a panel, and `gaps` those between panels: beside each other, and one under the other. If all
    have the same axes (`shared`), only the outer ones have labels.
    """
    columns = min(columns, len(panels))
    across = _domains(columns, width, gaps[0])
    upward = _domains(-(-len(panels) // columns), height, gaps[1])[::-1]
    axes: dict[str, PanelAxis] = {}
    names = [(f"x{number}", f"y{number}") for number in ("", *range(2, len(panels) + 1))]
    for number, (panel, (x_name, y_name)) in enumerate(zip(panels, names, strict=True)):
        row, column = divmod(number, columns)
        x = replace(panel.x, domain=across[column], anchor=y_name)
        y = replace(panel.y, domain=upward[row], anchor=x_name, showgrid=not panel.x.showgrid)
        if panel.square:
            x, y = _squared(x, y, x_name)
        if shared:
            x = replace(x, showticklabels=number + columns >= len(panels))
            y = replace(y, showticklabels=column == 0)
        axes |= {x_name: x, y_name: y}
    return Panels(
        axes,
        names,
        _length(columns, width, gaps[0]),
        _length(len(upward), height, gaps[1]),
        {ids: panel.title for ids, panel in zip(names, panels, strict=True) if panel.title},
        shared_titles,
    )


def stacked(
    x: PanelAxis,
    panels: Sequence[tuple[PanelAxis, int]],
    width: int,
    gap: int,
    *,
    square: bool = False,
) -> Panels:
    """Panels below each other on the same x-axis, so that all move together.

    `panels` has y-axis and height in pixels of each, the uppermost first; `gap` is the pixels
    between two. The x-axis is labelled under the lowest. `square` says whether the uppermost keeps
    its proportions at any width.
    """
    height = sum(pixels for _, pixels in panels) + gap * (len(panels) - 1)
    axes, names, top = dict[str, PanelAxis](), list[AxisNames](), height
    for number, (y, pixels) in enumerate(panels):
        name = f"y{number + 1}" if number else "y"
        ends = [(top - pixels) / height, top / height]
        anchor = "x" if number else y.anchor
        axes[name] = replace(y, domain=ends, anchor=anchor, showgrid=not number)
        names.append(("x", name))
        top -= pixels + gap
    if square:
        x, axes["y"] = _squared(x, axes["y"], "x", panels[0][1] / width)
    if len(panels) > 1:
        x = replace(x, anchor=names[-1][1])
    return Panels({"x": x} | axes, names, width, height)


def forest(
    title: str,
    limits: Sequence[float],
    labels: Sequence[str],
    width: int,
    height: int,
    *,
    ticks: Mapping[float, str] | None = None,
) -> Panels:
    """Rows from the top down, for a difference with its interval in each.

    The x-axis has a title, two ends, `limits`, and labels at the `ticks`, which Plotly chooses by
    default; the labels of the rows are escaped for Plotly.
    """
    rows = PanelAxis(
        range=[len(labels) - 0.5, -0.5],
        tickvals=list(range(len(labels))),
        ticktext=list(labels),
        names=dict(enumerate(labels)),
        fixedrange=True,
    )
    across = PanelAxis(
        title,
        range=list(limits),
        nticks=6,
        tickformat="~g",
        tickvals=list(ticks) if ticks else None,
        ticktext=list(ticks.values()) if ticks else None,
        showgrid=True,
    )
    return one(across, rows, width, height)


def timeline(
    at: FloatArray,
    names: Sequence[str],
    panels: Mapping[str, list[float]],
    *,
    margin: float,
    most_ticks: int,
    height: int,
    gap: int,
    rates: Collection[str] = (),
) -> Panels:
    """Panels one under the other on one x-axis, whose ticks are named under the last.

    `at` has the positions from left to right, and `names` their names, escaped for Plotly. At most
    `most_ticks` names are printed, and fewer if they are long, so that they do not overlap on a
    phone. `panels` has the range of each y-axis by the panel's title. `margin` is the room beside
    the first and the last position, as a share of the distance between them. `height` is the pixels
    of a panel, and `gap` those between two. Panels in `rates` have ticks in per cent.
    """
    longest = 6 * max(len(html.unescape(name)) for name in names) + 12  # This is in pixels.
    ticks = min(most_ticks, max(1, PHONE_PANEL_WIDTH // longest))
    shown = spread(at, float(np.ptp(at)) / ticks)
    placed = []
    for number, (title, upward) in enumerate(panels.items(), 1):
        x = PanelAxis(
            range=padded(at, margin=margin, least=0.5),
            tickvals=[float(at[i]) for i in shown],
            ticktext=[names[i] if number == len(panels) else "" for i in shown],
            matches=None if number == 1 else "x",
            names=dict(zip(at.tolist(), names, strict=True)),
        )
        ticks_as = PERCENT_TICKS if title in rates else "~g"
        placed.append(Panel(x, PanelAxis(range=upward, nticks=4, tickformat=ticks_as), title))
    return grid(placed, 1, TIMELINE_WIDTH, height, gaps=(0, gap))


def _length(n: int, size: int, gap: int) -> int:
    return n * size + (n - 1) * gap


def _domains(n: int, size: int, gap: int) -> list[list[float]]:
    """Positions of the panels along one direction, as shares of their total length."""
    length = _length(n, size, gap)
    starts = [i * (size + gap) for i in range(n)]
    return [[start / length, (start + size) / length] for start in starts]


def _squared(
    x: PanelAxis, y: PanelAxis, x_name: str, height_by_width: float = 1.0
) -> tuple[PanelAxis, PanelAxis]:
    """Axes that keep the proportions of their panel at any width, whatever their units."""
    across, upward = (abs(end.range[1] - end.range[0]) for end in (x, y) if end.range)
    ratio = height_by_width * across / upward
    x = replace(x, constrain="domain", constraintoward="left")
    y = replace(
        y,
        constrain="domain",
        constraintoward="bottom",
        scaleanchor=x_name,
        scaleratio=None if math.isclose(ratio, 1.0) else ratio,
    )
    return x, y

"""Panels: the position of each in a chart, and its title."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calib.figures.axes import PERCENT_TICKS, PanelAxis, padded, spread
from calib.numerics.arrays import FloatArray

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
    between two. The x-axis is labelled under the lowest. `square` says whether the uppermost is
    square.
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
        x, axes["y"] = _squared(x, axes["y"], "x")
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


def _squared(x: PanelAxis, y: PanelAxis, x_name: str) -> tuple[PanelAxis, PanelAxis]:
    """Axes that keep their panel square at any width, whatever their units."""
    across, upward = (abs(end.range[1] - end.range[0]) for end in (x, y) if end.range)
    x = replace(x, constrain="domain", constraintoward="left")
    y = replace(
        y,
        constrain="domain",
        constraintoward="bottom",
        scaleanchor=x_name,
        scaleratio=None if across == upward else across / upward,
    )
    return x, y

"""Panels: the position of each in a chart, and its title."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.figures.axes import Axis, axis, padded, spread
from calib.figures.theme import TITLE_SIZE
from calib.numerics.arrays import FloatArray

# Pixels: the width of what is read from left to right, and of the panels of a phone.
TIMELINE, PHONE = 640, 280


@dataclass(frozen=True, slots=True)
class Panel:
    """Two axes around a plot area."""

    # Made by `axis`.
    x: Axis
    y: Axis
    title: str = ""  # on top of the panel, harmless for plotly
    square: bool = False  # whether it is square at any width


@dataclass(frozen=True, slots=True)
class Panels:
    """All panels of a chart."""

    layout: Mapping[str, Any]  # axes and titles, as plotly takes them
    # Pixels of all panels with the gaps between them.
    width: int
    height: int


def axis_ids(panel: int) -> dict[str, Any]:
    """Plotly's names of a panel's axes, as a trace takes them."""
    number = "" if panel == 0 else str(panel + 1)
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def one(x: Axis, y: Axis, width: int, height: int) -> Panels:
    """A single panel."""
    return grid([Panel(x, y)], 1, width, height)


def square(x: Axis, y: Axis, side: int) -> Panels:
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
) -> Panels:
    """Panels of one size in rows and columns, in reading order.

    `columns` is the largest number of panels beside each other, `width` and `height` are the pixels
    of a panel, and `gaps` those between panels: beside each other, and one under the other. If all
    have the same axes (`shared`), only the outer ones have labels.
    """
    columns = min(columns, len(panels))
    across = _domains(columns, width, gaps[0])
    upward = _domains(-(-len(panels) // columns), height, gaps[1])[::-1]
    layout: dict[str, Any] = {}
    notes = []
    for number, panel in enumerate(panels):
        ids, (row, column) = axis_ids(number), divmod(number, columns)
        x = panel.x | {"domain": across[column], "anchor": ids["yaxis"]}
        y = panel.y | {"domain": upward[row], "anchor": ids["xaxis"]}
        if panel.square:
            x, y = _squared(x, y, ids["xaxis"])
        if shared:
            x["showticklabels"] = number + columns >= len(panels)
            y["showticklabels"] = column == 0
        layout |= {f"xaxis{ids['xaxis'][1:]}": x, f"yaxis{ids['yaxis'][1:]}": y}
        if panel.title:
            notes.append(_title(panel.title, ids))
    if notes:
        layout["annotations"] = notes
    return Panels(layout, _length(columns, width, gaps[0]), _length(len(upward), height, gaps[1]))


def stacked(
    x: Axis, panels: Sequence[tuple[Axis, int]], width: int, gap: int, *, square: bool = False
) -> Panels:
    """A panel, and a lower one under it on the same x-axis, so that both move together.

    `panels` has y-axis and height in pixels, of one panel or of two; `gap` is the pixels between
    two. The x-axis is labelled under the lower one. `square` says whether the upper one is square.
    """
    (y, upper), *below = panels
    height = upper + sum(gap + lower for _, lower in below)
    y = y | {"domain": [1.0 - upper / height, 1.0]}
    if square:
        x, y = _squared(x, y, "x")
    if not below:
        return Panels({"xaxis": x, "yaxis": y}, width, height)
    y2 = below[0][0] | {"domain": [0.0, below[0][1] / height], "anchor": "x"}
    shared = x | {"anchor": "y2", "mirror": "all"}
    return Panels({"xaxis": shared, "yaxis": y, "yaxis2": y2}, width, height)


def forest(
    title: str, limits: Sequence[float], labels: Sequence[str], width: int, height: int
) -> Panels:
    """Rows from the top down, for a difference with its interval in each.

    The x-axis has a title and two ends, `limits`; the labels of the rows are escaped for Plotly.
    """
    rows = axis(
        range=[len(labels) - 0.5, -0.5],
        tickvals=list(range(len(labels))),
        ticktext=list(labels),
        ticks="",
        ticklabelstandoff=6,
        showgrid=False,
        showline=False,
        fixedrange=True,
    )
    across = axis(title, range=list(limits), nticks=6, tickformat="~g", mirror=False)
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
) -> Panels:
    """Panels one under the other on one x-axis, whose ticks are named under the last.

    `at` is what is drawn from left to right, and `names` are its names, harmless for Plotly, of
    which at most `most_ticks` stand on the axis: of long ones fewer, so that they do not overlap
    on a phone. `panels` has the range of each y-axis by the
    panel's title. Beside the first and the last there is room, `margin` as a share of the way
    between them. `height` and `gap` are pixels of a panel and between two.
    """
    longest = 6 * max(len(html.unescape(name)) for name in names) + 12  # pixels
    ticks = min(most_ticks, max(1, PHONE // longest))
    shown = spread(at, float(np.ptp(at)) / ticks)
    drawn = []
    for number, (title, upward) in enumerate(panels.items(), 1):
        x = axis(
            range=padded(at, margin=margin, least=0.5),
            tickvals=[float(at[i]) for i in shown],
            ticktext=[names[i] if number == len(panels) else "" for i in shown],
            **({} if number == 1 else {"matches": "x"}),
        )
        drawn.append(Panel(x, axis(range=upward, nticks=4, tickformat="~g"), title))
    return grid(drawn, 1, TIMELINE, height, gaps=(0, gap))


def shared_titles(across: str, upward: str, *, left: int = 34) -> list[Axis]:
    """One title below and one beside all panels, `left` pixels away."""
    common = {"xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": TITLE_SIZE}}
    return [
        common | {"text": across, "x": 0.5, "y": 0, "yanchor": "top", "yshift": -24},
        common
        | {"text": upward, "x": 0, "y": 0.5, "xanchor": "right", "xshift": -left, "textangle": -90},
    ]


def _length(n: int, size: int, gap: int) -> int:
    return n * size + (n - 1) * gap


def _domains(n: int, size: int, gap: int) -> list[list[float]]:
    """Where panels lie along one direction, as shares of their length."""
    length = _length(n, size, gap)
    starts = [i * (size + gap) for i in range(n)]
    return [[start / length, (start + size) / length] for start in starts]


def _squared(x: Axis, y: Axis, x_axis: str) -> tuple[Axis, Axis]:
    """Axes that keep their panel square at any width, whatever their units."""
    across, upward = (abs(end["range"][1] - end["range"][0]) for end in (x, y))
    ratio = {} if across == upward else {"scaleratio": across / upward}
    x = x | {"constrain": "domain", "constraintoward": "left"}
    y = y | {"constrain": "domain", "constraintoward": "bottom", "scaleanchor": x_axis, **ratio}
    return x, y


def _title(text: str, ids: Mapping[str, str]) -> dict[str, Any]:
    """A title on top of a panel, at its left edge wherever that comes to lie."""
    return {
        "text": text,
        "xref": f"{ids['xaxis']} domain",
        "yref": f"{ids['yaxis']} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 3,
        "align": "left",
        "showarrow": False,
        "font": {"size": 12},
    }

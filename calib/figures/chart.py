"""Charts: a figure with its alternative text and size, and the registry of all charts."""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from calib.data.registry import Registry
from calib.figures.layers import Trace
from calib.figures.panels import Panels
from calib.figures.theme import CONFIG, LIGHT

if TYPE_CHECKING:
    # Plotly is slow to import, and is needed only when a figure is made.
    from plotly.basedatatypes import BaseFigure
    from plotly.graph_objects import Figure as Figure

LEFT, RIGHT, BOTTOM = 54, 12, 50
# Above the panels: plotly's toolbar lies there, and titles of panels go under it.
TOP, TITLE_ROW = 32, 18
LEGEND_ROW = 20
# A phone has about this much for a chart. Room is reserved for the legend as it wraps there; wider
# screens need less.
NARROWEST = 342
# What an operating system takes for a file's name, and a person reads.
LONGEST_FILE_NAME = 80
FILE_ENDING = re.compile(r"(\.[A-Za-z]\w{0,7})+$")

Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A figure with its alternative text, size and name."""

    spec: Mapping[str, Any]  # traces and layout in Plotly's format, under "data" and "layout"
    alt: str  # alternative text: one sentence of plain text that says what the figure shows
    # Natural size in pixels. Panels that must be square stay square at any size.
    height: int
    width: int
    name: str  # name of a file with the figure, without a suffix

    @property
    def figure(self) -> Figure:
        """The same as plotly's figure, every property checked."""
        from plotly.graph_objects import Figure as Figure

        return Figure(self.spec)

    @property
    def unchecked(self) -> BaseFigure:
        """The same for `st.plotly_chart`, which would have a dictionary checked at every rerun."""
        return _unchecked_type()(self.spec)

    @property
    def config(self) -> dict[str, Any]:
        """Options of plotly's toolbar; an image that it downloads has the chart's name."""
        image = CONFIG["toImageButtonOptions"] | {"filename": self.name}
        return {**CONFIG, "toImageButtonOptions": image}

    @property
    def is_square(self) -> bool:
        """Whether the first panel must be square."""
        return "scaleanchor" in self.spec["layout"]["yaxis"]

    @property
    def height_by_width(self) -> str:
        """CSS: the height at which square panels fill the width of what holds the chart."""
        margin = self.spec["layout"]["margin"]
        aside, above = margin["l"] + margin["r"], margin["t"] + margin["b"]
        ratio = (self.height - above) / (self.width - aside)
        return f"calc((100cqw - {aside}px) * {round(ratio, 4)} + {above}px)"


CHARTS: Registry[Callable[..., Chart]] = Registry("chart", "calib.figures")


def chart(function: Callable[Arguments, Chart]) -> Callable[Arguments, Chart]:
    """Register a function that draws a chart: the common tests then draw it too."""
    CHARTS.add(function.__name__, function)
    return function


def draw(
    kind: str,
    panels: Panels,
    layers: Sequence[Trace],
    alt: str,
    *,
    of: Sequence[object] = (),
    view: str = "",
    left: int = LEFT,
    right: int = RIGHT,
    top: int = TOP,
    bottom: int = BOTTOM,
    **layout: Any,
) -> Chart:
    """Draw layers on panels, the lowest first, with their legend below.

    `kind` names the kind of chart, and `alt` says in a sentence what it shows. `of` is what else
    stands in the name of a downloaded image, such as the name of the data. If `view` changes, a
    reader's zoom is lost. `left`, `right`, `top` and `bottom` are pixels around the panels; all
    else are options of Plotly's layout.
    """
    # Fixed margins: letting plotly measure its labels costs a second layout pass at every redraw.
    legend = legend_height(layers, NARROWEST - left)
    below = bottom + legend
    height, width = top + panels.height + below, left + panels.width + right
    common = {
        "template": LIGHT,
        "height": height,
        "width": width,
        "margin": {"l": left, "r": right, "t": top, "b": below, "pad": 0, "autoexpand": False},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "namelength": -1},
        "uirevision": f"{kind} {view}".strip(),
        "showlegend": legend > 0,
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "x": 0.0,
            "xanchor": "left",
            "font": {"size": 12},
            **_below(panels, bottom),
        },
    }
    spec = {"data": list(layers), "layout": {**panels.layout, **layout, **common}}
    return Chart(spec, alt, height, width, file_name(kind, *of))


def _below(panels: Panels, bottom: int) -> dict[str, Any]:
    """Where the legend lies: under the axis, as many pixels below the panels as the axis takes.

    Where panels grow, a share of their height is not a fixed number of pixels. The height of an
    empty title of the legend is: 1.3 times its font size.
    """
    if "scaleanchor" in panels.layout["yaxis"]:
        gap = {"text": "\u00a0", "side": "top", "font": {"size": (bottom - 4) / 1.3}}
        # It lies on the labels of the axis.
        return {"y": 0.0, "yanchor": "top", "title": gap, "bgcolor": "rgba(0, 0, 0, 0)"}
    return {"y": -(bottom - 4) / panels.height, "yanchor": "top"}


def file_name(*parts: object) -> str:
    """Words joined to the name of a file."""
    words = (re.sub(r"\W+", "-", FILE_ENDING.sub("", str(part))).strip("-") for part in parts)
    return "-".join(filter(None, words)).lower()[:LONGEST_FILE_NAME]


def legend_height(layers: Sequence[Trace], room: float) -> int:
    """Height of the legend at a width in pixels."""
    names = [layer.get("name") for layer in layers if layer.get("showlegend") is not False]
    if not names:
        return 0
    # Plotly sets a wrapped legend in columns as wide as the longest name.
    column = 58 + 6 * max(len(html.unescape(name or "")) for name in names)
    columns = max(1, math.floor(room / column))
    return LEGEND_ROW * math.ceil(len(names) / columns) + 4


def still(chart: Chart) -> Figure:
    """A figure that is drawn once: its traces need no names to be found again by.

    Plotly takes such a name for a selector of CSS when it makes an image; a space breaks it.
    """
    return chart.figure.update_traces(uid=None)


def same_axes(charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """The same charts with every axis as long as the longest among them.

    They are made by one function of different data. Axes whose ticks have names, other ones in one
    chart than in another, stay as they are.
    """
    layouts = [chart.spec["layout"] for chart in charts]
    axes = [name for name in layouts[0] if name[1:5] == "axis"]
    common = {name: _common_range([layout.get(name) for layout in layouts]) for name in axes}
    return tuple(_with_ranges(chart, common) for chart in charts)


def _common_range(axes: Sequence[Mapping[str, Any] | None]) -> list[float] | None:
    """The range that contains the ranges of all axes, or None if they cannot be joined."""
    known = [axis for axis in axes if axis is not None and axis.get("range") is not None]
    if len(known) < len(axes) or any(axis.get("type") == "log" for axis in known):
        return None
    if len({tuple(axis.get("ticktext", ())) for axis in known}) > 1:
        return None
    ends = [float(end) for axis in known for end in axis["range"]]
    turned = known[0]["range"][0] > known[0]["range"][1]
    return sorted([min(ends), max(ends)], reverse=turned)


def _with_ranges(chart: Chart, ranges: Mapping[str, list[float] | None]) -> Chart:
    layout = dict(chart.spec["layout"])
    for name, common in ranges.items():
        if common is not None and name in layout:
            layout[name] = {**layout[name], "range": common}
    return replace(chart, spec={**chart.spec, "layout": layout})


@cache
def _unchecked_type() -> Callable[[Mapping[str, Any]], BaseFigure]:
    from plotly.basedatatypes import BaseFigure

    class Unchecked(BaseFigure):
        """A figure of which nothing is read but its dictionary."""

        def __init__(self, spec: Mapping[str, Any]) -> None:
            self._spec = spec

        def to_dict(self) -> dict[str, Any]:
            return dict(self._spec, data=[_packed(trace) for trace in self._spec["data"]])

    return Unchecked


def _packed(value: Any) -> Any:
    """A trace with its numbers as bytes: a third of the JSON, and nothing for plotly to parse."""
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        numbers = base64.b64encode(value.tobytes()).decode()
        return {"dtype": value.dtype.str[1:], "bdata": numbers}
    return value

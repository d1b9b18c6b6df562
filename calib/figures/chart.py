"""A chart: a figure, its words for those who cannot see it, and its natural size."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure

from calib.figures.theme import LIGHT
from calib.figures.trace import Trace

LEFT, RIGHT, TOP, BOTTOM = 54, 12, 12, 50
LEGEND_ROW = 20
# A phone has about this much for a chart. Room is reserved for the legend as it wraps there; wider
# screens need less.
NARROWEST = 342


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A figure ready to show.

    Attributes
    ----------
    spec : mapping
        Traces and layout as plotly takes them, under "data" and "layout".
    alt : str
        What the figure shows, in a sentence: its alternative text. Plain text, not HTML.
    height, width : int
        Natural size in pixels. The height is fixed; panels that must be square stay so at any
        width, and more width than the natural one only adds empty space.
    """

    spec: Mapping[str, Any]
    alt: str
    height: int
    width: int

    @property
    def figure(self) -> go.Figure:
        """The same as plotly's figure, every property checked."""
        return go.Figure(self.spec)

    @property
    def unchecked(self) -> BaseFigure:
        """The same for `st.plotly_chart`, which would have a dictionary checked at every rerun."""
        return _Unchecked(self.spec)


class _Unchecked(BaseFigure):
    """A figure of which nothing is read but its dictionary."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec

    def to_dict(self) -> dict[str, Any]:
        return dict(self._spec, data=[_packed(trace) for trace in self._spec["data"]])


def _packed(value: Any) -> Any:
    """A trace with its numbers as bytes: a third of the JSON, and nothing for plotly to parse."""
    if isinstance(value, dict):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        numbers = base64.b64encode(value.tobytes()).decode()
        return {"dtype": value.dtype.str[1:], "bdata": numbers}
    return value


def make_chart(
    traces: Sequence[Trace],
    layout: Mapping[str, Any],
    alt: str,
    *,
    plot_width: int,
    plot_height: int,
    left: int = LEFT,
    right: int = RIGHT,
    top: int = TOP,
    bottom: int = BOTTOM,
    revision: str,
) -> Chart:
    """Lay out traces around a plot area of the given size, with their legend below.

    `revision` names what must not change for a reader's zoom to be kept.
    """
    # Fixed margins: letting plotly measure its labels costs a second layout pass at every redraw.
    legend = legend_height(traces, NARROWEST - left)
    below = bottom + legend
    height, width = top + plot_height + below, left + plot_width + right
    common = {
        "template": LIGHT,
        "height": height,
        "width": width,
        "margin": {"l": left, "r": right, "t": top, "b": below, "pad": 0, "autoexpand": False},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "namelength": -1},
        "uirevision": revision,
        "showlegend": legend > 0,
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "x": 0.0,
            "xanchor": "left",
            "y": -(bottom - 4) / plot_height,
            "yanchor": "top",
            "font": {"size": 12},
        },
    }
    return Chart({"data": list(traces), "layout": {**layout, **common}}, alt, height, width)


def legend_height(traces: Sequence[Trace], room: float) -> int:
    """Height of the legend in so many pixels of width."""
    names = [trace.get("name") for trace in traces if trace.get("showlegend") is not False]
    if not names:
        return 0
    # Plotly sets a wrapped legend in columns as wide as the longest name.
    column = 58 + 6 * max(len(html.unescape(name or "")) for name in names)
    columns = max(1, math.floor(room / column))
    return LEGEND_ROW * math.ceil(len(names) / columns) + 4


def for_report(chart: Chart) -> go.Figure:
    """A copy that follows the width of what holds it, for a page of plain HTML."""
    figure = still(chart)
    figure.update_layout(width=None, autosize=True)
    return figure


def still(chart: Chart) -> go.Figure:
    """A copy that is drawn once: its traces need no names to be found again by.

    Plotly takes such a name for a selector of CSS when it makes an image; a space breaks it.
    """
    figure = chart.figure
    figure.update_traces(uid=None)
    return figure

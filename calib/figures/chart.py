"""A chart: a figure, its words for those who cannot see it, and its natural size."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import plotly.graph_objects as go

from calib.figures.theme import light_template

LEFT, RIGHT, TOP, BOTTOM = 54, 12, 12, 50
LEGEND_ROW = 20
# A phone has about this much for a legend. Room is reserved for it; wider screens need less.
NARROWEST = 270


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A figure ready to show.

    Attributes
    ----------
    figure : plotly.graph_objects.Figure
    alt : str
        What the figure shows, in a sentence: its alternative text. Plain text, not HTML.
    height, width : int
        Natural size in pixels. The height is fixed; panels that must be square stay so at any
        width, and more width than the natural one only adds empty space.
    """

    figure: go.Figure
    alt: str
    height: int
    width: int


def make_chart(
    figure: go.Figure,
    alt: str,
    *,
    plot_width: int,
    plot_height: int,
    left: int = LEFT,
    right: int = RIGHT,
    top: int = TOP,
    revision: str,
) -> Chart:
    """Lay out a figure around a plot area of the given size, with its legend below.

    `revision` names what must not change for a reader's zoom to be kept.
    """
    # Fixed margins: letting plotly measure its labels costs a second layout pass at every redraw.
    legend = legend_height(figure)
    bottom = BOTTOM + legend
    height, width = top + plot_height + bottom, left + plot_width + right
    # One assignment: update_layout takes ten times as long.
    figure.layout = figure.layout.to_plotly_json() | {
        "template": light_template(),
        "height": height,
        "width": width,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0, "autoexpand": False},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "namelength": -1},
        "uirevision": revision,
        "showlegend": legend > 0,
        "legend": {
            "orientation": "h",
            "traceorder": "normal",
            "x": 0.0,
            "xanchor": "left",
            "y": -(BOTTOM - 4) / plot_height,
            "yanchor": "top",
            "font": {"size": 12},
        },
    }
    return Chart(figure, alt, height, width)


def legend_height(figure: go.Figure) -> int:
    """Room for the legend where it wraps most, on a narrow screen."""
    names = [trace.name for trace in figure.data if trace.showlegend is not False]
    if not names:
        return 0
    # Plotly sets a wrapped legend in columns as wide as the longest name.
    column = 58 + 6 * max(len(html.unescape(name)) for name in names)
    columns = max(1, math.floor(NARROWEST / column))
    return LEGEND_ROW * math.ceil(len(names) / columns) + 4


def for_report(chart: Chart) -> go.Figure:
    """A copy that follows the width of what holds it, for a page of plain HTML."""
    figure = go.Figure(chart.figure)
    figure.update_layout(width=None, autosize=True)
    return figure

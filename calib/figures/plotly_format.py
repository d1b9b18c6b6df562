"""Layers, axes and titles as dictionaries in Plotly's format.

Plotly's own objects check every property as it is set, which takes ten times as long as all other
work of a moved slider. `Chart.figure` has them checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from calib.figures.axes import AxisNames, PanelAxis, Panels, SharedTitles
from calib.figures.layers import Arrow, Bars, Heading, Layer, Line, Marker, Note
from calib.figures.theme import (
    GRID,
    HEADING_SIZE,
    PALE,
    TICK_SIZE,
    TITLE_LINE,
    TITLE_SIZE,
    readable,
)

Dictionary = dict[str, Any]

AXIS_LOOK: Dictionary = {
    # Plotly need not measure the labels.
    "automargin": False,
    "tickangle": 0,
    "ticklabelposition": "outside",
    "gridcolor": GRID,
    "gridwidth": 1,
    # Streamlit's theme would draw some of these.
    "zeroline": False,
    "showline": False,
    "ticks": "",
    "ticklabelstandoff": 6,
}
# These properties of layers and axes have another name or form in Plotly's format.
TRANSLATED = {
    "group",
    "hover",
    "key",
    "legend",
    "log_odds",
    "names",
    "of",
    "panel",
    "title",
    "unselected_opacity",
}


def _plain(part: Any) -> Dictionary:
    """The properties of a dataclass that are set and have the same name in Plotly's format."""
    values = {name: getattr(part, name) for name in type(part).__slots__ if name not in TRANSLATED}
    return {
        name: _plain(value) if isinstance(value, Line | Marker | Bars) else value
        for name, value in values.items()
        if value is not None
    }


def trace(layer: Layer, axes: AxisNames) -> Dictionary:
    """A layer on the axes of its panel."""
    subject = layer.of.key if layer.of else ""
    drawn = _plain(layer) | {
        "type": "scatter",
        "uid": f"{layer.key} {subject}".strip(),
        "mode": layer.mode,
        "name": layer.label,
        "showlegend": layer.legend,
        "xaxis": axes[0],
        "yaxis": axes[1],
    }
    drawn |= {"hovertemplate": layer.hover} if layer.hover else {"hoverinfo": "skip"}
    if group := layer.group or subject:
        drawn["legendgroup"] = group
    if layer.unselected_opacity is not None:
        drawn["unselected"] = {"marker": {"opacity": layer.unselected_opacity}}
    return drawn


def axis(shown: PanelAxis) -> Dictionary:
    """An axis, whose label and ticks have sizes."""
    title = {"text": shown.title, "standoff": 10, "font": {"size": TITLE_SIZE}}
    sizes = {"title": title, "tickfont": {"size": TICK_SIZE}}
    return AXIS_LOOK | _plain(shown) | sizes


def notes(panels: Panels, arrows: Sequence[Arrow], notes: Sequence[Note]) -> list[Dictionary]:
    """Titles of panels, titles that all panels have in common, arrows and notes."""
    return [
        *(_title(text, names) for names, text in panels.titles.items()),
        *(_shared(panels.shared_titles) if panels.shared_titles else ()),
        *map(_arrow, arrows),
        *(_note(note, panels) for note in notes),
    ]


def heading(shown: Heading, left: float, top: float) -> list[Dictionary]:
    """The title and a line below, in the upper left corner.

    The corner is `left` and `top` pixels from the plot area.
    """
    if not shown.title:
        return []
    more = TITLE_LINE * (len(shown.lines) - 1)
    place = {"xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left"}
    place |= {"xshift": -left, "yanchor": "middle", "showarrow": False}
    title = {"text": f"<b>{'<br>'.join(shown.lines)}</b>", "yshift": top - 12 - more / 2}
    title |= {"align": "left", "font": {"size": HEADING_SIZE}}
    details = {"text": shown.details, "yshift": top - 31 - more, "font": {"size": TITLE_SIZE}}
    return [place | title, place | details | {"opacity": PALE}]


def _title(text: str, names: AxisNames) -> Dictionary:
    """A title above a panel, at its left edge wherever that is."""
    return {
        "text": text,
        "xref": f"{names[0]} domain",
        "yref": f"{names[1]} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 3,
        "align": "left",
        "showarrow": False,
        "font": {"size": 12},
    }


def _shared(titles: SharedTitles) -> list[Dictionary]:
    common = {"xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": TITLE_SIZE}}
    across = {"text": titles.across, "x": 0.5, "y": 0, "yanchor": "top", "yshift": -24}
    upward = {"text": titles.upward, "x": 0, "y": 0.5, "xanchor": "right", "xshift": -titles.left}
    return [common | across, common | upward | {"textangle": -90}]


def _arrow(arrow: Arrow) -> Dictionary:
    return {
        "x": arrow.x,
        "y": arrow.y,
        "ax": arrow.x,
        "ay": 0.0,
        "axref": "x",
        "ayref": "y",
        "text": "",
        "showarrow": True,
        "arrowhead": 2,
        "arrowwidth": arrow.width,
        "arrowcolor": arrow.color,
        "standoff": arrow.standoff,
    }


def _note(note: Note, panels: Panels) -> Dictionary:
    names = panels.names[note.panel]
    across = panels.axes[names[0]]
    # Plotly wants logarithms here, but values of points.
    x, text = math.log10(note.x) if across.type == "log" else note.x, note.text
    if note.color:
        # Mixed with the colour of the page's text, it can be read on light and on dark.
        text = f'<span style="color: {readable(note.color)}">{text}</span>'
    place = {"x": x, "y": note.y, "text": text, "xanchor": note.xanchor}
    place |= {"xref": names[0], "yref": names[1], "xshift": note.aside, "yshift": note.up}
    return place | {"showarrow": False, "font": {"size": 12}}

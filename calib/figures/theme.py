"""Colours, dashes and symbols: one look for Plotly, for SVG and for the explorer.

Nothing here fixes the colour of the background or of text in the app: Streamlit lays its light or
dark template over the figure's, and greys with an alpha channel can be seen on both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

GREY = "#7F7F7F"
GRID = "rgba(127, 127, 127, 0.2)"
FRAME = "rgba(127, 127, 127, 0.55)"
BAND = "rgba(127, 127, 127, 0.20)"
# The edge of filled markers has the colour of a light page. A dark page gives it its own colour.
RIM = "#FFFFFF"
LINE_WIDTH = 2.25
STRONG_WIDTH = 3.0  # The line of the recommended method, in all charts.
TICK_SIZE, TITLE_SIZE, HEADING_SIZE = 12, 13, 15
TITLE_LINE = 18  # Pixels between two lines of a title.
# The second line of a heading is paler than the text.
PALE = 0.8
INK = "#10161C"
# Streamlit has the first of these fonts.
FONT = "'Source Sans 3', 'Source Sans Pro', system-ui, sans-serif"
# The colour of observed outcomes. No method has it, because charts draw both.
OUTCOME = "#AA3377"
# These are the colours of what is kept or advised, and of an error.
ADVISED, DOUBT = "#0072B2", "#D55E00"
NOW = "#6B7580"  # Uncalibrated scores have this colour beside those after what is advised.

CONFIG: Mapping[str, Any] = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "responsive": True,
    "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d", "select2d", "lasso2d"],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}


Dash = Literal["solid", "dot", "dash", "dashdot", "longdash", "longdashdot"]
# Pixels of line and gap in turn, as SVG takes them, by Plotly's names.
DASHES: Mapping[Dash, str] = {
    "solid": "",
    "dot": "2 3",
    "dash": "7 5",
    "dashdot": "8 4 2 4",
    "longdash": "13 6",
    "longdashdot": "13 5 2 5",
}


def _polygon(corners: int, turn: float, inner: float = 1.0) -> list[tuple[float, float]]:
    """A regular polygon, or a star whose inner corners have the radius `inner`."""
    n = corners if inner == 1.0 else 2 * corners
    angles = [turn + 2.0 * math.pi * i / n for i in range(n)]
    radii = [inner if inner != 1.0 and i % 2 else 1.0 for i in range(n)]
    return [(r * math.sin(a), -r * math.cos(a)) for a, r in zip(angles, radii, strict=True)]


QUARTER = math.pi / 4
# Corners of a symbol of radius 1, by Plotly's names. A circle has none.
SYMBOLS: Mapping[str, list[tuple[float, float]]] = {
    "circle": [],
    "square": _polygon(4, QUARTER),
    "diamond": _polygon(4, 0.0),
    "pentagon": _polygon(5, 0.0),
    "hexagon": _polygon(6, 0.0),
    "hexagon2": _polygon(6, math.pi / 6),
    "octagon": _polygon(8, QUARTER / 2),
    "star": _polygon(5, 0.0, 0.45),
    "hexagram": _polygon(6, 0.0, 0.55),
    "cross": _polygon(4, 0.0, 0.4),
    "x": _polygon(4, QUARTER, 0.4),
    "triangle-up": _polygon(3, 0.0),
    "triangle-down": _polygon(3, math.pi),
    "triangle-left": _polygon(3, -math.pi / 2),
    "triangle-right": _polygon(3, math.pi / 2),
    "triangle-se": _polygon(3, 3 * QUARTER),
    "triangle-sw": _polygon(3, 5 * QUARTER),
    "diamond-wide": [(x, 0.6 * y) for x, y in _polygon(4, 0.0)],
    "diamond-tall": [(0.6 * x, y) for x, y in _polygon(4, 0.0)],
    "hourglass": [(-0.8, -0.9), (0.8, -0.9), (-0.8, 0.9), (0.8, 0.9)],
    "bowtie": [(-0.9, -0.8), (-0.9, 0.8), (0.9, -0.8), (0.9, 0.8)],
    "star-square": _polygon(4, 0.0, 0.6),
    "star-diamond": _polygon(4, QUARTER, 0.6),
    "star-triangle-up": _polygon(3, 0.0, 0.5),
    "star-triangle-down": _polygon(3, math.pi, 0.5),
    "line-ns": [(0.0, -1.0), (0.0, 1.0)],
}


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """Colour, dash and symbol of a method in all charts, and the width of its line in pixels."""

    color: str
    dash: Dash
    symbol: str
    width: float = LINE_WIDTH

    @property
    def hollow(self) -> str:
        """The symbol without its fill."""
        return f"{self.symbol}-open"


# Most colours are Okabe and Ito's or of Tol's muted scheme, made for colour-blind readers. The
# orange of isotonic and the vermilion of the spline are darker than theirs: orange needs a contrast
# of 3 to white, and without green cones the two are as far apart as the originals (CIE 1976 17,
# Machado's simulation). Logistic's violet is far from the other default methods' for all eyes.
METHOD_STYLES: Mapping[str, MethodStyle] = {
    "uncalibrated": MethodStyle(GREY, "solid", "circle"),
    "platt": MethodStyle(ADVISED, "solid", "square"),
    "logistic": MethodStyle("#A346F5", "longdash", "pentagon"),
    "isotonic": MethodStyle("#CC8400", "dot", "diamond"),
    "beta": MethodStyle("#009E73", "dashdot", "triangle-up"),
    "spline": MethodStyle("#C04000", "longdashdot", "triangle-down"),
    "stack": MethodStyle("#E00050", "dash", "triangle-se"),
    "temperature": MethodStyle("#CC79A7", "dot", "cross"),
    "beta_am": MethodStyle("#44AA99", "longdash", "triangle-left"),
    "beta_ab": MethodStyle("#999933", "dash", "triangle-right"),
    "splinecalib": MethodStyle("#CC6677", "dash", "x"),
    "ks_spline": MethodStyle("#A0522D", "dashdot", "star"),
    "ispline": MethodStyle("#88CCEE", "dashdot", "hexagon"),
    "pwl": MethodStyle("#B08D57", "dash", "hexagram"),
    "histogram": MethodStyle("#B8860B", "longdashdot", "octagon"),
    "venn_abers": MethodStyle("#9467BD", "longdash", "star-square"),
    "clip": MethodStyle("#A6A6A6", "dot", "star-triangle-up"),
    "prior_shift": MethodStyle("#6F8FAF", "longdashdot", "star-diamond"),
    "intercept": MethodStyle("#7A5195", "dash", "triangle-sw"),
    "vector": MethodStyle("#6495ED", "dash", "diamond-wide"),
    "structured": MethodStyle("#00838F", "longdash", "hexagon2"),
    "matrix": MethodStyle("#A34FD6", "dot", "hourglass"),
    "dirichlet": MethodStyle("#C0392B", "dashdot", "diamond-tall"),
    "dirichlet_l2": MethodStyle("#3DA32B", "longdash", "star-triangle-down"),
}
OTHER_STYLE = MethodStyle("#8A7FA8", "dot", "bowtie")


def style_of(key: str, recommended: str = "") -> MethodStyle:
    """The style of a method, which has a stronger line in an analysis that recommends it.

    Methods without a style of their own share one.
    """
    style = METHOD_STYLES.get(key, OTHER_STYLE)
    is_strong = key == recommended != "uncalibrated"
    return replace(style, width=STRONG_WIDTH) if is_strong else style


def faded(color: str, alpha: float) -> str:
    """A #RRGGBB colour with an alpha channel."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


def readable(color: str) -> str:
    """CSS: a colour mixed with that of the page's text, so that words can be read on its ground."""
    return f"color-mix(in srgb, {color} 65%, currentColor)"


# The template of stand-alone HTML and notebooks. It sets only what Streamlit's own theme sets too,
# so it has no effect in the app.
LIGHT: Mapping[str, Any] = {
    "layout": {
        "font": {"family": FONT, "color": INK},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "hoverlabel": {
            "bgcolor": "#FFFFFF",
            "bordercolor": "#D9DFE5",
            "font": {"color": INK, "size": 12},
        },
    }
}

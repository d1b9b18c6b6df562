"""Colours, dashes and markers: one look for every figure.

Nothing here fixes the colour of the background or of text in the app: Streamlit lays its light or
dark template over the figure's, and greys with an alpha channel hold on both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GREY = "#7F7F7F"
GRID = "rgba(127, 127, 127, 0.17)"
FRAME = "rgba(127, 127, 127, 0.55)"
BAND = "rgba(127, 127, 127, 0.20)"
LINE_WIDTH = 1.75
TICK_SIZE, TITLE_SIZE = 12, 13
INK = "#1F2933"
# The observed outcome, where a figure sets it against the prediction. No method has this colour.
OUTCOME = "#AA3377"

CONFIG: Mapping[str, Any] = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "responsive": True,
    "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d", "select2d", "lasso2d"],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}


@dataclass(frozen=True, slots=True)
class MethodStyle:
    """Colour, dash and marker of a method in all charts. Each alone distinguishes methods."""

    color: str
    dash: str
    symbol: str

    @property
    def cap(self) -> int:
        """Half the width of the ends of its error bars: a solid line's bars have none."""
        return 0 if self.symbol == "circle" else 4

    @property
    def hollow(self) -> str:
        """The marker without its fill."""
        return f"{self.symbol}-open"


# Most colours are Okabe and Ito's or of Tol's muted scheme, made for colour-blind readers. The
# orange of isotonic and the vermilion of the spline are darker than theirs: orange needs a contrast
# of 3 to white, and without green cones the two are as far apart as the originals (CIE 1976 17,
# Machado's simulation). Logistic's violet is far from the other default methods' for all eyes.
METHOD_STYLES: Mapping[str, MethodStyle] = {
    "uncalibrated": MethodStyle(GREY, "solid", "circle"),
    "platt": MethodStyle("#0072B2", "dash", "square"),
    "logistic": MethodStyle("#A346F5", "longdash", "pentagon"),
    "isotonic": MethodStyle("#CC8400", "solid", "diamond"),
    "beta": MethodStyle("#009E73", "dashdot", "triangle-up"),
    "spline": MethodStyle("#C04000", "solid", "triangle-down"),
    "temperature": MethodStyle("#CC79A7", "dot", "cross"),
    "beta_am": MethodStyle("#44AA99", "longdash", "triangle-left"),
    "beta_ab": MethodStyle("#999933", "dash", "triangle-right"),
    "splinecalib": MethodStyle("#CC6677", "dash", "x"),
    "ks_spline": MethodStyle("#A0522D", "dashdot", "star"),
    "ispline": MethodStyle("#88CCEE", "dashdot", "hexagon"),
    "pwl": MethodStyle("#B08D57", "solid", "hexagram"),
    "histogram": MethodStyle("#B8860B", "longdashdot", "octagon"),
    "venn_abers": MethodStyle("#9467BD", "longdash", "star-square"),
    "clip": MethodStyle("#A6A6A6", "dot", "star-triangle-up"),
    "prior_shift": MethodStyle("#6F8FAF", "longdashdot", "star-diamond"),
    "vector": MethodStyle("#6495ED", "dash", "diamond-wide"),
    "matrix": MethodStyle("#A34FD6", "dot", "hourglass"),
    "dirichlet": MethodStyle("#C0392B", "dashdot", "diamond-tall"),
    "dirichlet_l2": MethodStyle("#3DA32B", "longdash", "star-triangle-down"),
}
OTHER_STYLE = MethodStyle("#8A7FA8", "dot", "bowtie")


def style_of(key: str) -> MethodStyle:
    """The style of a method; one style for all that have none of their own."""
    return METHOD_STYLES.get(key, OTHER_STYLE)


def faded(color: str, alpha: float) -> str:
    """A #RRGGBB colour with an alpha channel."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha})"


# Dark ink on whatever lies below: for stand-alone HTML and notebooks. It sets only what Streamlit's
# own theme sets too, so that in the app nothing of it remains.
LIGHT: Mapping[str, Any] = {
    "layout": {
        "font": {"family": "system-ui, 'Segoe UI', Roboto, sans-serif", "color": INK},
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "hoverlabel": {
            "bgcolor": "#FFFFFF",
            "bordercolor": "#D9DFE5",
            "font": {"color": INK, "size": 12},
        },
    }
}

"""Small multiples: where each panel lies, and titles that follow a panel when it shrinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calib.figures.theme import TITLE_SIZE


@dataclass(frozen=True, slots=True)
class Grid:
    """Panels of one size in rows and columns, numbered from 0 in reading order.

    Attributes
    ----------
    n_panels, columns : int
    side : int
        Width and height of a panel in pixels.
    gap_x, gap_y : int
        Pixels between panels; the upper gap holds titles and tick labels.
    """

    n_panels: int
    columns: int
    side: int
    gap_x: int
    gap_y: int

    @property
    def rows(self) -> int:
        """Number of rows; the last may be incomplete."""
        return -(-self.n_panels // self.columns)

    @property
    def width(self) -> int:
        """Width of the plot area."""
        return self.columns * self.side + (self.columns - 1) * self.gap_x

    @property
    def height(self) -> int:
        """Height of the plot area."""
        return self.rows * self.side + (self.rows - 1) * self.gap_y

    def domain(self, panel: int) -> tuple[list[float], list[float]]:
        """Where a panel lies, as shares of the plot area: x from the left, y from below."""
        row, column = divmod(panel, self.columns)
        left = column * (self.side + self.gap_x)
        bottom = self.height - self.side - row * (self.side + self.gap_y)
        across = [left / self.width, (left + self.side) / self.width]
        return across, [bottom / self.height, (bottom + self.side) / self.height]

    def is_left(self, panel: int) -> bool:
        """Whether no panel stands to the left."""
        return panel % self.columns == 0

    def is_lowest(self, panel: int) -> bool:
        """Whether no panel stands below."""
        return panel + self.columns >= self.n_panels


def axis_ids(panel: int) -> dict[str, Any]:
    """Plotly's names of a panel's axes, as a trace takes them."""
    number = "" if panel == 0 else str(panel + 1)
    return {"xaxis": f"x{number}", "yaxis": f"y{number}"}


def layout_keys(panel: int) -> tuple[str, str]:
    """Plotly's names of a panel's axes, as a layout takes them."""
    number = "" if panel == 0 else str(panel + 1)
    return f"xaxis{number}", f"yaxis{number}"


def panel_title(text: str, panel: int) -> dict[str, Any]:
    """A title on top of a panel, at its left edge wherever that comes to lie."""
    ids = axis_ids(panel)
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


def shared_titles(
    across: str, upward: str, *, below: int = 24, left: int = 34
) -> list[dict[str, Any]]:
    """One title below and one beside all panels, so many pixels away."""
    common = {"xref": "paper", "yref": "paper", "showarrow": False, "font": {"size": TITLE_SIZE}}
    return [
        common | {"text": across, "x": 0.5, "y": 0, "yanchor": "top", "yshift": -below},
        common
        | {"text": upward, "x": 0, "y": 0.5, "xanchor": "right", "xshift": -left, "textangle": -90},
    ]

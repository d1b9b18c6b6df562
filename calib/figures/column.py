"""Panels one under the other on one x-axis, whose ticks are named under the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.figures.grid import axis_ids, layout_keys
from calib.figures.theme import axis_look
from calib.numerics.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Column:
    """Panels of one height, numbered from 0 downward.

    Attributes
    ----------
    n_panels, panel, gap : int
        How many, and pixels of a panel and between two.
    """

    n_panels: int
    panel: int
    gap: int

    @property
    def height(self) -> int:
        """Height of the plot area."""
        return self.n_panels * self.panel + (self.n_panels - 1) * self.gap

    def axes(
        self,
        at: FloatArray,
        names: Sequence[str],
        ranges: Sequence[list[float]],
        *,
        margin: float,
        most_ticks: int,
    ) -> dict[str, Any]:
        """Layout of all axes.

        Parameters
        ----------
        at : ndarray
            What is drawn, from left to right, on the x-axis.
        names : sequence of str
            Its names, harmless for plotly; some stand on the axis.
        ranges : sequence of [low, high]
            Of each panel's y-axis.
        margin : float
            Room beside the first and the last, as a share of the way between them.
        most_ticks : int
            Names on the axis.
        """
        across = ends(at, margin)
        shown = spread(at, float(np.ptp(at)) / most_ticks)
        axes: dict[str, Any] = {}
        for panel, upward in enumerate(ranges):
            x_key, y_key = layout_keys(panel)
            ids, last = axis_ids(panel), panel == self.n_panels - 1
            bottom = self.height - self.panel - panel * (self.panel + self.gap)
            axes[x_key] = axis_look(
                range=across,
                tickvals=[float(at[i]) for i in shown],
                ticktext=[names[i] if last else "" for i in shown],
                anchor=ids["yaxis"],
                **({} if panel == 0 else {"matches": "x"}),
            )
            axes[y_key] = axis_look(
                range=upward,
                domain=[bottom / self.height, (bottom + self.panel) / self.height],
                anchor=ids["xaxis"],
                nticks=4,
                tickformat="~g",
            )
        return axes


def ends(at: FloatArray, margin: float) -> list[float]:
    """Ends of an x-axis: the first and the last value, and a share of the way between them."""
    aside = margin * float(np.ptp(at)) or 0.5
    return [float(at.min()) - aside, float(at.max()) + aside]


def spread(at: FloatArray, least: float) -> list[int]:
    """Positions of values at least so far from each other, the first among them.

    Examples
    --------
    >>> spread(np.array([0.0, 1.0, 2.0, 5.0]), 2.0)
    [0, 2, 3]
    """
    shown = [0]
    for i in range(1, len(at)):
        if abs(at[i] - at[shown[-1]]) >= least:
            shown.append(i)
    return shown

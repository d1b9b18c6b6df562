"""Forest plots: a row for each of some things, a difference with its interval in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calib.figures.theme import FRAME, axis_look
from calib.figures.trace import Trace, scatter


def forest_axes(title: str, limits: Sequence[float], labels: Sequence[str]) -> dict[str, Any]:
    """Layout: differences across, and rows from the top down.

    Parameters
    ----------
    title : str
        Of the x-axis.
    limits : sequence of float
        Its two ends.
    labels : sequence of str
        Of the rows, harmless for plotly.
    """
    return {
        "xaxis": axis_look(title, range=list(limits), nticks=6, tickformat="~g", mirror=False),
        "yaxis": axis_look(
            range=[len(labels) - 0.5, -0.5],
            tickvals=list(range(len(labels))),
            ticktext=list(labels),
            ticks="",
            ticklabelstandoff=6,
            showgrid=False,
            showline=False,
            fixedrange=True,
        ),
    }


def zero_line(n_rows: int) -> Trace:
    """Where there is no difference."""
    return scatter(
        x=[0.0, 0.0],
        y=[-0.5, n_rows - 0.5],
        mode="lines",
        line={"color": FRAME, "width": 1.25},
        uid="zero",
        hoverinfo="skip",
        showlegend=False,
    )

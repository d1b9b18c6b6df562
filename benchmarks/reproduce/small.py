"""Small multiples of square probability panels on shared axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calib.figures import Chart
from calib.figures.axes import LINEAR, Scale
from calib.figures.chart import draw
from calib.figures.layers import Trace
from calib.figures.panels import Panel, axis_ids, grid, shared_titles

LEFT = 42  # pixels for the longest tick label
TICKS = {"tickvals": [0.0, 0.5, 1.0], "ticktext": ["0", "0.5", "1"]}


def small_multiples(
    panels: Mapping[str, Sequence[Trace]],
    titles: tuple[str, str],
    *,
    columns: int,
    side: int,
    scale: Scale = LINEAR,
) -> Chart:
    """One panel an entry, titled with its name; traces get their panel's axes.

    Parameters
    ----------
    panels : mapping of str to sequence of dict
        Traces by title.
    titles : tuple of str
        Of all x-axes, and of all y-axes.
    columns, side : int
        Panels beside each other, and pixels of a panel's side.
    scale : Scale
    """
    ticks = TICKS if scale.kind == "linear" else {}
    drawn = [Panel(scale.axis(**ticks), scale.axis(**ticks), t, square=True) for t in panels]
    placed = grid(drawn, columns, side, side, gaps=(14, 46), shared=True)
    traces = [
        trace | axis_ids(number)
        for number, traces in enumerate(panels.values())
        for trace in traces
    ]
    notes = [*shared_titles(*titles, left=LEFT), *placed.layout["annotations"]]
    return draw("small multiples", placed, traces, "", top=40, left=LEFT + 22, annotations=notes)

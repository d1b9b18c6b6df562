"""Small multiples of square probability panels on shared axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calib.figures import Chart
from calib.figures.chart import make_chart
from calib.figures.grid import Grid, axis_ids, layout_keys, panel_title, shared_titles
from calib.figures.panels import square
from calib.figures.scales import LINEAR, Scale
from calib.figures.theme import axis_look
from calib.figures.trace import Trace

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
    grid = Grid(len(panels), columns, side, gap_x=14, gap_y=46)
    traces: list[Trace] = []
    layout: dict[str, Any] = {"annotations": shared_titles(*titles, left=LEFT)}
    for panel, (title, drawn) in enumerate(panels.items()):
        traces += [trace | axis_ids(panel) for trace in drawn]
        layout |= _axes(grid, panel, scale)
        layout["annotations"].append(panel_title(title, panel))
    size = {"plot_width": grid.width, "plot_height": grid.height}
    return make_chart(
        traces, layout, "", **size, top=40, left=LEFT + 22, revision="small multiples"
    )


def _axes(grid: Grid, panel: int, scale: Scale) -> dict[str, object]:
    ids, (x_key, y_key) = axis_ids(panel), layout_keys(panel)
    across, upward = square(ids["xaxis"])
    x_domain, y_domain = grid.domain(panel)
    look = dict(scale.options()) | (TICKS if scale.kind == "linear" else {})
    low, left = grid.is_lowest(panel), grid.is_left(panel)
    return {
        x_key: axis_look(
            **look, **across, domain=x_domain, anchor=ids["yaxis"], showticklabels=low
        ),
        y_key: axis_look(
            **look, **upward, domain=y_domain, anchor=ids["xaxis"], showticklabels=left
        ),
    }

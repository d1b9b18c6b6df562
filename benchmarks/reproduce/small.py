"""Small multiples of square probability panels on shared axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calib.figures import Chart
from calib.figures.axes import LINEAR, Panel, Scale, SharedTitles, grid
from calib.figures.chart import draw
from calib.figures.layers import Layer

LABEL_PIXELS = 50  # The longest tick label is this wide.
TICKS = {0.0: "0%", 0.5: "50%", 1.0: "100%"}


def small_multiples(
    panels: Mapping[str, Sequence[Layer]],
    titles: tuple[str, str],
    *,
    columns: int,
    side: int,
    scale: Scale = LINEAR,
) -> Chart:
    """One panel per entry, titled with its name.

    Parameters
    ----------
    panels : mapping of str to sequence of Layer
        Layers by title.
    titles : tuple of str
        Of all x-axes, and of all y-axes.
    columns, side : int
        Panels beside each other, and pixels of a panel's side.
    scale : Scale
    """
    axis = scale.axis(ticks=TICKS if scale.kind == "linear" else None)
    if scale.kind == "logit":
        # All labels would overlap in panels of this size.
        few = [text if i % 2 else "" for i, text in enumerate(axis.ticktext or ())]
        axis = replace(axis, ticktext=few)
    placed = grid(
        [Panel(axis, axis, title, square=True) for title in panels],
        columns,
        side,
        side,
        gaps=(34, 46),
        shared=True,
        shared_titles=SharedTitles(*titles, left=LABEL_PIXELS),
    )
    layers = [
        replace(layer, panel=number)
        for number, layers in enumerate(panels.values())
        for layer in layers
    ]
    return draw("small multiples", placed, layers, "", top=40, left=LABEL_PIXELS + 22)

"""The numbers that a chart draws, as a table: one row per point, in the order of the layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib.figures.axes import PanelAxis
from calib.figures.layers import Bars, Layer
from calib.figures.panels import Panels
from calib.figures.words import unmarked

COLUMNS = ("panel", "series", "x", "x_low", "x_high", "y", "y_low", "y_high", "weight")


def frame(layers: Sequence[Layer], panels: Panels) -> pd.DataFrame:
    """Columns without values are left out. Lines that only lead the eye have no name, and no row.

    Positions on log-odds axes become probabilities, and rows of forests and periods their names.
    """
    parts = [
        pd.DataFrame(_words(panels, layer) | columns)
        for layer in layers
        if layer.label and len(columns := _columns(panels, layer))
    ]
    table = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    if len(panels.names) == 1:
        table = table.drop(columns="panel")
    return table.dropna(axis="columns", how="all")


def _columns(panels: Panels, layer: Layer) -> dict[str, Any]:
    """Coordinates and intervals of a layer; empty for an entry of the legend."""
    x_axis, y_axis = (panels.axes[name] for name in panels.names[layer.panel])
    x, y = (np.asarray(values, dtype=np.float64) for values in (layer.x, layer.y))
    if not np.isfinite(x).any():
        return {}
    if layer.fill == "toself":
        # The outline of an area runs along its lower edge and back along the upper one.
        half = len(x) // 2
        ends = {"y_low": y[:half], "y_high": y[half:][::-1]}
        return _on_axis("x", x_axis, x[:half]) | {
            name: _values(y_axis, values) for name, values in ends.items()
        }
    columns = _on_axis("x", x_axis, x, layer.error_x) | _on_axis("y", y_axis, y, layer.error_y)
    if layer.marker and layer.marker.sizemode == "area":
        columns["weight"] = np.asarray(layer.marker.size)
    return columns


def _on_axis(
    name: str, axis: PanelAxis, values: np.ndarray[Any, Any], bars: Bars | None = None
) -> dict[str, Any]:
    columns = {name: _values(axis, values)}
    if bars is not None:
        columns |= {
            f"{name}_low": _values(axis, values - bars.arrayminus),
            f"{name}_high": _values(axis, values + bars.array),
        }
    return columns


def _values(axis: PanelAxis, values: np.ndarray[Any, Any]) -> Any:
    if axis.names:
        at = np.array(list(axis.names))
        names = [unmarked(name) for name in axis.names.values()]
        return [names[int(np.abs(at - value).argmin())] for value in values]
    return 1.0 / (1.0 + np.exp(-values)) if axis.log_odds else values


def _words(panels: Panels, layer: Layer) -> dict[str, Any]:
    """The name of a layer, and the title of its panel or of the panel's y-axis."""
    names = panels.names[layer.panel]
    title = panels.titles.get(names) or panels.axes[names[1]].title
    panel = unmarked(title) or f"panel {layer.panel + 1}"
    return {"panel": panel, "series": unmarked(layer.label)}

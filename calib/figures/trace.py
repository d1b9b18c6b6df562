"""Traces: what plotly draws, as plain dictionaries.

Plotly's own objects check every property as it is set, which takes ten times as long as all else
of a moved slider; `Chart.figure` has them checked where that matters.
"""

from __future__ import annotations

from typing import Any

from calib.numerics.arrays import FloatArray

Trace = dict[str, Any]


def scatter(**options: Any) -> Trace:
    """Points, lines or areas; `options` are those of `plotly.graph_objects.Scatter`."""
    return {"type": "scatter", **options}


def whiskers(
    value: FloatArray, low: FloatArray, high: FloatArray, color: str, **look: Any
) -> dict[str, Any]:
    """Intervals around the points of a trace: its `error_x` or `error_y`."""
    return {
        "type": "data",
        "symmetric": False,
        "array": high - value,
        "arrayminus": value - low,
        "color": color,
        "thickness": 1.25,
        "width": 0,
        **look,
    }

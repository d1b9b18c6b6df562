"""Traces: what plotly draws, as plain dictionaries.

Plotly's own objects check every property as it is set, which takes ten times as long as all else
of a moved slider; `Chart.figure` has them checked where that matters.
"""

from __future__ import annotations

from typing import Any

Trace = dict[str, Any]


def scatter(**options: Any) -> Trace:
    """Points, lines or areas; `options` are those of `plotly.graph_objects.Scatter`."""
    return {"type": "scatter", **options}

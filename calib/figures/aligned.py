"""Charts of the same kind that stand side by side: one range for each of their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calib.figures.chart import Chart


def same_axes(charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """The same charts with every axis as long as the longest among them.

    Axes whose ticks have names, other ones in one chart than in another, stay as they are.

    Parameters
    ----------
    charts : sequence of Chart
        Made by one function of different data.
    """
    layouts = [chart.spec["layout"] for chart in charts]
    axes = [name for name in layouts[0] if name[1:5] == "axis"]
    common = {name: _common([layout.get(name) for layout in layouts]) for name in axes}
    return tuple(_with_ranges(chart, common) for chart in charts)


def _common(axes: Sequence[Mapping[str, Any] | None]) -> list[float] | None:
    """The range that holds those of all axes; None where they do not go together."""
    known = [axis for axis in axes if axis is not None and axis.get("range") is not None]
    if len(known) < len(axes) or any(axis.get("type") == "log" for axis in known):
        return None
    first = known[0]
    if any(_ticks(axis) != _ticks(first) for axis in known):
        return None
    turned = first["range"][0] > first["range"][1]
    ends = [float(end) for axis in known for end in axis["range"]]
    return [max(ends), min(ends)] if turned else [min(ends), max(ends)]


def _ticks(axis: Mapping[str, Any]) -> list[str]:
    return [str(text) for text in axis.get("ticktext", ())]


def _with_ranges(chart: Chart, ranges: Mapping[str, list[float] | None]) -> Chart:
    layout = dict(chart.spec["layout"])
    for name, common in ranges.items():
        if common is not None and name in layout:
            layout[name] = {**layout[name], "range": common}
    return replace(chart, spec={**chart.spec, "layout": layout})

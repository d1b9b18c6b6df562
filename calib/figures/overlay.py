"""Reliability diagrams laid over each other: slices of one analysis, or two reports."""

from __future__ import annotations

from collections.abc import Mapping

from calib.curves.reliability import ReliabilityCurve
from calib.figures.chart import Chart, make_chart
from calib.figures.panels import diagonal, dots, few_entry, legend_entry, square
from calib.figures.scales import LINEAR
from calib.figures.theme import GREY, MethodStyle, axis_look
from calib.text import escaped, shortened

SIDE = 330
# What is laid over each other is no method, but no more colours are told apart.
STYLES = (
    MethodStyle("#56B4E9", "solid", "circle"),
    MethodStyle("#D55E00", "dash", "square"),
    MethodStyle("#009E73", "dashdot", "diamond"),
    MethodStyle("#CC79A7", "dot", "triangle-up"),
    MethodStyle("#999933", "longdash", "pentagon"),
    MethodStyle(GREY, "solid", "x"),
)


def overlay_chart(curves: Mapping[str, ReliabilityCurve], alt: str) -> Chart:
    """Reliability diagrams in one square.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve
        By what they are called, at most six.
    alt : str
        What the chart shows, in a sentence.

    Raises
    ------
    ValueError
        If there are no curves, or more than six.
    """
    if not 1 <= len(curves) <= len(STYLES):
        raise ValueError(f"curves must be 1 to {len(STYLES)}, got {len(curves)}.")
    named = [
        (f"slice {i}", escaped(shortened(name)), curve, style)
        for i, ((name, curve), style) in enumerate(zip(curves.items(), STYLES, strict=False))
    ]
    traces = [diagonal(LINEAR)]
    traces += [dots(*each, LINEAR) for each in named]
    traces += [
        legend_entry(key, name, style, mode="lines+markers") for key, name, _, style in named
    ]
    if any(curve.few.any() for curve in curves.values()):
        traces.append(few_entry())
    across, upward = square()
    layout = {
        "xaxis": axis_look("Mean predicted probability", **LINEAR.options(), **across),
        "yaxis": axis_look("Observed frequency", **LINEAR.options(), **upward),
    }
    return make_chart(
        traces,
        layout,
        alt,
        plot_width=SIDE,
        plot_height=SIDE,
        revision="overlay",
    )

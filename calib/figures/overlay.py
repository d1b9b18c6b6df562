"""Reliability diagrams laid over each other: slices of one analysis, or two reports."""

from __future__ import annotations

from collections.abc import Mapping

from calib.curves.reliability import ReliabilityCurve
from calib.figures.axes import axis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Subject, diagonal, dots, few_entry, legend_entry
from calib.figures.panels import square
from calib.figures.scales import LINEAR
from calib.figures.theme import GREY, MethodStyle
from calib.text import escaped, shortened

SIDE = 330
# Curves here are not methods, but more colours could not be distinguished.
STYLES = (
    MethodStyle("#56B4E9", "solid", "circle"),
    MethodStyle("#D55E00", "dash", "square"),
    MethodStyle("#009E73", "dashdot", "diamond"),
    MethodStyle("#CC79A7", "dot", "triangle-up"),
    MethodStyle("#999933", "longdash", "pentagon"),
    MethodStyle(GREY, "solid", "x"),
)


@chart
def overlay_chart(curves: Mapping[str, ReliabilityCurve], alt: str = "") -> Chart:
    """Several reliability diagrams on the same axes.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve
        At most six curves by name.
    alt : str
        Alternative text. Default: a sentence that these are slices, with their names.

    Raises
    ------
    ValueError
        If there is no curve, or there are more than six.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> curves = {one.label: one.reliability for one in analysis.methods.values()}
    >>> figure = calib.plot.overlay({name: curves[name] for name in ("Uncalibrated", "Beta")})
    >>> figure.layout.yaxis.title.text
    'Observed frequency'
    """
    if not 1 <= len(curves) <= len(STYLES):
        raise ValueError(f"curves must be 1 to {len(STYLES)}, got {len(curves)}.")
    named = [
        Subject(f"slice {i}", escaped(shortened(name)), style)
        for i, (name, style) in enumerate(zip(curves, STYLES, strict=False))
    ]
    layers = [diagonal(LINEAR)]
    layers += [dots(of, each, LINEAR) for of, each in zip(named, curves.values(), strict=True)]
    layers += [legend_entry(of) for of in named]
    layers += few_entry(each.few for each in curves.values())
    across = axis("Mean predicted probability", **LINEAR.options())
    upward = axis("Observed frequency", **LINEAR.options())
    alt = alt or f"Reliability diagrams of {len(curves)} slices: {', '.join(curves)}."
    return draw("overlay", square(across, upward, SIDE), layers, alt, of=list(curves))

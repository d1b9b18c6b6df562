"""Figures: an Analysis as plotly figures. They read it and never compute.

A file draws the charts of one kind, and `@chart` registers each. What they are made of lies in
`axes`, `panels` (where they lie), `layers` (lines, areas, points, legend), `chart` (size, words,
name) and `theme`.
"""

from calib.figures.chart import CHARTS, Chart, same_axes
from calib.figures.theme import CONFIG, METHOD_STYLES

__all__ = ["CHARTS", "CONFIG", "METHOD_STYLES", "Chart", "same_axes"]

"""Figures: charts of an Analysis. They read it and never compute.

A file draws the charts of one kind, and `@chart` registers each. Charts consist of axes (`axes`),
panels (`panels`) and layers (`layers`); `chart` gives them a size, a name and a text, and `theme`
has colours, dashes and symbols. `plotly_format` and `svg` draw them.
"""

from calib.figures.chart import CHARTS, Chart
from calib.figures.theme import CONFIG, METHOD_STYLES

__all__ = ["CHARTS", "CONFIG", "METHOD_STYLES", "Chart"]

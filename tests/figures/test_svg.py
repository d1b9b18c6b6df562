"""Charts as SVG: what lies where."""

import re

import pytest

import calib
from calib.figures.functions import functions_chart
from calib.figures.reliability import reliability_chart
from calib.figures.svg import to_svg
from calib.loading.examples import EXAMPLES


@pytest.mark.parametrize("build", [reliability_chart, functions_chart])
def test_the_legend_lies_below_the_title_of_the_axis(build):
    analysis = calib.analyze(EXAMPLES["naive_bayes"].load(), {"methods": ("uncalibrated", "platt")})
    drawn = to_svg(build(analysis, ["platt"]))
    texts = re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]+)</text>', drawn)
    heights = {text: float(y) for y, text in texts}
    across = heights.get("Mean predicted probability", heights.get("Score"))
    assert heights["Platt"] > across + 6

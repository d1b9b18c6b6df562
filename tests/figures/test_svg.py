"""Charts as SVG: what lies where."""

import re

import pytest

import calib
from calib.figures.functions import functions_chart
from calib.figures.reliability import reliability_chart
from calib.figures.summary import before_after_panel
from calib.figures.svg import to_svg
from calib.figures.theme import faded, style_of
from calib.loading.examples import EXAMPLES


def test_the_legend_lies_below_the_title_of_the_axis():
    analysis = calib.analyze(EXAMPLES["naive_bayes"].load(), {"methods": ("uncalibrated", "platt")})
    drawn = to_svg(functions_chart(analysis, ["platt"]))
    texts = re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]+)</text>', drawn)
    heights = {text: float(y) for y, text in texts}
    assert heights["Observed in bins of all rows"] > heights["Score"] + 6


@pytest.fixture(scope="module")
def analysis():
    methods = {"methods": ("uncalibrated", "platt", "isotonic")}
    return calib.analyze(EXAMPLES["naive_bayes"].load(), methods)


def test_only_a_single_histogram_is_filled(analysis):
    assert analysis.recommendation.method == "isotonic"
    filled = f'fill="{faded(style_of("isotonic").color, 0.35)}"'
    assert to_svg(reliability_chart(analysis, ["isotonic"])).count(filled) == 1
    assert filled not in to_svg(reliability_chart(analysis, ["uncalibrated", "isotonic"]))


def test_knots_are_strokes(analysis):
    drawn = to_svg(functions_chart(analysis, ["isotonic"], highlight_knots=True))
    strokes = re.findall(r'<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+z" fill="none"', drawn)
    assert len(strokes) == len(analysis.methods["isotonic"].function.knots)
    assert all(top == bottom for top, bottom in strokes)


def test_a_title_has_no_tags(analysis):
    drawn = to_svg(before_after_panel(analysis, "platt"))
    assert ">Platt scaling (on scores)<" in drawn
    assert f">KS {analysis.methods['platt'].ks.statistic:.1%}<" in drawn
    assert "&lt;b&gt;" not in drawn

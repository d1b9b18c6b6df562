"""Words beside the lines of a chart: which lines have them, and where they stand."""

import itertools
from html import unescape

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.figures.axes import PanelAxis, one
from calib.figures.chart import draw
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.labels import LETTER, LINE_HEIGHT
from calib.figures.layers import Layer, Line
from calib.words.measures import unmarked
from tests.figures.drawn import ALL, BUILDERS

every_chart = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)


def test_up_to_four_methods_are_named_beside_their_lines(analysis):
    chart = cumulative_difference_chart(analysis, ALL)
    assert not any(layer.legend for layer in chart.layers)
    assert chart.legend == 0
    names = [analysis.methods[key].label for key in ALL]
    assert {unmarked(note.text) for note in chart.notes} == {*names, "95% band if calibrated"}


def test_more_methods_are_named_in_the_legend(analysis):
    score = [0.1, 0.3, 0.6, 0.8] * 60
    rows = Predictions.from_arrays([0, 1, 0, 1] * 60, score)
    methods = (*ALL, "logistic", "temperature")
    chart = cumulative_difference_chart(analyze(rows, Settings(methods=methods[1:])), methods)
    assert not chart.notes
    assert sum(layer.legend for layer in chart.layers) == len(methods) + 1


@pytest.mark.parametrize("at_ends", [True, False])
def test_names_at_ends_stand_beside_the_second_half_of_their_lines(at_ends):
    # The lines are farthest from each other where they begin.
    x, line = np.linspace(0, 1, 50), Line("#000000")
    lines = [
        Layer(name, x, y, name=name, line=line, legend=True)
        for name, y in (("Flat", np.full(50, 0.4)), ("Falling", 0.9 - 0.4 * x))
    ]
    axis = PanelAxis(range=[0, 1])
    panels = one(axis, axis, 400, 300)
    chart = draw("lines", panels, lines, "Two lines.", names_at_ends=at_ends)
    assert len(chart.notes) == 2
    assert all((note.x > 0.4) == at_ends for note in chart.notes)


@every_chart
def test_names_are_inside_the_panel_and_apart_from_each_other(analysis, build):
    chart = build(analysis)
    x_axis, y_axis = (chart.panels.axes[name] for name in chart.panels.names[0])
    if x_axis.type == "log" or not chart.notes:
        return
    domain = y_axis.domain or (0.0, 1.0)
    height = (domain[1] - domain[0]) * chart.panels.height
    boxes = []
    for note in chart.notes:
        left, middle = (
            (value - axis.range[0]) / (axis.range[1] - axis.range[0]) * pixels
            for value, axis, pixels in (
                (note.x, x_axis, chart.panels.width),
                (note.y, y_axis, height),
            )
        )
        middle += note.up
        width = LETTER * len(unmarked(note.text))
        left -= width if note.xanchor == "right" else 0.0
        boxes.append((left, middle, left + width))
        assert left >= -1.0
        assert LINE_HEIGHT / 3 < middle < height - LINE_HEIGHT / 3
    for box, other in itertools.combinations(boxes, 2):
        apart = abs(box[1] - other[1]) >= LINE_HEIGHT - 1.0
        assert apart or box[0] >= other[2] or other[0] >= box[2]


@every_chart
def test_a_line_is_named_once(analysis, build):
    chart = build(analysis)
    beside = [unmarked(note.text) for note in chart.notes]
    below = [unescape(layer.label) for layer in chart.layers if layer.legend]
    assert not set(beside) & set(below)

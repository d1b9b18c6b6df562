"""Words beside the lines of a chart: which lines have them, and where they stand."""

import itertools
from html import unescape

import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.labels import LETTER, LINE_HEIGHT
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


@every_chart
def test_names_are_inside_the_panel_and_apart_from_each_other(analysis, build):
    chart = build(analysis)
    x_axis, y_axis = (chart.panels.axes[name] for name in chart.panels.names[0])
    notes = [note for note in chart.notes if note.panel == 0]
    if x_axis.type == "log" or not notes:
        return
    across, upward = (axis.domain or (0.0, 1.0) for axis in (x_axis, y_axis))
    room = (across[1] - across[0]) * chart.panels.width
    height = (upward[1] - upward[0]) * chart.panels.height
    boxes = []
    for note in notes:
        left, middle = (
            (value - axis.range[0]) / (axis.range[1] - axis.range[0]) * pixels
            for value, axis, pixels in ((note.x, x_axis, room), (note.y, y_axis, height))
        )
        left, middle = left + note.aside, middle + note.up
        width = LETTER * len(unmarked(note.text))
        left -= width if note.xanchor == "right" else 0.0
        boxes.append((left, middle, left + width))
        assert left >= -1.0
        if left >= room:
            # A name at the end of a line stands beside the panel.
            assert left + width <= room + chart.right
            assert 0.0 < middle < height
        else:
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

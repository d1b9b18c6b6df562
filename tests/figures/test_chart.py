import numpy as np
import pytest

from calib.figures import CHARTS
from calib.figures.axes import Panel, PanelAxis, one, padded, spread
from calib.figures.chart import BOTTOM, LEGEND_ROW, chart, draw, file_name
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.layers import Layer, Line, Marker
from calib.figures.reliability import reliability_chart
from calib.figures.theme import faded


@pytest.mark.parametrize(("left", "rows"), [(54, 1), (190, 2)])
def test_beside_long_names_a_legend_has_room_for_more_rows(left, rows):
    layers = [
        Layer(name, [0], [0], line=Line(), name=name, legend=True)
        for name in ("Uncalibrated", "Beta")
    ]
    drawn = draw("two", one(PanelAxis(), PanelAxis(), 400, 200), layers, "Two.", left=left)
    assert drawn.figure.layout.margin.b == BOTTOM + rows * LEGEND_ROW + 4


@pytest.mark.parametrize(
    ("part", "values"),
    [(Layer, ("key", [0], [0])), (Line, ()), (Marker, ("red",)), (PanelAxis, ()), (Panel, (1, 2))],
)
def test_an_unknown_property_is_refused(part, values, texts):
    with texts.raises(TypeError):
        part(*values, colour="red")


def test_a_chart_is_registered_once(texts):
    with texts.raises(ValueError):
        chart(reliability_chart)
    assert CHARTS["reliability_chart"] is reliability_chart


def test_a_downloaded_image_is_named_by_what_it_shows(analysis):
    drawn = reliability_chart(analysis)
    assert drawn.name == "reliability-predictions-12-uniform"
    assert drawn.config["toImageButtonOptions"]["filename"] == drawn.name
    assert drawn.config["toImageButtonOptions"]["scale"] == 2
    assert cumulative_difference_chart(analysis).name == "cumulative-difference-predictions"


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("reliability", "churn.csv.gz", 15, "quantile"), "reliability-churn-15-quantile"),
        (("reliability", "Churn, May.csv"), "reliability-churn-may"),
        (("a", "../../etc/passwd"), "a-etc-passwd"),
        (("a", "", 0.5), "a-0-5"),
        (("a", "überfällig 2.5"), "a-überfällig-2-5"),
        (("a", "x" * 200), ("a-" + "x" * 200)[:80]),
    ],
)
def test_names_of_files_hold_nothing_but_words(parts, name):
    assert file_name(*parts) == name


def test_ranges_hold_all_that_is_known():
    assert padded([1.0, float("nan")], [[3.0, float("inf")]], margin=0.5) == [0.0, 4.0]
    assert padded([float("nan")], margin=0.5) == [-0.5, 1.5]
    assert padded(2.0, margin=0.5, least=0.25) == [1.75, 2.25]


def test_ticks_keep_their_distance():
    assert spread(np.array([0.0, 1.0, 2.0, 5.0]), 2.0) == [0, 2, 3]


def test_a_colour_is_faded_by_its_alpha_channel():
    assert faded("#0072B2", 0.5) == "rgba(0, 114, 178, 0.5)"

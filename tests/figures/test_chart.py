import pytest

from calib.figures.chart import BOTTOM, LEGEND_ROW, make_chart


@pytest.mark.parametrize(("left", "rows"), [(54, 1), (190, 2)])
def test_beside_long_names_a_legend_has_room_for_more_rows(left, rows):
    traces = [{"name": "Uncalibrated"}, {"name": "Beta"}]
    size = {"plot_width": 400, "plot_height": 200, "left": left}
    chart = make_chart(traces, {}, "Two.", **size, revision="")
    assert chart.figure.layout.margin.b == BOTTOM + rows * LEGEND_ROW + 4

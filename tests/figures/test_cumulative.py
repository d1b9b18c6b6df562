import dataclasses

import numpy as np
import pytest

from calib.figures.cumulative import cumulative_chart, cumulative_difference_chart
from calib.words.cumulative import finding

# A row has panel, trace, x and y by section 4 of Gupta et al., Figure 1.
PANELS = [
    (0, "Predicted", "fractile", "cumulative_score"),
    (0, "Observed", "fractile", "cumulative_outcome"),
    (1, "Predicted", "cumulative_score", "cumulative_score"),
    (1, "Observed", "cumulative_score", "cumulative_outcome"),
    (2, "Predicted", "fractile", "score"),
    (2, "Observed", "fractile", "recalibrated"),
    (3, "Observed", "score", "recalibrated"),
]


@pytest.mark.parametrize(("panel", "name", "x", "y"), PANELS)
def test_panels_draw_the_curves_of_figure_1(analysis, trace, panel, name, x, y):
    curve = analysis.methods["platt"].cumulative
    line = trace(cumulative_chart(analysis, "platt").figure, f"panel {panel} {name}")
    np.testing.assert_allclose(line.x, getattr(curve, x), atol=1e-7)
    np.testing.assert_allclose(line.y, getattr(curve, y), atol=1e-7)
    assert line.x.dtype == np.float32
    assert (line.xaxis or "x") == f"x{panel + 1 if panel else ''}"


@pytest.mark.parametrize(("panel", "name", "x", "y"), PANELS)
def test_a_panel_alone_draws_what_it_draws_among_four(analysis, trace, panel, name, x, y):
    curve = analysis.methods["platt"].cumulative
    figure = cumulative_chart(analysis, "platt", panels=(panel,)).figure
    line = trace(figure, f"panel {panel} {name}")
    np.testing.assert_allclose(line.x, getattr(curve, x), atol=1e-7)
    np.testing.assert_allclose(line.y, getattr(curve, y), atol=1e-7)
    assert line.xaxis == "x"
    assert any(name in note.text for note in figure.layout.annotations[1:])
    # A panel alone has the axis title that the panel on its left has among four.
    assert figure.layout.yaxis.title.text in ("Cumulative probability", "Probability")
    assert figure.layout.yaxis.side == "left"


@pytest.mark.parametrize("panel", range(4))
def test_a_panel_alone_is_as_high_at_any_width_and_names_both_lines_beside_them(analysis, panel):
    chart = cumulative_chart(analysis, "uncalibrated", panels=(panel,))
    assert {chart.at_width(width).panels.height for width in (220, 300, 480)} == {290}
    assert len(chart.notes) == 2
    assert not chart.legend


def test_observed_has_the_colour_of_the_method_and_another_dash(analysis):
    figure = cumulative_chart(analysis, "platt", panels=(0,)).figure
    predicted, observed = figure.data
    assert len({line.line.dash for line in figure.data}) == 2
    (curve,) = cumulative_difference_chart(analysis, ("platt",)).figure.select_traces(
        {"uid": "difference platt"}
    )
    assert observed.line.color == curve.line.color != predicted.line.color
    assert figure.layout.xaxis.tickformat == figure.layout.yaxis.tickformat == "~%"


def test_panels_do_not_overlap_and_stay_square(analysis):
    chart = cumulative_chart(analysis)
    layout, margin = chart.figure.layout, chart.figure.layout.margin
    across, upward = layout.xaxis.domain, layout.yaxis.domain
    assert across[1] < layout.xaxis2.domain[0]
    assert upward[0] > layout.yaxis3.domain[1]
    width = (across[1] - across[0]) * (chart.width - margin.l - margin.r)
    height = (upward[1] - upward[0]) * (chart.height - margin.t - margin.b)
    assert width == pytest.approx(height)
    for y_axis, x_axis in (("yaxis", "x"), ("yaxis2", "x2"), ("yaxis3", "x3"), ("yaxis4", "x4")):
        assert layout[y_axis].scaleanchor == x_axis


def test_difference_curves_are_outcome_minus_score(analysis, trace):
    figure = cumulative_difference_chart(analysis, ("uncalibrated", "beta")).figure
    for key in ("uncalibrated", "beta"):
        curve, line = analysis.methods[key].cumulative, trace(figure, f"difference {key}")
        np.testing.assert_allclose(
            line.y, curve.cumulative_outcome - curve.cumulative_score, atol=1e-7
        )
        np.testing.assert_allclose(line.x, curve.fractile, atol=1e-7)


def test_difference_band_is_the_null_of_the_first_method(analysis, trace):
    figure = cumulative_difference_chart(analysis, ("platt", "uncalibrated")).figure
    half = analysis.methods["platt"].cumulative.null_half_width
    band = trace(figure, "band")
    assert (min(band.y), max(band.y)) == (-half, half)


def test_marked_extremes_are_the_ks_and_kuiper_errors(analysis, trace):
    figure = cumulative_difference_chart(analysis, ("uncalibrated",)).figure
    low, high, ks = trace(figure, "extremes uncalibrated").y
    # The metrics are computed on all cells and the curve is thinned, so its extremes must be kept.
    assert abs(ks) == pytest.approx(analysis.uncalibrated.ks.statistic, abs=1e-12)
    difference = analysis.uncalibrated.cumulative.difference
    assert (low, high) == (difference.min(), difference.max())


def test_an_arrow_from_zero_spans_the_ks_error_of_every_method(analysis, trace):
    figure = cumulative_difference_chart(analysis, ("uncalibrated", "beta")).figure
    arrows = [note for note in figure.layout.annotations if note.showarrow]
    for key, arrow in zip(("uncalibrated", "beta"), arrows, strict=True):
        ks = analysis.methods[key].ks.statistic
        assert abs(arrow.y - arrow.ay) == pytest.approx(ks, abs=1e-12)
        assert (arrow.ay, arrow.axref, arrow.ayref, arrow.ax) == (0.0, "x", "y", arrow.x)
        # The name of the error is printed once, because two would overlap on a phone.
        name = "KS calibration error " if key == "uncalibrated" else ""
        assert trace(figure, f"extremes {key}").text[2] == f"{name}{ks:.1%}"


def test_the_ks_marker_lies_on_top_of_the_kuiper_marker_and_speaks_for_both(analysis, trace, texts):
    for key in analysis.methods:
        figure = cumulative_difference_chart(analysis, (key,)).figure
        marks = trace(figure, f"extremes {key}")
        # Plotly draws the last marker on top, and the pointer finds only that one.
        assert [symbol.endswith("-open") for symbol in marks.marker.symbol] == [True, True, False]
        assert 2 * marks.marker.size[2] < min(marks.marker.size[:2])
        assert (marks.x[2], marks.y[2]) in zip(marks.x[:2], marks.y[:2], strict=True)
        texts.shown(marks.hovertext[2], "each case")
        assert "Kuiper error" in marks.hovertext[2]


def test_difference_stays_inside_its_fixed_axis(analysis):
    figure = cumulative_difference_chart(analysis, tuple(analysis.methods)).figure
    low, high = figure.layout.yaxis.range
    for line in figure.data:
        assert low < min(line.y)
        assert max(line.y) < high


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        ([0, 0.02, 0.04, 0.06, 0.08], "Predictions are too low: 50.0% on average, 58.0% observed"),
        ([0, 0, -0.03, -0.06, -0.06], "Predictions up to 60% are too high"),
        ([0, 0.03, 0.06, 0.03, 0], "Predictions up to 40% are too low, higher ones are too high"),
        ([0, -0.03, 0, 0.03, 0.06], "Predictions above 20% are too low, lower ones are too high"),
        (
            [0, -0.04, 0, 0.04, 0],
            "Predictions between 20% and 60% are too low, others are too high",
        ),
        # The curve stays in the band below 40%, but many rows are there.
        ([0, 0.004, -0.005, 0.05, 0.048], "Predictions between 40% and 60% are too low"),
    ],
)
def test_the_finding_names_the_range_between_the_extremes(analysis, difference, text):
    curve = dataclasses.replace(
        analysis.uncalibrated.cumulative,
        fractile=np.linspace(0, 1, 5),
        score=np.array([0.1, 0.2, 0.4, 0.6, 0.9]),
        cumulative_score=np.linspace(0, 0.5, 5),
        cumulative_outcome=np.linspace(0, 0.5, 5) + difference,
        null_half_width=0.01,
    )
    result = dataclasses.replace(analysis.uncalibrated, cumulative=curve)
    assert finding(result, {"ks": 0.2, "kuiper": 0.04}) == text
    assert "beyond chance" in finding(result, {"ks": 0.06, "kuiper": 0.06})

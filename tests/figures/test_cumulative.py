import dataclasses

import numpy as np
import pytest

from calib.figures.cumulative import (
    NAME_PIXELS,
    cumulative_chart,
    cumulative_difference_chart,
)
from calib.figures.theme import DOUBT, GREY, OUTCOME
from calib.text import percent, score_percent
from calib.words.cumulative import finding, furthest, panel_titles
from calib.words.measures import unmarked

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
    assert figure.layout.yaxis.title.text in ("Cumulative probability", "Probability")


@pytest.mark.parametrize("panel", range(4))
def test_a_panel_alone_is_as_high_at_any_width_and_names_both_lines_at_their_ends(analysis, panel):
    chart = cumulative_chart(analysis, "uncalibrated", panels=(panel,))
    assert {chart.at_width(width).panels.height for width in (220, 300, 480)} == {290}
    assert not chart.legend
    names = {unmarked(note.text): note for note in chart.notes}
    right = chart.panels.axes["x"].range[1]
    lines = {layer.label: layer for layer in chart.layers if layer.key == f"panel {panel}"}
    for name, line in lines.items():
        assert (names[name].x, names[name].y) == (right, pytest.approx(line.y[-1]))
        assert names[name].aside > 0
    apart = abs(lines["Observed"].y[-1] - lines["Predicted"].y[-1])
    low, high = chart.panels.axes["y"].range
    moved = abs(names["Observed"].up - names["Predicted"].up)
    assert moved + apart / (high - low) * chart.panels.height >= NAME_PIXELS - 1e-4


def test_every_panel_names_its_lines_at_their_ends(analysis):
    notes = cumulative_chart(analysis).notes
    named = [(note.panel, note.text) for note in notes if note.text in ("Predicted", "Observed")]
    assert sorted(named) == [(p, name) for p in range(4) for name in ("Observed", "Predicted")]


@pytest.mark.parametrize("key", ["uncalibrated", "platt"])
def test_the_gap_is_the_ks_error_and_both_tested_panels_have_the_band(analysis, key):
    chart, result = cumulative_chart(analysis, key), analysis.methods[key]
    gaps = [layer for layer in chart.layers if layer.key.startswith("gap ")]
    bands = [layer for layer in chart.layers if layer.key.startswith("band ")]
    assert [gap.panel for gap in gaps] == [band.panel for band in bands] == [0, 1]
    half = result.cumulative.null_half_width
    for gap, band in zip(gaps, bands, strict=True):
        assert abs(gap.y[1] - gap.y[0]) == pytest.approx(result.ks.statistic, abs=1e-12)
        n = len(band.x) // 2
        np.testing.assert_allclose(band.y[n:][::-1] - band.y[:n], 2 * half)
    # The same score is marked where the sums do not stand.
    at = int(np.abs(result.cumulative.difference).argmax())
    by_share, by_score = [layer.x[0] for layer in chart.layers if layer.key.startswith("place ")]
    assert by_share == result.cumulative.fractile[at]
    assert by_score == result.cumulative.score[at]
    is_beyond = result.ks.statistic > half
    assert {gap.line.color for gap in gaps} == {DOUBT if is_beyond else GREY}


@pytest.mark.parametrize("panel", [0, 1])
def test_the_name_of_a_gap_at_the_highest_score_does_not_cover_the_title(analysis, panel):
    result = analysis.uncalibrated
    by = np.linspace(0, 1, 5)
    curve = dataclasses.replace(
        result.cumulative,
        fractile=by,
        cumulative_score=by / 4,
        cumulative_outcome=by / 3,
        score=by,
        recalibrated=by,
    )
    moved = {"uncalibrated": dataclasses.replace(result, cumulative=curve)}
    chart = cumulative_chart(dataclasses.replace(analysis, methods=moved), panels=(panel,))
    (name,) = [note for note in chart.notes if note.text.startswith("<b>KS ")]
    low, high = chart.panels.axes["y"].range
    assert (name.y - low) / (high - low) * chart.panels.height + name.up <= chart.panels.height - 7


def test_the_titles_of_panels_say_how_large_ks_is_and_where(analysis):
    result = analysis.uncalibrated
    score = float(result.cumulative.score[furthest(result)])
    assert f"KS {percent(result.ks.statistic)}" in panel_titles(result)[0]
    assert f"score {score_percent(score)}" in panel_titles(result)[0]
    within = dataclasses.replace(result.cumulative, null_half_width=1.0)
    beyond = dataclasses.replace(result.cumulative, null_half_width=0.0)
    titles = [
        panel_titles(dataclasses.replace(result, cumulative=curve)) for curve in (within, beyond)
    ]
    assert len(set(zip(*titles, strict=True))) == 4
    assert [a != b for a, b in zip(*titles, strict=True)] == [False, True, True, False]


def test_observed_has_the_colour_of_outcomes_and_predicted_that_of_the_method(analysis):
    figure = cumulative_chart(analysis, "platt", panels=(0,)).figure
    predicted, observed = (
        next(figure.select_traces({"name": name})) for name in ("Predicted", "Observed")
    )
    assert predicted.line.dash != observed.line.dash
    (curve,) = cumulative_difference_chart(analysis, ("platt",)).figure.select_traces(
        {"uid": "difference platt"}
    )
    assert predicted.line.color == curve.line.color != observed.line.color == OUTCOME
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

import dataclasses

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.curves.rate import corp_curve, smooth_curve
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.figures.reliability import reliability_chart, scores_by_outcome_chart
from calib.figures.theme import style_of
from calib.text import percent


@pytest.mark.parametrize("key", ["uncalibrated", "isotonic"])
def test_dots_lie_at_mean_score_and_observed_frequency(analysis, trace, key):
    curve = analysis.methods[key].reliability
    dots = trace(reliability_chart(analysis, [key]).figure, f"dots {key}")
    np.testing.assert_array_equal(dots.x, curve.mean_score)
    np.testing.assert_array_equal(dots.y, curve.observed)


def test_interval_bars_reach_from_low_to_high(analysis, trace):
    curve = analysis.uncalibrated.reliability
    bars = trace(reliability_chart(analysis).figure, "dots uncalibrated").error_y
    np.testing.assert_allclose(curve.observed + bars.array, curve.high, atol=1e-15)
    np.testing.assert_allclose(curve.observed - bars.arrayminus, curve.low, atol=1e-15)


def test_markers_are_hollow_where_and_only_where_rows_are_few(analysis, trace):
    curve = analysis.uncalibrated.reliability
    assert 0 < curve.few.sum() < len(curve.few)
    symbols = trace(reliability_chart(analysis).figure, "dots uncalibrated").marker.symbol
    assert [symbol.endswith("-open") for symbol in symbols] == (curve.rows < 30).tolist()


def test_hollow_markers_are_explained_only_if_there_are_some(analysis):
    names = [t.name for t in reliability_chart(analysis).figure.data]
    assert "&lt; 30 rows" in names
    result = analysis.uncalibrated
    many = dataclasses.replace(result.reliability, rows=np.full(12, 50.0))
    methods = {"uncalibrated": dataclasses.replace(result, reliability=many)}
    full = dataclasses.replace(analysis, methods=methods)
    assert "&lt; 30 rows" not in [t.name for t in reliability_chart(full).figure.data]


def test_dots_area_follows_weight(analysis, trace):
    curve = analysis.uncalibrated.reliability
    marker = trace(reliability_chart(analysis).figure, "dots uncalibrated").marker
    assert marker.sizemode == "area"
    np.testing.assert_array_equal(marker.size, curve.weight)
    # A bin with all the weight would be 30 pixels wide.
    assert np.sqrt(2 * curve.weight.sum() / marker.sizeref) == pytest.approx(30.0)


def test_band_is_the_consistency_band_of_the_first_method(analysis, trace, texts):
    figure = reliability_chart(analysis, ("platt", "uncalibrated")).figure
    band, curve = trace(figure, "band"), analysis.methods["platt"].reliability
    n = len(curve.rows)
    np.testing.assert_array_equal(band.y[:n], curve.band_low)
    np.testing.assert_array_equal(band.y[n:][::-1], curve.band_high)
    np.testing.assert_array_equal(band.x[:n], curve.mean_score)
    texts(band.name)


def test_the_legend_says_which_band_is_drawn(analysis, trace):
    result = analysis.uncalibrated
    curve = dataclasses.replace(result.reliability, band="simultaneous", confidence_level=0.9)
    methods = {"uncalibrated": dataclasses.replace(result, reliability=curve)}
    figure = reliability_chart(dataclasses.replace(analysis, methods=methods)).figure
    assert trace(figure, "band").name == "90% simultaneous band"


def test_band_of_a_single_bin_can_be_seen(analysis, trace):
    result = analysis.uncalibrated
    curve = result.reliability
    arrays = {
        name: getattr(curve, name)[:1]
        for name in curve.__dataclass_fields__
        if isinstance(getattr(curve, name), np.ndarray)
    }
    one = dataclasses.replace(result, reliability=dataclasses.replace(curve, **arrays))
    figure = reliability_chart(dataclasses.replace(analysis, methods={"uncalibrated": one})).figure
    assert trace(figure, "band").line.width > 0


def test_histogram_holds_every_row_and_shares_the_x_axis(analysis, trace):
    figure = reliability_chart(analysis, ("uncalibrated", "beta")).figure
    for key in ("uncalibrated", "beta"):
        steps = trace(figure, f"histogram {key}")
        assert steps.y.sum() == analysis.data.n_rows
        np.testing.assert_array_equal(steps.y[1:-1], analysis.methods[key].histogram)
        assert (steps.xaxis or "x") == (trace(figure, f"dots {key}").xaxis or "x")
    assert steps.yaxis == "y2"
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]


def test_histogram_and_band_can_be_left_out(analysis):
    figure = reliability_chart(analysis, histogram=False, band=False).figure
    assert not [t.uid for t in figure.data if t.uid.startswith(("histogram", "band"))]


def test_a_chart_of_square_panels_is_as_high_as_its_width_asks_for(analysis):
    chart = reliability_chart(analysis)
    margin = chart.figure.layout.margin
    inner = (chart.width - margin.l - margin.r, chart.height - margin.t - margin.b)
    for width in (300, chart.width, 900):
        # The CSS is evaluated as Python: cqw is a hundredth of the width.
        css = chart.height_by_width.removeprefix("calc").replace("px", "")
        height = eval(css.replace("100cqw", str(width)))
        grown = (width - margin.l - margin.r) / inner[0]
        assert height - margin.t - margin.b == pytest.approx(inner[1] * grown, abs=0.1)


def test_the_legend_of_a_square_lies_as_far_below_it_at_any_width(analysis):
    """A share of the panel's height would grow with it; the legend's empty title does not."""
    legend = reliability_chart(analysis, histogram=False).figure.layout.legend
    assert (legend.y, legend.yanchor, legend.title.side) == (0.0, "top", "top")
    assert legend.bgcolor == "rgba(0, 0, 0, 0)"  # The legend covers the labels of the axis.
    assert legend.title.text.strip("\u00a0") == ""


def test_panel_is_square_and_both_axes_are_alike(analysis):
    chart = reliability_chart(analysis, histogram=False)
    layout = chart.figure.layout
    assert layout.yaxis.scaleanchor == "x"
    assert layout.xaxis.constrain == layout.yaxis.constrain == "domain"
    assert layout.xaxis.range == layout.yaxis.range
    margin = layout.margin
    assert chart.width - margin.l - margin.r == chart.height - margin.t - margin.b


def test_logit_axis_draws_log_odds_and_labels_probabilities(analysis, trace):
    curve = analysis.uncalibrated.reliability
    figure = reliability_chart(analysis, axis="logit").figure
    dots, axis = trace(figure, "dots uncalibrated"), figure.layout.xaxis
    np.testing.assert_allclose(
        dots.x, np.log(curve.mean_score / (1 - curve.mean_score)), rtol=1e-12
    )
    at = dict(zip(axis.ticktext, axis.tickvals, strict=True))
    assert at["50%"] == 0.0
    assert at["10%"] == pytest.approx(np.log(1 / 9))
    assert axis.range == figure.layout.yaxis.range


def test_logit_axis_puts_certain_bins_on_its_ends(analysis, trace):
    result = analysis.uncalibrated
    observed = result.reliability.observed.copy()
    observed[[0, -1]] = 0.0, 1.0
    certain = dataclasses.replace(result.reliability, observed=observed)
    methods = {"uncalibrated": dataclasses.replace(result, reliability=certain)}
    figure = reliability_chart(dataclasses.replace(analysis, methods=methods), axis="logit").figure
    y = trace(figure, "dots uncalibrated").y
    assert (y[0], y[-1]) == figure.layout.yaxis.range


def test_dots_say_which_bin_and_method_was_selected(analysis, trace):
    dots = trace(reliability_chart(analysis, ("platt",)).figure, "dots platt")
    assert list(dots.customdata[3]) == [3, "platt"]
    assert "markers" in dots.mode


def test_hover_says_edges_rows_mean_and_interval(analysis, trace):
    curve = analysis.uncalibrated.reliability
    said = trace(reliability_chart(analysis).figure, "dots uncalibrated").hovertext[0]
    assert "scores 0.0% to 8.3%" in said
    assert f"{curve.rows[0]:.0f} rows, {curve.positive[0]:.0f} positive" in said
    assert f"observed {curve.observed[0]:.1%} ({curve.low[0]:.1%} to {curve.high[0]:.1%})" in said


def test_methods_keep_their_look_and_order(analysis, trace):
    figure = reliability_chart(analysis, ("uncalibrated", "beta", "platt")).figure
    drawn = [t.uid for t in figure.data if t.uid.startswith("dots")]
    assert drawn == ["dots uncalibrated", "dots beta", "dots platt"]
    for key in ("beta", "platt"):
        dots, style = trace(figure, f"dots {key}"), style_of(key, analysis.recommendation.method)
        assert (dots.marker.color, dots.line.dash) == (style.color, style.dash)


def test_unknown_axis_is_refused(analysis, texts):
    with texts.raises(ValueError):
        reliability_chart(analysis, axis="log")


@pytest.fixture(scope="module")
def lines(analysis):
    cells = analysis.held_out.cells["uncalibrated"]
    return corp_curve(cells, n_replicates=50), smooth_curve(cells)


def test_lines_are_drawn_with_their_bands(analysis, trace, lines):
    figure = reliability_chart(analysis, lines=lines).figure
    for curve in lines:
        line, band = trace(figure, f"rate {curve.kind}"), trace(figure, f"band {curve.kind}")
        n = len(curve.score)
        np.testing.assert_allclose(line.x, curve.score, rtol=1e-6)
        np.testing.assert_allclose(line.y, curve.observed, rtol=1e-6)
        np.testing.assert_allclose(band.y[:n], curve.low, rtol=1e-6)
        np.testing.assert_allclose(band.y[n:][::-1], curve.high, rtol=1e-6)
        np.testing.assert_array_equal(band.x[:n], line.x)
    said = trace(figure, "rate smooth").hovertext[0]
    assert f"95% CI {percent(lines[1].low[0])} to" in said


def test_the_two_lines_differ_by_more_than_colour(analysis, trace, lines):
    figure = reliability_chart(analysis, lines=lines).figure
    corp, smooth = trace(figure, "rate corp"), trace(figure, "rate smooth")
    assert corp.line.dash != smooth.line.dash
    assert corp.name != smooth.name


def test_dots_are_joined_only_where_no_line_is_drawn(analysis, trace, lines):
    assert trace(reliability_chart(analysis).figure, "dots uncalibrated").mode == "lines+markers"
    figure = reliability_chart(analysis, lines=lines[:1]).figure
    assert trace(figure, "dots uncalibrated").mode == "markers"
    assert "CORP line" in reliability_chart(analysis, lines=lines[:1]).alt


def test_lines_follow_a_logit_axis_to_its_ends(analysis, trace, lines):
    figure = reliability_chart(analysis, lines=lines, axis="logit").figure
    low, high = figure.layout.yaxis.range
    for uid in ("rate corp", "band corp", "rate smooth"):
        y = trace(figure, uid).y
        assert np.isfinite(y).all()
        assert (y >= np.float32(low)).all()
        assert (y <= np.float32(high)).all()


def test_few_rows_are_counted_without_a_prefix(analysis):
    few = np.random.default_rng(0).random(200)
    small = analyze(Predictions.from_arrays(few > 0.5, few), Settings(methods=("platt",)))
    assert reliability_chart(small).figure.layout.yaxis2.tickformat == "~g"
    many = np.full(3_000, 0.3)
    large = analyze(Predictions.from_arrays(np.arange(3_000) < 900, many), Settings(methods=()))
    assert reliability_chart(large).figure.layout.yaxis2.tickformat == "~s"


def test_scores_by_outcome_are_shares_of_each_outcome(texts):
    rng = np.random.default_rng(1)
    score = rng.random(500)
    outcome = rng.random(500) < score
    weight = rng.integers(1, 4, 500).astype(float)
    chart = scores_by_outcome_chart(ScoreCells.from_arrays(outcome, score, weight))
    heights = [layer.y for layer in chart.layers if layer.key == "histogram"]
    for height, chosen in zip(heights, (outcome, ~outcome), strict=True):
        counted, _ = np.histogram(score[chosen], 20, (0, 1), weights=weight[chosen])
        np.testing.assert_allclose(height[1:-1], 100 * counted / counted.sum())
    texts(chart.heading.title)
    with texts.raises(ValueError):
        scores_by_outcome_chart(ScoreCells.from_arrays([1, 1], [0.2, 0.4]))

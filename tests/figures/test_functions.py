import dataclasses

import numpy as np
import pytest
import scipy.special

from calib.figures.functions import (
    PALE_LINE,
    adjustments_chart,
    compact_logit_chart,
    functions_chart,
)
from calib.figures.theme import faded, style_of
from calib.text import escaped
from calib.words.measures import unmarked


def test_maps_are_the_calibration_functions(analysis, trace):
    figure = functions_chart(analysis, tuple(analysis.methods)).figure
    for key in ("platt", "isotonic", "beta"):
        function, line = analysis.methods[key].function, trace(figure, f"map {key}")
        np.testing.assert_allclose(line.x, function.score, atol=1e-7)
        np.testing.assert_allclose(line.y, function.calibrated, atol=1e-7)
        assert line.x.dtype == np.float32


@pytest.mark.parametrize("axis", ["linear", "logit"])
def test_what_is_added_is_the_calibrated_probability_minus_the_score(analysis, trace, axis):
    figure = adjustments_chart(analysis, tuple(analysis.methods), axis=axis).figure
    for key in ("platt", "isotonic", "beta"):
        function, line = analysis.methods[key].function, trace(figure, f"map {key}")
        score, calibrated = function.score[1:-1], function.calibrated[1:-1]
        added = 100.0 * (calibrated - score)
        if axis == "logit":
            added = scipy.special.logit(calibrated) - scipy.special.logit(score)
        inside = np.isfinite(added)
        np.testing.assert_allclose(line.y[1:-1][inside], added[inside], atol=1e-4)
    curve = analysis.uncalibrated.reliability
    if axis == "linear":
        dots = trace(figure, "dots rows")
        np.testing.assert_allclose(dots.y, 100.0 * (curve.observed - curve.mean_score))
        high = dots.y + dots.error_y.array
        np.testing.assert_allclose(high, 100.0 * (curve.high - curve.mean_score))
    low, high = figure.layout.yaxis.range
    assert low < 0.0 < high


def test_a_small_chart_has_the_same_curves_and_names(analysis, trace):
    methods = tuple(analysis.methods)
    small, whole = (functions_chart(analysis, methods, small=small) for small in (True, False))
    for key in ("platt", "isotonic"):
        drawn = (trace(chart.figure, f"map {key}") for chart in (small, whole))
        np.testing.assert_array_equal(*(line.y for line in drawn))
    assert small.notes
    assert len(small.panels.names) == 1


def test_logit_axes_carry_maps_dots_and_knots_by_their_log_odds(analysis, trace):
    chart = functions_chart(analysis, ("platt", "isotonic"), axis="logit", highlight_knots=True)
    figure, low = chart.figure, chart.figure.layout.xaxis.range[0]
    for key in ("platt", "isotonic"):
        function, line = analysis.methods[key].function, trace(figure, f"map {key}")
        inside = (function.score > 0) & (function.score < 1)
        inside &= (function.calibrated > 0) & (function.calibrated < 1)
        for drawn, p in ((line.x, function.score), (line.y, function.calibrated)):
            np.testing.assert_allclose(drawn[inside], scipy.special.logit(p[inside]), atol=1e-9)
        # A line beyond the axis is cut, and not drawn along its edge.
        assert line.x[0] < 2 * low
        np.testing.assert_allclose(np.array(line.customdata)[:, 0], function.score, atol=1e-7)
    knots = analysis.methods["isotonic"].function.knots
    np.testing.assert_array_equal(trace(figure, "knots isotonic").customdata, knots)
    curve = analysis.uncalibrated.reliability
    np.testing.assert_allclose(
        trace(figure, "dots rows").x, scipy.special.logit(curve.mean_score), atol=1e-9
    )
    assert figure.layout.xaxis.range == figure.layout.yaxis.range
    linear = functions_chart(analysis, ("platt",)).figure
    assert figure.layout.uirevision != linear.layout.uirevision


@pytest.mark.parametrize("rows", ["test", "fitted"])
def test_dots_are_those_of_the_chosen_rows(analysis, trace, rows):
    moved = dataclasses.replace(
        analysis.fitted_reliability, observed=analysis.fitted_reliability.observed / 2
    )
    changed = dataclasses.replace(analysis, fitted_reliability=moved)
    curve = moved if rows == "fitted" else analysis.uncalibrated.reliability
    dots = trace(functions_chart(changed, ("platt",), rows=rows).figure, "dots rows")
    np.testing.assert_array_equal(dots.y, curve.observed)


def test_knots_are_drawn_only_when_asked_and_only_where_there_are_some(analysis, trace):
    figure = functions_chart(analysis, ("platt", "isotonic"), highlight_knots=True).figure
    knots = trace(figure, "knots isotonic")
    np.testing.assert_array_equal(knots.x, analysis.methods["isotonic"].function.knots)
    assert "knots platt" not in [t.uid for t in figure.data]
    plain = functions_chart(analysis, ("platt", "isotonic")).figure
    assert not [t.uid for t in plain.data if t.uid.startswith("knots")]


def test_curves_have_their_names_beside_them(analysis, trace):
    advice = dataclasses.replace(analysis.recommendation, method="beta")
    advised = dataclasses.replace(analysis, recommendation=advice)
    chart = functions_chart(advised, ("platt", "isotonic", "beta"))
    words = " ".join(note.text for note in chart.notes)
    assert "<b>Beta</b> recommended" in words
    assert {"Isotonic", "Platt scaling (on scores)"} <= {note.text for note in chart.notes}
    names = {layer.label for layer in chart.layers if layer.legend}
    assert not names & {"Platt", "Isotonic", "Beta"}
    strong, pale = trace(chart.figure, "map beta"), trace(chart.figure, "map platt")
    assert strong.line.width > pale.line.width
    assert pale.line.color.startswith("rgba")
    assert list(chart.figure.data).index(strong) > list(chart.figure.data).index(pale)
    assert float(pale.line.color.rsplit(",", 1)[1].rstrip(") ")) < 0.6
    # Each name has the colour of its curve.
    colors = {note.text: note.color for note in chart.notes}
    assert colors["<b>Beta</b>"] == strong.line.color == style_of("beta").color
    for name, key in (("Isotonic", "isotonic"), ("Platt scaling (on scores)", "platt")):
        assert faded(colors[name], PALE_LINE) == trace(chart.figure, f"map {key}").line.color
    low, high = chart.panels.axes["x"].range
    logit = functions_chart(advised, ("platt", "isotonic", "beta"), axis="logit")
    for drawn in (chart, logit):
        low, high = drawn.panels.axes["x"].range
        assert all(low <= note.x <= high and low <= note.y <= high for note in drawn.notes)


def test_curves_that_nearly_coincide_have_a_line_of_words_each(analysis):
    same = dataclasses.replace(analysis.methods["beta"], key="platt", label="Platt")
    near = {**analysis.methods, "platt": same}
    advice = dataclasses.replace(analysis.recommendation, method="beta")
    chart = functions_chart(
        dataclasses.replace(analysis, methods=near, recommendation=advice), ("platt", "beta")
    )
    colors = {note.text: note.color for note in chart.notes}
    assert colors["nearly the same:"] is None
    assert colors["Platt scaling (on scores)"] == style_of("platt").color


def test_the_small_chart_names_every_curve_in_short(analysis):
    methods = ("platt", "isotonic", "beta")
    notes = functions_chart(analysis, methods, small=True).notes
    colors = {unmarked(note.text): note.color for note in notes}
    assert colors == {
        escaped(analysis.methods[key].short_label): style_of(key).color for key in methods
    }


@pytest.mark.parametrize(
    ("protocol", "rows", "words"),
    [
        ("folds", "fitted", "all rows"),
        ("folds", "test", "all rows"),
        ("test rows", "test", "the test rows"),
        ("test rows", "fitted", "the calibration rows"),
    ],
)
def test_the_legend_says_in_words_which_rows_the_dots_are_of(analysis, protocol, rows, words):
    data = dataclasses.replace(analysis.data, protocol=protocol)
    drawn = functions_chart(dataclasses.replace(analysis, data=data), ("platt",), rows=rows)
    assert f"Observed in bins of {words}" in {one.label for one in drawn.layers if one.legend}


def test_many_curves_have_a_legend(analysis):
    methods = {f"m{i}": analysis.methods["isotonic"] for i in range(6)}
    steps = {
        key: dataclasses.replace(
            one,
            key=key,
            function=dataclasses.replace(one.function, calibrated=one.function.score * 0 + i / 6),
        )
        for i, (key, one) in enumerate(methods.items())
    }
    many = dataclasses.replace(analysis, methods={**analysis.methods, **steps})
    chart = functions_chart(many, tuple(many.methods))
    assert not chart.notes
    assert sum(layer.legend for layer in chart.layers) >= len(many.methods)
    small = functions_chart(many, tuple(many.methods), small=True)
    assert not small.notes
    assert sum(layer.legend for layer in small.layers) >= len(steps)


def test_unknown_rows_are_refused(analysis, texts):
    with texts.raises(ValueError):
        functions_chart(analysis, ("platt",), rows="all")


def test_compact_logit_is_drawn_with_both_ends(analysis, trace):
    curve = analysis.compact_logit
    chart = compact_logit_chart(analysis)
    line = trace(chart.figure, "compact logit")
    np.testing.assert_allclose(line.y, curve.transformed, atol=1e-7)
    assert set(trace(chart.figure, "epsilon").x) == {curve.epsilon}
    assert set(trace(chart.figure, "1 − epsilon").x) == {1 - curve.epsilon}
    identity = trace(chart.figure, "identity")
    assert list(identity.x) == list(identity.y) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("n", "words"), [(1, "1 row is outside"), (1250, "1,250 rows are outside")]
)
def test_compact_logit_says_how_many_rows_lie_outside(analysis, n, words):
    curve = dataclasses.replace(analysis.compact_logit, n_outside=n)
    assert words in compact_logit_chart(dataclasses.replace(analysis, compact_logit=curve)).alt


def test_knots_lie_in_a_strip_of_their_own_one_row_a_map(analysis, trace):
    bent = dict(analysis.methods)
    beta = bent["beta"]
    bent["beta"] = dataclasses.replace(
        beta, function=dataclasses.replace(beta.function, knots=np.array([0.25]))
    )
    changed = dataclasses.replace(analysis, methods=bent)
    chart = functions_chart(changed, ("isotonic", "beta"), highlight_knots=True)
    rows = [set(trace(chart.figure, f"knots {key}").y) for key in ("isotonic", "beta")]
    assert rows == [{0}, {1}]
    assert trace(chart.figure, "knots beta").yaxis == "y3"
    layout = chart.figure.layout
    assert layout.yaxis3.domain[1] < layout.yaxis2.domain[0]
    assert layout.yaxis2.domain[1] < layout.yaxis.domain[0]
    assert trace(chart.figure, "histogram uncalibrated").yaxis == "y2"
    assert chart.height > functions_chart(changed, ("isotonic", "beta")).height


def test_maps_by_the_rule_are_drawn_faintly_beside_those_in_use(analysis, trace, texts):
    rule = dataclasses.replace(analysis.methods["beta"].function, formula="as it was")
    figure = functions_chart(analysis, ("beta",), by_rule={"beta": rule}).figure
    faint, line = trace(figure, "by rule beta"), trace(figure, "map beta")
    np.testing.assert_allclose(faint.y, rule.calibrated, atol=1e-7)
    assert faint.line.color.startswith("rgba")
    assert list(figure.data).index(faint) < list(figure.data).index(line)
    texts("\n".join([t.name for t in figure.data if t.uid == "legend by rule"]))
    assert not [t for t in functions_chart(analysis, ("beta",)).figure.data if "rule" in t.uid]

import dataclasses

import numpy as np
import pytest

from calib.figures import compact_logit_chart, functions_chart


def test_maps_are_the_calibration_functions(analysis, trace):
    figure = functions_chart(analysis, tuple(analysis.methods)).figure
    for key in ("platt", "isotonic", "beta"):
        function, line = analysis.methods[key].function, trace(figure, f"map {key}")
        np.testing.assert_allclose(line.x, function.score, atol=1e-7)
        np.testing.assert_allclose(line.y, function.calibrated, atol=1e-7)
        assert line.x.dtype == np.float32


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


def test_unknown_rows_are_refused(analysis):
    with pytest.raises(ValueError, match="rows must be 'test' or 'fitted', got 'all'"):
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


@pytest.mark.parametrize(("n", "words"), [(1, "1 row lies"), (1250, "1,250 rows lie")])
def test_compact_logit_says_how_many_rows_lie_outside(analysis, n, words):
    curve = dataclasses.replace(analysis.compact_logit, n_outside=n)
    assert words in compact_logit_chart(dataclasses.replace(analysis, compact_logit=curve)).alt

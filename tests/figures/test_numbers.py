"""The table of the numbers that a chart draws."""

import numpy as np
import pytest

from calib.calibrators import CALIBRATORS
from calib.figures.functions import difference_chart
from calib.figures.periods import period_chart
from calib.figures.reliability import reliability_chart
from tests.figures.drawn import BUILDERS, periods


@pytest.mark.parametrize("axis", ["linear", "logit"])
def test_the_bins_of_a_method_are_those_of_the_analysis(analysis, axis):
    table = reliability_chart(analysis, axis=axis).frame()
    above = table[table["panel"] == "Observed frequency"].set_index("series")
    curve, dots = analysis.uncalibrated.reliability, above.loc["Uncalibrated"]
    inside = (curve.observed > 0) & (curve.observed < 1)
    np.testing.assert_allclose(dots["x"], curve.mean_score)
    np.testing.assert_allclose(dots["y"][inside], curve.observed[inside])
    np.testing.assert_array_equal(dots["weight"], curve.weight)
    if axis == "linear":
        np.testing.assert_allclose(dots["y_low"], curve.low)
        np.testing.assert_allclose(dots["y_high"], curve.high)
        band = above.loc["95% consistency band"]
        np.testing.assert_array_equal(band["y_low"], curve.band_low)
        np.testing.assert_array_equal(band["y_high"], curve.band_high)


def test_the_rows_of_a_forest_have_their_names(analysis):
    table = difference_chart(analysis).frame().set_index("y")
    for key in ("platt", "isotonic", "beta"):
        change = analysis.methods[key].differences["log_loss"]
        row = table.loc[CALIBRATORS[key].label]
        assert tuple(row[["x", "x_low", "x_high"]]) == pytest.approx(
            (change.value, change.low, change.high)
        )


def test_periods_have_their_names(analysis):
    tables = periods(analysis)
    table = period_chart(tables).frame()
    observed = table[table["series"] == "Observed"]
    assert list(observed["x"].unique()) == [str(name) for name in tables["uncalibrated"].names]


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_every_named_point_is_in_the_table(analysis, build):
    chart = build(analysis)
    points = [
        len(layer.x) // (2 if layer.fill == "toself" else 1)
        for layer in chart.layers
        if layer.label and np.isfinite(np.asarray(layer.x, dtype=float)).any()
    ]
    assert len(chart.frame()) == sum(points) > 0

"""The sensitivity strip draws the curve, marks the choice, and says which points are noise."""

import dataclasses

import numpy as np
import pytest

from calib.curves.functions import ece_sensitivity
from calib.figures.functions import sensitivity_chart
from calib.text import between_percents

KEY = "uncalibrated"


@pytest.fixture(scope="module")
def sensitivity(analysis):
    return ece_sensitivity(analysis.held_out.cells[KEY], analysis.held_out.replicates[KEY])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_lines_and_bands_are_the_curves(analysis, sensitivity, trace, strategy):
    figure = sensitivity_chart(analysis, sensitivity).figure
    curve = getattr(sensitivity, strategy)
    line, band = trace(figure, f"ece {strategy}"), trace(figure, f"interval {strategy}")
    n = len(curve.n_bins)
    np.testing.assert_array_equal(line.x, curve.n_bins)
    np.testing.assert_array_equal(line.y, curve.ece)
    np.testing.assert_array_equal(band.y[:n], curve.low)
    np.testing.assert_array_equal(band.y[n:][::-1], curve.high)
    hollow = [symbol.endswith("-open") for symbol in line.marker.symbol]
    np.testing.assert_array_equal(hollow, ~curve.miscalibrated)


def test_noise_is_that_of_the_strategy_in_use(analysis, sensitivity, trace):
    assert analysis.settings.strategy == "uniform"
    noise = trace(sensitivity_chart(analysis, sensitivity).figure, "noise")
    n = len(sensitivity.uniform.n_bins)
    np.testing.assert_array_equal(noise.y[n:][::-1], sensitivity.uniform.noise)


def test_the_dashed_line_is_what_calibrated_scores_show_on_average(analysis, sensitivity, trace):
    line = trace(sensitivity_chart(analysis, sensitivity).figure, "noise floor")
    np.testing.assert_array_equal(line.y, sensitivity.uniform.noise_floor)
    now = analysis.methods[KEY].metrics["ece_uniform"]
    at = list(line.x).index(analysis.settings.n_bins)
    assert line.y[at] == now.noise_floor
    assert (sensitivity.uniform.noise_floor < sensitivity.uniform.noise).all()


def test_the_choice_is_marked_where_the_metric_table_has_it(analysis, sensitivity, trace):
    mark = trace(sensitivity_chart(analysis, sensitivity).figure, "choice")
    assert mark.x == (12,)
    assert mark.y == (analysis.uncalibrated.metrics["ece_uniform"].value,)
    assert mark.y[0] == pytest.approx(sensitivity.uniform.ece[12 - 5], abs=1e-12)


def test_a_choice_beyond_the_strip_is_still_shown(analysis, sensitivity, trace):
    many = dataclasses.replace(analysis, settings=dataclasses.replace(analysis.settings, n_bins=90))
    figure = sensitivity_chart(many, sensitivity).figure
    assert trace(figure, "choice").x == (90,)
    assert figure.layout.xaxis.range[1] > 90


def test_strategies_differ_by_more_than_colour(analysis, sensitivity, trace):
    figure = sensitivity_chart(analysis, sensitivity).figure
    assert trace(figure, "ece uniform").line.dash != trace(figure, "ece quantile").line.dash


def test_the_axis_holds_everything_that_is_drawn(analysis, sensitivity, trace):
    figure = sensitivity_chart(analysis, sensitivity).figure
    top = figure.layout.yaxis.range[1]
    for uid in ("interval uniform", "interval quantile", "noise", "choice"):
        assert max(trace(figure, uid).y) <= top


def test_the_title_has_the_range_of_both_kinds_of_bins(analysis, sensitivity):
    found = sensitivity
    both = np.concatenate([found.quantile.ece, found.uniform.ece])
    title = sensitivity_chart(analysis, found).heading.title
    assert title.endswith(between_percents(both.min(), both.max()))
    used = found.uniform.ece
    assert (both.min(), both.max()) != (used.min(), used.max())

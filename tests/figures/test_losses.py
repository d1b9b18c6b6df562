"""Losses over epsilon and over lambda: drawn as computed, and the point in use among the others."""

import dataclasses

import numpy as np
import pytest

from calib.crossfit.epsilon import EPSILONS, EpsilonCurve
from calib.curves.functions import LambdaPath
from calib.figures.losses import epsilon_chart, lambda_path_chart

LOSSES = np.array([0.7, 0.52, 0.5, 0.51])


def curve(key="beta", shift=0.0, automatic=0.001):
    grid = np.array(EPSILONS)
    return EpsilonCurve(key, grid, 0.5 + shift + 0.1 * grid, 1000.0 * grid, automatic)


def using(analysis, epsilon):
    compact = dataclasses.replace(analysis.compact_logit, epsilon=epsilon, n_outside=77)
    settings = dataclasses.replace(analysis.settings, epsilon=epsilon)
    return dataclasses.replace(analysis, settings=settings, compact_logit=compact)


def marked(line):
    """Position of the large marker."""
    return int(np.argmax(line.marker.size))


@pytest.mark.parametrize("epsilon", [1e-4, 0.0025, 0.45])
def test_the_large_marker_is_the_number_of_the_comparison(analysis, trace, epsilon):
    figure = epsilon_chart(using(analysis, epsilon), [curve()]).figure
    line, rows = trace(figure, "log loss beta"), trace(figure, "rows outside")
    assert line.x[marked(line)] == rows.x[marked(rows)] == epsilon
    assert line.y[marked(line)] == analysis.methods["beta"].metrics["log_loss"].value
    assert rows.y[marked(rows)] == 77
    assert (np.diff(line.x) > 0).all()
    assert len(line.x) == len(EPSILONS) + (epsilon not in EPSILONS)


@pytest.mark.parametrize(("n", "shown"), [(0.0, "~g"), (1200.0, "~s")])
def test_few_rows_outside_are_counted_without_a_prefix(analysis, n, shown):
    outside = dataclasses.replace(curve(), n_outside=np.full(len(EPSILONS), n))
    layout = epsilon_chart(using(analysis, EPSILONS[2]), [outside]).figure.layout
    assert layout.yaxis2.tickformat == shown


def test_all_other_points_are_those_of_the_curve(analysis, trace):
    figure = epsilon_chart(using(analysis, 0.0025), [curve("beta"), curve("platt", 0.1)]).figure
    for key, shift in (("beta", 0.0), ("platt", 0.1)):
        line = trace(figure, f"log loss {key}")
        others = line.x != 0.0025
        np.testing.assert_array_equal(line.x[others], EPSILONS)
        np.testing.assert_array_equal(line.y[others], curve(key, shift).log_loss)
    rows = trace(figure, "rows outside")
    np.testing.assert_array_equal(rows.y[rows.x != 0.0025], curve().n_outside)
    assert rows.yaxis == "y2"


def test_the_rule_is_a_line_of_its_own(analysis, trace):
    rule = trace(epsilon_chart(using(analysis, 0.1), [curve()]).figure, "rule")
    assert set(rule.x) == {0.001}


def test_each_method_has_its_own_automatic_epsilon(analysis, trace):
    curves = [curve("beta"), curve("platt", automatic=1e-6)]
    figure = epsilon_chart(analysis, curves).figure
    for one in curves:
        line = trace(figure, f"log loss {one.key}")
        assert line.x[marked(line)] == one.automatic
        assert line.y[marked(line)] == analysis.methods[one.key].metrics["log_loss"].value


def test_alternative_text_names_the_least_and_the_one_in_use(analysis):
    alt = epsilon_chart(using(analysis, 0.1), [curve()]).alt
    loss = analysis.methods["beta"].metrics["log_loss"].value
    assert "0.1 in use" in alt
    assert f"{loss:.4f}" in alt


def searched(analysis, degrees):
    path = LambdaPath(10.0 ** np.arange(4), LOSSES, np.array(degrees), 1)
    platt = analysis.methods["platt"]
    changed = dataclasses.replace(platt, function=dataclasses.replace(platt.function, path=path))
    return dataclasses.replace(analysis, methods=dict(analysis.methods) | {"platt": changed})


def test_losses_and_degrees_are_those_of_the_path(analysis, trace):
    figure = lambda_path_chart(searched(analysis, [9.0, 5.0, 3.0, 2.0]), "platt").figure
    losses, degrees = trace(figure, "losses platt"), trace(figure, "degrees platt")
    np.testing.assert_array_equal(losses.x, [1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_array_equal(losses.y, LOSSES)
    np.testing.assert_array_equal(degrees.y, [9.0, 5.0, 3.0, 2.0])
    assert (figure.layout.xaxis.type, degrees.yaxis) == ("log", "y2")


def test_the_lambda_in_use_is_marked_and_named(analysis, trace, texts):
    chart = lambda_path_chart(searched(analysis, [9.0, 5.0, 3.0, 2.0]), "platt")
    assert int(np.argmax(trace(chart.figure, "losses platt").marker.size)) == 1
    assert set(trace(chart.figure, "in use").x) == {10.0}
    texts.shown(chart.alt)
    texts.shown(chart.alt)


def test_a_method_that_counts_no_degrees_has_one_panel(analysis):
    chart = lambda_path_chart(searched(analysis, []), "platt")
    assert "degrees platt" not in [drawn.uid for drawn in chart.figure.data]
    assert (
        chart.height < lambda_path_chart(searched(analysis, [4.0, 3.0, 2.0, 2.0]), "platt").height
    )


def test_small_differences_are_not_blown_up(analysis):
    flat = dataclasses.replace(
        searched(analysis, []).methods["platt"].function.path, losses=0.5 + 1e-9 * np.arange(4)
    )
    platt = analysis.methods["platt"]
    changed = dataclasses.replace(platt, function=dataclasses.replace(platt.function, path=flat))
    figure = lambda_path_chart(
        dataclasses.replace(analysis, methods={"platt": changed}), "platt"
    ).figure
    low, high = figure.layout.yaxis.range
    assert high - low >= 1e-3


def test_methods_without_a_path_are_refused(analysis, texts):
    with texts.raises(ValueError):
        lambda_path_chart(analysis, "beta")

"""The lambda path: drawn as it was searched, the lambda in use marked."""

import dataclasses

import numpy as np

from calib.curves.functions import LambdaPath
from calib.figures.lambda_path import lambda_path_chart, with_path

LOSSES = np.array([0.7, 0.52, 0.5, 0.51])


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


def test_methods_without_a_path_are_not_listed_and_refused(analysis, texts):
    assert with_path(searched(analysis, [])) == ("platt",)
    with texts.raises(ValueError):
        lambda_path_chart(analysis, "beta")

"""Clipping against calibration: the drawn numbers are those that were computed."""

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.epsilon import compare_clipping
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.figures.functions import matrix_difference_chart
from calib.figures.losses import clipping_chart
from calib.figures.reliability import reliability_chart


@pytest.fixture(scope="module")
def predictions(problem):
    scores, label = problem
    return Predictions.from_arrays(label, scores, class_names=("<i>ant</i>", "bee", "cat", "dog"))


@pytest.fixture(scope="module")
def analysis(predictions):
    return analyze(predictions, Settings(view="top:1", methods=("temperature",)))


def test_clipping_chart_draws_the_losses(analysis):
    result = compare_clipping(analysis.multiclass)
    chart = clipping_chart(result)
    drawn = {trace.uid: trace for trace in chart.figure.data}
    assert list(drawn["clipped"].x) == [one.p_min for one in result.bounds]
    assert list(drawn["clipped"].y) == [one.log_loss.value for one in result.bounds]
    assert set(drawn["level temperature"].y) == {result.calibrated.value}
    assert set(drawn["level uncalibrated"].y) == {result.uncalibrated.value}
    assert f"{result.best.log_loss.value:.4f}" in chart.alt


def test_forest_of_the_matrix_draws_its_changes(analysis):
    change = analysis.multiclass.results["temperature"].differences["log_loss"]
    trace = next(
        t
        for t in matrix_difference_chart(analysis).figure.data
        if t.uid == "difference temperature"
    )
    assert (trace.x[0], trace.error_x.array[0]) == (change.value, change.high - change.value)


def test_a_forest_of_all_classes_needs_a_matrix(texts):
    score = np.tile([0.2, 0.8], 100)
    rows = Predictions.from_arrays(np.tile([0, 1, 1, 1], 50), score)
    with texts.raises(ValueError):
        matrix_difference_chart(analyze(rows, Settings(methods=())))


@pytest.mark.parametrize(
    ("view", "across", "upward"),
    [
        ("top:1", "Mean confidence (largest score)", "Top-label accuracy"),
        (
            "class:0",
            "Mean score of &lt;i&gt;ant&lt;/i&gt;",
            "Observed frequency of &lt;i&gt;ant&lt;/i&gt;",
        ),
        ("top:2", "Mean score of rank 2", "Accuracy of the class ranked 2"),
        ("within:2", "Mean sum of the 2 largest scores", "True class among the 2 first"),
    ],
)
def test_axes_say_which_convention_is_drawn(predictions, analysis, view, across, upward):
    settings = Settings(view=view, methods=("temperature",))
    layout = reliability_chart(analyze(predictions, settings, earlier=analysis)).figure.layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == (across, upward)

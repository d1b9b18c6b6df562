import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.figures import same_axes
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.functions import difference_chart
from calib.figures.reliability import reliability_chart


@pytest.fixture(scope="module")
def analyses():
    rng = np.random.default_rng(1)
    p = rng.random(1500)
    y = rng.random(1500) < p
    settings = Settings(methods=("platt",))
    return [analyze(Predictions.from_arrays(y, p**power), settings) for power in (1, 3)]


def ranges(charts, axis):
    return [tuple(chart.figure.layout[axis].range) for chart in charts]


def test_the_longest_range_serves_all(analyses):
    charts = [cumulative_difference_chart(a, ("uncalibrated",)) for a in analyses]
    before = ranges(charts, "yaxis")
    assert before[0] != before[1]
    low, high = min(low for low, _ in before), max(high for _, high in before)
    assert ranges(same_axes(charts), "yaxis") == [(low, high)] * 2
    # The function does not change the charts that it gets.
    assert ranges(charts, "yaxis") == before


def test_turned_axes_stay_turned(analyses):
    first, second = ranges(same_axes([difference_chart(a) for a in analyses]), "yaxis")
    assert first == second
    assert first[0] > first[1]


def test_axes_of_other_ticks_are_left_alone(analyses):
    linear = reliability_chart(analyses[0], ("uncalibrated",))
    logit = reliability_chart(analyses[0], ("uncalibrated",), axis="logit")
    assert ranges(same_axes([linear, logit]), "xaxis") == ranges([linear, logit], "xaxis")

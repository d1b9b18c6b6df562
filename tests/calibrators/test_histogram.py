"""Histogram binning."""

import numpy as np
import pytest

from calib.calibrators.forms import ON_ARRAYS
from calib.calibrators.histogram import Histogram


def test_bins_are_right_closed():
    fitted = Histogram(2, "uniform", shrink=False).fit([0.2, 0.5, 0.6, 0.9], [0, 0, 1, 1])
    assert fitted.predict([0.5, 0.5 + 1e-9]).tolist() == [0.0, 1.0]


def test_empty_bins_are_shared_by_their_neighbours():
    fitted = Histogram(10, "uniform", shrink=False).fit([0.05, 0.95, 0.96], [0, 1, 0])
    assert fitted.predict([0.0, 0.49, 0.51, 1.0]).tolist() == [0.0, 0.0, 0.5, 0.5]
    assert fitted.weights_.tolist() == [1.0, 2.0]


def test_ties_are_not_split():
    fitted = Histogram(n_bins=4).fit([0.3] * 10 + [0.6, 0.7], [0, 1] * 5 + [1, 0])
    assert fitted.predict([0.3])[0] == 0.5


def test_quantile_bins_hold_equal_weight():
    scores = np.random.default_rng(0).random(1500)
    fitted = Histogram(n_bins=15).fit(scores, np.arange(1500) % 2)
    assert fitted.weights_.tolist() == [100.0] * 15


def test_certain_bins_are_shrunk_toward_the_base_rate():
    scores, y = np.repeat([0.1, 0.5, 0.9], [8, 4, 1]), [0] * 8 + [0, 1, 0, 1] + [1]
    predicted = Histogram(n_bins=3, strategy="uniform").fit(scores, y).predict([0.1, 0.5, 0.9])
    base_rate = 3 / 13
    expected = [1 / (8 + 1 / base_rate), 0.5, 1 - 1 / (1 + 1 / (1 - base_rate))]
    assert predicted == pytest.approx(expected)


@pytest.mark.parametrize("parameters", [{"n_bins": 0}, {"strategy": "sturges"}])
def test_refuses_parameters(parameters, texts):
    with texts.raises(ValueError):
        Histogram(**parameters).fit([0.2, 0.8], [0, 1])


def test_the_function_as_data_is_the_one_that_predicts():
    rng = np.random.default_rng(5)
    scores = rng.random(300)
    fitted = Histogram(7).fit(scores, rng.random(300) < scores)
    drawn = np.concatenate([fitted.edges_, rng.random(50), [0.0, 1.0]])
    assert fitted.to_map()(ON_ARRAYS, drawn).tolist() == fitted.predict(drawn).tolist()

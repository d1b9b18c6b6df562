"""Histogram binning."""

import numpy as np
import pytest

from calib.calibrators.histogram import Histogram


def test_bins_are_right_closed():
    fitted = Histogram(n_bins=2, strategy="uniform").fit([0.2, 0.5, 0.6, 0.9], [0, 0, 1, 1])
    assert fitted.predict([0.5, 0.5 + 1e-9]).tolist() == [0.0, 1.0]


def test_empty_bins_are_shared_by_their_neighbours():
    fitted = Histogram(n_bins=10, strategy="uniform").fit([0.05, 0.95, 0.96], [0, 1, 0])
    assert fitted.predict([0.0, 0.49, 0.51, 1.0]).tolist() == [0.0, 0.0, 0.5, 0.5]
    assert fitted.weights_.tolist() == [1.0, 2.0]


def test_ties_are_not_split():
    fitted = Histogram(n_bins=4).fit([0.3] * 10 + [0.6, 0.7], [0, 1] * 5 + [1, 0])
    assert fitted.predict([0.3])[0] == 0.5


def test_quantile_bins_hold_equal_weight():
    scores = np.random.default_rng(0).random(1500)
    fitted = Histogram(n_bins=15).fit(scores, np.arange(1500) % 2)
    assert fitted.weights_.tolist() == [100.0] * 15


@pytest.mark.parametrize("parameters", [{"n_bins": 0}, {"strategy": "sturges"}])
def test_refuses_parameters(parameters):
    with pytest.raises(ValueError, match="must be"):
        Histogram(**parameters).fit([0.2, 0.8], [0, 1])

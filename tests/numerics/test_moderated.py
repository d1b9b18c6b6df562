import numpy as np
import pytest
from scipy.stats import t

from calib.numerics.moderated import cluster_effect, freedom, squared_half_width, unit_sums


def test_normal_units_have_a_third_of_their_number():
    units = np.random.default_rng(0).normal(size=60_000)
    assert freedom(units) == pytest.approx(20_000, rel=0.03)


def test_no_spread_counts_the_units():
    assert freedom(np.zeros(7)) == 6.0


def test_clusters_never_remove_spread_and_silence_is_none():
    values = np.tile([1.0, -1.0], 50)
    assert cluster_effect(values, unit_sums(values, np.arange(100) // 2)) == 1.0
    assert cluster_effect(np.zeros(4), np.zeros(2)) == 1.0


def test_the_model_counts_for_twenty_degrees_of_freedom():
    expected = (20.0 + 5.0 * 3.0) / 25.0 * t.ppf(0.975, 25) ** 2
    assert squared_half_width(3.0, 1.0, 5.0, 0.95) == pytest.approx(expected)
    assert squared_half_width(3.0, 4.0, 5.0, 0.95) == pytest.approx(4.0 * expected)

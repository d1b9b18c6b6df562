import numpy as np
import pytest
from scipy.stats import t

from calib.numerics.resampling import cluster_effect, freedom, squared_half_width, unit_sums


def test_normal_units_have_a_third_of_their_number():
    units = np.random.default_rng(0).normal(size=60_000)
    assert freedom(units) == pytest.approx(20_000, rel=0.03)


def test_no_spread_counts_the_units():
    assert freedom(np.zeros(7)) == 6.0


def test_a_cluster_effect_is_that_of_the_sums():
    values = np.random.default_rng(0).normal(size=20_000)
    alone = np.arange(20_000)
    assert cluster_effect(values, unit_sums(values, alone)) == pytest.approx(1.0)
    five = np.repeat(values[:4000], 5)
    assert cluster_effect(five, unit_sums(five, alone // 5)) == pytest.approx(5.0, rel=1e-3)
    # The sums of two clusters and the four rows give (8 / 4) / (4 / 3) * 2.
    assert cluster_effect(np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, -2.0])) == 3.0
    assert cluster_effect(np.zeros(4), np.zeros(2)) == 1.0
    assert cluster_effect(values, np.array([values.sum()])) == 1.0


def test_clusters_make_no_interval_narrower():
    assert squared_half_width(3.0, 0.2, 5.0, 0.95) == squared_half_width(3.0, 1.0, 5.0, 0.95)


def test_the_model_counts_for_twenty_degrees_of_freedom():
    expected = (20.0 + 5.0 * 3.0) / 25.0 * t.ppf(0.975, 25) ** 2
    assert squared_half_width(3.0, 1.0, 5.0, 0.95) == pytest.approx(expected)
    assert squared_half_width(3.0, 4.0, 5.0, 0.95) == pytest.approx(4.0 * expected)


def test_rows_without_clusters_are_units_themselves():
    values = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(unit_sums(values, None), values)

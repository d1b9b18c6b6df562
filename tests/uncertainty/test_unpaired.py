import math

import numpy as np
import pytest

from calib.numerics.intervals import unpaired_difference, wilson_interval
from calib.uncertainty import Estimate


def wilson(positive: int, n: int) -> Estimate:
    rate = np.array([positive / n])
    low, high = wilson_interval(rate, np.array([float(n)]), 0.95)
    return Estimate(positive / n, float(low[0]), float(high[0]))


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        # Newcombe 1998 has these bounds in Table II, method 10.
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((0, 20), (10, 10), 0.6791, 1.0000),
    ],
)
def test_differences_of_proportions_as_published(first, second, low, high):
    difference = unpaired_difference(wilson(*first), wilson(*second))
    assert difference.low == pytest.approx(low, abs=5e-5)
    assert difference.high == pytest.approx(high, abs=5e-5)


def test_symmetric_intervals_give_the_normal_one():
    difference = unpaired_difference(Estimate(1.0, 0.7, 1.3), Estimate(0.5, 0.1, 0.9))
    assert difference.value == -0.5
    assert difference.high - difference.value == pytest.approx(math.sqrt(0.3**2 + 0.4**2))
    assert difference.value - difference.low == pytest.approx(math.sqrt(0.3**2 + 0.4**2))


def test_the_other_way_round_is_the_mirror_image():
    one, two = Estimate(0.4, 0.3, 0.6), Estimate(0.7, 0.65, 0.72)
    there, back = unpaired_difference(one, two), unpaired_difference(two, one)
    assert (back.value, back.low, back.high) == (-there.value, -there.high, -there.low)


def test_without_an_interval_of_both_there_is_none():
    difference = unpaired_difference(Estimate(0.4), Estimate(0.7, 0.6, 0.8))
    assert difference.value == pytest.approx(0.3)
    assert math.isnan(difference.low)
    assert math.isnan(difference.high)

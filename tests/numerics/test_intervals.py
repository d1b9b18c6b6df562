"""Wilson's interval against Newcombe's published table."""

import numpy as np
import pytest

from calib.numerics.intervals import wilson_interval


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_newcombe_1998_table_1_method_3(successes, n, low, high):
    found = wilson_interval(np.array([successes / n]), np.array([float(n)]), 0.95)
    np.testing.assert_allclose(np.concatenate(found), [low, high], atol=5e-5)


def test_bounds_solve_the_score_equation():
    rate, n, z = np.array([0.1, 0.5, 0.93]), np.array([7.0, 12.5, 900.0]), 2.5758293035489004
    for bound in wilson_interval(rate, n, 0.99):
        np.testing.assert_allclose((rate - bound) ** 2, z**2 * bound * (1 - bound) / n)


def test_rates_of_0_and_1_touch_their_end():
    low, high = wilson_interval(np.array([0.0, 1.0]), np.array([3.0, 3.0]), 0.95)
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert high[0] == pytest.approx(1.0 - low[1])

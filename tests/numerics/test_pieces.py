"""Functions in pieces against NumPy's interpolation."""

import numpy as np
import pytest

from calib.numerics.splines import lines


@pytest.mark.parametrize("width", [0.1, 1.0, 7.0])
def test_lines_between_knots_of_any_distance_are_those_of_numpy(width):
    rng = np.random.default_rng(0)
    knots, values = np.cumsum(width * (0.1 + rng.random(8))), rng.normal(size=8)
    x = np.linspace(knots[0] - 1.0, knots[-1] + 1.0, 301)
    np.testing.assert_allclose(lines(knots, values)(x), np.interp(x, knots, values), atol=1e-13)

"""Functions in pieces against NumPy's interpolation."""

import numpy as np
import pytest

from calib.numerics.splines import Pieces, constant_beyond, lines

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("width", [0.1, 1.0, 7.0])
def test_lines_between_knots_of_any_distance_are_those_of_numpy(width):
    rng = np.random.default_rng(0)
    knots, values = np.cumsum(width * (0.1 + rng.random(8))), rng.normal(size=8)
    x = np.linspace(knots[0] - 1.0, knots[-1] + 1.0, 301)
    np.testing.assert_allclose(lines(knots, values)(x), np.interp(x, knots, values), atol=1e-13)


@pytest.mark.parametrize("closed", ["left", "right"])
def test_pieces_are_constant_beyond_an_end(closed):
    cubic = Pieces(np.array([0.5]), closed, np.array([0.1, 0.4]), RNG.normal(size=(2, 4)))
    made, low, high = constant_beyond(cubic, 0.2, 0.9), *cubic(np.array([0.2, 0.9]))
    x = np.linspace(0.2, 0.9, 71)
    np.testing.assert_array_equal(made(x), cubic(x))
    np.testing.assert_array_equal(made(np.array([-3.0, 0.19999])), [low, low])
    np.testing.assert_array_equal(made(np.array([0.90001, 7.0])), [high, high])


@pytest.mark.parametrize("closed", ["left", "right"])
def test_polynomials_are_in_powers_of_the_distance_from_their_centre(closed):
    edges, centers, table = np.array([0.3, 0.6]), np.array([0.1, 0.4, 0.9]), RNG.normal(size=(3, 4))
    x = np.array([-1.0, 0.2, 0.3, 0.5, 0.6, 2.0])
    piece = [0, 0, 1, 1, 2, 2] if closed == "left" else [0, 0, 0, 1, 1, 2]
    expected = [
        sum(table[i, d] * (at - centers[i]) ** d for d in range(4))
        for i, at in zip(piece, x, strict=True)
    ]
    np.testing.assert_allclose(Pieces(edges, closed, centers, table)(x), expected, rtol=1e-12)


def test_knots_between_which_there_is_no_score_have_no_slope():
    knots, values = np.array([0.0, 5e-324, 1.0]), np.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(
        lines(knots, values)(np.array([0.0, 5e-324, 0.5])), [0.0, 1.0, 1.5]
    )

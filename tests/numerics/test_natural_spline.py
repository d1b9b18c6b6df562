"""Natural splines against SciPy's interpolating and smoothing splines."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.interpolate import CubicSpline, make_smoothing_spline

from calib.numerics.few_cells import into_buckets
from calib.numerics.splines import NaturalSpline, choose_knots, dense, truncated_powers

KNOTS = np.array([0.0, 0.1, 0.15, 0.4, 0.8, 0.9, 1.0])
VALUES = np.array([1.0, -2.0, 0.5, 0.7, 3.0, -1.0, 2.0])


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_interpolates_as_scipy_does(k):
    knots, values = KNOTS[:k], VALUES[:k]
    spline = NaturalSpline(knots)
    x = np.linspace(knots[0], knots[-1], 50)
    expected = CubicSpline(knots, values, bc_type="natural")(x)
    coefficients = spline.through(values)
    assert spline.evaluate(coefficients, x) == pytest.approx(expected, abs=1e-12)
    assert spline.basis(x) @ coefficients == pytest.approx(expected, abs=1e-12)


def test_goes_on_straight_with_the_slope_of_its_ends():
    theirs = CubicSpline(KNOTS, VALUES, bc_type="natural")
    spline = NaturalSpline(KNOTS)
    beyond = spline.evaluate(spline.through(VALUES), np.array([-3.0, 5.0]))
    expected = [1.0 - 3.0 * theirs(0.0, 1), 2.0 + 4.0 * theirs(1.0, 1)]
    assert beyond == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_curvature_is_the_integral(k):
    knots, values = KNOTS[:k], VALUES[:k]
    spline = NaturalSpline(knots)
    c = spline.through(values)
    node, weight = leggauss(3)  # Three nodes are exact for the square of a straight line.
    half = np.diff(knots)[:, None] / 2.0
    x = knots[:-1, None] + half * (node + 1.0)
    second = CubicSpline(knots, values, bc_type="natural")(x, 2)
    expected = float((half * weight * second**2).sum())
    assert c @ dense(spline.curvature()) @ c == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_penalised_least_squares_is_scipys_smoothing_spline():
    rng = np.random.default_rng(0)
    x, w = np.sort(rng.random(40)), rng.random(40) + 0.5
    y, lam = np.sin(6.0 * x) + rng.normal(0.0, 0.2, 40), 1e-4
    spline = NaturalSpline(x)
    basis = spline.basis(x).toarray()
    normal = (basis.T * w) @ basis + lam * dense(spline.curvature())
    c = np.linalg.solve(normal, basis.T @ (w * y))
    expected = make_smoothing_spline(x, y, w=w, lam=lam)(x)
    assert spline.evaluate(c, x) == pytest.approx(expected, abs=1e-7)


def test_truncated_powers_span_the_natural_splines():
    x = np.linspace(-0.5, 1.5, 80)
    design = np.column_stack([np.ones(80), truncated_powers(x, KNOTS)])
    spline = NaturalSpline(KNOTS)
    curve = spline.evaluate(spline.through(VALUES), x)
    c = np.linalg.lstsq(design, curve, rcond=None)[0]
    assert design @ c == pytest.approx(curve, abs=1e-8)


def test_few_cells_all_become_knots():
    x = np.array([0.0, 0.2, 0.3, 1.0])
    buckets = into_buckets(x, np.ones(4), np.zeros(4))
    assert choose_knots(x, buckets, 100).tolist() == [0, 1, 2, 3]


def test_knots_keep_the_ends_and_their_distance():
    rng = np.random.default_rng(1)
    x = np.sort(rng.beta(0.1, 0.1, 5000))
    buckets = into_buckets(x, np.ones(5000), np.zeros(5000))
    knots = choose_knots(x, buckets, 100)
    assert knots[0] == 0
    assert knots[-1] == 4999
    assert 20 < len(knots) <= 102
    assert np.diff(x[knots]).min() >= (x[-1] - x[0]) / 800


def test_knots_are_an_eighth_of_the_mean_distance_apart_or_more():
    # With at most 8 knots on an axis of length 1, the distance is 1/64. Floats have such fractions
    # exactly.
    x = np.array([0.0, 1 / 128, 2 / 128, 3 / 128, 0.5, 126 / 128, 127 / 128, 1.0])
    buckets = into_buckets(x, np.ones(8), np.zeros(8))
    assert choose_knots(x, buckets, 8).tolist() == [0, 2, 4, 5, 7]

"""The spline through the cumulative outcome recovers what it can represent."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from calib.numerics.splines import fit_cumulative_spline, recalibrated_probability

AT = np.linspace(0.0, 1.0, 41)


def test_a_natural_spline_is_its_own_fit():
    truth = CubicSpline(np.linspace(0, 1, 6), [0.0, 0.05, 0.12, 0.25, 0.4, 0.6], bc_type="natural")
    t = np.linspace(0.0, 1.0, 20_001)
    fitted = fit_cumulative_spline(t, truth(t))
    np.testing.assert_allclose(fitted(AT), truth(AT), atol=1e-7)
    np.testing.assert_allclose(fitted.derivative()(AT), truth.derivative()(AT), atol=1e-5)


@pytest.mark.parametrize("cells", [1, 2, 3, 500])
def test_a_constant_rate_is_found_from_any_number_of_cells(cells):
    t = np.linspace(0.0, 1.0, cells + 1)
    np.testing.assert_allclose(recalibrated_probability(t, 0.3 * t, AT), 0.3, atol=1e-9)


def test_slopes_are_probabilities():
    t = np.array([0.0, 0.5, 0.5 + 1e-9, 1.0])
    p = recalibrated_probability(t, np.array([0.0, 0.0, 1e-9, 0.5]), AT)
    assert p.min() >= 0.0
    assert p.max() <= 1.0


def test_least_squares_over_all_rows_gives_nearly_the_same():
    rng = np.random.default_rng(4)
    score = np.sort(rng.random(30_000))
    t = np.arange(30_001) / 30_000
    h = np.concatenate([[0.0], np.cumsum(rng.random(30_000) < score**2)]) / 30_000
    knots = np.linspace(0, 1, 6)
    basis = CubicSpline(knots, np.eye(6), bc_type="natural")
    # Section 4 of the paper fits all rows, not only some fractiles.
    values = np.linalg.lstsq(basis(t[1:]), h[1:], rcond=None)[0]
    expected = np.clip(CubicSpline(knots, values, bc_type="natural").derivative()(AT), 0, 1)
    np.testing.assert_allclose(recalibrated_probability(t, h, AT), expected, atol=2e-3)


def test_the_curve_is_read_at_2000_steps():
    """Of 2,000 rows the readings are the rows, and the fit is the paper's."""
    t = np.arange(2001) / 2000
    h = np.append(0.0, np.cumsum(np.random.default_rng(4).random(2000) < t[1:])) / 2000
    knots = np.linspace(0, 1, 6)
    basis = CubicSpline(knots, np.eye(6), bc_type="natural")
    values = np.linalg.lstsq(basis(t), h, rcond=None)[0]
    np.testing.assert_allclose(fit_cumulative_spline(t, h)(knots), values, atol=1e-12)


def test_one_knot_is_refused(texts):
    with texts.raises(ValueError):
        fit_cumulative_spline(AT, AT, n_knots=1)

"""Logarithm and exponential against forty decimal digits, and scales of a probability."""

import decimal
import math

import numpy as np
import pytest

from calib.numerics.elementary import MAX_POWER, MIN_POWER, PART, exp, log
from calib.numerics.transforms import (
    MACHINE_EPSILON,
    certain_logit,
    compact_logit,
    default_epsilon,
    safe_logit,
)

RNG = np.random.default_rng(1)
EXACT = decimal.Context(prec=40)


def errors(function, exact, x):
    """In units of the last place."""
    for given, found in zip(x.tolist(), function(x).tolist(), strict=True):
        true = exact(decimal.Decimal(given))
        yield abs(float((decimal.Decimal(found) - true) / decimal.Decimal(math.ulp(float(true)))))


def test_logarithms_are_off_by_less_than_a_unit_of_the_last_place():
    near_roots = np.sqrt(0.5) * 2.0 ** np.arange(-3.0, 4.0)
    x = np.concatenate(
        [10.0 ** RNG.uniform(-300, 300, 300), RNG.uniform(0.4, 2.5, 300), near_roots]
    )
    assert max(errors(log, EXACT.ln, np.concatenate([x, np.nextafter(near_roots, 0.0)]))) < 1.0


def test_powers_are_off_by_less_than_a_unit_of_the_last_place():
    x = np.concatenate([RNG.uniform(-700, 700, 300), RNG.normal(0.0, 1.0, 300)])
    assert max(errors(exp, EXACT.exp, x)) < 1.0


def test_powers_beyond_the_range_of_floats_are_those_of_its_ends():
    beyond = exp(np.array([MIN_POWER, -1e4, MAX_POWER, 1e4]))
    assert 0.0 <= beyond[0] == beyond[1] <= 5e-324
    assert beyond[2] == beyond[3] == pytest.approx(math.exp(709.0), rel=1e-15)


@pytest.mark.parametrize("shape", [(0,), (PART,), (PART + 1,), (3, PART - 1)])
def test_parts_make_no_difference(shape):
    x = RNG.uniform(0.1, 9.0, shape)
    np.testing.assert_allclose(log(x), np.log(x), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(exp(x), np.exp(x), rtol=1e-14)


@pytest.mark.parametrize(
    ("scores", "epsilon"),
    [
        ([0.0], 0.1),
        ([0.2, 0.9], 0.01),
        ([0.99, 1.0], 0.001),
        ([0.98], 0.001),
        ([1 - 1e-6], 1e-7),
        ([1 - 2.0**-53], 1e-15),
        ([1.0], 1e-15),
    ],
)
def test_epsilon_is_a_power_of_ten_below_the_distance_of_the_nearest_score_to_1(scores, epsilon):
    assert default_epsilon(np.array(scores)) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, -0.1])
def test_an_epsilon_is_between_0_and_a_half(epsilon):
    with pytest.raises(ValueError, match="epsilon must fulfil"):
        compact_logit(np.array([0.5]), epsilon)


def test_log_odds_of_certain_scores_are_finite_and_those_of_others_are_theirs():
    inner = np.array([1e-300, 1e-12, 0.3, 0.5, 1 - 1e-9])
    exact = [math.log(p) - math.log1p(-p) for p in inner.tolist()]
    assert safe_logit(inner) == pytest.approx(exact, abs=1e-15)
    tiny = float(np.finfo(float).tiny)
    assert safe_logit(np.array([0.0, 1.0])) == pytest.approx(
        [math.log(tiny), 53 * math.log(2.0)], rel=1e-12
    )
    assert certain_logit(inner[1:]) == pytest.approx(exact[1:], abs=1e-15)
    end = math.log(MACHINE_EPSILON)
    assert certain_logit(np.array([0.0, 1.0])) == pytest.approx([end, -end], rel=1e-12)

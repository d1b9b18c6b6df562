"""Scales of a probability."""

import math

import numpy as np
import pytest

from calib.numerics.transforms import (
    MACHINE_EPSILON,
    automatic_epsilon,
    certain_logit,
    compact_logit,
    published_epsilon,
    safe_logit,
)


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
    assert published_epsilon(np.array(scores)) == pytest.approx(epsilon, rel=1e-12)


def test_the_symmetric_rule_uses_the_nearer_end():
    scores = np.array([2e-6, 0.3, 0.97])
    assert automatic_epsilon(scores, "published") == pytest.approx(1e-3)
    assert automatic_epsilon(scores, "symmetric") == pytest.approx(1e-7)
    assert automatic_epsilon(1.0 - scores, "symmetric") == automatic_epsilon(scores, "symmetric")


@pytest.mark.parametrize("epsilon", [0.0, 0.5, -0.1])
def test_an_epsilon_is_between_0_and_a_half(epsilon, texts):
    with texts.raises(ValueError):
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

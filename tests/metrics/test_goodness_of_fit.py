"""Spiegelhalter's z and Hosmer and Lemeshow's chi-square where they have no spread."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from calib import metrics


def test_spiegelhalter_with_weights_by_the_rows():
    rng = np.random.default_rng(12)
    s, w = rng.random(300).round(1), rng.random(300) + 0.2
    y = rng.random(300) < s
    above = w @ ((y - s) * (1 - 2 * s))
    z = above / math.sqrt(w**2 @ ((1 - 2 * s) ** 2 * s * (1 - s)))
    assert metrics.spiegelhalter_test(y, s, sample_weight=w).statistic == pytest.approx(z)


def test_spiegelhalter_without_spread():
    assert metrics.spiegelhalter_test([0, 1, 1], [0.5, 0.5, 0.5]).p_value == 1.0
    wrong = metrics.spiegelhalter_test([1, 1], [0.0, 1.0])
    assert (wrong.statistic, wrong.p_value) == (math.inf, 0.0)


def test_hosmer_lemeshow_by_hand():
    # Two groups of 10: expected 2 and 8, observed 3 and 6; variance 1.6 each.
    score = [0.2] * 10 + [0.8] * 10
    outcome = [1] * 3 + [0] * 7 + [1] * 6 + [0] * 4
    result = metrics.hosmer_lemeshow_test(outcome, score, n_groups=2)
    assert result.statistic == pytest.approx(1 / 1.6 + 4 / 1.6)
    assert result.p_value == pytest.approx(chi2.sf(5 / 1.6, 2))


def test_hosmer_lemeshow_of_certain_scores():
    score = [0.0] * 3 + [1.0] * 3
    assert metrics.hosmer_lemeshow_test([0, 0, 0, 1, 1, 1], score).statistic == 0.0
    assert metrics.hosmer_lemeshow_test([0, 0, 1, 1, 1, 1], score).statistic == math.inf


def test_weights_scale_to_the_effective_rows():
    score, outcome = [0.2] * 10, [1] * 3 + [0] * 7
    weight = np.linspace(1.0, 2.0, 10)
    effective = weight.sum() ** 2 / (weight @ weight)
    gap = weight[:3].sum() / weight.sum() - 0.2
    result = metrics.hosmer_lemeshow_test(outcome, score, sample_weight=weight, n_groups=1)
    assert result.statistic == pytest.approx(effective * gap**2 / 0.16)

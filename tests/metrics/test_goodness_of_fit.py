"""Spiegelhalter's z and Hosmer and Lemeshow's chi-square where they have no spread."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, chi2

from calib import metrics
from calib.data.cells import ScoreCells
from calib.metrics.goodness_of_fit import simulated_gaps
from calib.numerics.binning import bin_cells
from tests.rare import rare


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
    # Two groups of 40 rows have 8 and 32 expected and 12 and 29 observed positives. Both variances
    # are 6.4.
    score = [0.2] * 40 + [0.8] * 40
    outcome = [1] * 12 + [0] * 28 + [1] * 29 + [0] * 11
    result = metrics.hosmer_lemeshow_test(outcome, score, n_groups=2)
    assert result.statistic == pytest.approx(16 / 6.4 + 9 / 6.4)
    assert result.p_value == pytest.approx(chi2.sf(25 / 6.4, 2))


def test_hosmer_lemeshow_of_few_expected_is_simulated():
    # 4 of 20 rows with score 0.1 are positive. A count is as far from 2 if it is 0 or at least 4.
    result = metrics.hosmer_lemeshow_test([1] * 4 + [0] * 16, [0.1] * 20)
    exact = binom.pmf(0, 20, 0.1) + binom.sf(3, 20, 0.1)
    assert result.statistic == pytest.approx(2**2 / 1.8)
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4999))
    assert result.null == "simulation, 4,999 draws"


@pytest.mark.parametrize(("n", "simulated"), [(19, True), (20, False), (21, False), (24, False)])
def test_hosmer_lemeshow_is_simulated_where_a_group_varies_by_less_than_5(n, simulated):
    """The number of positives among n rows with score 1/2 has the variance n / 4."""
    score, outcome = [0.25] * 40 + [0.5] * n, np.arange(40 + n) % 2
    result = metrics.hosmer_lemeshow_test(outcome, score, n_groups=2)
    assert result.null.startswith("simulation" if simulated else "chi-square")


@rare
def test_simulated_hosmer_lemeshow_rejects_rare_events_as_often_as_it_says():
    rng, rejected = np.random.default_rng(0), 0
    for _ in range(400):
        score = expit(rng.normal(-5.0, 1.0, 300))
        outcome = rng.random(300) < score
        rejected += metrics.hosmer_lemeshow_test(outcome, score).p_value < 0.05
    # The expected number is 20 +- 4.4. The chi-square test rejects about 60.
    assert 6 <= rejected <= 36


def test_runs_of_many_scores_are_drawn_together():
    score = np.sort(np.random.default_rng(1).beta(0.5, 20.0, 3000))
    cells = ScoreCells.from_arrays(np.arange(3000) % 50 == 0, score)
    groups = bin_cells(cells, 10, "quantile")
    gaps = simulated_gaps(cells, groups, 0)
    variance = [(s * (1 - s)).sum() for s in np.split(score, groups.last[:-1])]
    np.testing.assert_allclose(gaps[5:].std(axis=1), np.sqrt(variance[5:]) / 300, rtol=0.05)
    np.testing.assert_allclose(gaps.mean(axis=1), 0.0, atol=4 * gaps.std() / np.sqrt(4999))


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


def test_one_group_has_one_degree_of_freedom(texts):
    result = metrics.hosmer_lemeshow_test([0, 1] * 200, [0.45] * 400)
    texts(result.null)

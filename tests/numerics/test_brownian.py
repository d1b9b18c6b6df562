"""The laws of sup abs(B) and of the range of B against other closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from calib.data.cells import ScoreCells
from calib.numerics.poisson_binomial import (
    null_standard_deviation,
    range_by_cluster,
    range_survival,
    supremum_by_cluster,
    supremum_quantile,
    supremum_survival,
)

POINTS = [0.4, 0.8, 1.2, 1.499999, 1.500001, 2.0, 3.0, 5.0]


@pytest.mark.parametrize("x", POINTS)
def test_supremum_by_the_reflection_principle(x):
    k = np.arange(-40, 41)
    terms = norm.cdf((2 * k + 1) * x) - norm.cdf((2 * k - 1) * x)
    assert supremum_survival(x) == pytest.approx(1.0 - (-1.0) ** k @ terms, abs=1e-12)


@pytest.mark.parametrize("x", POINTS)
def test_range_by_fellers_density(x):
    k = np.arange(1, 200)

    def density(r):
        return 8.0 * np.sum((-1.0) ** (k - 1) * k**2 * norm.pdf(k * r))

    expected = quad(density, x, 40.0, epsabs=1e-13, limit=200)[0]
    assert range_survival(x) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("by_cluster", "survival"),
    [(supremum_by_cluster, supremum_survival), (range_by_cluster, range_survival)],
)
def test_two_clusters_have_the_tails_of_cauchy(by_cluster, survival):
    for x in (0.5, 3.0, 50.0):
        tail = math.atan2(1.0, x) / math.pi  # P(X > x) of Student's t with one degree of freedom.
        assert by_cluster(x, 2) == pytest.approx(survival(norm.isf(tail)), rel=1e-9)
    assert math.isnan(by_cluster(3.0, 1))


def test_means_are_the_known_ones():
    assert quad(supremum_survival, 0, 30)[0] == pytest.approx(math.sqrt(math.pi / 2), abs=1e-7)
    assert quad(range_survival, 0, 30)[0] == pytest.approx(math.sqrt(8 / math.pi), abs=1e-7)


def test_far_tails_keep_their_relative_precision():
    assert supremum_survival(10.0) == pytest.approx(4 * norm.sf(10.0), rel=1e-12)
    assert range_survival(10.0) == pytest.approx(8 * norm.sf(10.0), rel=1e-12)


@pytest.mark.parametrize("survival", [supremum_survival, range_survival])
def test_nothing_is_certain_at_the_ends(survival):
    assert survival(0.0) == 1.0
    assert survival(1e-9) == 1.0
    assert survival(1e9) == 0.0


@pytest.mark.parametrize("level", [0.01, 0.5, 0.95, 0.999])
def test_the_quantile_inverts(level):
    assert supremum_survival(supremum_quantile(level)) == pytest.approx(1 - level, abs=1e-12)


def test_a_level_of_1_is_refused(texts):
    with texts.raises(ValueError):
        supremum_quantile(1.0)


def test_null_standard_deviation_is_that_of_all_outcomes():
    score, weight = np.array([0.1, 0.4, 0.4, 0.9]), np.array([1.0, 2.0, 0.5, 3.0])
    cells = ScoreCells.from_arrays([0, 1, 0, 1], score, weight)
    outcomes = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    chance = np.prod(np.where(outcomes == 1, score, 1 - score), axis=1)
    ends = (outcomes - score) @ weight / weight.sum()
    assert null_standard_deviation(cells) == pytest.approx(math.sqrt(chance @ ends**2))

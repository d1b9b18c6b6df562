"""KS and Kuiper: by hand, and their p-values against all outcomes that could have been."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from calib import metrics
from calib.data.cells import ScoreCells

SCORE = np.array([0.05, 0.2, 0.2, 0.4, 0.55, 0.7, 0.7, 0.9])


def test_by_hand():
    # The sums of y - s by cell are 0.8, -0.3 and -0.4 over 4 rows; 0.6 and 0.7 are two cells.
    outcome, score = [1, 0, 0, 1], [0.2, 0.3, 0.6, 0.8]
    curve = np.array([0.0, 0.8, 0.5, -0.1, 0.1]) / 4
    assert metrics.ks_error(outcome, score) == pytest.approx(np.abs(curve).max())
    assert metrics.kuiper_error(outcome, score) == pytest.approx(np.ptp(curve))
    assert metrics.signed_calibration_error(outcome, score) == pytest.approx(curve[-1])


def test_tied_rows_are_never_split():
    # If tied rows were split in any order, the gap would be at least 0.25.
    assert metrics.ks_error([0, 1], [0.5, 0.5]) == 0.0


@pytest.mark.parametrize(
    ("test", "error"),
    [(metrics.ks_test, metrics.ks_error), (metrics.kuiper_test, metrics.kuiper_error)],
)
@pytest.mark.parametrize("outcome", [[0, 0, 1, 0, 1, 1, 0, 1], [1, 1, 0, 0, 0, 0, 1, 1]])
def test_simulated_p_values_are_near_the_exact_ones(test, error, outcome):
    observed = error(outcome, SCORE)
    exact = 0.0
    for possible in itertools.product([0, 1], repeat=len(SCORE)):
        if error(possible, SCORE) >= observed - 1e-12:
            exact += np.prod(np.where(np.array(possible) == 1, SCORE, 1.0 - SCORE))
    result = test(outcome, SCORE)
    assert result.statistic == observed
    four_errors = 4 * np.sqrt(exact * (1 - exact) / 4999)
    assert result.p_value == pytest.approx(exact, abs=four_errors + 1 / 5000)


def test_simulation_is_seeded():
    outcome = [0, 0, 1, 0, 1, 1, 0, 1]
    one, two = (metrics.ks_test(outcome, SCORE, random_state=seed) for seed in (0, 1))
    assert one == metrics.ks_test(outcome, SCORE)
    assert one.p_value != two.p_value


def test_the_limit_is_used_from_100_distinct_scores(texts):
    outcome, score = np.arange(100) % 2, np.full(100, 0.4) + np.arange(100) / 1000
    texts(metrics.ks_test(outcome, score).null)
    assert metrics.ks_test(outcome[:99], score[:99]).null == "simulation, 4,999 draws"
    tied = metrics.kuiper_test(np.tile(outcome, 9), np.tile(score.round(2), 9))
    assert tied.null == "simulation, 4,999 draws"


@pytest.mark.parametrize("test", [metrics.ks_test, metrics.kuiper_test])
def test_one_score_is_a_binomial_test(test):
    # 140 of 400 rows with score 0.3 are positive. A count is as far from 120 if it is at most 100
    # or at least 140.
    result = test([1] * 140 + [0] * 260, [0.3] * 400)
    exact = binom.cdf(100, 400, 0.3) + binom.sf(139, 400, 0.3)
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 4999))


def test_the_limit_continues_the_simulation():
    rng = np.random.default_rng(11)
    score = rng.random(99)
    outcome = rng.random(99) < score**1.3
    small = ScoreCells.from_arrays(outcome, score)
    large = ScoreCells.from_arrays(np.append(outcome, True), np.append(score, 1.0))
    assert metrics.ks_test(small).p_value == pytest.approx(metrics.ks_test(large).p_value, abs=0.06)


def test_certain_scores_need_no_distribution():
    score = np.arange(200) % 2
    assert metrics.ks_test(score, score).p_value == 1.0
    assert metrics.kuiper_test(1 - score, score).p_value == 0.0

"""The profile likelihood of the day of a change."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from calib.numerics.monitoring import day_likelihood


def rows(seed: int, shift: float, per_day: int, change: int = 60, days: int = 120):
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), per_day)
    score = expit(rng.normal(-1.0, 1.0, len(day)))
    y = rng.random(len(day)) < expit(logit(score) + np.where(day >= change, shift, 0.0))
    return day, score, y


def found(day, score, y, **how):
    return day_likelihood(day, score, y.astype(float), (~y).astype(float), day.max() + 1, **how)


def test_the_ratio_is_that_of_a_fit_of_shift_and_slope():
    day, score, y = rows(0, 0.5, 100)
    likelihood, z = found(day, score, y), logit(score)

    def loss(line, chosen):
        eta = line[0] + line[1] * z[chosen]
        return -np.where(y[chosen], log_expit(eta), log_expit(-eta)).sum()

    for start in (20, 60, 100):
        chosen = day >= start
        best = minimize(loss, [0.0, 1.0], args=(chosen,))
        exact = loss([0.0, 1.0], chosen) - best.fun
        # Between two slopes of the grid, half of 0.1 from either, about one is lost.
        assert exact - 1.0 < likelihood.ratio[start] < exact + 0.1


def test_the_interval_has_the_day_of_a_large_change_and_few_others():
    likelihood = found(*rows(1, 0.8, 300))
    assert likelihood.inside()[60]
    assert likelihood.inside().sum() <= 3


def test_an_error_of_all_days_is_no_change_if_they_may_be_wrong_before():
    day, score, y = rows(2, 0.6, 100, change=0)
    assert found(day, score, y).day < 10
    assert found(day, score, y, right_before=False).ratio.max() < 8.0


def test_the_interval_misses_at_most_one_in_twenty():
    inside = [found(*rows(seed, 0.3 + 0.02 * seed, 60)).inside()[60] for seed in range(25)]
    assert np.mean(inside) >= 0.9


def test_cells_may_be_split_and_in_any_order():
    day, score, y = rows(3, 0.5, 20)
    order = np.random.default_rng(0).permutation(len(day))
    one, other = found(day, score, y), found(day[order], score[order], y[order])
    np.testing.assert_allclose(one.ratio, other.ratio, atol=1e-9)

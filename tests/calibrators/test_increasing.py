"""Logistic regression under its constraint: the optimality conditions of Karush, Kuhn, Tucker."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from calib.calibrators.beta import Beta
from calib.calibrators.logistic import Platt, platt_targets

SCORE = np.linspace(0.05, 0.95, 12)


def test_platt_targets_keep_order_and_exclude_certainty():
    positive = np.array([0.0, 1.0, 1.0])
    assert platt_targets(positive, np.ones(3)).tolist() == [1 / 3, 3 / 4, 3 / 4]


def fitted(positive, n_rows):
    """Beta calibration of so many rows of each score, of which some are positive."""
    outcome = np.concatenate([np.arange(n_rows) < k for k in positive])
    return Beta().fit(np.repeat(SCORE, n_rows), outcome)


@given(arrays(np.float64, 12, elements=st.integers(0, 3)))
def test_increasing_fit_is_the_best_under_its_constraint(positive):
    if not 0 < positive.sum() < 36:
        return
    fit = fitted(positive, 3)
    if fit.separated_:
        return
    # The slopes are >= 0 and their gradients <= 0, and one of both is 0.
    columns = np.array([np.log(SCORE), -np.log1p(-SCORE)])
    eta = fit.intercept_ + fit.slopes_ @ columns
    pull = columns @ (positive - 3.0 * expit(eta))
    assert (fit.slopes_ >= 0).all()
    assert (pull <= 1e-6).all()
    assert np.abs(pull * fit.slopes_).max() < 1e-6


def test_a_falling_truth_is_the_base_rate_and_not_separated():
    fit = fitted(np.repeat([3, 1], 6), 4)
    assert fit.slopes_.tolist() == [0.0, 0.0]
    assert expit(fit.intercept_) == pytest.approx(0.5)
    assert fit.constant_
    assert not fit.separated_


def test_one_column_of_two_cells_has_their_log_odds_ratio():
    # Softened outcomes are (n + 1) / (n + 2) for 4 positives and 1 / (n + 2) for 4 negatives.
    outcome = np.concatenate([np.arange(4) < 1, np.arange(4) < 3])
    fit = Platt().fit(np.repeat([0.0, 1.0], 4), outcome)
    rate = np.array([1 * 5 / 6 + 3 / 6, 3 * 5 / 6 + 1 / 6]) / 4
    odds = rate / (1 - rate)
    assert np.exp(fit.slopes_) == pytest.approx(odds[1] / odds[0])
    assert not fit.constant_

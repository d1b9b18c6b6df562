"""Logistic regression under its constraint: the optimality conditions of Karush, Kuhn, Tucker."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit

from calib.numerics.increasing_logistic import fit_increasing, platt_targets


def test_platt_targets_keep_order_and_exclude_certainty():
    positive = np.array([0.0, 1.0, 1.0])
    assert platt_targets(positive, np.ones(3)).tolist() == [1 / 3, 3 / 4, 3 / 4]


@given(arrays(np.float64, 12, elements=st.integers(0, 3)))
def test_increasing_fit_is_the_best_under_its_constraint(positive):
    weight = np.full(12, 3.0)
    score = np.linspace(0.05, 0.95, 12)

    def columns(s):
        return [np.log(s), -np.log1p(-s)]

    if not 0 < positive.sum() < 36:
        return
    fit = fit_increasing(score, columns, positive, weight)
    if fit.separated:
        return
    # Slopes >= 0, their gradient <= 0, and one of both is 0.
    eta = fit.intercept + fit.slopes @ columns(score)
    pull = np.array(columns(score)) @ (positive - weight * expit(eta))
    assert (fit.slopes >= 0).all()
    assert (pull <= 1e-6).all()
    assert np.abs(pull * fit.slopes).max() < 1e-6


def test_a_falling_truth_is_the_base_rate_and_not_separated():
    score = np.linspace(0.05, 0.95, 12)
    positive = np.repeat([3.0, 1.0], 6)
    fit = fit_increasing(score, lambda s: [np.log(s), -np.log1p(-s)], positive, np.full(12, 4.0))
    assert fit.slopes.tolist() == [0.0, 0.0]
    assert expit(fit.intercept) == pytest.approx(0.5)
    assert not fit.separated

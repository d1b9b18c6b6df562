"""One-vs-rest: each class by itself, then rows divided by their sum."""

import numpy as np
import pytest
from scipy.special import expit

from calib.calibrators import calibrator
from calib.calibrators.one_vs_rest import OneVsRest
from calib.numerics.class_scores import divide_by_sum
from tests.isotonic_peer import shrunken


def test_is_scikit_learns_isotonic_divided_by_the_row_sum(problem):
    scores, label = problem
    columns = [shrunken(s, label == k, s) for k, s in enumerate(scores.T)]
    expected = np.column_stack(columns)
    expected /= expected.sum(axis=1, keepdims=True)
    assert OneVsRest("isotonic").fit(scores, label).predict(scores) == pytest.approx(
        expected, abs=1e-9
    )


def test_a_row_of_zeros_keeps_its_scores():
    scores = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    calibrated = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.3]])
    assert divide_by_sum(calibrated, scores) == pytest.approx(
        np.array([[0.5, 0.3, 0.2], [0.0, 0.25, 0.75]])
    )


def test_a_calibrator_with_parameters(problem):
    fitted = OneVsRest(calibrator("histogram", n_bins=3)).fit(*problem)
    assert all(one.n_bins == 3 for one in fitted.calibrators_)
    assert len({id(one) for one in fitted.calibrators_}) == 4


def test_two_classes_agree_with_the_binary_map_where_that_is_symmetric():
    rng = np.random.default_rng(0)
    z = rng.normal(0.0, 1.0, 500)
    score = expit(2.0 * z)
    label = (rng.random(500) < expit(z)).astype(int)
    binary = calibrator("logistic").fit(score, label).predict(score)
    both = OneVsRest("logistic").fit(np.column_stack([1 - score, score]), label)
    assert both.predict(np.column_stack([1 - score, score]))[:, 1] == pytest.approx(
        binary, abs=1e-6
    )


def test_a_row_of_zeros_is_even():
    assert divide_by_sum(np.zeros((1, 4)), np.zeros((1, 4))).tolist() == [[0.25] * 4]

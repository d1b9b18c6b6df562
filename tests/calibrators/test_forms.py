"""The small formulas that calibrators are made of, against NumPy."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import softmax

from calib.calibrators.forms import ON_ARRAYS, EachClass, Form, Softmax


def columns(rows):
    rows = np.array(rows, dtype=float)
    return list((rows / rows.sum(axis=1, keepdims=True)).T)


def test_a_softmax_does_not_overflow_whichever_class_is_the_largest():
    rows = np.array(list(permutations([0.9, 0.07, 0.03])))
    for slopes in (np.full(3, 900.0), 900.0 * np.eye(3)):
        made = Softmax(slopes, np.array([1.0, 2.0, 3.0]))(ON_ARRAYS, columns(rows))
        expected = softmax(900.0 * np.log(rows) + [1.0, 2.0, 3.0], axis=1)
        np.testing.assert_allclose(np.transpose(made), expected, atol=1e-12)


class Times(Form):
    """A calibrator of one class that multiplies the score."""

    def __init__(self, factor):
        self.factor = factor

    def of(self, do, s):  # noqa: ARG002
        return self.factor * s


@pytest.mark.parametrize("factors", [(0.1, 0.2, 0.3), (1.0, 2.0, 3.0), (0.0, 0.0, 1.0)])
def test_classes_that_are_calibrated_one_by_one_share_what_they_add_up_to(factors):
    rows = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.2], [0.8, 0.8, 0.9]])
    made = EachClass(tuple(map(Times, factors)))(ON_ARRAYS, columns(rows))
    shares = rows / rows.sum(axis=1, keepdims=True) * factors
    np.testing.assert_allclose(np.transpose(made), shares / shares.sum(axis=1, keepdims=True))


def test_a_row_whose_classes_all_come_out_as_0_keeps_its_scores():
    rows = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.2], [0.8, 0.8, 0.9]])
    with np.errstate(invalid="ignore"):
        made = EachClass((Times(0.0),) * 3)(ON_ARRAYS, columns(rows))
    expected = [[0.2, 0.3, 0.5], [0.25, 0.25, 0.5], [0.32, 0.32, 0.36]]
    np.testing.assert_allclose(np.transpose(made), expected)

"""Banded algebra against the dense one."""

import numpy as np
import pytest
from scipy.linalg import cholesky_banded
from scipy.sparse import csr_array

from calib.numerics.splines import banded_times, dense, gram_products, inverse_band


@pytest.fixture
def banded():
    matrix = np.random.default_rng(0).normal(size=(4, 9))
    matrix[0] += 10.0
    for offset in range(1, 4):
        matrix[offset, 9 - offset :] = 0.0
    return matrix


def test_product(banded):
    c = np.random.default_rng(1).normal(size=9)
    assert banded_times(banded, c) == pytest.approx(dense(banded) @ c)


def test_diagonals_of_the_inverse(banded):
    inverse = np.linalg.inv(dense(banded))
    stacked = inverse_band(cholesky_banded(banded, lower=True)).reshape(4, 9)
    assert stacked[0] == pytest.approx(np.diagonal(inverse))
    for offset in (1, 2, 3):
        expected = 2.0 * np.diagonal(inverse, offset)
        assert stacked[offset, : 9 - offset] == pytest.approx(expected)


def test_gram_matrix():
    rng = np.random.default_rng(0)
    basis = np.zeros((20, 7))
    for row, first in zip(basis, rng.integers(0, 4, 20), strict=True):
        row[first : first + 4] = rng.normal(size=4)
    weight = rng.random(20)
    gram = (gram_products(csr_array(basis), 4) @ weight).reshape(4, 7)
    assert dense(gram) == pytest.approx((basis.T * weight) @ basis)

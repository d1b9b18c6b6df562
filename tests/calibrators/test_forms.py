"""The small formulas that calibrators are made of, against NumPy."""

import numpy as np
import pytest

from calib.calibrators.forms import sum_of


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 17, 100, 127, 128, 129, 136, 137, 260, 300, 1000])
def test_a_sum_has_the_bits_of_numpys(n):
    rows = np.random.default_rng(n).normal(size=(20, n)) ** 5  # rounding depends on the order
    for row in rows:
        assert sum_of(row.tolist()) == row[None].sum(axis=1)[0]

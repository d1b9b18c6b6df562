"""Simulated calibrated scores against what is known of them."""

import numpy as np
import pytest

from calib.data.cells import ScoreCells
from calib.numerics.poisson_binomial import (
    few_scores,
    null_standard_deviation,
    simulated_differences,
    simulated_p,
)

SCORE = np.repeat(np.linspace(0.05, 0.95, 10), 30)


@pytest.mark.parametrize("weight", [None, np.tile([1.0, 2.0], 150)])
def test_the_end_varies_as_its_formula_says(weight):
    cells = ScoreCells.from_arrays(SCORE > 0.5, SCORE, weight)
    drawn = simulated_differences(cells, random_state=3)
    assert (drawn[0] == 0.0).all()
    assert drawn[-1].std() == pytest.approx(null_standard_deviation(cells), rel=0.05)
    assert abs(drawn[-1].mean()) < 4 * drawn[-1].std() / np.sqrt(drawn.shape[1])


def test_few_scores_are_fewer_than_100():
    rising = np.linspace(0.1, 0.9, 100)
    assert few_scores(ScoreCells.from_arrays(rising[:99] > 0.5, rising[:99]))
    assert not few_scores(ScoreCells.from_arrays(rising > 0.5, rising))


def test_p_values_count_ties_and_the_observed_one():
    assert simulated_p(0.3, np.array([0.1 + 0.2, 0.1, 0.1])) == 0.5
    assert simulated_p(9.0, np.zeros(99)) == 0.01

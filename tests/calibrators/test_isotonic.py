"""Isotonic regression against scikit-learn's, which has the same interpolation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from calib.calibrators.isotonic import Isotonic


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 3)), min_size=2))
def test_agrees_with_scikit_learn(rows):
    ticks, y, weight = map(np.array, zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    scores = ticks / 8
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, y, weight)
    grid = np.linspace(0, 1, 41)
    ours = Isotonic().fit(scores, y, weight)
    assert ours.predict(grid) == pytest.approx(theirs.predict(grid), abs=1e-12)


def test_adult(shared):
    train = pd.read_csv(shared / "data/adult/adult_nb_cal.csv")
    test = pd.read_csv(shared / "data/adult/adult_nb_test.csv")
    fitted = Isotonic().fit(train.score, train.y)
    assert log_loss(test.y, fitted.predict(test.score)) == pytest.approx(0.39400, abs=1e-4)


def test_knots_are_block_edges():
    fitted = Isotonic().fit([0.1, 0.4, 0.5, 0.6, 0.9], [0, 1, 1, 0, 1])
    assert fitted.knots().tolist() == [0.1, 0.4, 0.6, 0.9]
    assert fitted.values_ == pytest.approx([0.0, 2 / 3, 2 / 3, 1.0])

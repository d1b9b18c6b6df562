"""The identity."""

import numpy as np

from calib.calibrators.uncalibrated import Uncalibrated


def test_changes_nothing_even_where_nothing_can_be_fitted():
    scores = np.array([0.0, 1e-300, 0.3, 1.0])
    assert Uncalibrated().fit([0.5], [1]).predict(scores).tolist() == scores.tolist()

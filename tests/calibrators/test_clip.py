"""Clipping."""

import numpy as np
import pytest

from calib.calibrators.clip import Clip


def test_clips_at_the_given_bound():
    assert Clip(p_min=0.1).fit([0.2, 0.8], [0, 1]).predict([0.0, 0.3, 1.0]).tolist() == [
        0.1,
        0.3,
        0.9,
    ]


@pytest.mark.parametrize(("wrong", "p_min"), [(0, 1e-5), (1, 1e-3), (10, 1e-2)])
def test_finds_the_bound_that_fits(wrong, p_min):
    # 1000 rows have score 0. The best candidate is the nearest to their rate by Kullback-Leibler
    # distance.
    scores = np.r_[np.zeros(1000), np.full(10, 0.5)]
    y = np.r_[np.arange(1000) < wrong, np.arange(10) < 5]
    assert Clip().fit(scores, y).p_min_ == p_min


@pytest.mark.parametrize("p_min", [0.0, 0.5, float("nan")])
def test_refuses_a_bound_outside(p_min, texts):
    with texts.raises(ValueError):
        Clip(p_min=p_min).fit([0.2, 0.8], [0, 1])

"""Venn-Abers: what its interval means."""

import numpy as np
import pytest

from calib.calibrators.venn_abers import VennAbers


def test_merges_both_probabilities():
    fitted = VennAbers().fit([0.1, 0.3, 0.5, 0.7, 0.9], [0, 1, 0, 1, 1])
    scores = np.linspace(0, 1, 11)
    p0, p1 = fitted.interval(scores)
    assert (p0 < p1).all()
    assert fitted.predict(scores) == pytest.approx(p1 / (1 - p0 + p1))


def test_two_rows_say_little():
    # Between a 0 and a 1, a new 0 joins the 0, and a new 1 joins the 1.
    p0, p1 = VennAbers().fit([0.2, 0.8], [0, 1]).interval([0.5])
    assert (p0[0], p1[0]) == (0.0, 1.0)


def test_interval_narrows_with_rows():
    def widest(n):
        rng = np.random.default_rng(0)
        scores = rng.random(n)
        p0, p1 = VennAbers().fit(scores, rng.random(n) < scores).interval([0.5])
        return float(p1[0] - p0[0])

    assert widest(100_000) < widest(1000) / 4

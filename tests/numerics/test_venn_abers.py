"""Venn-Abers at once against two isotonic fits a score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib.calibrators.venn_abers import VennAbers

ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 4)), min_size=2, max_size=40
)


def refitted(scores, y, weight, new, label):
    isotonic = IsotonicRegression(out_of_bounds="clip")
    isotonic.fit([*scores, new], [*y, label], [*weight, 1.0])
    return isotonic.predict([new])[0]


@settings(max_examples=40)
@given(ROWS)
def test_is_two_isotonic_fits_a_score(rows):
    ticks, y, weight = map(np.array, zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    scores = ticks / 8
    grid = np.linspace(0, 1, 17)
    p0, p1 = VennAbers().fit(scores, y, weight).interval(grid)
    # Relative to these weights a new row weighs 1.
    weight = weight * weight.sum() / (weight @ weight)
    assert p0 == pytest.approx([refitted(scores, y, weight, s, 0) for s in grid], abs=1e-12)
    assert p1 == pytest.approx([refitted(scores, y, weight, s, 1) for s in grid], abs=1e-12)


def test_many_rows():
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    y = rng.random(3000) < scores
    grid = np.concatenate([scores[:20], rng.random(20)])
    p0, p1 = VennAbers().fit(scores, y).interval(grid)
    ones = np.ones(3000)
    assert p0 == pytest.approx([refitted(scores, y, ones, s, 0) for s in grid], abs=1e-12)
    assert p1 == pytest.approx([refitted(scores, y, ones, s, 1) for s in grid], abs=1e-12)

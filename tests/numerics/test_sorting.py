"""Sorting scores with their labels against NumPy's lexsort."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calib.numerics.arrays import increasing_order, run_starts, sort_labelled

SCORES = st.floats(0, 1) | st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e-300])


@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=60))
def test_sorts_as_lexsort(rows):
    score, label = map(np.array, zip(*rows, strict=True))
    order = np.lexsort((label, score))
    ordered, labels = sort_labelled(score, label)
    assert ordered.tolist() == score[order].tolist()
    assert labels.tolist() == label[order].tolist()


@given(st.lists(SCORES, min_size=1, max_size=60))
def test_orders_as_a_stable_argsort(scores):
    score = np.array(scores)
    assert increasing_order(score).tolist() == np.argsort(score, kind="stable").tolist()


def test_runs():
    assert run_starts(np.array([0.0, 0.0, 0.3, 0.5, 0.5])).tolist() == [0, 2, 3]

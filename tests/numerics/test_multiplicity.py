"""Holm's procedure against its worked steps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calib.numerics.intervals import holm


def test_worked_by_hand():
    # The sorted values times 4, 3, 2 and 1 are 0.02, 0.03, 0.06 and 0.04; the last one is raised.
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


def test_untested_entries_stay_and_do_not_count():
    adjusted = holm(np.array([0.02, np.nan, 0.03]))
    np.testing.assert_allclose(adjusted, [0.04, np.nan, 0.04])
    assert np.isnan(holm(np.array([np.nan]))).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0.001, 0.999))
def test_it_rejects_what_the_step_down_procedure_rejects(p, alpha):
    rejected = set()
    for step, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[index] * (len(p) - step) > alpha:
            break
        rejected.add(index)
    adjusted = holm(np.array(p))
    assert set(np.flatnonzero(adjusted <= alpha)) == rejected

"""Errors of every class, where scores are tied, weighted, on edges, or all certain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.metrics import expected_calibration_error, ks_error
from calib.multiclass import classwise
from calib.multiclass.by_class import class_errors
from calib.predictions import Predictions


@given(st.data(), st.sampled_from([1, 2, 5, 15]))
def test_same_as_the_binary_metrics(data, n_bins):
    n, m = data.draw(st.integers(1, 30)), data.draw(st.integers(2, 4))
    counts = st.lists(st.integers(0, 5), min_size=m, max_size=m).filter(any)
    rows = np.array(data.draw(st.lists(counts, min_size=n, max_size=n)), dtype=float)
    scores = rows / rows.sum(axis=1, keepdims=True)  # many ties, and many on the bins' edges
    label = np.array(data.draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n)))
    weight = np.array(data.draw(st.lists(st.floats(0.1, 9.0), min_size=n, max_size=n)))
    for used in (None, weight):
        found = class_errors(scores, label, used, n_bins)
        for k in range(m):
            y, s = label == k, scores[:, k]
            ece = expected_calibration_error(y, s, sample_weight=used, n_bins=n_bins)
            assert found.ece[k] == pytest.approx(ece, abs=1e-12)
            assert found.ks[k] == pytest.approx(ks_error(y, s, sample_weight=used), abs=1e-12)


def test_worst_class_first_with_its_evidence():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([2.0, 2.0, 2.0], 3000)
    true = scores * [1.0, 1.0, 0.3]  # class 2 comes far less often than stated
    true /= true.sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) > rng.random(3000)[:, None]).argmax(axis=1)
    names = ("red", "green", "blue")
    frame = classwise(Predictions.from_arrays(label, scores, class_names=names)).frame()
    assert frame["class"].iloc[0] == "blue"
    assert frame.index[0] == 2
    assert frame["bias"].iloc[0] < -0.1
    assert frame["p_value"].iloc[0] < 1e-9
    assert frame["n_rows"].sum() == 3000


def test_few_rows_have_no_p_value():
    found = classwise(Predictions.from_arrays([0, 1], [[0.5, 0.5], [0.2, 0.8]]))
    assert np.isnan(found.p_value).all()


def test_n_bins_must_be_positive():
    with pytest.raises(ValueError, match=r"n_bins must be at least 1, got 0\."):
        classwise(Predictions.from_arrays([0, 1], [0.5, 0.8]), n_bins=0)

"""What a comparison of a matrix begins with."""

import numpy as np
import pytest

from calib.matrices import default_methods, default_settings
from calib.multiclass import MULTICLASS_CALIBRATORS
from calib.predictions import Predictions
from calib.settings import Settings


def matrix(n: int, m: int) -> Predictions:
    scores = np.full((n, m), 1.0 / m)
    return Predictions.from_arrays(np.arange(n) % m, scores)


@pytest.mark.parametrize(
    ("shape", "with_", "without"),
    [
        ((100, 10), {"vector", "isotonic", "beta", "dirichlet"}, set()),
        ((100, 51), {"vector", "isotonic", "beta"}, {"dirichlet"}),
        ((30_000, 100), {"vector"}, {"isotonic", "dirichlet"}),
        ((1_000, 1_000), {"temperature", "clip", "ks_spline"}, {"vector", "beta"}),
        ((30_000, 1_000), {"temperature", "clip", "ks_spline"}, {"vector", "isotonic"}),
    ],
)
def test_methods_go_by_the_size_of_the_matrix(shape, with_, without):
    chosen = default_methods(matrix(*shape))
    assert chosen[0] == "uncalibrated"
    assert with_ <= set(chosen) <= set(MULTICLASS_CALIBRATORS)
    assert not without & set(chosen)


def test_one_score_a_row_keeps_the_settings_of_one_score():
    assert default_settings(Predictions.from_arrays([0, 1], [0.2, 0.7])) == Settings()


def test_a_matrix_is_first_seen_at_its_first_class():
    found = default_settings(matrix(30, 3))
    assert (found.view, found.methods) == ("top:1", default_methods(matrix(30, 3)))

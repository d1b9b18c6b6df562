"""KS spline of the first scores: what becomes of the rest of the row."""

import numpy as np
import pytest

from calib.calibrators import calibrator
from calib.calibrators.ks_spline import TopSpline
from calib.numerics.class_scores import binary_problem, leading_classes


@pytest.mark.parametrize("n_top", [1, 2, 3, 9])
def test_the_first_classes_keep_their_ranks(problem, n_top):
    scores, label = problem
    calibrated = TopSpline(n_top).fit(scores[:300], label[:300]).predict(scores)
    n_top = min(n_top, 3)
    assert (leading_classes(calibrated, n_top) == leading_classes(scores, n_top)).all()


def test_the_first_score_is_that_of_the_binary_map(problem):
    scores, label = problem
    score, outcome = binary_problem(scores, label, "top", 1)
    expected = calibrator("ks_spline").fit(score, outcome).predict(score)
    ours = TopSpline(1).fit(scores, label).predict(scores).max(axis=1)
    assert ours == pytest.approx(np.maximum(expected, 0.25), abs=1e-8)


def test_the_rest_keeps_its_proportions_where_it_may(problem):
    scores, label = problem
    calibrated = TopSpline(1).fit(scores, label).predict(scores)
    ranked = np.argsort(-scores, axis=1)
    before = np.take_along_axis(scores, ranked, axis=1)
    after = np.take_along_axis(calibrated, ranked, axis=1)
    below = after[:, 1] < after[:, 0] * (1 - 1e-6)  # not held back by the first
    assert below.mean() > 0.5
    assert (after[:, 3] / after[:, 2])[below] == pytest.approx(
        (before[:, 3] / before[:, 2])[below], rel=1e-9
    )


def test_n_top_must_be_positive(problem, texts):
    with texts.raises(ValueError):
        TopSpline(0).fit(*problem)

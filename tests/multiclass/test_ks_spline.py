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
    below = after[:, 1] < after[:, 0] * (1 - 1e-6)  # The first rank does not limit it.
    assert below.mean() > 0.5
    assert (after[:, 3] / after[:, 2])[below] == pytest.approx(
        (before[:, 3] / before[:, 2])[below], rel=1e-9
    )


def test_n_top_must_be_positive(problem, texts):
    with texts.raises(ValueError):
        TopSpline(0).fit(*problem)


class Given:
    """A fitted calibrator that gives one number."""

    def __init__(self, value):
        self.value = value

    def predict(self, scores):
        return np.full(len(scores), self.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((0.6, 0.2), [0.6, 0.2, 0.15, 0.05]),  # The rest of 0.2 is shared as 3 to 1.
        ((0.4, 0.7), [0.4, 0.4, 0.15, 0.05]),  # A score is no higher than that of the rank before.
        ((0.4, 0.2), [0.4, 0.2, 0.2, 0.2]),  # 0.3 and 0.1 would be higher than the last rank.
        # 0.2625 and 0.0875 would be higher than the last rank.
        ((0.4, 0.25), [0.4, 0.25, 0.25, 0.1]),
        ((0.0, 0.0), [0.25, 0.25, 0.25, 0.25]),  # A score is at least the mean of the rest.
        ((0.7, 0.0), [0.7, 0.1, 0.1, 0.1]),
        ((1.0, 1.0), [1.0, 0.0, 0.0, 0.0]),
        ((0.9,), [0.9, 0.06, 0.03, 0.01]),
        ((0.3,), [0.3, 0.3, 0.3, 0.1]),  # The values are 0.42, 0.21, 0.07, then 0.3, 0.3, 0.1.
    ],
)
def test_what_the_first_ranks_leave_is_shared_below_them(problem, given, expected):
    fitted = TopSpline(len(given)).fit(*problem)
    fitted.splines_ = [Given(value) for value in given]
    predicted = fitted.predict([[0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.5, 0.3]])
    assert predicted[0] == pytest.approx(expected, abs=1e-8)
    assert predicted[1] == pytest.approx([expected[i] for i in (3, 2, 0, 1)], abs=1e-8)
    assert predicted.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_classes_without_any_score_share_evenly_what_is_left(problem):
    fitted = TopSpline(1).fit(*problem)
    fitted.splines_ = [Given(0.7)]
    assert fitted.predict([[1.0, 0.0, 0.0, 0.0]])[0] == pytest.approx([0.7, 0.1, 0.1, 0.1])
    assert fitted.predict([[0.9, 0.1, 0.0, 0.0]])[0] == pytest.approx([0.7, 0.3, 0.0, 0.0])


@pytest.mark.parametrize("always", [True, False])
def test_a_rank_that_is_always_or_never_right_keeps_its_scores(problem, always):
    scores = problem[0]
    label = scores.argmax(axis=1) if always else scores.argmin(axis=1)
    fitted = TopSpline(1).fit(scores, label)
    assert fitted.predict(scores) == pytest.approx(scores, abs=1e-8)
    # The class of the last or of the first rank is right, and never that of the second.
    assert len(TopSpline(9).fit(scores, label).splines_) == 3

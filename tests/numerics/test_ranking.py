"""Leading classes against a stable sort."""

import numpy as np
import pytest

from calib.numerics.class_scores import MAX_SEARCHED_CLASSES, binary_problem, leading_classes


@pytest.mark.parametrize("n_first", [1, 2, MAX_SEARCHED_CLASSES, MAX_SEARCHED_CLASSES + 1, 9])
def test_equal_scores_rank_by_class_index(n_first):
    scores = np.random.default_rng(0).integers(0, 4, (200, 9)) / 4
    expected = [sorted(range(9), key=lambda k, row=row: (-row[k], k))[:n_first] for row in scores]
    assert leading_classes(scores, n_first).tolist() == expected


def test_a_label_among_the_first_counts_whatever_its_rank():
    scores = np.array([[0.5, 0.3, 0.2]] * 3)
    score, outcome = binary_problem(scores, np.array([0, 1, 2]), "within", 2)
    assert outcome.tolist() == [True, True, False]
    assert score == pytest.approx([0.8] * 3)

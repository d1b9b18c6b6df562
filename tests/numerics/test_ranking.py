"""Leading classes against a stable sort."""

import numpy as np
import pytest

from calib.numerics.ranking import FEW, leading_classes


@pytest.mark.parametrize("n_first", [1, 2, FEW, FEW + 1, 9])
def test_equal_scores_rank_by_class_index(n_first):
    scores = np.random.default_rng(0).integers(0, 4, (200, 9)) / 4
    expected = [sorted(range(9), key=lambda k, row=row: (-row[k], k))[:n_first] for row in scores]
    assert leading_classes(scores, n_first).tolist() == expected

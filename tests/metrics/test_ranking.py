"""AUC against all pairs."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from calib import metrics

RNG = np.random.default_rng(15)


@pytest.mark.parametrize("decimals", [1, 16])
@pytest.mark.parametrize("weighted", [False, True])
def test_auc_over_all_pairs(decimals, weighted):
    score = RNG.random(80).round(decimals)
    outcome = RNG.random(80) < score
    weight = RNG.random(80) + 0.1 if weighted else np.ones(80)
    s1, w1, s0, w0 = score[outcome], weight[outcome], score[~outcome], weight[~outcome]
    wins = (s1[:, None] > s0) + 0.5 * (s1[:, None] == s0)
    expected = w1 @ wins @ w0 / (w1.sum() * w0.sum())
    assert metrics.auc(outcome, score, sample_weight=weight) == pytest.approx(expected)
    assert metrics.auc(outcome, score, sample_weight=weight) == pytest.approx(
        roc_auc_score(outcome, score, sample_weight=weight)
    )


def test_distinct_scores():
    assert metrics.distinct_scores([0, 1, 1], [0.0, -0.0, 1.0]) == 2

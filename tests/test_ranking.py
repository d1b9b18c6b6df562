"""Ranking: accuracy if people decide the least confident rows, against a sort of the rows."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

import calib
from calib.analysis.ranking import ranking, ranking_of
from calib.data.cells import ScoreCells


def by_sorting(outcome, score, share, *, of_answers):
    """The accuracy of the most confident rows; rows of equal confidence are shared out."""
    right = outcome if of_answers else (score >= 0.5) == outcome
    confidence = score if of_answers else np.where(score >= 0.5, score, 1.0 - score)
    kept, total, sum_right = (1.0 - share) * len(score), 0.0, 0.0
    for level in sorted(set(confidence.tolist()), reverse=True):
        rows = confidence == level
        use = min(rows.sum(), kept - total)
        total += use
        sum_right += use * right[rows].mean()
    return sum_right / kept


@pytest.mark.parametrize("of_answers", [False, True])
@given(
    rows=st.lists(st.tuples(st.booleans(), st.integers(0, 16)), min_size=2, max_size=40),
    share=st.floats(0.0, 0.9),
)
def test_the_accuracy_of_the_rest_is_that_of_the_most_confident_rows(rows, share, of_answers):
    outcome = np.array([float(y) for y, _ in rows])
    score = np.array([s / 16.0 for _, s in rows])
    cells = ScoreCells.from_arrays(outcome, score)
    result = ranking(cells, of_answers=of_answers, share=share)
    expected = by_sorting(outcome, score, share, of_answers=of_answers)
    assert_allclose(result.accuracy_of_rest, expected, rtol=1e-9)
    assert_allclose(
        result.accuracy, by_sorting(outcome, score, 0.0, of_answers=of_answers), rtol=1e-9
    )
    if 0.0 < outcome.mean() < 1.0:
        assert_allclose(result.auc, roc_auc_score(outcome, score))
    else:
        assert math.isnan(result.auc)
        assert result.sentence == ""


def test_a_weight_of_two_counts_as_two_rows():
    outcome, score = np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.6, 0.9])
    weighted = ScoreCells.from_arrays(outcome, score, np.array([1.0, 2.0, 3.0]))
    repeated = ScoreCells.from_arrays(np.repeat(outcome, [1, 2, 3]), np.repeat(score, [1, 2, 3]))
    assert ranking(weighted, of_answers=True) == ranking(repeated, of_answers=True)


def test_a_constant_confidence_is_calibrated_and_does_not_rank(texts):
    rng = np.random.default_rng(0)
    outcome = rng.random(1000) < 0.7
    analysis = calib.from_predictions(outcome, np.full(1000, 0.7))
    assert analysis.verdict.answer != "not calibrated"
    result = ranking_of(analysis, analysis.held_out.cells["uncalibrated"])
    assert result.constant
    assert result.accuracy_of_rest == pytest.approx(result.accuracy)
    texts.shown(result.sentence)


@pytest.mark.parametrize("low", [0.25, 1.0 / 3.0])
def test_equally_confident_scores_of_both_classes_are_not_constant(low, texts):
    # 1 - 1/3 and 2/3 differ in the last digit, and are one confidence all the same.
    score = np.repeat([low, 2.0 / 3.0 if low > 0.3 else 0.75], 100)
    outcome = np.concatenate([np.arange(100) < 20, np.arange(100) < 74]).astype(float)
    result = ranking(ScoreCells.from_arrays(outcome, score), of_answers=False)
    assert_allclose(result.auc, roc_auc_score(outcome, score))
    assert not result.constant
    assert result.equally_confident
    assert result.accuracy_of_rest == pytest.approx(result.accuracy)
    texts(result.sentence, "each case")
    # The two scores are two confidences if the rows are answers that were given already.
    answers = ranking(ScoreCells.from_arrays(outcome, score), of_answers=True)
    assert not answers.equally_confident
    assert answers.accuracy_of_rest > answers.accuracy


def test_the_sentence_has_the_accuracy_before_and_after(texts):
    cells = ScoreCells.from_arrays([0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.8, 0.9])
    texts(ranking(cells, of_answers=False).sentence)


def test_confidence_data_have_their_own_words():
    rng = np.random.default_rng(1)
    score = rng.uniform(0.5, 1.0, 2000)
    outcome = rng.random(2000) < score - 0.2
    frame = {"correct": outcome.astype(int), "confidence": score}
    analysis = calib.analyze(calib.load(pd.DataFrame(frame)))
    assert analysis.has_answers
    assert analysis.verdict.kind == "overconfident"
    mean, rate = f"{100 * score.mean():.1f}%", f"{100 * outcome.mean():.1f}%"
    assert all(fact in analysis.verdict.finding for fact in (f"{mean}", f"{rate}"))
    assert not calib.from_predictions(outcome, score).has_answers

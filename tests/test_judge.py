"""What gold labels say about a judge: the debiased rate, agreement, support, and what is next."""

import math

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.judge import judge_rows
from calib.data.judged import JudgedRows


def example(n=2000, n_labels=200, seed=0, **columns):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.8
    score = np.where(truth, rng.beta(6, 2, n), rng.beta(3, 3, n))
    gold = np.where(np.arange(n) < n_labels, truth, np.nan)
    return JudgedRows.from_arrays(score, gold, columns=columns)


def test_the_numbers_are_of_the_rows():
    rows = example()
    result, labelled = judge_rows(rows), rows.labelled
    label, answer = rows.outcome[labelled] == 1, rows.score[labelled] >= 0.5
    assert result.plain_mean == rows.score.mean()
    assert result.labels_mean.value == pytest.approx(label.mean())
    assert result.agreement == pytest.approx((label == answer).mean())
    assert result.base_rate == label.mean()
    assert result.constant_accuracy == max(label.mean(), 1 - label.mean())
    assert len(result.disagreements) == (label != answer).sum()
    low, high = result.interval
    assert low < result.mean < high
    assert result.labels_mean.high - result.labels_mean.low > high - low


def test_labels_saved_are_those_that_the_labels_alone_would_need():
    result = judge_rows(example())
    needed = result.n_labels + result.labels_saved
    spread = judge_rows(example()).rows.outcome[:200].var() * 200 / 199
    for labels, narrower in ((needed, False), (needed + 2, True)):
        # Leaving out one row enlarges residuals from a mean by n / (n - 1).
        error = math.sqrt(spread * (200 / 199) / labels)
        assert (error < result.fit.error) == narrower


def test_a_judge_of_random_scores_saves_no_labels():
    rng = np.random.default_rng(0)
    gold = np.where(np.arange(2000) < 100, rng.random(2000) < 0.5, np.nan)
    result = judge_rows(JudgedRows.from_arrays(rng.random(2000), gold))
    assert result.labels_saved <= 3
    assert abs(result.kappa) < 0.25


def test_the_most_confident_disagreements_come_first():
    score = np.array([0.9, 0.1, 0.6, 0.02, 0.5, 0.8])
    rows = JudgedRows.from_arrays(
        score, [0, 1, 0, 1, 0, 1], columns={"id": list("abcdef"), "why": list("ABCDEF")}
    )
    listed = judge_rows(rows).disagreements
    assert list(listed.columns) == ["row", "id", "why", "score", "gold"]
    assert list(listed["id"]) == ["d", "a", "b", "c", "e"]
    assert list(listed["gold"]) == ["pass", "fail", "pass", "fail", "fail"]
    # At a threshold of 0.95 a score of 0.1 is farther from it than one of 0.9.
    assert list(judge_rows(rows, threshold=0.95).disagreements["id"]) == ["d", "b", "f"]


def test_scores_outside_the_labelled_range_are_refused(texts):
    score = np.linspace(0, 1, 1001)
    gold = np.where(np.isin(np.arange(1001), np.arange(300, 1001, 10)), score > 0.6, np.nan)
    result = judge_rows(JudgedRows.from_arrays(score, gold))
    assert not result.supported
    assert math.isnan(result.mean)
    assert math.isnan(result.interval[0])
    assert result.labels_saved == 0
    # The range is 0.3 to 1, and a twentieth of its length is 0.035.
    assert result.share_outside == pytest.approx((score < 0.265).mean())
    texts(result.sentence)
    # The next labels are for rows outside the range.
    assert (score[result.next_rows(20)["row"] - 1] < 0.3).all()


def test_a_judge_that_says_pass_or_fail_needs_labels_of_both():
    score = np.tile([0.0, 1.0], 500)
    gold = np.where((score == 1) & (np.arange(1000) < 200), 1.0, np.nan)
    assert not judge_rows(JudgedRows.from_arrays(score, gold)).supported


def test_the_lowest_and_highest_score_of_a_random_sample_are_enough():
    refused = [
        not judge_rows(
            JudgedRows.from_arrays(
                score := np.random.default_rng(seed).random(2000),
                np.where(np.arange(2000) < 50, score > 0.5, np.nan),
            )
        ).supported
        for seed in range(100)
    ]
    assert sum(refused) <= 5


def test_fewer_than_50_labels_are_too_few_to_tell(texts):
    few, enough = (judge_rows(example(n_labels=n)) for n in (49, 50))
    assert few.few_labels
    texts.shown(few.sentence)
    assert not enough.few_labels
    texts.shown(enough.sentence)


def test_the_ends_of_a_wide_interval_are_plain_percentages():
    gold = [1, 0, 1] + [None] * 5
    result = calib.judge([0.9, 0.2, 0.7, 0.5, 0.6, 0.8, 0.3, 0.4], gold)
    assert 0.0 < result.interval[0] < 1e-9
    assert "95% CI 0.0% to 100.0%" in result.sentence


def test_labels_of_other_scores_than_the_rest_are_noticed(texts):
    rows = example()
    assert judge_rows(rows).notes == ()
    highest = np.argsort(-rows.score)[:1500:5]
    chosen = np.full(len(rows), np.nan)
    chosen[highest] = rows.score[highest] > 0.6
    (note,) = judge_rows(JudgedRows.from_arrays(rows.score, chosen)).notes
    texts.shown(note)


def test_more_labels_for_a_narrower_interval(texts):
    result = judge_rows(example())
    width = result.interval[1] - result.interval[0]
    assert result.labels_for(width) == 200
    halved = result.labels_for(width / 2)
    assert 700 < halved < 1200
    assert result.labels_for(0.5) < 50
    assert result.labels_for(1e-4) is None
    with texts.raises(ValueError):
        result.labels_for(0)


def test_the_next_rows_are_spread_over_the_scores_and_hide_the_judge(texts):
    rows = example(id=np.arange(2000), explanation=np.full(2000, "because"))
    rows = JudgedRows.from_arrays(
        rows.score, rows.outcome, columns=rows.columns, judge_columns=("explanation",)
    )
    result = judge_rows(rows)
    chosen = result.next_rows(300)
    assert list(chosen.columns) == ["row", "id", "gold"]
    assert (chosen["row"] == chosen["id"] + 1).all()
    assert chosen["id"].is_unique
    assert (chosen["gold"] == "").all()
    assert not rows.labelled[chosen["id"]].any()
    # All 500 labels together: 50 in each tenth of the scores.
    together = np.concatenate([np.arange(200), chosen["id"]])
    edges = np.quantile(rows.score, np.linspace(0, 1, 11))
    counts = np.histogram(rows.score[together], edges)[0]
    assert abs(counts - 50).max() <= 2
    pd.testing.assert_frame_equal(chosen, result.next_rows(300))
    assert not chosen["id"].equals(judge_rows(rows, seed=1).next_rows(300)["id"])
    with texts.raises(ValueError):
        result.next_rows(0)


def test_no_more_rows_are_drawn_than_there_are():
    assert len(judge_rows(example(n=60, n_labels=50)).next_rows(100)) == 10
    assert len(judge_rows(example(n=60, n_labels=60)).next_rows(100)) == 0


def test_the_order_of_the_rows_does_not_matter():
    rows = example(id=np.arange(2000))
    order = np.random.default_rng(1).permutation(2000)
    shuffled = JudgedRows.from_arrays(
        rows.score[order], rows.outcome[order], columns={"id": rows.columns["id"][order]}
    )
    one, other = judge_rows(rows), judge_rows(shuffled)
    assert other.interval == pytest.approx(one.interval)
    assert set(one.next_rows()["id"]) == set(other.next_rows()["id"])
    assert list(one.disagreements["id"]) == list(other.disagreements["id"])


def test_labels_of_all_rows_are_their_mean():
    result = judge_rows(example(n=200))
    assert result.mean == pytest.approx(result.base_rate)
    assert math.isnan(result.ppi.value)


def test_clusters_widen_the_intervals():
    rows = example()
    copied = JudgedRows.from_arrays(
        np.tile(rows.score, 3), np.tile(rows.outcome, 3), np.tile(np.arange(2000), 3)
    )
    assert judge_rows(copied).interval == pytest.approx(judge_rows(rows).interval)
    assert judge_rows(copied).kappa_interval == pytest.approx(judge_rows(rows).kappa_interval)


def test_parameters_are_checked(texts):
    with pytest.raises(ValueError, match="0 < threshold < 1, got 1"):
        judge_rows(example(), threshold=1.0)
    with pytest.raises(ValueError, match="0 < level < 1"):
        judge_rows(example(), confidence_level=1.0)
    with texts.raises(ValueError):
        JudgedRows.from_arrays([0.1, 0.2], [0.5, None])
    with texts.raises(ValueError):
        JudgedRows.from_arrays([0.1, 0.2], [0, 1], ["a", None])
    with pytest.raises(ValueError, match="At least 3 rows"):
        calib.judge([0.1, 0.2, 0.3], [1, None, 0])
    with pytest.raises(TypeError, match="See `compare_judges`"):
        calib.judge(pd.DataFrame({"a": [0.1]}), score=["a", "b"])


def test_the_gold_rows_are_predictions():
    gold = example(n_labels=60).gold()
    assert len(gold) == 60
    assert gold.class_names == ("fail", "pass")
    assert calib.analyze(gold, {"methods": ("platt",)}).verdict.kind


def test_judges_side_by_side():
    rows = example()
    frame = pd.DataFrame({"gold": rows.outcome, "good": rows.score, "constant": 0.9})
    compared = calib.compare_judges(frame, score=["good", "constant"])
    table = compared.frame()
    assert list(table.index) == ["good", "constant"]
    assert table.loc["good", "mean"] == judge_rows(rows).mean
    assert table.loc["constant", "kappa"] == pytest.approx(0.0, abs=1e-12)
    assert table.loc["constant", "mean"] == pytest.approx(table.loc["constant", "labels_mean"])


def test_a_model_without_labels_is_a_failure_and_not_the_end(texts):
    rows = example()
    frame = pd.DataFrame({"gold": rows.outcome, "score": rows.score})
    frame["model"] = np.where(np.arange(2000) < 1000, "seen", "unseen")
    compared = calib.compare_judges(frame, model="model")
    assert list(compared.results) == ["seen"]
    assert "At least 3 rows" in compared.failures["unseen"]
    with texts.raises(ValueError):
        calib.compare_judges(frame.assign(gold=frame["gold"].where(frame.index < 2)))

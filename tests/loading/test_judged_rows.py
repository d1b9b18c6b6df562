"""Judged rows and gold labels are matched right, or refused in words."""

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib import InputError, Predictions
from calib.analysis.judge import judge_rows
from calib.loading import Columns
from calib.loading.judged_rows import read_judged
from tests.loading.logs import inspect_json, sample, stated

JUDGED = pd.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "answer": ["one", "two", "three", "four"],
        "judge_score": [0.9, 0.2, 0.7, 0.4],
        "explanation": ["good", "bad", "fair", "poor"],
    }
)
GOLD = pd.DataFrame({"id": ["d", "a"], "human_label": ["fail", "pass"]})


def rows(judged=JUDGED, gold=GOLD, **columns):
    (one,) = read_judged(judged, gold, Columns(**columns)).rows.values()
    return one


def refused(code, judged=JUDGED, gold=GOLD, **columns):
    with pytest.raises(InputError) as error:
        read_judged(judged, gold, Columns(**columns))
    assert error.value.problems[0].code == code
    return str(error.value)


def test_labels_are_matched_by_the_id_of_both_tables(texts):
    read = rows()
    np.testing.assert_array_equal(read.score, JUDGED["judge_score"])
    np.testing.assert_array_equal(read.outcome, [1, np.nan, np.nan, 0])
    assert list(read.columns) == ["id", "answer", "explanation"]
    assert read.judge_columns == ("explanation",)
    texts("\n".join(read.notes))
    assert rows(row_id="id", score="judge_score", outcome="human_label").notes == ()


def test_files_are_read_as_any_file(tmp_path):
    paths = tmp_path / "judged.csv", tmp_path / "gold.parquet"
    JUDGED.to_csv(paths[0], index=False)
    GOLD.to_parquet(paths[1])
    for judged, gold in (paths, map(str, paths), (paths[0].read_bytes(), paths[1].read_bytes())):
        np.testing.assert_array_equal(rows(judged, gold).outcome, [1, np.nan, np.nan, 0])
    assert rows(*paths).name == "judged"


def test_ids_are_equal_as_texts():
    judged, gold = JUDGED.assign(id=[1, 2, 3, 4]), GOLD.assign(id=[4.0, 1.0])
    np.testing.assert_array_equal(rows(judged, gold).outcome, [1, np.nan, np.nan, 0])


def test_a_column_of_the_same_table_may_hold_the_labels():
    read = rows(JUDGED.assign(gold=["1", "", None, "0"]), None)
    np.testing.assert_array_equal(read.outcome, [1, np.nan, np.nan, 0])


def test_arrays_are_matched_by_position():
    for gold in ([1, None, np.nan, 0], np.array([1, np.nan, np.nan, 0])):
        read = rows([0.9, 0.2, 0.7, 0.4], gold)
        np.testing.assert_array_equal(read.outcome, [1, np.nan, np.nan, 0])
        assert read.notes == ()


def test_tables_of_equally_many_rows_without_ids_are_matched_by_position(texts):
    gold = pd.DataFrame({"gold_label": [True, None, None, False]})
    read = rows(JUDGED.drop(columns="id"), gold)
    np.testing.assert_array_equal(read.outcome, [1, np.nan, np.nan, 0])
    texts(read.notes[-1])


def test_predictions_give_their_scores_their_outcomes_and_their_clusters():
    predictions = Predictions.from_arrays([0, 1, 1], [0.2, 0.7, 0.9], group=["x", "x", "y"])
    read = rows(predictions, predictions, group="group")
    np.testing.assert_array_equal(read.score, predictions.scores)
    np.testing.assert_array_equal(read.outcome, [0, 1, 1])
    np.testing.assert_array_equal(read.group, [0, 0, 1])


def test_answers_of_the_judge_may_be_words():
    read = rows(JUDGED.assign(judge_score=["PASS", "fail", "pass", "fail"]))
    np.testing.assert_array_equal(read.score, [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("labels", "positive", "answers", "scores"),
    [
        # The judge has words of its own.
        (["good", "bad"], "good", ["yes"] * 4, [1, 1, 1, 1]),
        (["good", "bad"], "good", ["no"] * 4, [0, 0, 0, 0]),
        (["good", "bad"], "good", ["yes", "no", "yes", "no"], [1, 0, 1, 0]),
        (["A", "B"], "B", ["pass", "fail", "pass", "pass"], [1, 0, 1, 1]),
        # The judge has the words of the labels, or some of them.
        (["good", "bad"], "bad", ["good", "Bad", "bad", "good"], [0, 1, 1, 0]),
        (["good", "bad"], "bad", ["good"] * 4, [0, 0, 0, 0]),
        (["A", "B"], "B", ["a", "b", "a", "a"], [0, 1, 0, 0]),
        (["A", "A"], "B", ["A", "B", "A", "A"], [0, 1, 0, 0]),
        (["A", "B"], "B", ["A"] * 4, [0, 0, 0, 0]),
        (["good", "bad"], "good", ["C", "I", "C", "I"], [1, 0, 1, 0]),
        # These words say nothing.
        (["good", "bad"], "good", ["fine"] * 4, None),
        (["A", "B"], "B", ["C"] * 4, None),
        (["A", "B"], "B", ["B", "C", "B", "C"], None),
    ],
)
def test_the_label_that_passes_is_not_a_word_of_the_judge(labels, positive, answers, scores):
    judged, gold = JUDGED.assign(judge_score=answers), GOLD.assign(human_label=labels)
    if scores is None:
        refused("text", judged, gold, positive=positive)
    else:
        np.testing.assert_array_equal(rows(judged, gold, positive=positive).score, scores)


def test_ratings_need_their_scale(texts):
    rated = JUDGED.assign(judge_score=[5, 1, 4, 2])
    assert "go from 1 to 5, outside 0 to 1" in refused("scale", rated)
    np.testing.assert_allclose(rows(rated, scale=(1, 5)).score, [1, 0, 0.75, 0.25])
    with texts.raises(ValueError):
        Columns(scale=(5, 1))
    with pytest.raises(ValueError, match="got 0 and inf"):
        Columns(scale=(0, float("inf")))


def test_labels_whose_meaning_is_not_clear_are_asked():
    gold = GOLD.assign(human_label=["A", "B"])
    with pytest.raises(InputError) as asked:
        read_judged(JUDGED, gold, Columns())
    (problem,) = asked.value.problems
    assert problem.code == "no-positive"
    assert [one.arguments for one in problem.choices] == [{"positive": "B"}, {"positive": "A"}]
    np.testing.assert_array_equal(
        rows(gold=gold, positive="b", outcome="human_label").outcome, [1, np.nan, np.nan, 0]
    )
    three = GOLD.iloc[[0, 1, 1]].assign(id=list("abc"), human_label=list("ABC"))
    refused("no-positive", gold=three)
    refused("other-labels", gold=three, positive="A")
    read = rows(gold=three, positive="A", others_negative=True)
    np.testing.assert_array_equal(read.outcome, [1, 0, 0, np.nan])


def test_several_columns_that_may_be_the_score_are_asked():
    judged = JUDGED.rename(columns={"judge_score": "prob_a"}).assign(prob_b=[0.2, 0.9, 0.3, 0.4])
    with pytest.raises(InputError) as asked:
        read_judged(judged, GOLD, Columns())
    (problem,) = asked.value.problems
    assert problem.code == "which-score"
    assert [one.arguments for one in problem.choices] == [
        {"score": None, "models": ("prob_a", "prob_b")},
        {"score": "prob_a"},
        {"score": "prob_b"},
    ]
    for choice in problem.choices:
        read = read_judged(judged, GOLD, Columns(**choice.arguments)).rows
        names = choice.arguments.get("models", ("data",))
        assert tuple(read) == names


def test_rows_that_the_judge_did_not_score_are_left_out_and_counted(texts):
    read = rows(JUDGED.assign(judge_score=[None, 0.2, None, 0.4]))
    np.testing.assert_array_equal(read.outcome, [np.nan, 0])
    texts(read.notes[-1])
    assert list(read.columns["id"]) == ["b", "d"]


def test_a_blank_label_is_no_label():
    gold = pd.DataFrame({"id": ["a", "zz"], "human_label": ["pass", None]})
    np.testing.assert_array_equal(rows(gold=gold).outcome, [1, np.nan, np.nan, np.nan])


def test_what_does_not_match_is_refused(texts):
    texts.shown(refused("unmatched", gold=GOLD.assign(id=["d", "z"])))
    texts.shown(refused("repeated-id", gold=GOLD.assign(id=["a", "a"]), row_id="id"))
    texts.shown(refused("repeated-id", JUDGED.assign(id=["a", "a", "b", "c"]), row_id="id"))
    texts.shown(refused("unmatched", gold=GOLD.drop(columns="id")))
    texts.shown(refused("unmatched", gold=[1, 0]))
    texts.shown(
        refused("no-id", gold=pd.DataFrame({"id": ["a", None], "gold": [1, 0]}), row_id="id")
    )


def test_ids_that_repeat_are_not_matched_by_position(texts):
    judged = pd.concat([JUDGED, JUDGED]).assign(epoch=[1] * 4 + [2] * 4)
    gold = pd.DataFrame({"id": [*"abcd"] * 2, "label": [1, 0, 1, 0] * 2, "epoch": judged["epoch"]})
    # The rows of the labels are in another order, which ids without an epoch do not show.
    gold = gold.iloc[::-1]
    read = rows(judged, gold)
    np.testing.assert_array_equal(read.outcome, [1, 0, 1, 0] * 2)
    text = refused("repeated-id", judged, gold.drop(columns="epoch"))
    texts.shown(text)
    plain = judged.drop(columns="epoch")
    texts.shown(refused("repeated-id", plain, gold))
    assert "`id`" in refused("repeated-id", plain, gold.iloc[:3])
    np.testing.assert_array_equal(rows(plain, gold[["label"]]).outcome, gold["label"])
    named = judged.assign(model=["m"] * 4 + ["n"] * 4)
    lacking = refused("repeated-id", named, gold.drop(columns="epoch"), model="model")
    texts.shown(lacking)


def test_the_id_that_differs_from_row_to_row_is_the_one_that_matches():
    judged, gold = JUDGED.assign(user_id=["u", "u", "v", "v"]), GOLD.assign(user_id=["v", "u"])
    judged = judged[["user_id", "id", "judge_score"]]
    np.testing.assert_array_equal(rows(judged, gold).outcome, [1, np.nan, np.nan, 0])


def test_columns_that_do_not_exist_or_are_not_clear_are_refused(texts):
    texts.shown(refused("no-column", score="nil"))
    texts.shown(refused("no-column", outcome="nil"))
    refused("no-score", JUDGED[["id", "answer"]])
    refused(
        "no-outcome", gold=GOLD.assign(note="x", human_label=0).rename(columns={"human_label": "q"})
    )
    refused("text", score="answer")
    refused("no-labels", gold=GOLD.assign(human_label=None))
    refused("missing", JUDGED.assign(judge_score=np.nan))


def test_a_column_of_weights_is_said_not_to_be_used(texts):
    frame = pd.DataFrame({"score": [0.2, 0.7], "gold": [0, 1], "weight": [1.0, 2.0]})
    (rows,) = read_judged(frame, None, Columns()).rows.values()
    texts(rows.notes[-1])
    (named,) = read_judged(frame, None, Columns(group="weight")).rows.values()
    assert "Weights" not in " ".join(named.notes)


def test_weights_and_matrices_are_refused():
    refused("weights", Predictions.from_arrays([0, 1], [0.2, 0.7], [1.0, 2.0]), [0, 1])
    refused("matrix", Predictions.from_arrays([0, 2], np.full((2, 4), 0.25)), [0, 1])


def test_several_judges_and_several_models():
    judged = JUDGED.assign(second=[0.1, 0.2, 0.3, 0.4], model=["m", "m", "n", "n"])
    judges = Columns(score=["judge_score", "second"])
    assert list(read_judged(judged, GOLD, judges).rows) == ["judge_score", "second"]
    models = read_judged(judged, GOLD, Columns(model="model", score="second")).rows
    assert {name: len(one) for name, one in models.items()} == {"m": 2, "n": 2}
    both = Columns(model="model", score=["judge_score", "second"])
    assert list(read_judged(judged, GOLD, both).rows) == [
        *("m, judge_score", "m, second", "n, judge_score", "n, second")
    ]


def test_rows_without_a_model_are_left_out_and_counted(texts):
    judged = JUDGED.assign(model=["m", " ", "m", None])
    (read,) = read_judged(judged, GOLD, Columns(model="model")).rows.values()
    assert list(read.columns["id"]) == ["a", "c"]
    texts(read.notes[-1])
    refused("model-column", judged.assign(model=None), GOLD, model="model")


def test_a_model_without_scores_does_not_hide_the_others(texts):
    judged = JUDGED.assign(model=["m", "m", "n", "n"], judge_score=[0.9, 0.2, None, None])
    parts = read_judged(judged, GOLD, Columns(model="model"))
    assert list(parts.rows) == ["m"]
    assert list(parts.failures) == ["n"]
    texts.shown(parts.failures["n"])


def test_a_row_without_a_cluster_is_one_by_itself():
    judged = JUDGED.assign(question=["x", "x", " ", None])
    np.testing.assert_array_equal(rows(judged, GOLD, group="question").group, [0, 0, 1, 2])


def test_an_id_that_repeats_by_model_is_matched_with_the_model():
    judged = pd.concat([JUDGED.assign(model="m"), JUDGED.assign(model="n")])
    gold = GOLD.assign(model=["n", "m"])
    models = read_judged(judged, gold, Columns(model="model")).rows
    np.testing.assert_array_equal(models["m"].outcome, [1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(models["n"].outcome, [np.nan, np.nan, np.nan, 0])
    refused("repeated-id", judged, GOLD, model="model", row_id="id")


def deepeval(scores, *, threshold=0.5, metrics=("Faithfulness",)):
    """A test run of deepeval, whose success says only whether the judge's score is high enough."""
    cases = [
        {
            "name": f"case {number}",
            "input": "?",
            "actualOutput": "!",
            "metricsData": [
                {"name": name, "score": score, "success": score > threshold} for name in metrics
            ],
        }
        for number, score in enumerate(scores)
    ]
    return json.dumps({"testCases": cases}).encode()


SCORES = [0.9, 0.2, 0.7, 0.4] * 20


def test_the_verdict_of_a_judge_is_no_gold_label():
    run = deepeval(SCORES)
    for judged, gold, columns in (
        (run, None, {}),
        (run, None, {"outcome": "correct"}),
        (SCORES, run, {}),
    ):
        refused("judged", judged, gold, **columns)
    # Labels of people are gold labels, whatever the log says.
    labels = [int(score > 0.5) for score in SCORES]
    np.testing.assert_array_equal(rows(run, labels).outcome, labels)


def test_epochs_of_a_log_are_clusters(texts):
    samples = [
        stated(number, 0.5 + number / 100, "CI"[(number + epoch) % 2], epoch=epoch)
        for number in range(40)
        for epoch in range(1, 6)
    ]
    read = rows(inspect_json(samples), None)
    assert len(np.unique(read.group)) == 40
    loaded = calib.load(inspect_json(samples))
    assert len(np.unique(loaded.group)) == 40
    assert "group: sample_id" in read.notes[0]
    once = rows(inspect_json([one for one in samples if one["epoch"] == 1]), None)
    assert once.group is None
    # Labels need the epoch, because the id repeats.
    gold = pd.DataFrame({"sample_id": [3, 3], "epoch": [1, 2], "label": ["fail", "pass"]})
    labelled = rows(inspect_json(samples), gold)
    assert list(labelled.columns["epoch"][labelled.labelled]) == [1, 2]
    assert list(labelled.outcome[labelled.labelled]) == [0, 1]
    text = refused("repeated-id", inspect_json(samples), gold.iloc[:1].drop(columns="epoch"))
    texts.shown(text)


def test_rows_to_label_next_of_a_log_hide_the_verdict_of_the_judge():
    gold = pd.DataFrame({"sample_id": [f"case {n}" for n in range(60)], "label": [1, 0] * 30})
    judge = judge_rows(rows(deepeval(SCORES), gold))
    chosen = judge.next_rows(5)
    assert not {"correct", "confidence", "explanation"} & {*chosen}
    assert "sample_id" in chosen
    assert "correct" in judge.disagreements


def test_the_grade_of_a_log_without_confidence_is_the_answer_of_the_judge():
    log = inspect_json([sample(number, "CI"[number % 2]) for number in range(8)])
    gold = pd.DataFrame({"sample_id": range(8), "label": [1, 0] * 4})
    read = rows(log, gold)
    np.testing.assert_array_equal(read.score, [1, 0] * 4)
    assert "score: correct" in read.notes[0]
    refused("no-confidence", log, None)

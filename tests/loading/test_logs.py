"""Evaluation logs: every format is read right or refused in words, and doubts are asked about."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import calib
from calib.loading import FileFormat, InputError, read
from calib.loading.logs import STATED, TOKEN, combined, read_logs, taken
from calib.loading.logs.json_values import MAX_PATHS, WINDOW_BYTES, Document, key_paths, records
from calib.loading.reading.apart import FileReader
from calib.loading.reading.budget import Budget
from tests.loading.logs import (
    HEADER,
    SHARED,
    archive,
    inspect_json,
    lines,
    lm_sample,
    members,
    sample,
    stated,
    zstandard_archive,
)

pytestmark = pytest.mark.filterwarnings("ignore::calib.loading.InputWarning")
SAMPLES = [
    stated(3, 0.9),
    stated(1, 0.8, "I"),
    stated(2, 0.7),
    stated(2, 0.6, "I", epoch=2),
    stated(4, 0.5, math.nan),
]


def rows_of(data, name="run.eval", **options):
    return combined([read(data, name, given=FileFormat(**options))])[0].frame


def refusal(data, name="run.json", **options):
    with pytest.raises(InputError) as refused:
        calib.load(data, name=name, **options)
    return refused.value.problems[0]


@pytest.mark.parametrize(
    "data",
    [
        archive(members(SAMPLES)),
        zstandard_archive(members(SAMPLES)),
        inspect_json(SAMPLES),
        json.dumps(json.loads(inspect_json(SAMPLES)), indent=2).encode(),
        archive(
            {
                "_journal/start.json": json.dumps(HEADER).encode(),
                "_journal/summaries/1.json": json.dumps(SAMPLES[:3]).encode(),
                "_journal/summaries/2.json": json.dumps(SAMPLES[2:]).encode(),
            }
        ),
    ],
    ids=["deflate", "zstandard", "json", "indented", "unfinished"],
)
def test_inspect_logs_of_every_kind(data):
    frame = rows_of(data)
    assert frame["sample_id"].tolist() == ["1", "2", "2", "3", "4"]
    assert frame["epoch"].tolist() == [1, 1, 2, 1, 1]
    assert frame["confidence"].tolist() == [0.8, 0.7, 0.6, 0.9, 0.5]
    assert frame["correct"].astype(object).fillna("").tolist() == [
        *("wrong", "right", "wrong", "right", "")
    ]
    assert taken(frame).to_dict("records") == [
        {
            "task": "capitals",
            "model": "m/one",
            "rows": 5,
            "scored": 4,
            "without confidence": 0,
            "source": STATED,
        }
    ]


def test_epochs_are_clusters_and_unscored_answers_are_left_out_and_counted():
    with pytest.warns(calib.loading.InputWarning, match="5 answers, 1 were not scored"):
        predictions = calib.load(archive(members(SAMPLES)))
    assert predictions.scores.tolist() == [0.8, 0.7, 0.6, 0.9]
    assert predictions.outcome.tolist() == [0, 1, 0, 1]
    assert predictions.class_names == ("wrong", "right")
    assert predictions.group.tolist() == [0, 1, 1, 2]
    assert sum(predictions.set_aside.values()) == 1


def test_unfinished_and_invalid_answers_are_reported():
    invalid = stated(1, 0.5) | {"invalidation": {"author": "x"}}
    table = read(inspect_json([invalid, stated(2, 0.4)], status="cancelled"), "run.json")
    assert {note.code for note in table.notes} == {"invalidated", "unfinished"}
    assert rows_of(inspect_json([invalid, stated(2, 0.4)]))["correct"].isna().tolist() == [
        True,
        False,
    ]


def test_the_confidence_is_looked_for_in_a_fixed_order():
    logprobs = {"content": [{"token": " A", "logprob": math.log(0.25)}]}
    of_token = sample(1) | {"output": {"choices": [{"logprobs": logprobs}]}}
    of_value = sample(1, {"correct": "C", "confidence": 0.7})
    of_metadata = sample(1) | {"metadata": {"confidence": 0.6}}
    assert_allclose(rows_of(inspect_json([of_token]))["confidence"], [0.25])
    assert rows_of(inspect_json([of_token]))["source"].tolist() == [TOKEN]
    assert rows_of(inspect_json([of_value]))["confidence"].tolist() == [0.7]
    assert rows_of(inspect_json([of_metadata]))["confidence"].tolist() == [0.6]
    # The confidence of a label is not that of the model.
    assert np.isnan(rows_of(inspect_json([sample(1)]))["confidence"]).all()


def test_confidences_of_two_sources_are_not_mixed():
    logprobs = {"content": [{"token": "A", "logprob": -0.1}]}
    of_token = sample(1) | {"output": {"choices": [{"logprobs": logprobs}]}}
    table = read(inspect_json([of_token, stated(2, 0.5)]), "run.json")
    assert table.frame["confidence"].isna().tolist() == [True, False]
    assert [note.code for note in table.notes] == ["sources"]


def test_several_scorers_are_asked_about():
    scored = stated(1, 0.9)
    scored["scores"]["other"] = {"value": "I"}
    problem = refusal(inspect_json([scored]))
    assert problem.code == "which-scorer"
    assert [choice.arguments for choice in problem.choices] == [
        {"scorer": "match"},
        {"scorer": "other"},
    ]
    assert rows_of(inspect_json([scored]), scorer="other")["correct"].tolist() == ["wrong"]
    with pytest.raises(InputError, match="no scorer `third`"):
        rows_of(inspect_json([scored]), scorer="third")


@pytest.mark.parametrize(("least", "expected"), [(1.0, "wrong"), (0.5, "right")])
def test_partly_right_answers_are_asked_about(least, expected):
    data = inspect_json([stated(1, 0.9, "P"), stated(2, 0.4, "C"), stated(3, 0.2, "I")])
    problem = refusal(data)
    assert problem.code == "partly-right"
    assert {"correct_from": least} in [choice.arguments for choice in problem.choices]
    correct = rows_of(data, correct_from=least)["correct"].tolist()
    assert correct == [expected, "right", "wrong"]


def test_graded_scores_need_a_threshold():
    data = inspect_json([stated(1, 0.9, 7), stated(2, 0.4, 3)])
    assert refusal(data).code == "graded"
    assert rows_of(data, correct_from=5.0)["correct"].tolist() == ["right", "wrong"]


def test_a_list_of_scores_is_their_mean():
    data = inspect_json([stated(1, 0.9, [1, 1]), stated(2, 0.4, ["C", "I"]), stated(3, 0.2, [0])])
    assert refusal(data).code == "partly-right"
    assert rows_of(data, correct_from=1.0)["correct"].tolist() == ["right", "wrong", "wrong"]


def test_scores_that_cannot_be_read_are_counted_with_an_example():
    unread = [stated(1, 0.9, "great"), stated(2, 0.4, ["C", "so-so"]), stated(3, 0.2, math.nan)]
    table = read(inspect_json([*unread, stated(4, 0.5)]), "run.json")
    assert table.frame["correct"].isna().tolist() == [True, True, True, False]
    assert [note.code for note in table.notes] == ["unread-scores"]
    with pytest.warns(calib.loading.InputWarning, match=r"2 scores of `match` .* such as `great`"):
        calib.load(inspect_json([*unread, *(stated(k, 0.5, "CI"[k % 2]) for k in range(4, 8))]))


@pytest.mark.parametrize("empty", [{}, {"confidence": 0.6}])
def test_a_score_without_values_is_counted_as_not_scored(empty):
    data = inspect_json([stated(1, 0.9, empty), stated(2, 0.4, {"correct": "C"})])
    frame = rows_of(data)
    assert frame["sample_id"].tolist() == ["1", "2"]
    assert frame["correct"].astype(object).fillna("").tolist() == ["", "right"]
    assert refusal(inspect_json([stated(1, 0.9, empty)])).code == "no-scores"


def test_no_reply_counts_as_wrong_and_is_noted():
    table = read(inspect_json([stated(1, 0.9, "N")]), "run.json")
    assert table.frame["correct"].tolist() == ["wrong"]
    assert [note.code for note in table.notes] == ["no-answer"]


def test_confidences_of_multiple_choice_are_shares_of_the_likelihoods():
    data = lines(
        lm_sample(0, [-1.0, -2.0, -4.0], 0),
        lm_sample(1, [-3.0, -2.0, -6.0], 2),
    )
    frame = rows_of(data, "samples_arc_2025-01-01T00-00-00.1.jsonl")
    # These are softmax([-1, -2, -4]) and softmax([-3, -2, -6]), computed by hand.
    largest = [1.0 / (1.0 + math.e**-1 + math.e**-3), 1.0 / (1.0 + math.e**-1 + math.e**-4)]
    assert_allclose(frame["confidence"], largest)
    assert frame["correct"].tolist() == ["right", "wrong"]
    assert frame["task"].unique().tolist() == ["arc"]


def test_the_normalised_accuracy_has_a_normalised_confidence():
    record = lm_sample(0, [-2.0, -3.0], 1, metrics=["acc", "acc_norm"], acc_norm=1.0)
    problem = refusal(lines(record, record), "s.jsonl")
    assert [choice.arguments["scorer"] for choice in problem.choices] == ["acc", "acc_norm"]
    by_length = rows_of(lines(record), "s.jsonl", scorer="acc_norm")
    # Per character the likelihoods are -2 and -1.5.
    assert_allclose(by_length["confidence"], [1.0 / (1.0 + math.exp(-0.5))])
    assert by_length["correct"].tolist() == ["right"]


def test_mutual_information_lists_the_likelihoods_twice():
    record = lm_sample(0, [-1.0, -2.0, -5.0, -1.0], 0)
    record |= {"metrics": ["acc", "acc_mutual_info"], "acc_mutual_info": 1.0}
    plain = rows_of(lines(record), "s.jsonl", scorer="acc")
    assert_allclose(plain["confidence"], [1.0 / (1.0 + math.exp(-1.0))])
    mutual = rows_of(lines(record), "s.jsonl", scorer="acc_mutual_info")
    # The differences are 4 and -1.
    assert_allclose(mutual["confidence"], [1.0 / (1.0 + math.exp(-5.0))])


def test_an_impossible_choice_has_no_share():
    impossible, finite = lm_sample(0, [-1.0, -2.0, -math.inf], 0), lm_sample(1, [-1.0, -2.0], 0)
    table = read(lines(impossible, finite), "s.jsonl")
    assert impossible["filtered_resps"][2][0] == "-inf"
    assert_allclose(table.frame["confidence"], [1.0 / (1.0 + math.exp(-1.0))] * 2)
    assert not table.notes
    every = lm_sample(0, [-math.inf, -math.inf], 0)
    assert np.isnan(rows_of(lines(every), "s.jsonl")["confidence"]).all()


def test_an_odd_number_of_likelihoods_with_mutual_information_is_refused():
    record = lm_sample(7, [-1.0, -2.0, -5.0], 0)
    record |= {"metrics": ["acc", "acc_mutual_info"], "acc_mutual_info": 1.0}
    problem = refusal(lines(record), "s.jsonl")
    assert problem.code == "odd-likelihoods"
    assert "Sample `7` has 3 likelihoods" in problem.sentence


def helm(number, **stats):
    return {
        "instance_id": f"id{number}",
        "stats": [
            {"name": {"name": name, "split": "test"}, "sum": value, "count": 1}
            for name, value in stats.items()
        ],
    }


def test_a_run_of_helm_without_exact_match_says_which_statistics_it_has():
    data = json.dumps([helm(k, f1_score=0.5, max_prob=0.9) for k in range(4)]).encode()
    problem = refusal(data)
    assert problem.code == "no-exact-match"
    assert "The statistics are `f1_score` and `max_prob`." in problem.sentence
    mixed = json.dumps([helm(1, max_prob=0.9), helm(2, exact_match=1.0, max_prob=0.8)]).encode()
    assert rows_of(mixed)["correct"].astype(object).fillna("").tolist() == ["", "right"]


def test_several_filters_are_asked_about():
    record = lm_sample(0, [-1.0, -2.0], 0)
    data = lines(record, record | {"filter": "strict", "acc": 0.0})
    problem = refusal(data, "s.jsonl")
    assert problem.code == "which-filter"
    assert rows_of(data, "s.jsonl", filter="strict")["correct"].tolist() == ["wrong"]


def test_the_results_beside_samples_name_the_model(tmp_path):
    date = "2025-01-01T00-00-00.123456"
    path = tmp_path / f"samples_arc_{date}.jsonl"
    path.write_bytes(lines(*(lm_sample(k, [-1.0, -2.0 - k], k % 2) for k in range(4))))
    results = {"results": {"arc": {"acc,none": 0.5}}, "configs": {}, "model_name": "org/m"}
    other = {**results, "model_name": "org/other"}
    (tmp_path / f"results_{date}.json").write_text(json.dumps(results))
    (tmp_path / "results_2024-01-01T00-00-00.1.json").write_text(json.dumps(other))
    frame = read_logs(path).frame
    assert frame["model"].unique().tolist() == ["org/m"]
    assert frame["task"].unique().tolist() == ["arc"]
    assert calib.load(path).columns.keys() == set()


def test_several_logs_are_models_and_tasks():
    def log(task, model, n):
        header = {"eval": {"task": task, "model": model}}
        samples = [stated(k, 0.1 + 0.1 * k, "CI"[k % 2]) for k in range(n)]
        return inspect_json(samples[::-1] if model == "b" else samples, **header)

    files = [log("x", "a", 6), log("x", "b", 6), log("y", "a", 4)]
    models = calib.load_models(files)
    assert {name: len(rows) for name, rows in models.items()} == {"a": 10, "b": 6}
    assert list(models["a"].columns) == ["task"]
    assert models["a"].group is None
    together = calib.load(files)
    assert set(together.columns) == {"task", "model"}
    # The same question, answered by two models, is one cluster.
    assert len(set(together.group.tolist())) == 10


def test_logs_and_tables_are_not_mixed():
    with pytest.raises(InputError, match="Some of these files are evaluation logs"):
        calib.load_models([inspect_json(SAMPLES), b"y,p\n0,0.2\n1,0.7\n"])


def test_mixed_scales_are_asked_about():
    def log(model, confidences):
        samples = [stated(k, c, "CI"[k % 2]) for k, c in enumerate(confidences)]
        return inspect_json(samples, eval={"task": "t", "model": model})

    files = [log("a", [0.2, 0.5, 1.0, 0.4]), log("b", [1, 60, 95, 70])]
    with pytest.raises(InputError) as refused:
        calib.load_models(files)
    (problem,) = refused.value.problems
    assert problem.code == "mixed-scales"
    models = calib.load_models(files, **problem.choices[0].arguments)
    assert models["a"].scores.tolist() == [0.2, 0.5, 1.0, 0.4]
    assert models["b"].scores.tolist() == [0.01, 0.6, 0.95, 0.7]
    # One scale everywhere is the question of any other table.
    with pytest.raises(InputError, match="look like percentages"):
        calib.load(files[1])
    assert calib.load(files[1], transform="percent").scores.max() == 0.95


def test_percentages_as_text_are_read():
    frame = rows_of(inspect_json([stated(1, "85%"), stated(2, "0.4"), stated(3, "high")]))
    assert frame["confidence"].fillna(-1.0).tolist() == [0.85, 0.4, -1.0]


def test_openai_evals_are_joined_by_sample():
    def event(kind, sample_id, **data):
        about = {"run_id": "r", "event_id": 0, "sample_id": sample_id, "type": kind}
        return about | {"data": data}

    data = lines(
        {"spec": {"eval_name": "sums", "completion_fns": ["gpt-x"]}},
        event("cond_logp", "s1", prompt="?", completion=" A", logp=math.log(0.75)),
        event("cond_logp", "s1", prompt="?", completion=" B", logp=math.log(0.25)),
        event("match", "s1", correct=True, picked="A", expected="A"),
        event("match", "s2", correct=False, picked="B", expected="A"),
        {"final_report": {"accuracy": 0.5}},
    )
    frame = rows_of(data, "log.jsonl")
    assert frame["model"].tolist() == ["gpt-x"] * 2
    assert_allclose(frame["confidence"].fillna(-1.0), [0.75, -1.0])
    assert frame["correct"].tolist() == ["right", "wrong"]


def rubric(score, *, metric=None, value="is polite"):
    assertion = {"type": "llm-rubric", "value": value} | ({"metric": metric} if metric else {})
    return {"pass": score >= 0.5, "score": score, "assertion": assertion, "reason": "good"}


def equals(*, passes):
    return {"pass": passes, "score": float(passes), "assertion": {"type": "equals"}}


def promptfoo(*tests, **more):
    """An export with one result per list of checks."""
    results = [
        {
            "success": all(part["pass"] for part in parts),
            "gradingResult": {"pass": True, "score": 0.8, "componentResults": parts},
            "provider": {"id": "openai:x"},
            "testIdx": number,
            "promptIdx": 0,
        }
        | more.get(f"test_{number}", {})
        for number, parts in enumerate(tests)
    ]
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}).encode()


def test_the_outcome_of_promptfoo_is_that_of_checks_without_a_judge():
    frame = rows_of(promptfoo([rubric(0.8), equals(passes=False)]))
    assert frame[["confidence", "correct", "model"]].to_numpy().tolist() == [
        [0.8, "wrong", "openai:x"]
    ]
    assert refusal(promptfoo([rubric(0.8)])).code == "judged"


def test_answers_that_only_a_judge_graded_are_left_out_and_counted():
    checked = [[rubric(0.8), equals(passes=k % 2 == 0)] for k in range(4)]
    table = read(promptfoo(*checked, [rubric(0.9)], [rubric(0.1)]), "p.json")
    # Whether the judge's score is above its threshold would be the outcome of the last two.
    assert table.frame["correct"].astype(object).fillna("").tolist() == [
        *("right", "wrong", "right", "wrong", "", "")
    ]
    (note,) = table.notes
    assert note.code == "only-judged"
    assert "2 answers" in note.sentence
    assert not table.judged


def test_a_set_of_checks_with_a_judge_is_no_check_of_its_own():
    # A set is listed before its members, without the type of a check.
    members = [rubric(0.2), equals(passes=True)]
    of_set = {"pass": False, "score": 0.6, "assertion": None, "componentResults": members}
    frame = rows_of(promptfoo([of_set, *members]))
    assert frame["correct"].tolist() == ["right"]
    assert refusal(promptfoo([of_set, members[0]])).code == "judged"


def test_errors_of_promptfoo_are_not_scored():
    failed = {"success": False, "error": "API error: 429", "failureReason": 2}
    data = promptfoo(
        [rubric(0.8), equals(passes=True)],
        [],
        [rubric(0.7), equals(passes=False)],
        test_1=failed | {"gradingResult": None},
        # The reason why a check failed is an error too in promptfoo, but the answer was scored.
        test_2={"success": False, "error": "Expected 7", "failureReason": 1},
    )
    table = read(data, "p.json")
    assert table.frame["correct"].astype(object).fillna("").tolist() == ["right", "", "wrong"]
    assert [note.code for note in table.notes] == ["errors"]


def test_several_rubrics_without_a_name_are_asked_about():
    data = promptfoo(*[[rubric(0.8), rubric(0.3), equals(passes=True)]] * 2)
    problem = refusal(data)
    assert problem.code == "which-scorer"
    scorers = [choice.arguments["scorer"] for choice in problem.choices]
    assert scorers == ["llm-rubric", "llm-rubric (2)"]
    assert rows_of(data, scorer=scorers[1])["confidence"].tolist() == [0.3, 0.3]


def hle(*confidences):
    def judged(number, confidence):
        answer = {"correct": ("yes", "no")[number % 2], "model_answer": "7"}
        if confidence is not None:
            answer["confidence"] = confidence
        return {"model": "m", "response": "...", "judge_response": answer}

    return json.dumps({f"q{k}": judged(k, c) for k, c in enumerate(confidences)}).encode()


def test_hle_has_percentages_by_its_format():
    data = json.dumps(json.loads(hle(90, 1)) | {"q3": {"model": "m"}}).encode()
    frame = rows_of(data, "judged_m.json")
    assert frame["confidence"].fillna(-1.0).tolist() == [0.9, 0.01, -1.0]
    assert frame["correct"].astype(object).fillna("").tolist() == ["right", "wrong", ""]


@pytest.mark.parametrize(
    ("confidences", "expected"),
    [
        (("80%", "0.5%"), [0.8, 0.005]),
        (("80%", 40, 1), [0.8, 0.4, 0.01]),
        ((80, "40", None), [0.8, 0.4, -1.0]),
        ((0.8, 0.4, 1), [0.8, 0.4, 1.0]),
        (("80%", 0.4), [0.8, 0.4]),
    ],
)
def test_confidences_of_hle_are_divided_once(confidences, expected):
    frame = rows_of(hle(*confidences), "judged_m.json")
    assert_allclose(frame["confidence"].fillna(-1.0), expected)


def test_hle_with_confidences_of_at_most_1_says_how_they_were_read():
    with pytest.warns(calib.loading.InputWarning, match="No confidence is above 1"):
        calib.load(hle(0.8, 0.4, 0.7, 0.6), name="judged_m.json")
    assert not read(hle("80%", 90), "judged_m.json").notes


def test_mixed_scales_of_hle_are_asked_about():
    data = hle(80, 0.4, 1, 70)
    problem = refusal(data)
    assert problem.code == "mixed-scales"
    frame = rows_of(data, **problem.choices[0].arguments)
    assert_allclose(frame["confidence"], [0.8, 0.4, 1.0, 0.7])


def test_every_eval_ever_has_no_confidence():
    record = {
        "model_id": "m",
        "evaluation_name": "t",
        "sample_id": "1",
        "evaluation": {"score": 1.0, "is_correct": True},
    }
    problem = refusal(lines(record, record | {"sample_id": "2"}), "x_samples.jsonl")
    assert problem.code == "no-confidence"
    # The Wilson interval of 2 of 2 at 95% is [0.342, 1].
    assert "2 answers, 100.0% right (95% CI 34.2% to 100.0%)" in problem.sentence


@pytest.mark.parametrize("listed", [False, True])
def test_plain_json_records_are_a_table(listed):
    values = [{"confidence": 0.2 + 0.1 * k, "correct": k % 2 == 0} for k in range(6)]
    data = json.dumps(values).encode() if listed else lines(*values)
    predictions = calib.load(data)
    assert_allclose(predictions.scores, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    assert predictions.outcome.tolist() == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("as_csv", [False, True])
def test_mixed_scales_of_plain_rows_are_not_divided_without_a_question(as_csv):
    confidence = [0.2, 0.5, 0.9, 0.7, 20, 50, 90, 70]
    values = [{"confidence": c, "correct": k % 2} for k, c in enumerate(confidence)]
    data = pd.DataFrame(values).to_csv(index=False).encode() if as_csv else lines(*values)
    problem = refusal(data)
    assert problem.code == "mixed-scales"
    assert problem.repair is None
    assert "4 values between 0 and 1" in problem.sentence
    assert "divide only the others by 100 in the file" in problem.sentence
    # Numbers such as 0.5 can be percentages too.
    assert calib.load(data, **problem.choices[0].arguments).scores.min() == 0.002


@pytest.mark.parametrize("between", [b"\n\n", b"\r\n", b" \n \r\n\t"])
def test_blank_lines_between_records_are_skipped(between):
    records = [json.dumps({"confidence": 0.2 + 0.1 * k, "correct": k % 2}).encode() for k in (1, 2)]
    assert len(read(between.join(records), "r.jsonl")) == 2


def test_one_record_is_a_table_of_one_row():
    assert read(b'{"confidence": 0.9, "correct": true}\n', "r.jsonl").columns == (
        "confidence",
        "correct",
    )


@pytest.mark.parametrize(
    "data",
    [
        inspect_json(SAMPLES),
        hle(90, 10),
        promptfoo([rubric(0.8), equals(passes=True)]),
        json.dumps({"testCases": []}).encode(),
        json.dumps({"results": {"arc": {}}, "configs": {}}).encode(),
        json.dumps({"adapter_spec": {"model": "m"}, "scenario_spec": {}, "name": "t"}).encode(),
        json.dumps([{"confidence": 0.9, "correct": 1}]).encode(),
    ],
    ids=["Inspect", "HLE", "promptfoo", "deepeval", "results", "run", "list"],
)
def test_a_second_log_in_one_file_is_not_ignored(data):
    assert refusal(data + b"\n" + data).code == "several-values"


def test_values_inside_records_become_columns():
    rows = ({"id": k, "scores": {"p": 0.1 * k}, "y": k % 2, "tags": [1]} for k in range(4))
    table = read(lines(*rows), "r.jsonl")
    assert table.columns == ("id", "scores.p", "y")
    assert [note.code for note in table.notes] == ["left-out-columns"]


REAL = {
    "inspect_log_formats.eval": "no-confidence",
    "inspect_log_formats.json": "no-confidence",
    "inspect_mmlu_choices.eval": "no-confidence",
    "inspect_popularity.eval": "no-scores",
    "lm_eval_math_samples.jsonl": "no-confidence",
    "lm_eval_math_results.json": "names-only",
    "deepeval_test_run.json": "which-scorer",
    "helm_mmlu_gpt2/per_instance_stats.json": "too-few",
    "helm_mmlu_gpt2/run_spec.json": "names-only",
    "helm_mmlu_gpt2/scenario_state.json": "other-file",
    "helm_mmlu_gpt2/stats.json": "other-file",
}


@pytest.mark.skipif(not SHARED.exists(), reason="the logs of ../shared are not here")
@pytest.mark.parametrize(("name", "code"), REAL.items())
def test_real_logs_are_read_or_refused_in_words(name, code):
    problem = refusal(SHARED / name)
    assert problem.code == code


@pytest.mark.skipif(not SHARED.exists(), reason="the logs of ../shared are not here")
def test_the_rows_of_real_logs():
    helm = read_logs(SHARED / "helm_mmlu_gpt2" / "per_instance_stats.json").frame
    assert helm["confidence"].tolist() == [1.0] * 10
    assert (helm["correct"] == "right").sum() == 1
    assert helm["model"].unique().tolist() == ["openai/gpt2"]
    harness = read_logs(SHARED / "lm_eval_math_samples.jsonl").frame
    assert harness["model"].str.startswith("RylanSchaeffer/mem_Qwen3-93M").all()
    inspect = read_logs(SHARED / "inspect_popularity.eval").frame
    assert inspect["sample_id"].tolist() == sorted(map(str, range(1, 11)))
    judged = read_logs(SHARED / "deepeval_test_run.json", scorer="Faithfulness")
    assert judged.judged
    assert judged.frame["confidence"].tolist() == [0.45]


def test_a_file_in_a_separate_process_gives_the_same_rows():
    data, several = archive(members(SAMPLES)), stated(1, 0.9)
    several["scores"]["other"] = {"value": "I"}
    unclear = archive(members([several]))
    with FileReader() as reader:
        table = reader.read(data, "run.eval")
        with pytest.raises(InputError, match="scored in several ways"):
            reader.read(unclear, "run.eval")
    expected = read(data, "run.eval")
    assert (table.log, table.judged) == (expected.log, expected.judged)
    assert table.frame.astype(str).equals(expected.frame.astype(str))


def spoiled_size(files):
    """An archive whose members promise more than they hold."""
    data = bytearray(zstandard_archive(files))
    return bytes(data.replace(len(files["header.json"]).to_bytes(4, "little"), b"\x00\x00\x10\x00"))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (archive(members(SAMPLES))[:-200], "damaged"),
        (archive(members(SAMPLES)) + b"x", "damaged"),
        (spoiled_size(members(SAMPLES)), "damaged"),
        (archive({"header.json": b"{"}), "damaged"),
        (inspect_json(SAMPLES)[:-30], "damaged"),
        (b'{"eval": {"task": "a", "model": "b"}, "samples": ' + b"[" * 100_000, "too-deep"),
        (b'[{"a": ' + b"[" * 100_000, "too-deep"),
        (lines(lm_sample(0, [-1.0, -2.0], 0))[:-20], "damaged"),
        (lines(*[lm_sample(0, [-1.0, -2.0], 0)] * 2)[:-20], "cut-short"),
        (b'{"rows": 3}', "not-a-table"),
        (b"[]", "not-a-table"),
        (inspect_json([]), "empty"),
    ],
)
def test_damaged_logs_are_refused_in_words(data, code):
    with pytest.raises(InputError) as refused:
        calib.load(data)
    assert refused.value.problems[0].code == code


def test_a_log_that_unpacks_to_too_much_is_refused_before_it_is_unpacked():
    files = members(SAMPLES) | {"samples/9_epoch_1.json": b" " * 2**22}
    with pytest.raises(InputError) as refused:
        read(archive(files), "run.eval", budget=Budget(2**20, 10**6, 2**20))
    assert refused.value.problems[0].code == "too-large"


def test_values_that_are_longer_than_a_window_are_decoded():
    values = [{"a": "é" * WINDOW_BYTES, "b": 1.5}, {"a": "x", "b": math.inf}, {"b": -2}]
    assert list(records(json.dumps(values, ensure_ascii=False).encode())) == values
    assert list(records(lines(*values))) == values


def test_numbers_at_the_end_of_a_window_are_whole():
    for blanks in range(WINDOW_BYTES - 8, WINDOW_BYTES + 2):
        document = Document(b" " * blanks + b"12.5e1 7")
        assert (document.value(), document.value(), document.peek()) == (125.0, 7, "")


@pytest.mark.parametrize(
    "data",
    [
        inspect_json(
            SAMPLES,
            eval={"task": "t", "dataset": {"ids": list(range(100_000))}, "model": "m"},
        ),
        inspect_json(
            SAMPLES,
            eval={"task": "t", "dataset": {"ids": ["x" * 2**19, 'y\\"']}, "model": "m"},
        ),
        hle(90).replace(b'"..."', b'"' + b"{" * 2**19 + b'"'),
        json.dumps([{"text": "x" * 2**19} | lm_sample(0, [-1.0, -2.0], 0)]).encode(),
        json.dumps({"config": "x" * 2**19} | json.loads(promptfoo([rubric(0.8)]))).encode(),
    ],
    ids=["numbers", "text", "HLE", "list", "promptfoo"],
)
def test_a_log_is_recognised_by_keys_wherever_they_are(data):
    assert read(data, "run.json").log


def test_keys_of_rows_are_looked_for_in_the_first_records_only():
    rows = lines(*({"text": "x" * 2**17, f"key_{k}": k} for k in range(6)))
    assert key_paths(rows) == {"text", *(f"key_{k}" for k in range(2))}
    many = json.dumps({f"key_{k}": 0 for k in range(300_000)}).encode()
    assert len(key_paths(many)) == MAX_PATHS + 1


def test_key_paths_of_a_part_ignore_the_string_that_is_cut():
    paths = key_paths(b'{"a": 1, "b": "' + b'x \\" {c: ' * 2**16)
    assert paths == {"a", "b"}

"""Evaluation logs: every format is read right or refused in words, and doubts are asked about."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import calib
from calib.loading import InputError, read
from calib.loading.logs import STATED, TOKEN, answers_by_task, read_logs
from calib.loading.logs.rows import MAX_PATHS, WINDOW_BYTES, Document, key_paths, records
from calib.loading.reading.apart import FileReader
from calib.loading.reading.budget import Budget
from tests.loading.logs import (
    HEADER,
    SHARED,
    archive,
    equals,
    hle,
    inspect_json,
    lines,
    lm_sample,
    members,
    promptfoo,
    refusal,
    rows_of,
    rubric,
    sample,
    stated,
    zstandard_archive,
)
from tests.rare import rare

pytestmark = pytest.mark.filterwarnings("ignore::calib.loading.InputWarning")
SAMPLES = [
    stated(3, 0.9),
    stated(1, 0.8, "I"),
    stated(2, 0.7),
    stated(2, 0.6, "I", epoch=2),
    stated(4, 0.5, math.nan),
]


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
    assert answers_by_task(frame).to_dict("records") == [
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


def test_logs_and_tables_are_not_mixed(texts):
    with texts.raises(InputError) as caught:
        calib.load_models([inspect_json(SAMPLES), b"y,p\n0,0.2\n1,0.7\n"])
    assert caught.value.problems[0].code == "logs-and-tables"


def test_mixed_scales_are_asked_about(texts):
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
    with texts.raises(InputError) as caught:
        calib.load(files[1])
    assert caught.value.problems[0].code == "percent"
    assert calib.load(files[1], transform="percent").scores.max() == 0.95


def test_percentages_as_text_are_read():
    frame = rows_of(inspect_json([stated(1, "85%"), stated(2, "0.4"), stated(3, "high")]))
    assert frame["confidence"].fillna(-1.0).tolist() == [0.85, 0.4, -1.0]


@pytest.mark.parametrize("listed", [False, True])
def test_plain_json_records_are_a_table(listed):
    values = [{"confidence": 0.2 + 0.1 * k, "correct": k % 2 == 0} for k in range(6)]
    data = json.dumps(values).encode() if listed else lines(*values)
    predictions = calib.load(data)
    assert_allclose(predictions.scores, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    assert predictions.outcome.tolist() == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("as_csv", [False, True])
def test_mixed_scales_of_plain_rows_are_not_divided_without_a_question(as_csv, texts):
    confidence = [0.2, 0.5, 0.9, 0.7, 20, 50, 90, 70]
    values = [{"confidence": c, "correct": k % 2} for k, c in enumerate(confidence)]
    data = pd.DataFrame(values).to_csv(index=False).encode() if as_csv else lines(*values)
    problem = refusal(data)
    assert problem.code == "mixed-scales"
    assert problem.repair is None
    assert "4 values between 0 and 1" in problem.sentence
    texts.shown(problem.sentence, "each case")
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


@rare
def test_a_file_in_a_separate_process_gives_the_same_rows(texts):
    data, several = archive(members(SAMPLES)), stated(1, 0.9)
    several["scores"]["other"] = {"value": "I"}
    unclear = archive(members([several]))
    with FileReader() as reader:
        table = reader.read(data, "run.eval")
        with texts.raises(InputError) as caught:
            reader.read(unclear, "run.eval")
        assert caught.value.problems[0].code == "which-scorer"
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

"""Formats of evaluation logs other than Inspect: what each means by a score and by a confidence."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import calib
from calib.loading import read
from calib.loading.logs import read_logs
from tests.loading.logs import (
    equals,
    helm,
    hle,
    lines,
    lm_sample,
    promptfoo,
    refusal,
    rows_of,
    rubric,
)

pytestmark = pytest.mark.filterwarnings("ignore::calib.loading.InputWarning")


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


def test_a_run_of_helm_without_exact_match_says_which_statistics_it_has(texts):
    data = json.dumps([helm(k, f1_score=0.5, max_prob=0.9) for k in range(4)]).encode()
    problem = refusal(data)
    assert problem.code == "no-exact-match"
    texts.shown(problem.sentence)
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

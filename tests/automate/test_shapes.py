"""Answers in the shape of every vendor, evaluator and tracing tool are read alike."""

import numpy as np
import pytest

import calib
from calib.features.automate.answers import digest_of
from tests.automate import shapes
from tests.automate.shapes import LABELS, LOGS, QUESTIONS, requested, shape_a, written

RESPONSES = {
    "TypeSafe": shapes.shape_a(),
    "OpenAI": shapes.shape_b(),
    "Google": shapes.shape_c(),
    "Clef": shapes.clef(),
    "Databricks": shapes.databricks(),
    "Laya": shapes.laya(),
    "Vercel": shapes.vercel(),
}
VERSIONS = dict.fromkeys(RESPONSES, "jev-1.13.0") | {
    "OpenAI": "gpt-6-luna",
    "Google": "",
    "Vercel": "",
}


def check_answers(questions):
    """What all shapes say: 91% urgent, 80% tech, 80% furious, and that all are right."""
    assert [*questions] == ["urgent", "team", "anger"]
    kinds = [questions.details[name].kind for name in questions]
    assert kinds == ["yes/no", "choice", "score"]
    assert {one.scale for one in questions.details.values()} == {"probability"}
    urgent, team, anger = (questions[name] for name in questions)
    assert urgent.class_names == ("false", "true")
    assert (urgent.scores.tolist(), urgent.outcome.tolist()) == ([0.91], [1])
    assert team.class_names == ("billing", "tech", "sales")
    np.testing.assert_array_equal(team.scores, [[0.1, 0.8, 0.1]])
    assert anger.class_names == ("calm", "cross", "furious")
    np.testing.assert_array_equal(anger.scores, [[0.1, 0.1, 0.8]])
    assert (team.outcome.tolist(), anger.outcome.tolist()) == ([1], [2])
    decisions = [questions.details[name].decisions for name in questions]
    assert [made.outcome.tolist() for made in decisions] == [[1], [1], [1]]
    assert [made.scores.tolist() for made in decisions] == [[0.91], [0.8], [0.8]]


@pytest.mark.parametrize("vendor", RESPONSES)
def test_a_response_with_labels_beside_it(vendor, tmp_path):
    file = written(tmp_path, [{**RESPONSES[vendor], "labels": LABELS}])
    questions = calib.decisions_log(file)
    check_answers(questions)
    assert {one.version for one in questions.details.values()} == {VERSIONS[vendor]}
    assert {one.wording for one in questions.details.values()} == {""}


@pytest.mark.parametrize("vendor", RESPONSES)
def test_a_request_says_which_model_and_which_wording_were_asked_for(vendor, tmp_path):
    questions = calib.decisions_log(
        written(tmp_path, [requested(RESPONSES[vendor], labels=LABELS)])
    )
    check_answers(questions)
    for name, one in questions.details.items():
        assert one.model == "jev-latest"
        assert one.wording == digest_of(QUESTIONS[name])


@pytest.mark.parametrize("writer", LOGS)
def test_logs_of_evaluators_and_tracing_tools(writer, tmp_path):
    questions = calib.decisions_log(written(tmp_path, LOGS[writer]))
    check_answers(questions)
    assert {one.version for one in questions.details.values()} == {"jev-1.13.0"}
    assert questions.n_records == 1


def test_types_of_lines_can_be_mixed(tmp_path):
    lines = [*shapes.langfuse(), *shapes.langsmith(), {**shape_a(), "labels": LABELS}]
    questions = calib.decisions_log(written(tmp_path, lines))
    assert [len(questions[name]) for name in questions] == [3, 3, 3]


@pytest.mark.parametrize("name", ["answers.jsonl", "answers.json", "answers.jsonl.gz"])
def test_files_are_lines_or_a_list_and_may_be_packed(name, tmp_path):
    check_answers(calib.decisions_log(written(tmp_path, [{**shape_a(), "labels": LABELS}], name)))


def test_a_page_of_an_export_holds_its_scores(tmp_path):
    check_answers(calib.decisions_log(written(tmp_path, [{"data": shapes.langfuse()}])))


def test_a_table_has_a_question_a_probability_and_a_label_per_row(tmp_path):
    file = tmp_path / "answers.csv"
    file.write_text("question,probability,label\nurgent,0.91,1\nspam,0.2,0\nurgent,0.3,0\n")
    questions = calib.decisions_log(file)
    assert questions["urgent"].scores.tolist() == [0.91, 0.3]
    assert questions["urgent"].outcome.tolist() == [1, 0]
    assert questions["spam"].outcome.tolist() == [0]


LABEL_FILES = {
    "labels.jsonl": '{"id": "b", "labels": {"urgent": false}}\n'
    '{"id": "a", "labels": {"urgent": true, "team": "tech"}}\n',
    "wide.csv": "id,urgent,team\nb,false,\na,true,tech\n",
    "long.csv": "id,question,label\nb,urgent,false\na,urgent,true\na,team,tech\n",
}


@pytest.mark.parametrize("name", LABEL_FILES)
def test_labels_of_a_second_file_are_matched_by_id(name, tmp_path):
    file = written(tmp_path, [shape_a(id="a"), shape_a(0.2, id="b"), shape_a(id="c")])
    labels = tmp_path / name
    labels.write_text(LABEL_FILES[name])
    questions = calib.decisions_log(file, labels)
    assert [*questions] == ["urgent", "team"]
    assert questions["urgent"].scores.tolist() == [0.91, 0.2]
    assert questions["urgent"].outcome.tolist() == [1, 0]
    assert questions["team"].outcome.tolist() == [1]
    assert questions.details["urgent"].record.tolist() == [0, 1]
    assert questions["urgent"].set_aside == {"unlabelled": 1}


def test_labels_of_a_data_set_are_matched_by_the_state(tmp_path):
    """The input of jev-eval and judge-audit has states and no ids."""
    file = written(tmp_path, [requested(shape_a(), state=f"text {n}") for n in range(3)])
    lines = [{"state": f"text {n}", "labels": {"urgent": n == 1}} for n in (2, 1)]
    questions = calib.decisions_log(file, written(tmp_path, lines, "data.jsonl"))
    assert questions["urgent"].outcome.tolist() == [1, 0]
    assert questions.details["urgent"].record.tolist() == [1, 2]


def test_a_label_without_a_question_is_of_the_only_one(tmp_path):
    """The input of clef-evals."""
    answers = {"answers": {"spam": {"type": "noul", "noul": 0.3}}}
    file = written(tmp_path, [requested(answers, {"spam": QUESTIONS["urgent"]}, "a")])
    gold = written(tmp_path, [{"state": "a", "instructions": "Spam?", "gold": False}], "gold.jsonl")
    assert calib.decisions_log(file, gold)["spam"].outcome.tolist() == [0]


def test_an_outcome_of_jev_trust_belongs_to_the_last_call_before_it(tmp_path):
    call = {"kind": "call", "domain": "refund", "decision": "yes", "stated_confidence": 0.9}
    lines = [
        {**call, "rid": "1", "qid": "q"},
        {**call, "rid": "2", "qid": "q", "stated_confidence": 0.7},
        {"kind": "outcome", "qid": "q", "truth": "no", "correct": False, "p_true": 0.3},
        {**call, "rid": "3", "qid": "q", "domain": "other"},
    ]
    questions = calib.decisions_log(written(tmp_path, lines))
    refund = questions.details["refund"]
    assert questions.details["other"].counts["labelled"] == 0
    assert refund.decisions.scores.tolist() == [0.7]
    assert refund.decisions.outcome.tolist() == [0]
    assert (refund.scale, refund.predictions) == ("confidence", None)


def test_what_a_record_says_beside_its_state_is_a_column(tmp_path):
    lines = [line for row in range(2) for line in shapes.jev_eval(row)]
    questions = calib.decisions_log(written(tmp_path, lines))
    assert questions["team"].columns["country"].tolist() == ["FR", "DE"]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([{"question": "Is it urgent?", "answer": "yes"}], "no-decisions"),
        ([{**line, "metadata": None} for line in shapes.langfuse()[:3]], "no-details"),
        ('{"answers": {"urgent": {"type": "noul", ', "damaged"),
        ("outcome,weight\n1,2\n", "no-decisions"),
    ],
    ids=["other keys", "no metadata", "cut", "table"],
)
def test_files_without_answers_are_refused(lines, code, tmp_path, texts):
    file = tmp_path / "answers.jsonl"
    if isinstance(lines, str):
        file.write_text(lines)
    else:
        written(tmp_path, lines)
    with texts.raises(calib.InputError) as caught:
        calib.decisions_log(file)
    assert caught.value.problems[0].code == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("id,urgent\nz,1\n", "unmatched-labels"),
        ("row number,urgent\n1,1\n2,0\n", "labels-without-id"),
        ('{"id": "a"}\n{"id": "b"}\n', "no-labels"),
    ],
    ids=["another id", "no id", "no labels"],
)
def test_labels_that_fit_no_answer_are_refused(content, code, tmp_path, texts):
    file = written(tmp_path, [shape_a(id="a"), shape_a(id="b")])
    labels = tmp_path / "labels.txt"
    labels.write_text(content)
    with texts.raises(calib.InputError) as caught:
        calib.decisions_log(file, labels)
    assert caught.value.problems[0].code == code

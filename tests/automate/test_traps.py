"""What a reader of decision models can get wrong, one test each."""

from contextlib import suppress

import numpy as np
import pytest

import calib
from calib.features.automate.answers import FAILURES
from tests.automate.shapes import (
    LABELS,
    LEGEND,
    LOGS,
    QUESTIONS,
    requested,
    shape_a,
    shape_b,
    shape_c,
    vercel,
    written,
)
from tests.rare import common_first


def read(folder, *lines):
    return calib.decisions_log(written(folder, lines))


def codes(notes):
    return [one.code for one in notes]


def choice(probabilities, decided="a", **more):
    return {
        "model": "m-1",
        "answers": {"q": {"type": "choice", "choice": decided, "probabilities": probabilities}},
        "labels": {"q": "a"},
        **more,
    }


@pytest.mark.parametrize("confidence", [0.7, 0.55, 0.418328, 0.8, 0.1, None])
def test_1_no_definition_of_confidence_changes_a_probability(confidence, tmp_path):
    """A winner of 0.8 of three has these by five definitions."""
    line = shape_a(labels=LABELS)
    for answer in line["answers"].values():
        answer["confidence"] = confidence
    questions = read(tmp_path, line)
    assert questions.details["team"].decisions.scores.tolist() == [0.8]
    assert questions["urgent"].scores.tolist() == [0.91]


def test_2_without_probabilities_the_scale_is_named_confidence(tmp_path, texts):
    answers = {"q": {"type": "choice", "choice": "a", "confidence": 0.7}}
    lines = [{"model": "m-1", "answers": answers, "labels": {"q": q}} for q in ("a", "b")]
    made = read(tmp_path, *lines).details["q"]
    assert (made.scale, made.predictions, codes(made.notes)) == (
        "confidence",
        None,
        ["only-confidence"],
    )
    assert made.decisions.score_name == "confidence"
    assert made.decisions.outcome.tolist() == [1, 0]
    texts(made.notes[0].sentence)
    # Beside answers with probabilities, a confidence alone is left out.
    mixed = read(tmp_path, *lines, choice({"a": 0.9, "b": 0.1})).details["q"]
    assert (mixed.scale, mixed.counts["answered"], mixed.counts["unusable"]) == (
        "probability",
        1,
        2,
    )
    assert codes(mixed.notes) == ["without-probabilities"]


def test_3_the_step_of_rounded_probabilities_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(200).round(2)
    made = read(tmp_path, *({**shape_a(float(one)), "labels": {"urgent": True}} for one in p))
    assert made["urgent"].view().step == 0.01
    np.testing.assert_array_equal(made["urgent"].scores, p)


@pytest.mark.parametrize(
    ("values", "usable"),
    [((0.33, 0.33, 0.33), True), ((0.5, 0.3, 0.16), True), ((0.5, 0.3, 0.1), False)],
)
def test_4_sums_off_by_rounding_are_rescaled_and_others_are_not_used(
    values, usable, tmp_path, texts
):
    made = read(tmp_path, choice(dict(zip("abc", values, strict=True)))).details["q"]
    assert made.counts["answered"] == usable
    assert made.counts["unusable"] == 1 - usable
    assert codes(made.notes) == ["rescaled" if usable else "no-probabilities"]
    texts(made.notes[0].sentence)
    if usable:
        np.testing.assert_allclose(made.predictions.scores, [np.array(values) / sum(values)])


def test_4_many_options_may_miss_1_by_more(tmp_path):
    values = {str(n): 0.0 for n in range(200)} | {"a": 0.6}
    made = read(tmp_path, choice(values)).details["q"]
    assert (made.counts["answered"], made.predictions.scores.sum()) == (1, 1.0)


@pytest.mark.parametrize(
    ("values", "said"), [((0.4, 0.4, 0.2), []), ((0.4, 0.404, 0.196), []), ((0.3, 0.5, 0.2), 1)]
)
def test_5_the_stated_choice_is_the_decision(values, said, tmp_path):
    made = read(tmp_path, choice(dict(zip("abc", values, strict=True)))).details["q"]
    assert made.decisions.outcome.tolist() == [1]
    assert made.decisions.scores.tolist() == [values[0]]
    assert codes(made.notes) == (["other-choice"] if said else [])


def test_6_a_score_is_a_distribution_and_its_level_the_largest(tmp_path):
    """The mean of these is 1, which is the least likely level."""
    made = read(tmp_path, {**shape_a(anger=(0.48, 0.04, 0.48)), "labels": {"anger": "calm"}})
    anger = made.details["anger"]
    np.testing.assert_array_equal(anger.predictions.scores, [[0.48, 0.04, 0.48]])
    assert (anger.decisions.scores.tolist(), anger.decisions.outcome.tolist()) == ([0.48], [1])


@pytest.mark.parametrize(("label", "level"), [("cross", 1), (1, 1), ("2", 2), (2.0, 2)])
def test_6_a_level_is_labelled_by_its_text_or_its_number(label, level, tmp_path):
    made = read(tmp_path, {**shape_a(), "labels": {"anger": label}})
    assert made["anger"].outcome.tolist() == [level]


def test_7_answers_that_are_missing_stay_in_the_denominator(tmp_path):
    refused = shape_b()
    refused["answers"][1] = {"type": "refusal", "name": "team"}
    absent = shape_a()
    del absent["answers"]["team"]
    box = shape_a()
    box["answers"]["team"] = {"type": "box", "top": 0.1, "confidence": None}
    blocked = {"prompt_feedback": {"block_reason": "SAFETY", "block_reason_message": "x"}}
    errors = [
        {"detail": [{"loc": ["body"], "msg": "x", "type": "y"}]},
        {"detail": {"error_type": "x", "message": "y"}},
        {"error": {"message": "x", "code": 500}},
        {"success": False, "errors": [{"code": 1, "message": "x"}]},
    ]
    responses = [shape_a(), refused, absent, box, blocked, *errors]
    made = read(tmp_path, *(requested(one, labels=LABELS) for one in responses))
    by_version = [one for name, one in made.details.items() if name.startswith("team")]
    counts = made.details["team"].counts if "team" in made.details else by_version[0].counts
    assert {why: counts[why] for why in FAILURES} == {
        "refused": 1,
        "blocked": 1,
        "error": 4,
        "missing": 1,
        "skipped": 1,
    }
    assert (counts["asked"], counts["answered"], made.n_records) == (9, 1, 9)
    assert made.skipped == {"box": 1}


def test_7_a_failed_record_counts_for_every_question_if_no_request_says_what_it_asked(tmp_path):
    made = read(tmp_path, {**shape_a(), "labels": LABELS}, {"error": {"message": "x", "code": 1}})
    assert {one.counts["error"] for one in made.details.values()} == {1}


@pytest.mark.parametrize(
    ("version", "code"),
    [("jev-latest", "moving-version"), ("~typesafe/jev", "moving-version"), (None, "no-version")],
)
def test_8_a_version_that_moves_or_is_not_named_is_said(version, code, tmp_path, texts):
    line = shape_a(labels=LABELS)
    line["model"] = version
    notes = read(tmp_path, line).details["team"].notes
    assert codes(notes) == [code]
    texts(notes[0].sentence)
    assert codes(read(tmp_path, {**shape_c(), "labels": LABELS}).details["team"].notes) == [
        "no-version"
    ]


def test_8_versions_are_questions_of_their_own(tmp_path):
    lines = [{**shape_a(), "labels": LABELS}, {**shape_a(), "model": "jev-2", "labels": LABELS}]
    made = read(tmp_path, *lines)
    assert {"team (jev-1.13.0)", "team (jev-2)"} <= {*made}
    assert [len(made[name]) for name in made] == [1] * 6


def test_8_another_wording_is_another_question(tmp_path):
    other = QUESTIONS | {"urgent": {"type": "noul", "instructions": "Is it very urgent?"}}
    made = read(
        tmp_path,
        requested(shape_a(), labels=LABELS),
        requested(shape_a(), dict(reversed(QUESTIONS.items())), labels=LABELS),
        requested(shape_a(), other, labels=LABELS),
    )
    urgent = [one for one in made.details.values() if one.name == "urgent"]
    assert [one.counts["labelled"] for one in urgent] == [2, 1]
    assert len(made["team"]) == 3


def test_9_text_and_bool_are_two_options(tmp_path):
    probabilities = [
        {"value": "true", "probability": 0.2},
        {"value": True, "probability": 0.7},
        {"value": "", "probability": 0.1},
    ]
    answer = {"type": "choice", "name": "q", "choice": True, "probabilities": probabilities}
    lines = [{"model": "m", "answers": [answer], "labels": {"q": q}} for q in (True, "true")]
    made = read(tmp_path, *lines)["q"]
    assert made.class_names == ("true", "true (boolean)", "")
    assert made.outcome.tolist() == [1, 0]


def test_9_names_of_options_may_be_any_text(tmp_path):
    values = {"Zürich 🏔": 0.7, "0": 0.2, "": 0.1}
    lines = [choice(values, "Zürich 🏔", labels={"q": label}) for label in ("Zürich 🏔", "0", 0)]
    made = read(tmp_path, *lines)["q"]
    assert made.class_names == tuple(values)
    assert made.outcome.tolist() == [0, 1, 1]


def test_9_an_unnamed_answer_is_of_the_question_at_its_position(tmp_path):
    line = shape_b()
    for answer in line["answers"]:
        answer["name"] = None
    assert [*read(tmp_path, requested(line, labels=LABELS))] == ["urgent", "team", "anger"]
    assert [*read(tmp_path, {**line, "labels": {"2": "tech"}})] == ["2"]


def test_10_the_same_state_asked_twice_is_one_cluster(tmp_path):
    states = ["a", "b", "a", "c"]
    lines = [requested(shape_a(), state=one, labels=LABELS) for one in states]
    assert read(tmp_path, *lines)["team"].group.tolist() == [0, 1, 0, 2]
    assert read(tmp_path, *lines[:2])["team"].group is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.01, 1.01, None, "high"])
def test_11_numbers_that_are_no_probabilities_are_not_clipped(value, tmp_path, texts):
    good, bad = shape_a(labels=LABELS), shape_a(value, labels=LABELS)
    bad["answers"]["team"]["probabilities"]["sales"] = value
    made = read(tmp_path, good, bad)
    for name in ("urgent", "team"):
        counts = made.details[name].counts
        assert (counts["asked"], counts["answered"], counts["unusable"]) == (2, 1, 1)
    assert made["urgent"].scores.tolist() == [0.91]
    texts(made.details["team"].notes[0].sentence, "each value")


def test_an_option_without_a_probability_has_the_probability_0(tmp_path):
    """An option that only the question names, or a level that only the legend has."""
    answers = {
        "team": {
            "type": "choice",
            "choice": "tech",
            "probabilities": {"tech": 0.9, "billing": 0.1},
        },
        "anger": {"type": "score", "legend": LEGEND, "probabilities": {"0": 0.3, "2": 0.7}},
    }
    labels = {"team": "sales", "anger": "cross"}
    made = read(tmp_path, requested({"model": "m-1", "answers": answers}, labels=labels))
    assert made["team"].class_names == ("billing", "tech", "sales")
    np.testing.assert_array_equal(made["team"].scores, [[0.1, 0.9, 0.0]])
    np.testing.assert_array_equal(made["anger"].scores, [[0.3, 0.0, 0.7]])
    assert (made["team"].outcome.tolist(), made["anger"].outcome.tolist()) == ([2], [1])


def test_options_that_differ_from_record_to_record_are_refused(tmp_path, texts):
    lines = [choice({f"{n} {k}": 0.01 for k in range(100)}) for n in range(11)]
    with texts.raises(calib.InputError) as caught:
        read(tmp_path, *lines)
    assert caught.value.problems[0].code == "too-many-options"


@pytest.mark.parametrize("label", [{"true": 10**12}, {"true": 0.6}, [{"x": 1}]])
def test_a_label_of_an_unknown_shape_is_said(label, tmp_path):
    made = read(tmp_path, {**shape_a(), "labels": {"urgent": label}})
    assert codes(made.details["urgent"].notes) == ["unknown-labels"]


ODD = (None, True, -1, 0.5, float("nan"), "", "x", [], [[]], {}, {"": {}}, [{"type": []}], 10**30)


def changed(value, rng):
    """The value with one part, drawn at random, in another shape."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.2:
        return ODD[rng.integers(len(ODD))]
    keys = [*value] if isinstance(value, dict) else [*range(len(value))]
    key = keys[rng.integers(len(keys))]
    other = value.copy()
    other[key] = changed(value[key], rng)
    return other


@pytest.mark.parametrize("seed", common_first(range(10), (0,)))
@pytest.mark.parametrize("log", [*LOGS, "requests"])
def test_changed_logs_are_read_or_refused_in_words(log, seed, tmp_path):
    rng = np.random.default_rng(seed)
    whole = LOGS.get(log, [requested(one, labels=LABELS) for one in (shape_a(), shape_b())])
    n_read = 0
    for _ in range(30):
        lines = [changed(line, rng) if rng.random() < 0.5 else line for line in whole]
        with suppress(calib.InputError):
            made = read(tmp_path, *(one for one in lines if isinstance(one, dict)), shape_a())
            n_read += 1
            for one in made.details.values():
                parts = (*FAILURES, "answered", "unusable")
                assert one.counts["asked"] == sum(one.counts[part] for part in parts)
    assert n_read > 15


def test_labels_that_are_no_option_are_said(tmp_path, texts):
    made = read(tmp_path, {**shape_a(), "labels": {"team": "legal", "urgent": "perhaps"}})
    assert not made
    assert codes(made.details["team"].notes) == ["unknown-labels"]
    texts(made.details["team"].notes[0].sentence)


@pytest.mark.parametrize("label", [[True, True, False, True, False], {"true": 3, "false": 2}])
def test_shares_of_annotators_are_rows_of_one_cluster(label, tmp_path):
    lines = [{**shape_a(0.7), "labels": {"urgent": label}}, {**shape_a(0.2), "labels": LABELS}]
    made = read(tmp_path, *lines)
    urgent = made["urgent"]
    assert sorted(urgent.outcome[:5].tolist()) == [0, 0, 1, 1, 1]
    assert urgent.group.tolist() == [0] * 5 + [1]
    assert (len(urgent), made.details["urgent"].counts["labelled"]) == (6, 2)
    # The Brier score of such a record is (p - k/m)^2 + k/m (1 - k/m).
    brier = calib.metrics.brier_score(urgent.outcome[:5], urgent.scores[:5])
    assert brier == pytest.approx((0.7 - 0.6) ** 2 + 0.6 * 0.4, rel=1e-12)


def test_the_table_of_questions_has_every_count(tmp_path):
    made = read(tmp_path, {**shape_a(), "labels": LABELS}, vercel())
    frame = made.frame()
    assert frame["question"].tolist() == [*made.details]
    assert (frame["asked"] == frame["answered"]).all()
    assert frame["labelled"].sum() == 3

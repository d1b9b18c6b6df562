"""The desk: what may be decided alone, per question and for all questions together."""

import numpy as np
import pytest

import calib
from calib.features.automate.desk import desk
from calib.features.automate.desk_words import (
    headline,
    lead,
    questions_table,
    together,
    versions_table,
)
from tests.automate.shapes import written


def simulated(n=400, seed=0, power=1.0):
    """Calibrated questions "a" and "b" in the same records; a power makes both too sure."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, (n, 2))
    label = rng.random((n, 2)) < p
    stated = p**power / (p**power + (1.0 - p) ** power)
    return [
        {
            "model": "m-1",
            "answers": {
                k: {"type": "noul", "noul": float(s)} for k, s in zip("ab", row, strict=True)
            },
            "labels": {k: bool(y) for k, y in zip("ab", of_row, strict=True)},
            "meta": {"country": "DE" if i % 2 else "FR"},
            "state": f"state {i}",
        }
        for i, (row, of_row) in enumerate(zip(stated, label, strict=True))
    ]


def of(folder, lines, **options):
    return desk(calib.decisions_log(written(folder, lines)), **options)


def test_each_question_has_the_numbers_of_its_own_analysis(tmp_path):
    log = calib.decisions_log(written(tmp_path, simulated()))
    made = desk(log)
    for line in made.lines:
        analysis = calib.analyze(log[line.question], {"methods": ("platt",)})
        ece = analysis.methods["uncalibrated"].metrics["ece_uniform"]
        assert (line.ece, line.ece_noise_floor) == pytest.approx((ece.value, ece.noise_floor))
        decisions = log.details[line.question].decisions
        assert line.accuracy == decisions.outcome.mean()
        for error, gate in line.gates.items():
            certificate = calib.certify(decisions, error)
            assert gate.certificate.threshold == certificate.threshold
            assert gate.share == certificate.share
    assert made.lines[0].worst.column == "country"
    assert made.lines[0].worst.n_rows == 200


def test_p_values_are_corrected_for_the_number_of_questions(tmp_path):
    lines = simulated(power=1.35, seed=1)
    for one in lines:
        del one["answers"]["b"], one["labels"]["b"]
    alone = of(tmp_path, lines).lines[0].verdict
    calibrated = simulated(seed=2)
    for k in range(20):
        for one, other in zip(lines, calibrated, strict=True):
            one["answers"][f"c{k}"] = other["answers"]["a"]
            one["labels"][f"c{k}"] = other["labels"]["a"]
    among = of(tmp_path, lines).lines[0].verdict
    smallest = min(alone.p_adjusted.values())
    assert 0.0 < smallest < 0.05
    assert min(among.p_adjusted.values()) == pytest.approx(min(1.0, 21 * smallest))


def test_too_sure_scores_are_not_calibrated(tmp_path):
    made = of(tmp_path, simulated(2000, power=3.0))
    assert [line.verdict.answer for line in made.lines] == ["not calibrated"] * 2
    assert {*made.frame()["answer"]} == {"not calibrated"}


def test_failures_are_never_decided(tmp_path):
    lines = simulated(1000)
    before = of(tmp_path, lines)
    refused = {"a": {"type": "refusal"}, "b": {"type": "noul", "noul": 0.5}}
    after = of(tmp_path, [*lines, *({"model": "m-1", "answers": refused} for _ in range(1000))])
    shares = [
        [line.gates[0.1].share for line in (*one.lines, one.joint)] for one in (before, after)
    ]
    assert min(shares[0]) > 0.0
    assert shares[1] == pytest.approx([shares[0][0] / 2.0, shares[0][1], shares[0][2] / 2.0])


def test_too_few_labels_say_how_many_are_missing(tmp_path):
    gates = of(tmp_path, simulated(50)).lines[0].gates
    assert {error: gate.labels_missing for error, gate in gates.items()} == {
        0.01: 249,
        0.02: 99,
        0.05: 9,
        0.1: 0,
    }


def test_a_record_is_as_sure_as_its_least_sure_question(tmp_path):
    lines = simulated(1000)
    log = calib.decisions_log(written(tmp_path, lines))
    a, b = (log.details[name].decisions for name in "ab")
    joint = desk(log, max_errors=[0.1]).joint
    right = (a.outcome == 1) & (b.outcome == 1)
    both = calib.Predictions.from_arrays(right, np.minimum(a.view().score, b.view().score))
    assert joint.accuracy == right.mean()
    assert joint.gates[0.1].certificate.threshold == calib.certify(both, 0.1).threshold is not None
    assert joint.gates[0.1].share < min(line.gates[0.1].share for line in desk(log).lines)


def test_only_records_with_all_labels_are_joined(tmp_path):
    lines = simulated(300)
    for one in lines[:100]:
        del one["labels"]["b"]
    assert of(tmp_path, lines).joint.n_labels == 200
    for one in lines[100:]:
        del one["labels"]["a"]
    assert of(tmp_path, lines).joint is None


def test_the_same_state_is_one_observation_of_the_joint_gate(tmp_path):
    lines = simulated(200)
    joint = of(tmp_path, [one for one in lines for _ in range(3)]).joint
    assert joint.n_labels == 600
    assert joint.gates[0.1].certificate.n_rows == 200


def test_a_confidence_has_thresholds_and_no_verdict(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        {
            "model": "m-1",
            "answers": {"q": {"type": "choice", "choice": "x", "confidence": float(c)}},
            "labels": {"q": "x" if rng.random() < c else "y"},
        }
        for c in rng.beta(4, 0.5, 500)
    ]
    line = of(tmp_path, lines).lines[0]
    assert line.scale == "confidence"
    assert line.verdict is None
    assert np.isnan(line.ece)
    assert line.gates[0.1].certificate.threshold is not None


def test_a_question_without_labels_has_a_line(tmp_path):
    lines = simulated(100)
    for one in lines:
        del one["labels"]["b"]
    made = of(tmp_path, lines)
    assert (made.lines[1].n_labels, made.lines[1].gates, made.lines[1].fingerprint) == (0, {}, "")
    assert [*made.frame()["labels"]] == [100, 0]


def test_the_desk_in_words(tmp_path, texts):
    made = of(tmp_path, simulated(1000, power=1.3))
    few = of(tmp_path, simulated(50))
    for name, one in {"enough": made, "few": few}.items():
        texts(headline(one, 0.1), name)
        texts(lead(one, 0.05), f"{name}, lead")
        texts(together(one.joint, 0.1).text, f"{name}, together")
        texts([cell.markdown() for cell in questions_table(one).rows[0]], f"{name}, row")
    assert headline(few, 0.05).startswith("No question")
    assert lead(few, 0.05) == ""
    assert headline(made, 0.1).startswith("All 2 questions")
    decided = [line.gates[0.1].share for line in made.lines]
    assert made.share(0.1) == pytest.approx(np.mean(decided))
    assert [line.n_asked for line in made.lines] == [1000, 1000]


def two_versions(n=1000, power=1.0, by="state"):
    """The same records answered by two versions, in another order and by another confidence."""
    old, new = simulated(n), simulated(n, power=power)
    for one in new:
        one["model"] = "m-2"
    for one in (*old, *new):
        if by == "id":
            one["id"] = one.pop("state")
    return [*old, *reversed(new)]


@pytest.mark.parametrize("by", ["state", "id"])
def test_versions_are_compared_on_the_same_records(by, tmp_path):
    lines = two_versions(by=by)
    for one in lines[1500:]:  # The new version is wrong about a tenth of these records.
        if float(one["answers"]["a"]["noul"]) > 0.9:
            one["answers"]["a"]["noul"] = 0.05
    made = of(tmp_path, lines, max_errors=[0.05, 0.1])
    a, b = made.versions
    assert (a.question, a.before, a.after, a.n_records) == ("a", "m-1", "m-2", 1000)
    old, new = (line for line in made.lines if line.question.startswith("a"))
    assert a.accuracy == old.accuracy
    assert a.change.value == pytest.approx(new.accuracy - old.accuracy)
    assert a.change.high < 0.0
    assert (b.change.value, b.change.low, b.change.high) == (0.0, 0.0, 0.0)
    assert b.holds == {0.05: True, 0.1: True}
    assert set(a.holds.values()) == {False}


def test_the_interval_of_a_change_is_that_of_paired_differences(tmp_path):
    lines = two_versions(300)
    for one in lines[300:450]:
        one["answers"]["a"]["noul"] = 1.0 - float(one["answers"]["a"]["noul"])
    change = of(tmp_path, lines, max_errors=[0.1]).versions[0].change
    log = calib.decisions_log(written(tmp_path, lines))
    old, new = (log.details[f"a (m-{i})"].decisions.outcome for i in (1, 2))
    difference = new[::-1] - old
    error = difference.std(ddof=1) / np.sqrt(300)
    assert change.value == pytest.approx(difference.mean())
    assert change.high - change.low == pytest.approx(2 * 1.968 * error, rel=0.02)


def test_a_more_confident_version_does_not_keep_the_thresholds(tmp_path, texts):
    made = of(tmp_path, two_versions(2000, power=4.0), max_errors=[0.05])
    assert [one.holds for one in made.versions] == [{0.05: False}] * 2
    texts([cell.markdown() for cell in versions_table(made).rows[0]])


def test_the_headline_counts_questions_of_the_last_version(tmp_path, texts):
    lines = two_versions(1000, power=1.2)
    for one in lines[1000:]:
        del one["answers"]["b"], one["labels"]["b"]
    made = of(tmp_path, lines, max_errors=[0.1])
    assert [line.question for line in made.lines] == ["a (m-1)", "a (m-2)", "b"]
    assert [line.question for line in made.latest.lines] == ["a (m-2)", "b"]
    shares = [line.gates[0.1].share for line in made.latest.lines]
    assert made.latest.share(0.1) == pytest.approx(np.mean(shares))
    assert min(shares) > 0.0
    texts(headline(made, 0.1))
    texts(lead(made, 0.1), "lead")
    # No threshold of the version before counts, if that of the last one has none.
    for one in lines[1000:]:
        one["labels"] = {}
    assert made.certified(0.1)
    without = of(tmp_path, lines, max_errors=[0.1])
    assert [line.question for line in without.certified(0.1)] == ["a (m-1)", "b"]
    assert [line.question for line in without.latest.certified(0.1)] == ["b"]


def test_other_records_have_no_change(tmp_path):
    lines = two_versions(100)
    for i, one in enumerate(lines):
        one["state"] = str(i)
    assert of(tmp_path, lines).versions == ()
    assert of(tmp_path, simulated(100)).versions == ()


def test_labels_of_the_next_answers_can_be_read_back(tmp_path):
    lines = [{**one, "id": f"r{i}"} for i, one in enumerate(simulated(400))]
    for one in lines:
        del one["labels"]["b"]
        if float(one["answers"]["a"]["noul"]) < 0.9:
            one["labels"] = {}
    log = calib.decisions_log(written(tmp_path, lines))
    listed = log.next_labels(60)
    assert listed.equals(log.next_labels(60))
    assert listed["question"].value_counts().to_dict() == {"a": 60, "b": 60}
    assert {*listed["label"]} == {""}
    assert [*listed["record"]] == [int(one[1:]) + 1 for one in listed["id"]]
    # The answers below 0.9 have no label yet, so all of the next are among them.
    stated = [lines[record - 1]["answers"]["a"]["noul"] for record in listed["record"][:60]]
    assert max(stated) < 0.9
    listed["label"] = np.resize(["true", "false"], len(listed))
    listed.to_csv(tmp_path / "next.csv", index=False)
    again = calib.decisions_log(tmp_path / "answers.jsonl", tmp_path / "next.csv")
    counts = {name: one.counts["labelled"] for name, one in again.details.items()}
    assert counts == {"a": log.details["a"].counts["labelled"] + 60, "b": 60}


def test_nothing_is_left_to_label(tmp_path):
    assert len(calib.decisions_log(written(tmp_path, simulated(20))).next_labels()) == 0


def test_a_record_needs_the_last_version_only(tmp_path):
    lines = two_versions(1000, power=1.2)
    joint = of(tmp_path, lines, max_errors=[0.1]).joint
    alone = of(tmp_path, lines[1000:], max_errors=[0.1]).joint
    assert joint.questions == ("a (m-2)", "b (m-2)")
    assert joint.gates[0.1].share == pytest.approx(alone.gates[0.1].share)
    assert joint.gates[0.1].share > 0.0
    assert joint.n_labels == alone.n_labels == 1000

"""``calib check`` of a log of a decision model, and `calib.load` of one."""

from xml.etree import ElementTree

import pytest

import calib
from calib.loading import InputError
from tests.automate import shapes
from tests.automate.shapes import LABELS, LOGS, requested, written
from tests.automate.test_desk import simulated
from tests.cli.conftest import run  # noqa: F401


def test_each_question_with_a_certified_threshold_passes(run, tmp_path, texts):  # noqa: F811
    file, junit = written(tmp_path, simulated(1000)), tmp_path / "junit.xml"
    done = run("check", file, "--max-error", 0.1, "--junit", junit)
    made = calib.features.automate.desk.desk(calib.decisions_log(file), max_errors=[0.1])
    lines = done.out.splitlines()
    assert done.status == 0
    for line, printed in zip(made.lines, lines, strict=True):
        assert printed.startswith(f"pass: {line.question}: {100 * line.gates[0.1].share:.0f}%")
        assert f"{line.gates[0.1].certificate.threshold:.15g}" in printed
    texts(done.out)
    assert ElementTree.parse(junit).getroot().attrib["tests"] == "2"


def test_a_question_without_a_threshold_or_without_labels_fails(run, tmp_path, texts):  # noqa: F811
    lines = simulated(1000)
    for one in lines[50:]:
        del one["labels"]["b"]
    for one in lines:
        one["answers"]["c"] = one["answers"]["a"]
    done = run("check", written(tmp_path, lines), "--max-error", 0.05)
    assert done.status == 1
    assert [line[:7] for line in done.out.splitlines()] == ["pass: a", "fail: b", "fail: c"]
    texts(done.out)


def test_labels_can_be_in_a_second_file(run, tmp_path):  # noqa: F811
    lines = [{**one, "id": str(i)} for i, one in enumerate(simulated(1000))]
    labels = [{"id": one["id"], "labels": one.pop("labels")} for one in lines]
    file, other = written(tmp_path, lines), written(tmp_path, labels, "labels.jsonl")
    assert run("check", file, "--max-error", 0.1).status == 1
    assert run("check", file, "--max-error", 0.1, "--labels", other).status == 0


@pytest.mark.parametrize("other", [("--max-ks", 0.1), ("--certify-error", 0.1)])
def test_other_limits_do_not_fit_a_log(run, tmp_path, other):  # noqa: F811
    file = written(tmp_path, simulated(10))
    assert run("check", file, "--max-error", 0.1, *other).status == 2
    assert run("check", file, "--labels", file).status == 2


SHAPES = {
    "TypeSafe": [{**shapes.shape_a(), "labels": LABELS}],
    "OpenAI": [{**shapes.shape_b(), "labels": LABELS}],
    "Clef": [{**shapes.clef(), "labels": LABELS}],
    "a request": [requested(shapes.shape_a(), labels=LABELS)],
    **LOGS,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_load_says_what_reads_a_log(shape, tmp_path):
    with pytest.raises(InputError) as refused:
        calib.load(written(tmp_path, SHAPES[shape] * 40))
    assert [one.code for one in refused.value.problems] == ["decisions-log"]

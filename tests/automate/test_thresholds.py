"""thresholds.json: what a program that decides needs, and nothing that is not certified."""

import datetime
import json

import pytest

import calib
from calib.features.automate.desk import desk
from calib.features.automate.thresholds import thresholds
from tests.automate.shapes import written
from tests.automate.test_desk import simulated


def test_certified_thresholds_are_exported(tmp_path):
    made = desk(calib.decisions_log(written(tmp_path, simulated(1000))))
    content = json.loads(thresholds(made, 0.1, date=datetime.date(2026, 11, 28)))
    assert (content["schema"], content["version"]) == ("calib-thresholds", 1)
    assert content["date"] == "2026-11-28"
    line = made.lines[0]
    assert content["questions"][0] == {
        "question": "a",
        "model": "m-1",
        "type": "yes/no",
        "scale": "probability",
        "threshold": line.gates[0.1].certificate.threshold,
        "certified_error": 0.1,
        "confidence": 0.95,
        "rows": 1000,
        "share": line.gates[0.1].share,
        "fingerprint": line.fingerprint,
    }
    joint = content["all_questions"]
    assert joint["questions"] == ["a", "b"]
    assert joint["threshold"] == made.joint.gates[0.1].certificate.threshold


def test_what_is_not_certified_has_no_entry(tmp_path):
    lines = simulated(50)
    for one in lines:
        del one["labels"]["b"]
    content = json.loads(thresholds(desk(calib.decisions_log(written(tmp_path, lines)))))
    assert content["questions"] == []
    assert "all_questions" not in content


def test_an_error_that_was_not_certified_is_refused(tmp_path):
    made = desk(calib.decisions_log(written(tmp_path, simulated(100))), max_errors=[0.1])
    with pytest.raises(ValueError, match=r"\(0\.1\), got 0\.05"):
        thresholds(made, 0.05)

"""A calibrator for some rows: the code has its condition, and other rows keep their score."""

import json
import subprocess
import sys
from shutil import which

import duckdb
import numpy as np
import pandas as pd
import pytest

import calib
from calib.exports import Condition, ExportError, export, offer, verify

WHERE = Condition("day", "2026-05-01", "plan", "pre-paid  x")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    score = rng.random(400)
    return calib.calibrator("logistic").fit(score, rng.random(400) < score**2)


@pytest.fixture(scope="module")
def rows(fitted):
    """Rows on both sides of the condition, with what they should get."""
    frame = pd.DataFrame(
        {
            "score": [0.1, 0.5, 0.5, 0.9, 0.2],
            "day": ["2026-04-30", "2026-05-01", "2026-06-01", "2026-07-01", "2026-05-02"],
            "plan": [WHERE.value, WHERE.value, "other", WHERE.value, WHERE.value.upper()],
        }
    )
    inside = np.array([False, True, False, True, False])
    score = frame["score"].to_numpy()
    return frame, np.where(inside, fitted.predict(score), score)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "snowflake", "bigquery"])
def test_sql_calibrates_only_the_rows_of_the_condition(fitted, rows, dialect):
    frame, expected = rows
    made = offer(fitted, ".sql", dialect, condition=WHERE)
    if dialect != "duckdb":
        assert made.run.deviation < 1e-12
        return
    with duckdb.connect() as connection:
        dated = frame.assign(day=pd.to_datetime(frame["day"]))
        connection.register("scores", dated)
        got = connection.execute(made.code).df().sort_values(["day"])
    order = np.argsort(frame["day"].to_numpy())
    np.testing.assert_allclose(got["calibrated"], expected[order], rtol=1e-12)


def test_python_calibrates_only_the_rows_of_the_condition(fitted, rows, tmp_path):
    frame, expected = rows
    path = export(fitted, tmp_path / "plan.py", condition=WHERE)
    code = "import sys, json, plan; print([plan.calibrate_row(r) for r in json.load(sys.stdin)])"
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=frame.to_json(orient="records"),
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=True,
    )
    np.testing.assert_allclose(json.loads(run.stdout), expected, rtol=1e-12)
    assert verify(path).deviation < 1e-12


@pytest.mark.skipif(which("node") is None, reason="needs Node")
def test_javascript_calibrates_only_the_rows_of_the_condition(fitted, rows, tmp_path):
    frame, expected = rows
    export(fitted, tmp_path / "plan.mjs.js", condition=WHERE)
    (tmp_path / "plan.mjs").write_text((tmp_path / "plan.mjs.js").read_text())
    code = (
        "import {calibrateRow} from './plan.mjs';"
        f"console.log(JSON.stringify({frame.to_json(orient='records')}.map(calibrateRow)))"
    )
    (tmp_path / "run.mjs").write_text(code)
    run = subprocess.run(
        ["node", "run.mjs"], cwd=tmp_path, text=True, capture_output=True, check=True
    )
    np.testing.assert_allclose(json.loads(run.stdout), expected, rtol=1e-12)


def test_a_form_without_code_refuses_a_condition(fitted, texts):
    for suffix in (".json", ".onnx"):
        with texts.raises(ExportError):
            offer(fitted, suffix, condition=WHERE)


@pytest.mark.parametrize(
    "parts",
    [
        ("day", "May 2026"),
        ("day", "2026-05-01", "a\nb", "x"),
        ("day", "2026-05-01", "a", "b\nc"),
        ("day", "2026-05-01", "day", "b"),
    ],
)
def test_a_condition_that_code_cannot_hold_is_refused(parts):
    with pytest.raises(ExportError):
        Condition(*parts)


def test_a_file_without_a_condition_has_the_same_bytes_as_before(fitted):
    made = offer(fitted, ".sql")
    assert "condition" not in made.code

"""Assertions for tests, and the action that runs `calib check`."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml

import calib
from calib.testing import assert_calibrated
from tests.rare import common_first, rare

ROOT = Path(__file__).parents[1]
# Half of the rows are positive and all scores are 0.25, so KS error, ECE and log loss follow by
# hand.
Y, P = [0, 1] * 200, [0.25] * 400


def test_what_is_calibrated_passes():
    assert_calibrated([0, 1, 0, 0] * 100, [0.25] * 400, max_ks=0.01, max_ece=0.01, min_p=0.5)


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ({"max_ks": 0.02}, "KS error 0.25 is above 0.02"),
        ({"max_ece": 0.1}, "ECE 0.25 is above 0.1"),
        # The log loss is -(ln 0.25 + ln 0.75) / 2.
        ({"max_log_loss": 0.8}, "log loss 0.836988 is above 0.8"),
        ({"min_p": 0.05}, r"p of the KS test \S+ is below 0.05"),
        ({"max_ks": 0.3, "max_ece": 0.2}, r"400 rows: ECE 0.25 is above 0.2\.$"),
    ],
)
def test_every_limit_that_is_broken_is_named(limit, sentence):
    with pytest.raises(AssertionError, match=sentence):
        assert_calibrated(Y, P, **limit, strict_point=True)


def test_a_maximum_is_exceeded_where_the_interval_of_the_check_begins():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 500)
    y = rng.random(500) < p**1.5
    found = calib.analyze(calib.Predictions.from_arrays(y, p), {"methods": ()}).uncalibrated
    log_loss = found.metrics["log_loss"]
    assert_calibrated(y, p, max_log_loss=log_loss.low)
    with pytest.raises(AssertionError, match="is significantly above"):
        assert_calibrated(y, p, max_log_loss=log_loss.low * (1 - 1e-9))
    # Resamples of these intervals are drawn without folds, so their ends differ slightly.
    for limit, name in (("max_ks", "ks_error"), ("max_ece", "ece_quantile")):
        estimate = found.metrics[name]
        assert 0.0 < estimate.low < estimate.value
        assert_calibrated(y, p, **{limit: (estimate.low + estimate.value) / 2})
        with pytest.raises(AssertionError, match=r"\(95% CI .* is significantly above"):
            assert_calibrated(y, p, **{limit: estimate.low - 0.1 * estimate.value})


def test_chance_fails_no_test_of_calibrated_scores():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 100)
    y = rng.random(100) < p
    assert calib.metrics.ks_error(y, p) > 0.01
    assert_calibrated(y, p, max_ks=0.01, max_ece=0.01)
    with pytest.raises(AssertionError):
        assert_calibrated(y, p, max_ks=0.01, strict_point=True)


def test_rows_of_one_class_have_limits_too():
    assert_calibrated([0, 0, 0], [0.01, 0.02, 0.03], max_ks=0.05, max_ece=0.05, max_log_loss=0.1)
    with pytest.raises(AssertionError):
        assert_calibrated([1] * 50, [0.01] * 50, max_ks=0.05)


def test_weights_count():
    y, p = [0, 1, 0, 0] + [1] * 4, [0.25] * 4 + [0.5] * 4
    assert_calibrated(y, p, [1] * 4 + [1e-9] * 4, max_ks=0.001)
    with pytest.raises(AssertionError, match=r"KS error 0\.25"):
        assert_calibrated(y, p, max_ks=0.001, strict_point=True)


@pytest.mark.parametrize("limit", [{}, {"max_ks": -1}, {"max_ks": float("nan")}])
def test_a_limit_that_is_none_is_no_pass(limit):
    with pytest.raises(ValueError, match="must be"):
        assert_calibrated(Y, P, **limit)


@pytest.mark.parametrize(
    "series",
    [
        pl.Series,
        pd.Series,
        lambda values: pd.Series(values).convert_dtypes(),
        lambda values: pd.Series(values, index=range(7, 407), dtype="float64[pyarrow]"),
    ],
    ids=["polars", "pandas", "nullable", "arrow"],
)
def test_series_are_read_wherever_arrays_are(series):
    y, p, weight = series(Y), series(P), series([1.0] * 400)
    expected = calib.metrics.ks_error(Y, P)
    assert calib.metrics.ks_error(y, p, sample_weight=weight) == expected
    assert calib.ScoreCells.from_arrays(y, p, weight).n_rows == 400
    assert len(calib.Predictions.from_arrays(y, p, weight)) == 400
    scores = [0.1, 0.4, 0.6, 0.9] * 100
    fitted = calib.calibrator("platt").fit(series(scores), y, sample_weight=weight)
    plain = calib.calibrator("platt").fit(scores, Y)
    np.testing.assert_array_equal(fitted.predict(series(scores)), plain.predict(scores))
    with pytest.raises(AssertionError):
        assert_calibrated(y, p, weight, max_ks=0.1)


@rare
@pytest.mark.parametrize(
    ("limit", "status"), common_first([("0.3", 0), ("0.02", 1)], [("0.02", 1)])
)
def test_the_action_checks_a_file_with_an_odd_name(limit, status, tmp_path):
    name = "it's $(touch hacked).csv"
    pd.DataFrame({"y": Y, "p": P}).to_csv(tmp_path / name, index=False)
    step = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]
    calib_here = f'calib() {{ {shlex.quote(sys.executable)} -m calib "$@"; }}'
    values = {
        "CALIB_FILE": name,
        "CALIB_ARGUMENTS": f"--outcome y --score p --max-ks {limit}",
        "CALIB_JUNIT": "calibration.xml",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "PYTHONPATH": str(ROOT),
    }
    assert set(step["env"]) < set(values)
    # GitHub runs bash with these options.
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", f"{calib_here}\n{step['run']}"],
        cwd=tmp_path,
        env=os.environ | values,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert (tmp_path / "summary").read_text() == done.stdout
    assert (tmp_path / "calibration.xml").is_file()
    assert not (tmp_path / "hacked").exists()

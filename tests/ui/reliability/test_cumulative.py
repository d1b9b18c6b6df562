"""The table of tests: every test of the analysis, in words."""

import dataclasses
import math

import numpy as np
import pytest

from calib.analysis import analyze
from calib.analysis.verdict import adjusted
from calib.blocks.kinds import Value
from calib.blocks.methods import calibration_tests
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.metrics import TestResult
from calib.words.cumulative import saving, sentence
from calib.words.verdicts import TEST_NAMES


@pytest.fixture(scope="module")
def method():
    rng = np.random.default_rng(0)
    score = rng.random(900)
    outcome = rng.random(900) < score**2
    return analyze(Predictions.from_arrays(outcome, score), Settings(methods=())).uncalibrated


def test_every_test_of_the_analysis_has_a_row(method, texts):
    rows = calibration_tests([method], [adjusted(method.all_tests)]).rows
    assert [row[0].text for row in rows] == list(TEST_NAMES.values())
    assert {"ks", *method.tests} == set(TEST_NAMES)
    assert all(row[1].text for row in rows)
    assert rows[3][2].text == f"{method.tests['hosmer_lemeshow'].statistic:.3f}"
    # The lowest tenth of the scores expects fewer than 5 positives.
    assert rows[3][1].detail == "simulation, 4,999 draws"
    texts(rows[4][1].detail)
    assert rows[0][2].detail == "p < 0.001"
    assert rows[0][3].text == "p < 0.001"


def test_each_method_has_two_columns_and_a_null_stands_once(method):
    line = dataclasses.replace(method.tests["line"], null="F")
    other = dataclasses.replace(method, tests={"line": line})
    rows = calibration_tests([method, other], [adjusted(m.all_tests) for m in (method, other)]).rows
    assert [row[0].text for row in rows] == list(TEST_NAMES.values())
    assert [len(row) for row in rows] == [2 + 2 * 2] * len(TEST_NAMES)
    # Only two of the tests of the second method were computed.
    for place in (4, 5):
        assert [bool(row[place].text) for row in rows] == [True, False, False, False, True]
    assert rows[0][1].detail == method.ks.null
    # Methods of which one test has different nulls have both.
    assert rows[4][1].detail == f"{method.tests['line'].null}; F"


def test_the_sentence_says_both_errors(method):
    said = sentence(method)
    assert f"{method.ks.statistic:.1%}" in said
    assert f"Kuiper error {method.tests['kuiper'].statistic:.1%}" in said


def test_the_kuiper_error_bounds_what_calibration_can_save(method):
    kuiper = f"{method.tests['kuiper'].statistic:.4f}"
    assert str(kuiper) in saving(method)
    assert saving(dataclasses.replace(method, tests={})) == ""


def test_what_cannot_be_estimated_or_is_infinite_is_said(method, texts):
    odd = {
        "line": TestResult(math.nan, math.nan, "chi-square"),
        "hosmer_lemeshow": TestResult(math.inf, 0.0, "chi-square"),
        "spiegelhalter": TestResult(-1.5, 0.13, "standard normal"),
    }
    replaced = dataclasses.replace(method, tests=odd)
    rows = calibration_tests([replaced], [adjusted(replaced.all_tests)]).rows
    by_name = {row[0].text: row[2:] for row in rows}
    texts(by_name[TEST_NAMES["line"]][0].detail)
    assert by_name[TEST_NAMES["hosmer_lemeshow"]][0].text == "∞"
    # Three tests have a p-value; those of KS and Hosmer-Lemeshow are smaller.
    spiegelhalter = (Value("−1.500", "p = 0.130"), Value("p = 0.130"))
    assert by_name[TEST_NAMES["spiegelhalter"]] == spiegelhalter
    assert TEST_NAMES["kuiper"] not in by_name

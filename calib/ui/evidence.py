"""Tests of calibration on the Cumulative page: statistic, p-value, and what each one looks at."""

from __future__ import annotations

import math

import streamlit as st

from calib.analysis import MethodResult
from calib.metrics import TestResult
from calib.ui import frame, state
from calib.ui.words import number
from calib.verdict import SIGNIFICANCE, p_words

NAMES = {
    "ks": "KS",
    "kuiper": "Kuiper",
    "spiegelhalter": "Spiegelhalter z",
    "hosmer_lemeshow": "Hosmer-Lemeshow χ²",
    "line": "Slope and intercept χ²",
}
LOOKS_AT = {
    "ks": "Positives up to any score",
    "kuiper": "Positives over any stretch of scores",
    "spiegelhalter": "Brier score of calibrated scores",
    "hosmer_lemeshow": "Positives in ten equal groups",
    "line": "Log-odds, stretched and shifted",
}
TESTS_READING = (
    "All compare what came true with what the scores expect; none can prove calibration. A small p "
    f"is evidence against; below {SIGNIFICANCE:g} counts here. With many rows a difference too "
    "small to matter is found too: look at its size. Of five tests, one is below 0.05 by chance "
    "more often than once in twenty."
)


def tests_table(method: MethodResult) -> None:
    """All tests of one method."""
    st.dataframe(
        test_rows(method),
        hide_index=True,
        key=state.key("table_tests"),
        column_config={
            "Test": st.column_config.TextColumn(pinned=True),
        },
        alt="One row a test: its statistic, its p-value in words, and what it looks at.",
    )
    frame.once("tests", lambda: st.caption(TESTS_READING))


def test_rows(method: MethodResult) -> list[dict[str, str]]:
    """One row a test, every cell in words."""
    found = {"ks": method.ks, **method.tests}
    return [
        {
            "Test": NAMES[key],
            "Statistic": _statistic(key, found[key]),
            "p": _evidence(found[key]),
            "Looks at": LOOKS_AT[key],
            "p is read from": found[key].null,
        }
        for key in NAMES
        if key in found
    ]


def _statistic(key: str, test: TestResult) -> str:
    if math.isinf(test.statistic):
        return "∞" if test.statistic > 0 else "−∞"
    return number(test.statistic, 4 if key in ("ks", "kuiper") else 2)


def _evidence(test: TestResult) -> str:
    if math.isnan(test.p_value):
        return "cannot be estimated"
    return f"{p_words(test.p_value)}: {_against(test)}"


def _against(test: TestResult) -> str:
    return "evidence against" if test.p_value < SIGNIFICANCE else "no evidence against"


def errors_said(method: MethodResult) -> str:
    """KS and Kuiper error of a method with their p-values, in a sentence."""
    said = [f"KS error {number(method.ks.statistic)} ({_evidence(method.ks)} calibration)"]
    if "kuiper" in method.tests:
        kuiper = method.tests["kuiper"]
        said.append(f"Kuiper error {number(kuiper.statistic)} ({_evidence(kuiper)})")
    return f"**{method.label}**: {', '.join(said)}."

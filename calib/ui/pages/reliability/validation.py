"""The tables of a validator: what is observed against what is expected, in total and per bin."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.analysis import Analysis, MethodResult
from calib.blocks.kinds import Table, Value, row
from calib.curves.reliability import BinTests
from calib.metrics import VariationalEstimate
from calib.text import (
    between_percents,
    count,
    level,
    number,
    p_value,
    percent,
    score_percents,
)
from calib.ui.layout import blocks, words
from calib.ui.session import choices, results, state
from calib.ui.session.session import Session
from calib.words.measures import KS, chance_level, metric_text

RATIO = "Observed positives divided by the sum of the scores (O/E). A calibrated model is near 1."
TOTAL_MEANINGS = {
    "Observed / expected": f"{RATIO} p: exact binomial test at the mean score.",
    "Hosmer-Lemeshow χ²": "Observed against expected positives in ten groups of equal size.",
    "Brier score": "Mean squared difference between score and outcome. Lower is better.",
    "AUC": "Probability that a positive row has a higher score than a negative one.",
    KS: "Largest cumulative difference between outcomes and scores. It is not the KS statistic of "
    "discrimination: 0 is calibrated.",
    "ECE (expected calibration error)": "Mean gap of the bins in use. 0 is calibrated.",
    "Error without bias": "Variational error: a cross-fitted calibrator says which scores are too "
    "low or too high. On average 0 if calibrated, so it can be negative. Scores too far from 50% "
    "are overconfident (over), scores too near to it underconfident (under).",
}
BIN_MEANINGS = {
    "Rows": "",
    "Expected": "Sum of the scores: the positives of a calibrated model, on average.",
    "Observed": "Positive rows.",
    "Observed / expected": RATIO,
    "p (Holm)": "Exact binomial test at the mean score, adjusted for the number of bins. Rows with "
    "weights or clusters count with their effective number.",
    "Mean score": "",
    "Observed frequency": "",
    "{} CI": "Wilson interval of the observed frequency.",
    "Band": "",
}


def show(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    analysis = model.analysis
    tests = {key: results.bins_tested(session, analysis, key) for key in analysis.methods}
    errors = results.variational(session, analysis)
    st.markdown("### Observed and expected positives of all rows")
    rows = tuple(
        _total_row(analysis, analysis.methods[key], tests[key], errors[key])
        for key in analysis.ranked
    )
    head = ("Method", *TOTAL_MEANINGS)
    blocks.show(Table("", head, rows, meanings=TOTAL_MEANINGS, name="All methods"))
    st.markdown("### Observed and expected positives by bin")
    places = st.tabs([choices.method_label(key) for key in shown])
    for key, place in zip(shown, places, strict=True):
        with place:
            _bins(analysis.methods[key], tests[key])


def _total_row(
    analysis: Analysis, method: MethodResult, tests: BinTests, variational: VariationalEstimate
) -> tuple[Value, ...]:
    ece = f"ece_{analysis.settings.strategy}"
    metrics, grouped = method.metrics, method.all_tests.get("hosmer_lemeshow")
    observed, expected = count(tests.positive[-1]), number(tests.expected[-1], 1)
    ks, level_of_ks = metrics["ks_error"], chance_level("ks_error", metrics["ks_error"])
    error = variational.error
    sides = (
        f"over {percent(variational.overconfident.value)}, "
        f"under {percent(variational.underconfident.value)}"
    )
    return row(
        Value(method.label, marked=method.key == analysis.recommendation.method),
        Value(
            number(tests.ratio[-1], 3), f"{observed} of {expected}, {p_value(tests.p_value[-1])}"
        ),
        Value(number(grouped.statistic, 1), p_value(grouped.p_value)) if grouped else "",
        number(metrics["brier_score"].value),
        number(metrics["auc"].value),
        Value(metric_text("ks_error", ks.value), f"{level_of_ks}, {p_value(method.ks.p_value)}"),
        Value(metric_text(ece, metrics[ece].value), chance_level(ece, metrics[ece])),
        Value(percent(error.value), f"{between_percents(error.low, error.high)}\n{sides}"),
    )


def _bins(method: MethodResult, tests: BinTests) -> None:
    curve = method.reliability
    at = level(curve.confidence_level)
    st.caption(words.bins_sentence(curve))
    meanings = {name.format(at): meaning for name, meaning in BIN_MEANINGS.items()}
    rows = tuple(_bin_row(method, tests, i) for i in range(len(tests.rows)))
    head, name = ("Scores", *meanings), f"Bins: {method.label}"
    meanings["Scores"] = "A bin includes its upper end."
    blocks.show(Table("", head, rows, meanings=meanings, name=name, exact=tests.frame()))


def _bin_row(method: MethodResult, tests: BinTests, i: int) -> tuple[Value, ...]:
    curve, total = method.reliability, i == len(tests.rows) - 1
    weighted, worst = tests.weight[i] != tests.rows[i], i == curve.worst
    name = "All rows" if total else " to ".join(score_percents(*_edges(tests, i)))
    return row(
        Value(name, "largest gap" if worst else "", marked=worst),
        Value(count(tests.rows[i]), f"weight {count(tests.weight[i])}" if weighted else ""),
        number(tests.expected[i], 1),
        count(tests.positive[i]),
        number(tests.ratio[i], 2),
        p_value(tests.p_adjusted[i]),
        percent(tests.mean_score[i]),
        percent(tests.observed[i]),
        "" if total else between_percents(curve.low[i], curve.high[i]),
        "" if total else between_percents(curve.band_low[i], curve.band_high[i]),
    )


def _edges(tests: BinTests, i: int) -> tuple[float, float]:
    return float(tests.low_edge[i]), float(tests.high_edge[i])

"""The tables of a validator: what is observed against what is expected, in total and per bin."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from calib.analysis import Analysis, MethodResult
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
from calib.ui.layout import words
from calib.ui.layout.tables import Line, lines_table
from calib.ui.session import choices, results, state
from calib.ui.session.session import Session
from calib.words.measures import chance_level, metric_text

RATIO = "Observed positives divided by the sum of the scores (O/E). A calibrated model is near 1."
TOTAL_HEAD: Sequence[tuple[str, str]] = (
    ("Method", ""),
    ("Observed / expected", f"{RATIO} p: exact binomial test at the mean score."),
    ("Hosmer-Lemeshow χ²", "Observed against expected positives in ten groups of equal size."),
    ("Brier score", "Mean squared difference between score and outcome. Lower is better."),
    ("AUC", "Probability that a positive row has a higher score than a negative one."),
    (
        "KS calibration error",
        "Largest cumulative difference between outcomes and scores. It is not the KS statistic of "
        "discrimination: 0 is calibrated.",
    ),
    ("ECE (expected calibration error)", "Mean gap of the bins in use. 0 is calibrated."),
    (
        "Error without bias",
        "Variational error: a cross-fitted calibrator says which scores are too low or too high. "
        "On average 0 if calibrated, so it can be negative. Scores too far from 50% are "
        "overconfident (over), scores too near to it underconfident (under).",
    ),
)
BIN_HEAD: Sequence[tuple[str, str]] = (
    ("Scores", "A bin includes its upper end."),
    ("Rows", ""),
    ("Expected", "Sum of the scores: the positives of a calibrated model, on average."),
    ("Observed", "Positive rows."),
    ("Observed / expected", RATIO),
    (
        "p (Holm)",
        "Exact binomial test at the mean score, adjusted for the number of bins. Rows with weights "
        "or clusters count with their effective number.",
    ),
    ("Mean score", ""),
    ("Observed frequency", ""),
)


def show(session: Session, model: state.Model, shown: Sequence[str]) -> None:
    analysis = model.analysis
    tests = {key: results.bins_tested(session, analysis, key) for key in analysis.methods}
    errors = results.variational(session, analysis)
    st.markdown("### Observed and expected positives of all rows")
    lines = [
        _total_line(analysis, analysis.methods[key], tests[key], errors[key])
        for key in analysis.ranked
    ]
    lines_table("in_total", "All methods", TOTAL_HEAD, lines)
    st.markdown("### Observed and expected positives by bin")
    places = st.tabs([choices.method_label(key) for key in shown])
    for key, place in zip(shown, places, strict=True):
        with place:
            _bins(analysis.methods[key], tests[key])


def _total_line(
    analysis: Analysis, method: MethodResult, tests: BinTests, variational: VariationalEstimate
) -> Line:
    ece = f"ece_{analysis.settings.strategy}"
    metrics, grouped = method.metrics, method.all_tests.get("hosmer_lemeshow")
    observed, expected = count(tests.positive[-1]), number(tests.expected[-1], 1)
    cells: list[tuple[str, ...]] = [
        (method.label,),
        (
            number(tests.ratio[-1], 3),
            f"{observed} of {expected}, {p_value(tests.p_value[-1])}",
        ),
        (number(grouped.statistic, 1), p_value(grouped.p_value)) if grouped else (),
        (number(metrics["brier_score"].value),),
        (number(metrics["auc"].value),),
        (
            metric_text("ks_error", metrics["ks_error"].value),
            f"{chance_level('ks_error', metrics['ks_error'])}, {p_value(method.ks.p_value)}",
        ),
        (metric_text(ece, metrics[ece].value), chance_level(ece, metrics[ece])),
        (
            percent(variational.error.value),
            between_percents(variational.error.low, variational.error.high),
            f"over {percent(variational.overconfident.value)}, "
            f"under {percent(variational.underconfident.value)}",
        ),
    ]
    return Line(
        [tuple(filter(None, cell)) for cell in cells],
        marked=method.key == analysis.recommendation.method,
    )


def _bins(method: MethodResult, tests: BinTests) -> None:
    curve = method.reliability
    at = level(curve.confidence_level)
    st.caption(words.bins_sentence(curve))
    head = [*BIN_HEAD, (f"{at} CI", "Wilson interval of the observed frequency."), ("Band", "")]
    lines = [_bin_line(method, tests, i) for i in range(len(tests.rows))]
    about = f"Bins: {method.label}"
    lines_table(f"bins_{method.key}", about, head, lines, exact=tests.frame())


def _bin_line(method: MethodResult, tests: BinTests, i: int) -> Line:
    curve, total = method.reliability, i == len(tests.rows) - 1
    weighted = tests.weight[i] != tests.rows[i]
    name = ("All rows",) if total else (" to ".join(score_percents(*_edges(tests, i))),)
    band = () if total else (between_percents(curve.band_low[i], curve.band_high[i]),)
    interval = () if total else (between_percents(curve.low[i], curve.high[i]),)
    worst = i == curve.worst
    return Line(
        [
            (*name, *(["largest gap"] if worst else [])),
            (count(tests.rows[i]), *([f"weight {count(tests.weight[i])}"] if weighted else [])),
            (number(tests.expected[i], 1),),
            (count(tests.positive[i]),),
            (number(tests.ratio[i], 2),),
            (p_value(tests.p_adjusted[i]),),
            (percent(tests.mean_score[i]),),
            (percent(tests.observed[i]),),
            interval,
            band,
        ],
        marked=worst,
    )


def _edges(tests: BinTests, i: int) -> tuple[float, float]:
    return float(tests.low_edge[i]), float(tests.high_edge[i])

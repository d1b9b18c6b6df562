"""All classes of a matrix together: metrics, changes, and clipping against calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from calib.analysis import Analysis
from calib.core.estimate import Estimate
from calib.crossfit.clipping import Clipping, compare_clipping
from calib.crossfit.matrix import MatrixCrossFitted
from calib.crossfit.matrix_comparison import LiveMulticlassComparison, MulticlassComparison
from calib.figures.clipping import clipping_chart
from calib.figures.difference import matrix_difference_chart
from calib.metrics.matrix import MULTICLASS_METRICS, ROW_METRICS
from calib.text import interval, level, number, signed, significant
from calib.ui import frame, how_to_read, state
from calib.ui.memo import Unkeyed
from calib.ui.state import Session
from calib.ui.words import calibrated, method_label

PICK: Mapping[str, Callable[[list[float]], float]] = {"lower": min, "higher": max}


def metrics(compared: MulticlassComparison) -> None:
    """One row per method, one column per metric, the best of every column starred."""
    st.dataframe(
        metric_rows(compared),
        hide_index=True,
        key=state.key("table_matrix"),
        column_config={
            "Method": st.column_config.TextColumn(pinned=True),
            **{
                metric.label: st.column_config.TextColumn(help=metric.meaning)
                for metric in MULTICLASS_METRICS.values()
            },
        },
        alt="One row per method, one column per metric of all classes, intervals in brackets.",
    )
    at = level(compared.confidence_level)
    st.caption(
        f"★ best of its column; in brackets the {at} interval, and what a calibrated model of this "
        f"size shows on average. Both ECE use {compared.n_bins} uniform bins."
    )


def metric_rows(compared: MulticlassComparison) -> list[dict[str, str]]:
    """The metric table, every cell in words."""
    best = {name: _best(compared, name) for name in MULTICLASS_METRICS}
    rows = []
    for key, result in compared.results.items():
        row = {"Method": result.label}
        for name, metric in MULTICLASS_METRICS.items():
            star = " ★" if key in best[name] else ""
            floor = calibrated(result.metrics[name])
            row[metric.label] = f"{_with_interval(result.metrics[name])}{star}{floor}"
        rows.append(row)
    return rows


def _with_interval(estimate: Estimate) -> str:
    bounds = interval(estimate, 3)
    return f"{number(estimate.value)} ({bounds})" if bounds else number(estimate.value)


def _best(compared: MulticlassComparison, name: str) -> set[str]:
    """Methods that print the best value; none where all print the same."""
    values = {key: round(r.metrics[name].value, 4) for key, r in compared.results.items()}
    best = PICK[MULTICLASS_METRICS[name].better](list(values.values()))
    found = {key for key, value in values.items() if value == best}
    return set() if len(found) == len(values) else found


def changes(analysis: Analysis, compared: MulticlassComparison) -> None:
    """What each method changes, paired by row: accuracy too, which some maps spoil."""
    st.markdown("### Change against the uncalibrated scores, all classes")
    forest, said = st.columns([3, 2], gap="large")
    with forest:
        frame.chart(matrix_difference_chart(analysis), "chart_matrix_forest")
    with said:
        frame.reading(how_to_read.MATRIX_CHANGE)
    st.dataframe(
        change_rows(compared),
        hide_index=True,
        key=state.key("table_matrix_changes"),
        alt="One row per method: change of multiclass log loss, Brier score and accuracy, "
        "with intervals.",
    )


def change_rows(compared: MulticlassComparison) -> list[dict[str, str]]:
    """Change against the uncalibrated scores, with its interval, one row per method."""
    at = level(compared.confidence_level)
    rows = []
    for key, result in compared.results.items():
        if key == "uncalibrated":
            continue
        row = {"Method": result.label}
        for name in ROW_METRICS:
            change, label = result.differences[name], MULTICLASS_METRICS[name].label
            row[f"{label}: change"] = signed(change.value)
            row[f"{at} interval ({label})"] = interval(change, sign=True)
        rows.append(row)
    return rows


def clipped(session: Session, compared: LiveMulticlassComparison) -> None:
    """Clipping against calibration, or why there is none."""
    at = compared.confidence_level
    st.markdown("### Clipping against calibration")
    try:
        with st.spinner("Clipping at every bound"):
            # Another view has another comparison of the same held-out scores.
            clip = Unkeyed(_clipping, compared=compared)
            found = session.memo.heavy(clip, compared.held_out, at)
    except ValueError as error:
        st.caption(str(error))
        return
    picture, said = st.columns(2, gap="large")
    with picture:
        frame.chart(clipping_chart(found), "chart_clipping")
    with said:
        st.markdown(clipping_said(found, at))
        frame.reading(how_to_read.CLIPPING)


def _clipping(
    _held_out: MatrixCrossFitted, _level: float, *, compared: LiveMulticlassComparison
) -> Clipping:
    return compare_clipping(compared)


def clipping_said(found: Clipping, confidence_level: float) -> str:
    """What clipping gains, and what calibration gains beyond it."""
    best, gain = found.best, found.gain
    lead = (
        f"Multiclass log loss is **{number(found.uncalibrated.value)}** as the scores are and "
        f"**{number(best.log_loss.value)}** clipped at the best of {len(found.bounds)} bounds, "
        f"p_min = {significant(best.p_min)}."
    )
    if found.calibrator == "uncalibrated":
        return lead
    if gain.high < 0.0:
        verdict = "calibration does more than keep scores from being too sure"
    elif gain.low > 0.0:
        verdict = "clipping alone does better"
    else:
        verdict = "the two cannot be told apart"
    return (
        f"{lead} **{method_label(found.calibrator)}** reaches "
        f"**{number(found.calibrated.value)}**: {signed(gain.value)} against clipping "
        f"({level(confidence_level)} interval {interval(gain, sign=True)}), so {verdict}."
    )

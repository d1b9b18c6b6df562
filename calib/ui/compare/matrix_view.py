"""All classes of a matrix together: metrics, changes, and clipping against calibration."""

from __future__ import annotations

import streamlit as st

from calib.analysis import Analysis, Column
from calib.crossfit.clipping import Clipping, compare_clipping
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.matrix_comparison import LiveMulticlassComparison, MulticlassComparison
from calib.figures.clipping import clipping_chart
from calib.figures.difference import matrix_difference_chart
from calib.metrics import matrix_metrics
from calib.text import interval, level, number, signed, significant
from calib.ui.layout import charts, frame
from calib.ui.layout.tables import MetricColumn, columns_of
from calib.ui.session.choices import method_label
from calib.ui.session.memo import Unkeyed
from calib.ui.session.session import Session

MATRIX_CHANGE = """
- **All classes together**, whatever the view: multiclass log loss uses the score of the true class,
  and the multiclass Brier score sums over the classes.
- **Accuracy** changes only if a method reorders the classes of a row. Temperature scaling, clipping
  and the KS spline never do.
"""
CLIPPING = """
- **Clipping** only limits how extreme scores can be: none is below p_min, and each row is divided
  by its sum.
- The best bound is chosen on these same rows, so its loss is optimistic.
  [Lucena 2018](https://arxiv.org/abs/1809.07751), Figure 2.
"""


def columns(compared: MulticlassComparison) -> list[MetricColumn]:
    """The metrics of all classes, and the paired changes of those that are taken row by row."""
    shown = [
        Column(key, metric.label, metric.meaning, 4, metric.better)
        for key, metric in matrix_metrics().items()
    ]
    return columns_of(shown, compared.results, lambda column: column.meaning)


def forest(analysis: Analysis) -> None:
    """What each method changes about all classes, paired by row."""
    with charts.beside(matrix_difference_chart(analysis), "chart_matrix_forest", [2, 1]):
        frame.reading(MATRIX_CHANGE, "the changes of all classes")


def clipped(session: Session, compared: LiveMulticlassComparison) -> None:
    """The comparison of clipping with calibration, or why it is missing."""
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
    with charts.beside(clipping_chart(found), "chart_clipping", 2):
        st.markdown(clipping_sentence(found, at))
        frame.reading(CLIPPING, "clipping")


def _clipping(
    _held_out: MatrixFits, _level: float, *, compared: LiveMulticlassComparison
) -> Clipping:
    return compare_clipping(compared)


def clipping_sentence(found: Clipping, confidence_level: float) -> str:
    best, gain = found.best, found.gain
    lead = (
        f"Multiclass log loss is **{number(found.uncalibrated.value)}** uncalibrated and "
        f"**{number(best.log_loss.value)}** clipped at the best of {len(found.bounds)} bounds, "
        f"p_min = {significant(best.p_min)}."
    )
    if found.calibrator == "uncalibrated":
        return lead
    if gain.high < 0.0:
        verdict = "Calibration does more than avoid extreme scores."
    elif gain.low > 0.0:
        verdict = "Clipping alone does better."
    else:
        verdict = "The two are not significantly different."
    return (
        f"{lead} **{method_label(found.calibrator)}** reaches "
        f"**{number(found.calibrated.value)}**, a change of {signed(gain.value)} from clipping "
        f"({level(confidence_level)} CI {interval(gain, sign=True)}). {verdict}"
    )

"""Which rows can be decided automatically: the controls, the certificate and its curve."""

from __future__ import annotations

from html import escape

import streamlit as st

from calib.analysis.decisions import Certificate
from calib.figures import certified_error
from calib.text import plain
from calib.ui.controls.widgets import control
from calib.ui.layout import charts
from calib.ui.layout.tables import Line, lines_table
from calib.ui.session import choices, state
from calib.ui.session.results import certificate, error_limit
from calib.ui.session.session import Session

CHART_WIDTHS = (340, 420, 520, 620, 740)
READING = (
    "Thresholds are tested from the strictest to looser ones, until one fails. The bound of the "
    "first and of every later test up to the dot is at most the highest error. Calibrators that "
    "keep the order of the scores decide the same rows."
)
ALL_ALIKE = "Errors of all rows together are rarer than the limit. Enter a lower one."


def section(session: Session, model: state.Model) -> None:
    """Certify the uncalibrated scores, and draw what follows."""
    st.markdown("### Which rows can be decided automatically?")
    with st.container(
        horizontal=True,
        vertical_alignment="bottom",
        gap="medium",
        key="certified_toolbar",
    ):
        control(session, choices.SIDES, value=error_limit(session, model).sides)
        control(session, choices.MAX_ERROR)
        control(session, choices.CERTAINTY)
    try:
        made = certificate(session, model)
    except ValueError as error:
        st.info(plain(f"Not certified: {error}"))
        return
    st.html(f'<p class="certificate">{escape(made.sentence)}</p>')
    drawn = charts.kept(certified_error.certified_error_chart, made)
    with charts.beside(drawn, "chart_certified", (5, 4), widths=CHART_WIDTHS):
        table(made)
        # If no side is certified, the sentence has these reasons.
        if made.decides_all_alike:
            st.caption(ALL_ALIKE)
        for side in made.sides:
            if made.share and side.why_not:
                st.caption(plain(f"{certified_error.NAMES[side.side]} none: {side.why_not}."))
        st.caption(plain(made.tested_on), help=READING)


def table(made: Certificate) -> None:
    """What each side decides."""
    head = list(certified_error.table_head(made).items())
    rows = [certified_error.table_row(made, side) for side in made.sides]
    lines = [Line([(cell,) for cell in cells]) for cells in rows]
    lines_table(f"lines_{len(lines)}_certified", "Rows decided automatically", head, lines)

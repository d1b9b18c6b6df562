"""Which rows nobody needs to look at: the controls, the certificate and its curve."""

from __future__ import annotations

from html import escape

import streamlit as st

from calib.analysis.decisions import Certificate, CertifiedSide, certify
from calib.analysis.decisions.certificate import Sides
from calib.data.views import parse_view
from calib.figures.certified_error import certified_error_chart
from calib.text import count, level, percent, plain, significant
from calib.ui.controls.widgets import control
from calib.ui.layout import charts
from calib.ui.layout.tables import Line, lines_table
from calib.ui.session import choices, state
from calib.ui.session.session import Session

CHART_WIDTHS = (340, 420, 520, 620, 740)
READING = (
    "Thresholds are tested from the strictest to looser ones, until one fails. The bound of the "
    "first and of every later test up to the dot is at most the highest error. Calibrators that "
    "keep the order of the scores decide the same rows."
)
ALL_ALIKE = "Errors of all rows together are rarer than the limit. Enter a lower one."
NAMES = {"above": "Accepted", "below": "Rejected"}


def section(session: Session, model: state.Model) -> None:
    """Certify the uncalibrated scores, and draw what follows."""
    st.markdown("### Decide without a look")
    with st.container(
        horizontal=True,
        vertical_alignment="bottom",
        gap="medium",
        key=state.key("certified_toolbar"),
    ):
        settings = session.settings
        # A confidence says that an answer is right; a low one does not say that it is wrong.
        answers = parse_view(settings.view)[0] != "class" or model.analysis.data.has_answers
        sides: Sides = session[choices.SIDES] or ("above" if answers else "both")
        control(session, choices.SIDES, value=sides)
        max_error = control(session, choices.MAX_ERROR)
        confidence = control(session, choices.CERTAINTY)
    try:
        made = session.memo(
            certify,
            model.rows,
            max_error,
            confidence,
            sides=sides,
            view=settings.view,
            seed=settings.seed,
        )
    except ValueError as error:
        st.info(plain(f"Not certified: {error}"))
        return
    st.html(f'<p class="certificate">{escape(made.sentence)}</p>')
    with charts.beside(certified_error_chart(made), "chart_certified", (5, 4), widths=CHART_WIDTHS):
        table(made)
        # If no side is certified, the sentence has these reasons.
        if made.decides_all_alike:
            st.caption(ALL_ALIKE)
        for side in made.sides:
            if made.share and side.why_not:
                st.caption(plain(f"{NAMES[side.side]} none: {side.why_not}."))
        st.caption(plain(made.tested_on), help=READING)


def table(made: Certificate) -> None:
    """What each side decides."""
    head = [
        ("Rows", ""),
        ("Score", "The threshold lies between two distinct scores."),
        ("Share", "Of the tested rows."),
        ("Errors", "Among these rows."),
        (f"Bound ({level(made.level_of_sides)})", "Upper confidence bound of their error rate."),
    ]
    lines = [Line([(cell,) for cell in _cells(made, side)]) for side in made.sides]
    lines_table(f"lines_{len(lines)}_certified", "Rows without a look", head, lines)


def _cells(made: Certificate, side: CertifiedSide) -> tuple[str, ...]:
    name = NAMES[side.side]
    if side.threshold is None:
        return name, "–", "0%", "–", "–"
    sign = "≥" if side.side == "above" else "≤"
    rate = percent(side.n_errors / side.n_rows)
    return (
        name,
        f"{sign} {significant(side.threshold, 15)}",
        percent(made.share_of(side)),
        f"{count(side.n_errors)} of {count(side.n_rows)} ({rate})",
        percent(side.bound),
    )

"""Reproduce a number: the conventions that give what a paper or another tool printed."""

from __future__ import annotations

import streamlit as st

from calib.analysis import LiveAnalysis
from calib.blocks.kinds import Table, Value, row
from calib.crossfit.settings import Settings
from calib.features.conventions.candidates import TypedNumber
from calib.features.conventions.choices import REPRODUCED
from calib.features.conventions.matching import Conventions, Match
from calib.features.conventions.result import conventions_of
from calib.text import plain, plural
from calib.ui.controls.widgets import control
from calib.ui.layout import blocks
from calib.ui.session import choices, state
from calib.ui.session.session import Session

MAX_LINES = 8  # The CSV file of the table has all matches.
NOT_A_NUMBER = "This is not a number of at least 0 with a decimal point, such as 0.174 or 17.4%."
ABOUT = "Conventions that give the number"
ABBREVIATIONS = "RMSCE: root mean square of the gaps. MCE: largest gap."


def section(session: Session, model: state.Model) -> None:
    """Draw the field, and what gives the number once there is one."""
    text = session[REPRODUCED]
    place = st.expander("Reproduce a number", expanded=bool(text), key="reproduce_a_number")
    with place:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            control(session, REPRODUCED, placeholder="0.174", width=260)
            method = st.selectbox(
                "Scores of",
                list(model.analysis.methods),
                format_func=choices.method_label,
                key="reproduced_of",
                width=260,
            )
        if text:
            _answer(session, model, method, text)


def _answer(session: Session, model: state.Model, method: str, text: str) -> None:
    try:
        TypedNumber.read(text)
    except ValueError:
        st.caption(f":material/info: {NOT_A_NUMBER}")
        return
    result = _conventions(session, model.analysis, method, text)
    st.markdown(plain(result.sentence))
    for remark in result.remarks:
        st.caption(f":material/info: {plain(remark)}")
    _table(result)


def _conventions(session: Session, analysis: LiveAnalysis, method: str, text: str) -> Conventions:
    # The same conventions are tried with any other settings than these.
    settings = analysis.settings
    shown = Settings(view=settings.view, strategy=settings.strategy, n_bins=settings.n_bins)
    return session.memo.heavy(conventions_of, analysis.held_out, method, shown, text)


def _table(result: Conventions) -> None:
    listed = result.matches or result.nearest
    first = "Convention" if result.matches else "Nearest conventions"
    rows = tuple(_row(result, match) for match in listed[:MAX_LINES])
    ours = {"Ours": f"The same quantity with {result.own_bins}."}
    head, exact = (first, "Value", "Ours"), result.frame()
    blocks.show(Table("", head, rows, meanings=ours, name=ABOUT, exact=exact))
    more = len(listed) - MAX_LINES
    rest = f"{plural(more, 'more line')} in the CSV file; more digits leave fewer. "
    st.caption(f"{rest if more > 0 else ''}Ours: {result.own_bins}. {ABBREVIATIONS}")


def _row(result: Conventions, match: Match) -> tuple[Value, ...]:
    small = [
        f"As in {'; '.join(match.codes)}" if match.codes else "",
        f"Unlike ours: {'; '.join(match.differences)}" if match.differences else "",
        f"Equal here: {'; '.join(match.equal)}" if match.equal else "",
        match.remark,
    ]
    written = result.typed.written
    first = Value(match.description, "\n".join(filter(None, small)))
    return row(first, written(match.value), written(match.ours))

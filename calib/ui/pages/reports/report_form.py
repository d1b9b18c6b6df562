"""The report's form: its words, the files to take away, and saving it for the team."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from calib.analysis import LiveAnalysis
from calib.data.base import Data
from calib.reports import Declared, Grade, Report, parts_of
from calib.store import Store, StoreError
from calib.text import plain
from calib.ui.controls.widgets import ask, field
from calib.ui.pages.reports import sharing
from calib.ui.session import identity, results, state
from calib.ui.session.choices import CROSS, N_RANGES, SLICE_BY, TIME, UNIT, Chosen
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.source_links import Query
from calib.ui.session.team_reports import REPORT

CONTENTS = """
- the verdict, the recommendation and its reasons
- reliability before and after, cumulative differences, calibration functions
- the metric table with its intervals, the bins, the fitted calibrators
- slices and time if the data have columns for them, decisions if costs were set
- settings (defaults included), versions, and the fingerprint of the data

A guarded report contains only aggregates over at least 10 rows, and **no rows**. The HTML file is
self-contained and works offline: its reader can move the bins. The JSON file has the same numbers
for programs, and this page can open it. `calib verify report.json` recomputes its numbers from its
counts (if guarded, within what these allow), and says how many values it cannot verify.
"""
GRADES: Mapping[Grade, str] = {
    "guarded": "Guarded: cells of at least 10 rows",
    "exact": "Exact: every distinct score",
}
EXACT = (
    "Every score with its numbers of rows and positive rows, also within each slice, can be read "
    "from the files of an exact report. It contains no other column."
)


def chosen_model(session: Session, models: tuple[state.Model, ...]) -> state.Model:
    if len(models) == 1:
        return models[0]
    names = [model.name for model in models]
    browser = session.team_reports
    wanted = browser.model if browser.model in names else names[0]
    choose = partial(setattr, browser, "model")
    ask(st.selectbox, "reported", wanted, choose, label="Report on", options=names)
    return models[names.index(wanted)]


def fields(session: Session) -> None:
    title = f"Calibration of {state.name(session)}"
    field(session, "title", "Title", st.text_input, placeholder=title)
    here = identity.person()
    if here is not None:
        session.author = here.name
    look = {"placeholder": "Who made it", "disabled": here is not None}
    field(session, "author", "Author", st.text_input, **look)
    note = "What the reader should know: model, rows, decision"
    field(session, "note", "Note", st.text_area, placeholder=note)


def form(session: Session, model: state.Model, store: Store | None) -> None:
    fields(session)
    _grade(session)
    try:
        with st.spinner("Making the report"):
            report = report_of(session, model)
    except ValueError as error:
        st.error(plain(str(error)))
        return
    st.markdown("### Download")
    sharing.downloads(report, "calibration-report")
    if store is not None:
        st.markdown("### Share with the team")
        _saving(session, store, report)


def _grade(session: Session) -> None:
    browser = session.team_reports
    field(
        browser,
        "grade",
        "Recomputed from",
        st.radio,
        options=list(GRADES),
        format_func=GRADES.__getitem__,
        horizontal=True,
        help="Numbers of a guarded report are compared with what its counts allow, those of an "
        "exact one to the last bit.",
    )
    if browser.grade == "exact":
        st.warning(EXACT)


def report_of(session: Session, model: state.Model) -> Report:
    rows, columns, unit = model.rows, model.rows.columns, session[UNIT]
    time, first, cross = (session[choice] for choice in (TIME, SLICE_BY, CROSS))
    time = time if time in columns else rows.time_name
    first = first if first in columns else next(iter(columns), "")
    # The sections use the first column, so the chosen one is first.
    slices: list[tuple[str, ...]] = [
        (name,) for name in dict.fromkeys((first, *columns)) if name and name != time
    ]
    if cross in rows.crossable_with(first):
        slices.append((first, cross))
    query = Query.of(session.upload.source) if session.upload else None
    # The scores of the examples are out of fold.
    declared = session.unseen if session.upload else "yes"
    costs = results.costs(session.chosen)
    made = session.memo.heavy(
        _report,
        rows,
        model.analysis,
        declared,
        session.team_reports.grade,
        # If a source has the rows, the report says how to count them again, without path and
        # address.
        "" if query is None else query.written(),
        slices=tuple(slices),
        n_ranges=session[N_RANGES],
        time=time,
        unit=unit or None,
        costs=None if costs == results.costs(Chosen()) else costs,
    )
    return made.edited(title=session.title, author=session.author, note=session.note)


def _report(
    rows: Data, analysis: LiveAnalysis, declared: Declared, grade: Grade, source: str, **parts: Any
) -> Report:
    made = parts_of(rows, analysis, **parts)
    return Report.from_analysis(
        analysis, parts=made, held_out_declared=declared, grade=grade, source=source
    )


def _saving(session: Session, store: Store, report: Report) -> None:
    if identity.is_read_only() or store.read_only:
        st.caption("This server is read-only: it shows reports, and none can be saved.")
        return
    browser = session.team_reports
    field(browser, "tags", "Tags", st.text_input, placeholder="Separated by commas")
    if st.button("Save", key="save", type="primary", icon=":material/save:"):
        try:
            sharing.save(session, store, report, browser.tags)
        except StoreError as error:
            st.error(plain(str(error)))
        else:
            # The list below was drawn before the report was saved.
            st.rerun()
    if browser.saved[1]:
        st.success("Saved. This link is permanent; later changes are saved as a new report.")
        sharing.link(browser.saved[1])
        there = {REPORT: browser.saved[1]}
        icon = ":material/description:"
        st.page_link(PAGES["Reports"], label="**Open it**", icon=icon, query_params=there)

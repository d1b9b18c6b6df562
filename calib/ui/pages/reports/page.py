"""Reports: download the analysis, share it with the team, open what others shared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from calib.store import Store, StoreError
from calib.text import plain, plural
from calib.ui.layout import frame
from calib.ui.pages.reports import opened_report, report_form, report_list
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_store import opened_store


def page() -> None:
    session = frame.begin("Reports")
    team_reports = session.team_reports
    store, trouble = None, ""
    try:
        store = opened_store()
    except StoreError as error:
        trouble = str(error)

    if (team_reports.report and store is not None) or team_reports.file is not None:
        try:
            opened_report.page(session, store)
        except StoreError as error:
            st.error(plain(str(error)))
            st.page_link(PAGES["Reports"], label="All reports", query_params=session.link())
        st.stop()

    if team_reports.message:
        st.success(plain(team_reports.message))
        team_reports.message = ""
    try:
        n_saved = 0 if store is None else store.count()
    except StoreError as error:
        store, n_saved, trouble = None, 0, str(error)
    st.markdown(f"## {plural(n_saved, 'saved report')}" if n_saved else "## No saved reports yet")
    if trouble:
        st.error(f"{plain(trouble)} Reports can still be downloaded.")
    _in_list(report_list.saved, session, store)
    _new_report(session, store, n_saved)
    _in_list(report_list.kept, session, store)
    opened_report.reader(session)


def _in_list(draw: Callable[[Session, Store], None], session: Session, store: Store | None) -> None:
    if store is not None:
        try:
            draw(session, store)
        except StoreError as error:
            st.error(plain(str(error)))


def _new_report(session: Session, store: Store | None, n_saved: int) -> None:
    """The button that opens the form, and the form. It is open while nothing is saved."""
    team_reports = session.team_reports
    if n_saved and not team_reports.writing:
        act = partial(st.button, type="primary", icon=":material/add:", on_click=setattr)
        act("New report", key="new_report", args=(team_reports, "writing", True))
        return
    with st.container(border=True, key="report_form"):
        st.markdown("### New report")
        report_form.form(session, store)
        if n_saved:
            closing = (team_reports, "writing", False)
            st.button("Close", key="close_form", on_click=setattr, args=closing)

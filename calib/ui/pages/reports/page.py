"""Reports: download the analysis, share it with the team, open what others shared."""

from __future__ import annotations

import streamlit as st

from calib.store import StoreError
from calib.text import plain
from calib.ui.layout import frame
from calib.ui.pages.reports import opened_report, report_form, report_list
from calib.ui.session.page_list import PAGES


def page() -> None:
    session = frame.begin("Reports")
    team_reports = session.team_reports
    store, trouble = None, ""
    try:
        store = report_list.opened_store()
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
    above, below = st.container(key="report_form"), st.container(key="reports_below")
    with below:
        st.markdown("## Saved reports")
        try:
            if store is not None:
                report_list.saved(session, store)
        except StoreError as error:
            store, trouble = None, str(error)
        if trouble:
            st.error(f"{plain(trouble)} The downloads above work without it.")
        opened_report.reader(session)

    with above:
        models = frame.models(session)
        st.markdown("## Report")
        form, contents = st.columns([3, 2], gap="large")
        with form:
            report_form.form(session, report_form.chosen_model(session, models), store)
        with contents:
            st.markdown("### Contents")
            st.markdown(report_form.CONTENTS)

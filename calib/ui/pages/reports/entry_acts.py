"""Deleting a saved report, in the list and where it is open."""

from __future__ import annotations

import streamlit as st

from calib.store import Entry, Store, StoreError
from calib.text import plain
from calib.ui.session import identity, state
from calib.ui.session.session import Session

DELETES = "You are asked to confirm."


def open_dialog(act: str = "", about: str = "") -> None:
    """Open a dialog about a report, or close the one that is open."""
    team_reports = state.current().team_reports
    team_reports.asking, team_reports.about = act, about


def button(session: Session, entry: Entry, number: str = "") -> None:
    """The button, for people who may change the report. `number` is its place in the list."""
    if _may_change(session, entry):
        st.button(
            "Delete",
            key=f"delete{number}",
            type="tertiary",
            icon=":material/delete:",
            help=DELETES,
            on_click=open_dialog,
            args=("delete", entry.id),
        )


def dialog(session: Session, store: Store, entry: Entry) -> None:
    """Draw the dialog if it is open about this report."""
    team_reports = session.team_reports
    asked = (team_reports.asking, team_reports.about) == ("delete", entry.id)
    if asked and _may_change(session, entry):
        _delete(session, store, entry)


def _may_change(session: Session, entry: Entry) -> bool:
    return identity.may_change(session, entry.id, entry.owner)


@st.dialog("Delete this report?", on_dismiss=open_dialog)
def _delete(session: Session, store: Store, entry: Entry) -> None:
    st.markdown(
        f"**{plain(entry.title)}** will be deleted for everyone. It can be restored for "
        f"{store.rest.days} days. The log keeps its title, the time, and who deleted it."
    )
    if not st.button("Delete", key="delete_confirmed", type="primary"):
        return
    if not _may_change(session, entry):
        st.error("This report belongs to another person.")
        return
    try:
        store.delete(entry.id, by=identity.actor())
    except StoreError as error:
        st.error(plain(str(error)))
        return
    session.team_reports.message = f"Deleted: {entry.title}."
    open_dialog()
    st.query_params.from_dict(session.link())
    st.rerun()

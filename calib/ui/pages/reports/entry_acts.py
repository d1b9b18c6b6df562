"""Renaming and deleting a saved report, in the list and where it is open."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.store import Entry, Store, StoreError
from calib.text import plain
from calib.ui.session import identity, state
from calib.ui.session.session import Session

RENAMES = "Lists show the new title. The report itself, its link and its own title stay the same."
DELETES = "You are asked to confirm."


def ask(act: str = "", about: str = "") -> None:
    """Open a dialog about a report, or close the one that is open."""
    team_reports = state.current().team_reports
    team_reports.asking, team_reports.about = act, about


def buttons(session: Session, entry: Entry, number: str = "") -> None:
    """Both buttons, for people who may change the report. `number` is its place in the list."""
    if not identity.may_change(session, entry.id, entry.owner):
        return
    act = partial(st.button, type="tertiary", on_click=ask)
    for label, icon, about in (("Rename", "edit", RENAMES), ("Delete", "delete", DELETES)):
        key = label.lower()
        place = f"{key}{number}"
        act(label, key=place, icon=f":material/{icon}:", help=about, args=(key, entry.id))


def dialogs(session: Session, store: Store, entry: Entry) -> None:
    """Draw the dialog that is open about this report."""
    team_reports = session.team_reports
    if team_reports.about != entry.id or not _may_change(session, entry):
        return
    if team_reports.asking == "rename":
        _rename(session, store, entry)
    if team_reports.asking == "delete":
        _delete(session, store, entry)


def _may_change(session: Session, entry: Entry) -> bool:
    return identity.may_change(session, entry.id, entry.owner)


@st.dialog("Rename in the list", on_dismiss=ask)
def _rename(session: Session, store: Store, entry: Entry) -> None:
    st.caption(f"{RENAMES} The log keeps the earlier title.")
    title = st.text_input("Title in the list", entry.title, key="new_title")
    if not st.button("Rename", key="rename_confirmed", type="primary"):
        return
    # The person may have lost the right while the dialog was open.
    if not _may_change(session, entry):
        st.error("This report belongs to another person.")
        return
    try:
        store.rename(entry.id, title, by=identity.actor())
    except StoreError as error:
        st.error(plain(str(error)))
        return
    ask()
    st.rerun()


@st.dialog("Delete this report?", on_dismiss=ask)
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
    ask()
    st.query_params.from_dict(session.link())
    st.rerun()

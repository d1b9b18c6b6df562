"""Who is signed in, if a sign-in is configured, and what that person may change."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import streamlit as st

from calib.text import plain
from calib.ui.session.session import Session
from calib.ui.session.sign_in import is_configured, person

# The log names this for actions of people who did not sign in.
SESSION = "the session that saved it"
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")


def is_read_only() -> bool:
    return os.environ.get("CALIB_READ_ONLY", "").strip() not in ("", "0")


def gate() -> None:
    if is_configured() and person() is None:
        st.markdown("## Sign in to calib")
        st.markdown("Sign in to use this dashboard.")
        st.button("Sign in", key="sign_in", type="primary", on_click=st.login)
        st.stop()


def badge() -> None:
    here = person()
    if here is not None:
        with st.container(key="person"):
            st.caption(plain(f"Signed in as {here.name} ({here.identity})"))
            st.button("Sign out", key="sign_out", on_click=st.logout)


def actor() -> str:
    here = person()
    return SESSION if here is None else here.identity


def is_local(url: str) -> bool:
    """Whether only the computer that runs the app can open this address."""
    return urlsplit(url).hostname in (*LOCAL_HOSTS, None)


def is_operator() -> bool:
    """Whether to show how the server is set up: to admins, and to who runs it on this computer."""
    if is_configured():
        here = person()
        return here is not None and here.is_admin
    return is_local(st.context.url or "")


def may_change(session: Session, report_id: str, whose: str) -> bool:
    """Owners and admins may change a report, and an anonymous one the session that saved it."""
    here = person()
    if is_read_only():
        return False
    if here is None:
        return report_id in session.team_reports.saved_ids
    return here.is_admin or (bool(whose) and whose == here.identity)

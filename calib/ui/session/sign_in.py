"""Whether people sign in, and whether a request comes from one who did."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from calib.ui.streamlit_private import signed_in_claims


def is_configured() -> bool:
    return bool(st.secrets.load_if_toml_exists()) and "auth" in st.secrets


def is_signed_in(cookies: Mapping[str, str]) -> bool:
    """Whether the cookies of a request are those of a person who signed in."""
    claims = signed_in_claims(cookies)
    return isinstance(claims, dict) and claims.get("is_logged_in") is True

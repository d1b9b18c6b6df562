"""Whether people sign in, and whether a request comes from one who did."""

from __future__ import annotations

import json
from collections.abc import Mapping

import streamlit as st
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME
from streamlit.web.server.starlette.starlette_websocket import _get_signed_cookie_with_chunks


def is_configured() -> bool:
    return bool(st.secrets.load_if_toml_exists()) and "auth" in st.secrets


def is_signed_in(cookies: Mapping[str, str]) -> bool:
    """Whether the cookies of a request are those of a person who signed in.

    Streamlit reads them only where a session begins. It has no public function for it; checked with
    1.67.
    """
    signed = _get_signed_cookie_with_chunks(dict(cookies), USER_COOKIE_NAME)
    try:
        claims = json.loads(signed or b"null")
    except ValueError:
        return False
    return isinstance(claims, dict) and claims.get("is_logged_in") is True

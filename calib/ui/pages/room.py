"""The page of a feature of another package, whose key is in the address."""

from __future__ import annotations

import streamlit as st

from calib.feature import FEATURES, resolve
from calib.text import quoted
from calib.ui.session.page_list import PAGES, ROOM, ROOMS


def page() -> None:
    key = st.query_params.get(ROOM, "")
    shown = FEATURES[key].page if key in FEATURES else None
    if shown is None or shown.title not in ROOMS:
        st.error(f"No installed package has the page {quoted(key)}.")
        st.page_link(PAGES["Overview"], label="Overview")
        return
    resolve(shown.draw)()

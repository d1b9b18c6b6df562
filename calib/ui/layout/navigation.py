"""The header, the same on every page, and the browser's history."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.ui.session.page_list import GROUPS, PAGES, ROOMS

PRODUCT, OVERVIEW, DATA = "calib", "Overview", "Data"
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


# Streamlit draws it again from its cache, because its links do not depend on what was chosen.
@st.cache_resource(show_spinner=False)
def draw(title: str) -> None:
    # The answer is the heading of Overview.
    heading = "" if title == OVERVIEW else f'<h1 class="unseen">{title}</h1>'
    with st.container(horizontal=True, key="navigation", gap=None):
        with st.container(key="logo", width="content"):
            st.page_link(PAGES[OVERVIEW], label=PRODUCT)
        script = f"<script>{SCRIPT.replace('PAGE', title)}</script>"
        st.html(f"{heading}{script}", unsafe_allow_javascript=True)
        for name, pages in GROUPS.items():
            if name == DATA:
                continue
            with st.container(horizontal=True, key=f"pages_{name.lower()}", gap=None):
                for label, page in pages.items():
                    st.page_link(page, label=label, query_params=ROOMS.get(label))


def tools() -> DeltaGenerator:
    """The place of the menus at the right end of the header: data, settings, sharing."""
    return st.container(horizontal=True, key="tools", gap="xsmall")

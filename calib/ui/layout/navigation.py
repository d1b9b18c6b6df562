"""The row of pages on top, the same on every page, and the browser's history."""

from __future__ import annotations

import streamlit as st

from calib.ui.session.pages import GROUPS, OF_A_MATRIX

PRODUCT = "calib"
# The address follows every choice. Streamlit adds an entry to the browser's history each time, so
# that Back would undo nothing that is seen: only another page, or another report, is a step back.
# The links of the navigation are the same at every run; before one can be opened in a new tab it is
# given the settings. Streamlit leaves Overview's empty, which would be the page that is shown.
HISTORY = """
<script>
if (!window.calibHistory) {
    window.calibHistory = true;
    const push = history.pushState.bind(history);
    const place = ({pathname, search}) => {
        const named = new URLSearchParams(search);
        return [pathname, named.get("report"), named.get("against")].join();
    };
    history.pushState = (state, title, url) => {
        const same = place(new URL(url, location.href)) === place(location);
        same ? history.replaceState(state, title, url) : push(state, title, url);
    };
    const point = event => {
        const link = event.target.closest?.(".st-key-navigation a");
        if (!link) return;
        const page = link.innerText.trim().toLowerCase();
        link.href = (page === "overview" ? "./" : page) + location.search;
    };
    for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, point, true);
}
</script>
"""
# On a phone the navigation scrolls sideways, and the page that is shown may lie outside.
CURRENT = """
<script>
(function mark(frames) {
    const bar = document.querySelector(".st-key-navigation");
    const links = [...bar?.querySelectorAll("a") ?? []];
    const shown = links.find(link => link.textContent.trim() === "PAGE");
    // The links are drawn after this.
    if (!shown) return frames && requestAnimationFrame(() => mark(frames - 1));
    for (const link of links) link.removeAttribute("aria-current");
    shown.setAttribute("aria-current", "page");
    const {left, width} = shown.getBoundingClientRect();
    bar.scrollLeft += left - bar.clientLeft + width / 2 - bar.clientWidth / 2;
})(200);
</script>
"""


# Drawn again from memory at every run: its links do not depend on what was chosen.
@st.cache_resource(show_spinner=False)
def draw(title: str, classes: bool) -> None:
    hidden = "" if title == "Overview" else f'<span class="unseen">: {title}</span>'
    with st.container(horizontal=True, key="navigation", gap=None):
        scripts = HISTORY + CURRENT.replace("PAGE", title)
        st.html(f"<h1>{PRODUCT}{hidden}</h1>{scripts}", unsafe_allow_javascript=True)
        for name, pages in GROUPS.items():
            with st.container(horizontal=True, key=f"pages_{name.lower()}", gap=None):
                for label, page in pages.items():
                    if classes or label not in OF_A_MATRIX:
                        st.page_link(page, label=label)

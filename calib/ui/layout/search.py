"""Ctrl K: a search over pages, methods, metrics, examples and recent files. "?" lists the keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NoReturn

import streamlit as st

from calib.loading.examples import EXAMPLES
from calib.ui.layout.glossary import TERMS, Entry, calibrator_entries, metric_entries
from calib.ui.session.page_list import GROUPS, MATRIX_PAGES, PAGES, WITH_ANALYSIS
from calib.ui.session.session import Session

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
# An entry of the list: its kind and what opens it, its name, and other words that find it.
Listed = tuple[str, str, str, str]


def draw(session: Session, classes: bool) -> None:
    """The button in the header, and the keys. `classes` says whether pages of a matrix exist."""
    mount = st.components.v2.component("calib_search", js=SCRIPT, isolate_styles=False)
    pages = [page for page in _pages() if classes or page[1] not in MATRIX_PAGES]
    listed = [*pages, *_recent(session), *_examples_and_terms()]
    with st.container(key="search"):
        # Streamlit calls the function when the browser has chosen; what it chose is in the result.
        chosen = mount(key="search_list", data=listed, on_chosen_change=lambda: None).chosen
    match chosen:
        case [str(kind), str(key)]:
            _open(session, kind, key)


def _pages() -> Iterator[Listed]:
    for group, pages in GROUPS.items():
        for title in pages:
            yield "Page", title, title, group


def _recent(session: Session) -> Iterator[Listed]:
    for number, upload in enumerate(session.recent):
        if upload is not session.upload:
            yield "File", str(number), upload.name, "recent open again"


@cache
def _examples_and_terms() -> tuple[Listed, ...]:
    examples = [("Example", key, one.title, "") for key, one in EXAMPLES.items()]
    kinds: dict[str, Mapping[str, Iterable[Entry]]] = {
        "Metric": metric_entries(),
        "Method": calibrator_entries(),
        "Term": {"Terms": TERMS},
    }
    terms = [
        (kind, entry.name, entry.name, f"{entry.code} {entry.aliases}")
        for kind, groups in kinds.items()
        for entries in groups.values()
        for entry in entries
    ]
    return (*examples, *terms)


def _open(session: Session, kind: str, key: str) -> NoReturn:
    """Open what was chosen. Anything else than an entry of the list comes from no browser of ours.

    Data stay on the shown page if it has an analysis.
    """
    page = session.page if session.page in WITH_ANALYSIS else "Overview"
    if kind == "Page" and key in PAGES:
        page = key
    elif kind == "Example" and key in EXAMPLES:
        session.choose_example(key)
    elif kind == "File" and key.isdigit() and int(key) < len(session.recent):
        session.take(session.recent[int(key)])
    else:
        page = "Methods"
        session.methods_filter = key
    st.switch_page(PAGES[page])

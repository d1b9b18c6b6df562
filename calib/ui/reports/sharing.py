"""Sharing a report: saving it once, and its address."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from calib.reports import Report
from calib.store import Store
from calib.ui.reports.saved_reports import PAGE
from calib.ui.session import identity
from calib.ui.session.report_browser import REPORT
from calib.ui.session.session import Session

# Text of a saved report. Two equal texts of the same time are shown as one.
ONCE = "2000-01-01"
LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
ONLY_HERE = (
    "Only this computer can open this link. To let others open it, start the app with "
    "`calib serve --address 0.0.0.0` and open it under this computer's name in the network."
)
EVERYONE = "Everyone who can open this app can open this link."
# Browsers lend the clipboard to https and localhost alone; the old command works anywhere.
COPY_SCRIPT = """
export default function ({ parentElement, data }) {
  const button = parentElement.querySelector("button");
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(data.text);
    } catch {
      const field = Object.assign(document.createElement("textarea"), { value: data.text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy link"; }, 2000);
  };
}
"""
COPY_STYLE = """
button {
  padding: 0.35rem 0.8rem; font: inherit; cursor: pointer; color: var(--st-text-color);
  background: var(--st-background-color); border: 1px solid var(--st-border-color);
  border-radius: var(--st-button-radius);
}
button:hover, button:focus-visible { border-color: var(--st-primary-color); }
"""


def save(session: Session, store: Store, report: Report, tags: str) -> str:
    """Keep a report, and return its id; what was saved last is not saved again.

    Raises StoreError if it cannot be kept, or a tag is not allowed.
    """
    here = identity.person()
    # The signed-in user is the author and cannot write under another name.
    author = report.author if here is None else here.name
    words = {"title": report.title, "author": author, "note": report.note}
    content = hash((report.edited(**words, created=ONCE).json(), tags))
    if session.report_browser.saved[0] != content:
        owner = "" if here is None else here.identity
        report_id = store.save(report.edited(**words), tags=tags.split(","), owner=owner)
        session.report_browser.saved = (content, report_id)
        session.report_browser.own.add(report_id)
    return session.report_browser.saved[1]


def address(report_id: str) -> str:
    """The address of a saved report, as a person would send it."""
    base = st.context.url or "/reports"
    return f"{base.split('?')[0]}?{REPORT}={report_id}"


def link(report_id: str) -> None:
    """The address, a button that copies it, and who can open it."""
    text = address(report_id)
    with st.container(key="report_link"):
        st.code(text, language=None, wrap_lines=True)
        copy = st.components.v2.component(
            "calib_copy_link",
            html='<button type="button" aria-live="polite">Copy link</button>',
            css=COPY_STYLE,
            js=COPY_SCRIPT,
        )
        copy(key="copy_link", data={"text": text})
        st.caption(who_can_open(text))


def who_can_open(url: str) -> str:
    """Who can open an address of this app, and how to change that.

    >>> who_can_open("https://calib.example/reports?report=x")
    'Everyone who can open this app can open this link.'
    """
    return ONLY_HERE if urlsplit(url).hostname in (*LOCAL, None) else EVERYONE


def open_link(report_id: str) -> None:
    """A link to the saved report in this tab."""
    st.page_link(
        PAGE, label="**Open it**", icon=":material/description:", query_params={REPORT: report_id}
    )

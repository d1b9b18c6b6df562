"""The team's saved reports: the store, and the list of what is in it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.reports import Report
from calib.store import Deletion, Entry, Store, StoreError, moment_words, place
from calib.text import moment, plain, plural
from calib.ui.controls.widgets import ask
from calib.ui.layout import tables
from calib.ui.pages.reports import entry_acts
from calib.ui.session import identity, state
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session
from calib.ui.session.team_reports import COMPARED, REPORT, TeamReports
from calib.words import verdicts

REPORTS_PER_PAGE = 10
MAX_LOG_LINES = 50
SEAL = (
    "A verified seal shows that a report is as it was made; a signature also shows by which key. "
    "`calib verify` computes its numbers again."
)
FILTERS = {"tag": "Tag", "author": "Author", "verdict": "Verdict"}


@st.cache_resource(max_entries=32, show_spinner=False)
def saved_report(report_id: str, _store: Store) -> tuple[Report, str]:
    """A saved report, and what is wrong with its seal, or "". It never changes."""
    return _store.open_sealed(report_id)


def saved(session: Session, store: Store) -> None:
    """Draw the search, the filters and a page of the list; a StoreError if the store fails."""
    team_reports = session.team_reports
    if not store.count():
        return
    _filters(session, store)
    chosen = {name: getattr(team_reports, name) or None for name in FILTERS}
    total = store.count(team_reports.search, **chosen)
    team_reports.page = min(team_reports.page, max(0, total - 1) // REPORTS_PER_PAGE)
    entries = store.list(
        team_reports.search,
        **chosen,
        limit=REPORTS_PER_PAGE,
        offset=team_reports.page * REPORTS_PER_PAGE,
    )
    _comparing(team_reports)
    with st.container(key="saved_reports"):
        for number, entry in enumerate(entries):
            _entry(session, store, entry, number)
    for entry in entries:
        entry_acts.dialog(session, store, entry)
    if not entries:
        st.caption("No saved report matches.")
    _turning(team_reports, total)


def _filters(session: Session, store: Store) -> None:
    team_reports = session.team_reports

    def filter_by(name: str, value: str | None) -> None:
        setattr(team_reports, name, value or "")
        team_reports.page = 0

    with st.container(key="filters"):
        places = st.columns([3, 1, 1, 1], gap="small")
    with places[0]:
        words = {"label": "Search", "placeholder": "Search titles, data, authors, notes and tags"}
        words |= {"label_visibility": "collapsed"}
        ask(
            st.text_input,
            "search_reports",
            team_reports.search,
            partial(filter_by, "search"),
            **words,
        )
    options = {"tag": store.tags(), "author": store.authors(), "verdict": store.verdicts()}
    for column, (name, label) in zip(places[1:], FILTERS.items(), strict=True):
        chosen = getattr(team_reports, name)
        with column:
            ask(
                st.selectbox,
                f"filter_{name}",
                chosen or None,
                partial(filter_by, name),
                label=label,
                options=list(dict.fromkeys((*options[name], *filter(None, [chosen])))),
                format_func=partial(_shown, name),
                index=None,
                placeholder=label,
                label_visibility="collapsed",
            )


def _shown(name: str, value: str) -> str:
    return verdicts.kind_words(value) if name == "verdict" else value


def _entry(session: Session, store: Store, entry: Entry, number: int) -> None:
    """A saved report: its title, its verdict, what makes it trustworthy, and what can be done."""
    team_reports = session.team_reports
    with st.container(key=f"entry_{number}", gap="xxsmall"):
        there = {REPORT: entry.id}
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.page_link(PAGES["Reports"], label=f"**{plain(entry.title)}**", query_params=there)
            picked, key = entry.id in team_reports.picked, f"pick_{number}"
            look = {"label": "Compare", "disabled": len(team_reports.picked) == 2 and not picked}
            ask(st.checkbox, key, picked, partial(_pick, team_reports, entry.id), **look)
            entry_acts.button(session, entry, f"_{number}")
        st.markdown(plain(entry.sentence))
        seal, n_rows = _trust(store, entry)
        date = moment(entry.created) if entry.created else moment_words(None)
        parts = [n_rows, date, entry.author, entry.data_name]
        tags = "".join(f" :gray-badge[{plain(tag)}]" for tag in entry.tags)
        st.caption(f"{seal} {plain(' · '.join(filter(None, parts)))}{tags}", help=SEAL)


def _trust(store: Store, entry: Entry) -> tuple[str, str]:
    """The state of the seal as a badge, and the number of rows."""
    try:
        report, problem = saved_report(entry.id, store)
    except StoreError:
        return ":red-badge[✕ cannot be opened]", ""
    rows = plural(report.analysis.data.n_rows, "row")
    if problem:
        return ":red-badge[✕ seal broken]", rows
    signed = "signature" if report.seal.public_key else "seal"
    return f":green-badge[✓ {signed} verified]", rows


def _pick(team_reports: TeamReports, report_id: str, chosen: bool) -> None:
    others = tuple(picked for picked in team_reports.picked if picked != report_id)
    team_reports.picked = (*others, report_id)[:2] if chosen else others


def _comparing(team_reports: TeamReports) -> None:
    if len(team_reports.picked) < 2:
        return
    first, second = team_reports.picked
    st.page_link(
        PAGES["Reports"],
        label="Compare the two selected reports",
        icon=":material/compare_arrows:",
        query_params={REPORT: first, COMPARED: second},
    )


def _turning(team_reports: TeamReports, total: int) -> None:
    if total <= REPORTS_PER_PAGE:
        return
    page, turn = team_reports.page, partial(st.button, on_click=setattr)
    first, last = page * REPORTS_PER_PAGE + 1, min(total, (page + 1) * REPORTS_PER_PAGE)
    with st.container(horizontal=True, vertical_alignment="center", key="turning"):
        turn("Newer", key="newer", disabled=page == 0, args=(team_reports, "page", page - 1))
        turn("Older", key="older", disabled=last == total, args=(team_reports, "page", page + 1))
        st.caption(f"{first} to {last} of {total:,}")


def kept(session: Session, store: Store) -> None:
    """Draw what was deleted, where reports are kept, and the log."""
    resting = [
        line
        for line in store.resting()
        if identity.may_change(session, line.report_id, line.deleted_by)
    ]
    if resting:
        with st.expander("Deleted reports that you can restore"):
            for number, line in enumerate(resting[:MAX_LOG_LINES]):
                st.button(
                    f"Restore {plain(line.title)}, deleted {moment_words(line.deleted)}",
                    key=f"restore_{number}",
                    icon=":material/undo:",
                    on_click=_restore,
                    args=(store, line),
                )
    changes = store.changes(MAX_LOG_LINES)
    if identity.is_operator():
        st.caption(
            f"Reports are kept in the {plain(place(store.url))}. To keep them in another place, "
            "set `CALIB_HOME` to a folder or `CALIB_DATABASE_URL` to a PostgreSQL database before "
            "the app starts."
        )
    if not changes:
        return
    with st.expander("Log"):
        tables.table(
            "log",
            [
                {
                    "Time": moment_words(line.moment),
                    "Change": line.change,
                    "Title": line.title,
                    "By": line.person,
                }
                for line in changes
            ],
            alt="One row per report that was saved, deleted or restored: the time, its "
            "title, and who did it.",
        )


def _restore(store: Store, line: Deletion) -> None:
    session = state.current()
    if not identity.may_change(session, line.report_id, line.deleted_by):
        return
    try:
        store.restore(line.report_id, by=identity.actor())
    except StoreError as error:
        session.team_reports.message = str(error)
        return
    session.team_reports.message = f"Restored: {line.title}."

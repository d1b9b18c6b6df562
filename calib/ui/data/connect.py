"""Connect: sources that the operator named; their rows are counted where they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis.run import Data
from calib.core.progress import Progress
from calib.loading import ColumnMapping, InputError, Table, as_labels, guess
from calib.scanning.connections import Connection
from calib.text import number, p_value, percent, plain
from calib.ui.data.mapping import TRANSFORMS
from calib.ui.session import state
from calib.ui.session.session import Session
from calib.ui.session.turns import HEAVY
from calib.ui.session.upload import Connected, Upload

NONE = "None"
MAX_LABELS = 50
OPTIONAL = {
    "weight": "Weight",
    "time": "Time",
    "group": "Cluster ID (rows that are not independent)",
    "fold": "Fold",
    "split": "Split (calibration or test)",
}


@dataclass(frozen=True, slots=True)
class Found:
    """The sources, and what is wrong with their sections."""

    sources: Mapping[str, Connection]
    problems: tuple[str, ...]


def named() -> Found:
    """The sources of secrets.toml; none where there is no such file."""
    try:
        sections = st.secrets.get("connections", {})
    except FileNotFoundError:
        return Found({}, ())
    sources, problems = {}, []
    for name, options in sections.items():
        try:
            sources[name] = Connection.of(name, options)
        except ValueError as error:
            problems.append(str(error))
    return Found(sources, tuple(problems))


def show(session: Session) -> None:
    """Choose a source and a table, map its columns, and analyse all its rows."""
    found = named()
    if not found.sources and not found.problems:
        return
    st.markdown("### Connect")
    st.caption("The rows stay where they are: the source counts them, and only counts come here.")
    for problem in found.problems:
        st.warning(plain(problem))
    left, right = st.columns(2, gap="medium")
    with left:
        name = st.selectbox("Source", list(found.sources), index=None, key="connect_source")
    if name is None:
        return
    source = found.sources[name]
    try:
        with st.spinner("Listing the tables"):
            tables = session.memo(Connection.tables, source)
        with right:
            table = st.selectbox("Table", tables, index=None, key=f"connect_table_{name}")
        if table is None:
            return
        with st.spinner("Reading the first rows"):
            first = session.memo(Connection.first_rows, source, table)
    except InputError as error:
        st.error(plain(str(error)))
        return
    mapping = _mapping(first, guess(first), f"{name}_{table}")
    _refused(session)
    if st.button("Analyse all rows", key="connect_scan", type="primary"):
        _scan(session, Connected(source, table, mapping))
    with st.expander("First rows"):
        st.dataframe(first.frame.head(8), hide_index=True)


def _mapping(first: Table, guessed: ColumnMapping, key: str) -> ColumnMapping:
    """What the columns mean, the guessed ones filled in."""

    def column(role: str, label: str, value: str | None, *, optional: bool) -> str | None:
        options = [*([NONE] if optional else []), *first.columns]
        place = options.index(value) if value in options else (0 if optional else None)
        chosen = st.selectbox(label, options, index=place, key=f"connect_{role}_{key}")
        return None if chosen == NONE else chosen

    score = guessed.score if isinstance(guessed.score, str) else None
    left, middle, right = st.columns(3, gap="medium")
    with left:
        outcome = column("outcome", "Outcome", guessed.outcome, optional=False)
    with middle:
        labels = as_labels(first.frame[outcome]).names[:MAX_LABELS] if outcome else ()
        positives = [each for each in guessed.positives if each in labels]
        positive = st.multiselect(
            "Positive class", labels, default=positives, key=f"connect_positive_{key}_{outcome}"
        )
    with right:
        score = column("score", "Score", score, optional=False)
    with st.expander("More columns and conversions"):
        transform = st.selectbox(
            "The scores are",
            list(TRANSFORMS),
            format_func=TRANSFORMS.__getitem__,
            key=f"connect_transform_{key}",
        )
        slices = st.multiselect(
            "Slices", first.columns, default=list(guessed.slices), key=f"connect_slices_{key}"
        )
        others: dict[str, Any] = {
            role: column(role, label, getattr(guessed, role), optional=True)
            for role, label in OPTIONAL.items()
        }
    return ColumnMapping(
        outcome=outcome,
        score=score,
        positive=tuple(positive) if len(positive) > 1 else (positive[0] if positive else None),
        transform=transform,
        slices=tuple(slices),
        test_value=guessed.test_value if others["split"] == guessed.split else None,
        **others,
    )


def _scan(session: Session, connected: Connected) -> None:
    """Count all rows; a click on Cancel ends the query, since it ends this run of the page."""
    slot = st.empty()
    st.button("Cancel", key="connect_cancel")
    try:
        with HEAVY.turn():
            upload = Upload.of_source(connected, shown_in(slot))
    except InputError as error:
        session.refused_scan = connected, error.problems
        st.rerun()
    session.refused_scan = None
    session.receive(upload)
    st.rerun()


def shown_in(slot: DeltaGenerator) -> Progress:
    """A progress bar."""

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{text} …")

    return progress


def _refused(session: Session) -> None:
    """Why the last scan gave nothing, and the repairs."""
    if session.refused_scan is None:
        return
    connected, problems = session.refused_scan
    for problem in problems:
        st.error(problem.sentence)
        if problem.repair is None:
            continue
        repaired = Connected(connected.source, connected.table, problem.repair)
        if st.button(problem.repair_label, key=f"connect_repair_{problem.code}"):
            _scan(session, repaired)


def refresh(session: Session) -> None:
    """Ask the source again, and say what changed since."""
    upload = session.upload
    if upload is None or upload.source is None:
        return
    if session.changed_since:
        st.info(session.changed_since)
    if not st.button("Refresh from the source", key="connect_refresh", icon=":material/refresh:"):
        return
    connected, before = upload.source, upload.predictions
    slot = st.empty()
    try:
        with HEAVY.turn():
            made = Upload.of_source(connected, shown_in(slot))
    except InputError as error:
        slot.error(plain(str(error)))
        return
    after = made.predictions
    assert before is not None
    assert after is not None
    session.receive(made)
    session.changed_since = changes(session, before, after)
    st.rerun()


def changes(session: Session, before: Data, after: Data) -> str:
    """What is different, in a sentence or two."""
    if before.fingerprint == after.fingerprint:
        return "Nothing changed: the source has the same counts."
    old, new = (state.analysis(session, each) for each in (before, after))
    told = [f"Rows: {old.data.n_rows:,} before, {new.data.n_rows:,} now."]
    rates = percent(old.data.base_rate), percent(new.data.base_rate)
    told.append(f"Base rate: {rates[0]} before, {rates[1]} now.")
    errors = [
        f"{number(each.uncalibrated.metrics['ks_error'].value, 4)} "
        f"({p_value(each.uncalibrated.p_adjusted['ks'])})"
        for each in (old, new)
    ]
    told.append(f"KS error: {errors[0]} before, {errors[1]} now.")
    if old.verdict.heading != new.verdict.heading:
        told.append(f"{old.verdict.heading} before; {new.verdict.heading} now.")
    return plain(" ".join(told))

"""The report's form: its words, the files to take away, and saving it for the team."""

from __future__ import annotations

import streamlit as st

from calib.analysis.decisions import Costs
from calib.reports import Declared, Parts, Report, parts_of
from calib.store import Store, StoreError
from calib.text import plain
from calib.ui import choices, deciding, downloads, sharing, state
from calib.ui.choices import Chosen
from calib.ui.frame import Model
from calib.ui.state import HEAVY, Session
from calib.ui.widgets import field, show_value

# Of the drawing; the settings all are.
SHOWN_IN_REPORTS = [
    choice
    for choice in choices.CHOICES.values()
    if "Reports" in choice.acts_on and not choice.is_setting
]
CONTENTS = """
- the verdict, the recommendation and its reasons
- reliability before and after, cumulative differences, calibration functions
- the metric table with its intervals, the bins, the fitted maps
- slices and time where the data name columns for them, decisions where costs were chosen
- settings (defaults included), versions, and the fingerprint of the data

Numbers of ten rows and more, and **no rows**, leave the app. The HTML is one file that asks the
network for nothing; the JSON holds the same numbers for programs, and this page opens it again.
"""


def chosen_model(session: Session, found: tuple[Model, ...]) -> Model:
    """The model that is reported on: a report is about one."""
    if len(found) == 1:
        return found[0]
    names = [model.name for model in found]
    wanted = session.desk.model if session.desk.model in names else names[0]
    show_value("reported", wanted)
    st.selectbox("Report on", names, key="reported", on_change=_choose_model)
    return found[names.index(wanted)]


def _choose_model() -> None:
    state.current().desk.model = st.session_state["reported"]


def fields(session: Session) -> None:
    """Title, author and note."""
    field(
        session,
        "title",
        "Title",
        st.text_input,
        placeholder=f"Calibration of {state.name(session)}",
    )
    field(session, "author", "Author", st.text_input, placeholder="Who made it")
    field(
        session,
        "note",
        "Note",
        st.text_area,
        placeholder="What the reader should know: which model, which rows, what is decided",
    )


def form(session: Session, model: Model, store: Store | None) -> None:
    """The report of what is shown: its words, its files, and a place on the shelf."""
    fields(session)
    try:
        with st.spinner("Putting the report together"):
            report = report_of(session, model)
    except ValueError as error:
        st.error(plain(str(error)))
        return
    st.markdown("##### Download")
    downloads.files(report, "calibration-report")
    downloads.images(report, "calibration-report")
    if store is not None:
        st.markdown("##### Share with the team")
        _saving(session, store, report)


def report_of(session: Session, model: Model) -> Report:
    """The report of a model under the session's settings and words."""
    declared = _declared(session)
    chosen = tuple(session[each] for each in SHOWN_IN_REPORTS)
    named = (model.rows.name, model.rows.origin)
    key = (model.rows.fingerprint, *named, session.settings, declared, "report", chosen)

    def make() -> Report:
        with HEAVY:
            parts = _parts(session, model)
            return Report.from_analysis(model.analysis, parts=parts, held_out_declared=declared)

    made: Report = session.findings.get_or_make(key, make)
    return made.edited(title=session.title, author=session.author, note=session.note)


def _parts(session: Session, model: Model) -> Parts:
    unit = session[choices.UNIT]
    known, cross = model.rows.columns, session[choices.CROSS]
    time, first = session[choices.TIME], session[choices.SLICE_BY]
    time = time if time in known else model.rows.time_name
    first = first if first in known else next(iter(known), "")
    # The column that is looked at comes first.
    slices = [(name,) for name in dict.fromkeys((first, *known)) if name and name != time]
    crossed = cross in known and cross != first
    return parts_of(
        model.rows,
        model.analysis,
        slices=[*slices, *([(first, cross)] if crossed else [])],
        n_ranges=session[choices.N_RANGES],
        time=time,
        unit=unit or None,
        costs=costs(session),
    )


def costs(session: Session) -> Costs | None:
    """The costs of the Decisions page, where any were chosen."""
    chosen = deciding.costs(session.chosen)
    return None if chosen == deciding.costs(Chosen()) else chosen


def _declared(session: Session) -> Declared:
    # The examples are made with cross-validation: every score is out of fold.
    return session.unseen if session.upload else "yes"


def _saving(session: Session, store: Store, report: Report) -> None:
    desk = session.desk
    field(desk, "tags", "Tags", st.text_input, placeholder="With commas between them")
    if st.button("Save", key="save", type="primary", icon=":material/save:"):
        try:
            sharing.save(session, store, report, desk.tags)
        except StoreError as error:
            st.error(plain(str(error)))
        else:
            # The list below was drawn before.
            st.rerun()
    if desk.saved[1]:
        st.success(
            "Saved. This link shows it as it is now; what is changed later is another report."
        )
        sharing.link(desk.saved[1])
        sharing.open_link(desk.saved[1])

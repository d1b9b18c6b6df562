"""The frame of every page: title, navigation row, notices, and the way to the analysis."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NoReturn, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import LiveAnalysis
from calib.analysis.model_comparison import BestModel, ModelComparison
from calib.data.base import Data, Progress
from calib.feature import FEATURES, resolve
from calib.loading import InputError
from calib.text import plain, quoted, sentence
from calib.ui.controls import data_menu, uploaders, widgets
from calib.ui.layout import charts, navigation, notes
from calib.ui.session import identity, open_sessions, results, state
from calib.ui.session.choices import MAX_COMPARED, MODEL
from calib.ui.session.environment import share_heaps
from calib.ui.session.named_sources import table_named
from calib.ui.session.page_list import PAGES, WITH_ANALYSIS, WITHOUT_DATA, WITHOUT_VIEW
from calib.ui.session.session import Session
from calib.ui.session.team_reports import NEW
from calib.ui.session.turns import HEAVY, Cancel
from calib.ui.session.upload import Upload
from calib.words.measures import best_model

ICON = "⚖️"
MODEL_PIXELS = 240
SHOWN_FIRST = (
    "The model with the lowest held-out log loss of its recommended scores is shown first. Of more "
    f"than {MAX_COMPARED} models, it is the first in the data."
)
OTHER_COUNTS = (
    "The counts are not those of the link: the source has other rows now, or the columns were "
    "mapped in another way. Check **Columns and test rows** in the menu of the data."
)
# On the page of the data a person maps the columns before the rows are counted.
NOT_COUNTED = (*WITHOUT_DATA, "Data")
log = logging.getLogger(__name__)


Result = TypeVar("Result")


def begin(title: str) -> Session:
    st.set_page_config(page_title=f"{title} · {navigation.PRODUCT}", page_icon=ICON, layout="wide")
    _prepare_server()
    identity.gate()
    session = state.current()
    session.painted = False
    state.on_page_enter(session, title)
    _check_model(session)
    rows = state.predictions(session)
    if rows is not None:
        session.adapt_to_data(rows)
    state.write_address(session)
    _scripts(session)
    session.answered = session.chosen
    matrix = rows if rows is not None and rows.is_matrix else None
    navigation.draw(title)
    with navigation.tools():
        data_menu.draw(session, rows)
        if title in WITH_ANALYSIS:
            widgets.settings(session, rows)
        share(session)
    _notices(session)
    if session.waits and title not in WITHOUT_DATA:
        _wait(session)
    if session.upload is not None and session.upload.is_uncounted and title not in NOT_COUNTED:
        _count(session, session.upload)
    asked = session.upload is not None and session.upload.question is not None
    has_view = title not in WITHOUT_VIEW and not state.by_class(session)
    if matrix is not None and has_view and not asked:
        widgets.view(session, matrix)
    if title in WITH_ANALYSIS and title != "Reports" and not asked:
        pick_model(session)
    return session


def _check_model(session: Session) -> None:
    """Say which model of a link cannot be shown, and show another one."""
    names, wanted = state.models(session), session[MODEL]
    if names and wanted and wanted not in names:
        refused = f"There is no model {quoted(wanted)} among these, so another one is shown."
        session.refused = (*session.refused, refused)
        session.reset(MODEL)


def pick_model(session: Session) -> None:
    """Draw the control of the model beside a sentence that compares all of them.

    The best one is shown first. More than `MAX_COMPARED` models are not compared here.
    """
    n_models = len(state.models(session))
    if n_models < 2:
        return
    look = {"label_visibility": "collapsed", "format_func": "Model: {}".format}
    with st.container(horizontal=True, vertical_alignment="center", key="pick_model"):
        widgets.model(session, width=MODEL_PIXELS, **look)
        compared = st.empty()
    best = None
    if n_models <= MAX_COMPARED:
        best = _compute(partial(state.best_model, session), "models")
    if not session[MODEL]:
        shown = state.model_name(session) if best is None else best.name
        # The person did not choose it, so it is not explicit.
        session.chosen = session.chosen.having(MODEL, shown)
        # The header and the controls are those of the first model.
        st.rerun()
    # The heading of Calibrators says more.
    if session.page != "Calibrators":
        compared.caption(plain(_compared(best, n_models)), help=SHOWN_FIRST)


def _compared(best: BestModel | None, n_models: int) -> str:
    if best is None:
        return f"Calibrators shows which of the {n_models} models is best."
    return f"With the recommended calibrators, {best_model(best)}."


def _scripts(session: Session) -> None:
    # A script takes the place of a paragraph until it has arrived.
    with st.container(key="scripts"):
        charts.add_buttons()
        if secret := state.browser_secret(session):
            st.html(open_sessions.script(secret), unsafe_allow_javascript=True)


def share(session: Session) -> None:
    with st.popover("Share", key="share"):
        st.markdown("**Link to this page with its settings**")
        widgets.copy_link("", "copy_page_link")
        if session.upload is not None:
            st.caption("The link has no data: whoever opens it is asked for the file.")
        there = session.link() | {NEW: "report"}
        st.page_link(PAGES["Reports"], label="Save a report", query_params=there)
        identity.badge()


@st.cache_resource
def _prepare_server() -> None:
    share_heaps()
    # Modules live as long as the server, so the garbage collector need not look at them again.
    gc.collect()
    gc.freeze()


def _notices(session: Session) -> None:
    if session.refused:
        st.warning("\n\n".join(session.refused))
        st.button("Dismiss", key="dismiss_refused", on_click=setattr, args=(session, "refused", ()))


def _wait(session: Session) -> NoReturn:
    """Ask for the data of the link and end the page, because it would show other data."""
    awaited = session.awaited
    if not awaited.source:
        uploaders.awaited(session)
        st.stop()
    try:
        with st.spinner(state.READING_COLUMNS):
            table = table_named(awaited.source, awaited.table)
    except InputError as error:
        label = plain(f"{awaited.source}: {awaited.table}")
        st.markdown(f"## This link is for **{label}**{awaited.size}")
        st.error(" ".join(problem.sentence for problem in error.problems))
        uploaders.example_instead()
        st.stop()
    _count(session, table)


def _count(session: Session, table: Upload) -> NoReturn:
    """Count the rows of a source where they are, and draw the page with them."""

    def work(progress: Progress) -> Upload:
        if not table.is_uncounted:
            return table
        try:
            with HEAVY.turn():
                return table.with_counts(progress)
        except InputError as error:
            return replace(table, problems=error.problems)

    expected, counted = session.awaited.fingerprint, _compute(work, "count")
    # A report is about one of several models.
    of_models = (rows.fingerprint for rows in counted.models.values())
    fingerprints = (counted.fingerprint, *of_models)
    if counted.models and not any(one.startswith(expected) for one in fingerprints):
        session.refused = (*session.refused, OTHER_COUNTS)
    session.take(counted)
    st.rerun()


def model(session: Session) -> state.Model:
    source(session)
    rows, name = predictions(session), state.model_name(session)

    def work(progress: Progress) -> state.Model:
        made = state.Model(rows, state.analysis(session, rows, progress), name)
        return results.with_plan_of(session, made)

    shown = _compute(work, "analysis")
    # The slider was drawn before the data were known.
    if state.follow_auto(session, shown.analysis):
        st.rerun()
    notes.above(session)
    notes.plan(session, shown)
    return shown


def one_score_analysis(session: Session, shown: state.Model) -> LiveAnalysis:
    """The analysis whose calibrators are functions of one score: of a matrix, that of its view."""
    if not session.is_matrix:
        return shown.analysis
    return _compute(partial(state.one_score_analysis, session, shown.rows), "one_score")


def reading(text: str, about: str = "") -> None:
    """Draw an explanation in an expander. Once it is opened, it is open on all pages."""
    session, key = state.current(), f"reading_{about}"

    def remember() -> None:
        widgets.take_answer(key, partial(setattr, session, "explains"))

    title = f"How to read {about or 'it'}"
    with st.expander(title, expanded=session.explains, key=key, on_change=remember):
        st.markdown(text)


def source(session: Session) -> None:
    if session.waits:
        _wait(session)
    # The menu of the data has this line on every page, and the Overview below its answer.
    if session.upload is not None and session.page == "Data":
        st.caption(data_menu.read_as(session, session.upload))


def predictions(session: Session) -> Data:
    """The shown data. It ends the page if they have errors or a question must be answered first."""
    rows, upload = state.predictions(session), session.upload
    errors = (
        [problem for problem in upload.problems if problem.severity == "error"] if upload else []
    )
    if rows is None and errors:
        st.error("Fix these problems before the file can be analysed.")
        for problem in errors:
            st.markdown(f"- {problem.sentence}")
        st.page_link(PAGES["Data"], label="Fix them in the columns", icon=":material/build:")
        st.stop()
    if uploaders.question(session):
        st.stop()
    assert rows is not None
    return rows


def comparison(session: Session, method: str) -> ModelComparison:
    return _compute(partial(state.compare, session, method), "comparison")


def _compute(work: Callable[[Progress], Result], kind: str) -> Result:
    """Show the progress and a Cancel button. If the work fails, say why and end the page."""
    session = state.current()
    if session.cancelled == session.asked:
        st.info("The analysis was cancelled.")
        again = (session, "cancelled", None)
        st.button("Analyse", key="analyse_anyway", type="primary", on_click=setattr, args=again)
        st.stop()
    session.cancelled = None
    # Several computations of one page may take long, so each button has its own key.
    slot, cancel = st.empty(), Cancel(f"cancel_{kind}", _cancel)

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{plain(text)} …")
        cancel.after_a_while()

    try:
        result = work(progress)
    except ValueError as error:
        _fail(slot, sentence(str(error)))
    except Exception:
        log.exception("The analysis failed")
        _fail(
            slot, "The analysis failed because of a program error. The server log has the details."
        )
    slot.empty()
    cancel.withdraw()
    return result


def _cancel() -> None:
    session = state.current()
    session.cancelled = session.asked


def _fail(slot: DeltaGenerator, reason: str) -> NoReturn:
    slot.empty()
    st.error(f"No analysis: {reason}")
    with st.container(horizontal=True):
        st.page_link(PAGES["Data"], label="Check the data", icon=":material/table:")
        st.button("Reset all settings", key="reset_failed", on_click=state.current().reset_all)
    st.stop()


def sections(session: Session, model: state.Model, title: str) -> None:
    """Draw what features add to a page."""
    for feature in FEATURES.values():
        if draw := feature.sections.get(title):
            resolve(draw)(session, model)

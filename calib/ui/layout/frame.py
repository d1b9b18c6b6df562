"""The frame of every page: title, navigation row, notices, and the way to the analysis."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis.model_comparison import ModelComparison
from calib.data.base import Data
from calib.data.progress import Progress
from calib.text import plain, sentence
from calib.ui.controls import connected_tables, data_menu, uploaders, widgets
from calib.ui.layout import charts, navigation, notes, side_by_side
from calib.ui.session import identity, open_sessions, results, state
from calib.ui.session.free_memory import share_heaps
from calib.ui.session.page_list import PAGES, WITH_ANALYSIS, WITHOUT_DATA, WITHOUT_VIEW
from calib.ui.session.session import Pending, Session
from calib.ui.session.team_reports import NEW
from calib.ui.session.turns import Cancel

ICON = "⚖️"
log = logging.getLogger(__name__)


Body = Callable[[state.Model], None]
Result = TypeVar("Result")


def begin(title: str) -> Session:
    st.set_page_config(page_title=f"{title} · {navigation.PRODUCT}", page_icon=ICON, layout="wide")
    _prepare_server()
    identity.gate()
    session = state.current()
    # A page may have ended in the middle of several models.
    session.pending, session.drawn, session.painted = None, 0, False
    state.on_page_enter(session, title)
    rows = state.predictions(session)
    if rows is not None:
        session.adapt_to_data(rows)
    state.write_address(session)
    _scripts(session)
    session.answered = session.chosen
    matrix = rows if rows is not None and rows.is_matrix else None
    classes = matrix is not None and matrix.n_classes > 2
    navigation.draw(title, classes)
    with navigation.tools():
        data_menu.draw(session, rows)
        if title in WITH_ANALYSIS:
            widgets.settings(session, rows)
        share(session)
    _notices(session)
    if session.waits and title not in WITHOUT_DATA:
        _wait(session)
    asked = session.upload is not None and session.upload.question is not None
    if matrix is not None and title not in WITHOUT_VIEW and not asked:
        widgets.view(session, matrix)
    return session


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
    if session.changed_since:
        st.info(session.changed_since)
        dismissed = (session, "changed_since", "")
        st.button("Dismiss", key="dismiss_changed", on_click=setattr, args=dismissed)


def _wait(session: Session) -> NoReturn:
    """Ask for the data of the link and end the page, because it would show other data."""
    if session.awaited.query is None:
        uploaders.awaited(session)
    else:
        connected_tables.reopen(session)
    st.stop()


def models(session: Session, *, one_score: bool = False) -> tuple[state.Model, ...]:
    """With `one_score`, the view of a matrix is shown as rows with one score each."""
    source(session)
    predictions(session)
    side_by_side.control(session)
    shown = state.shown_models(session)

    def analysed(name: str, given: Data) -> state.Model:
        fit = state.one_score_analysis if one_score else state.analysis
        rows = state.one_score(session, given) if one_score else given

        def work(progress: Progress) -> state.Model:
            made = state.Model(rows, fit(session, given, progress), name)
            return results.with_plan_of(session, made)

        return _compute(work, "analysis", name if len(shown) > 1 else "")

    analysed_models = tuple(analysed(name, rows) for name, rows in shown.items())
    # A link to a source says what its rows gave, which is known only now.
    if session.upload is not None and session.upload.source is not None:
        state.write_address(session)
    # The slider was drawn before the data were known.
    if state.follow_auto(session, analysed_models[0].analysis):
        st.rerun()
    notes.above(session)
    notes.plans(session, analysed_models)
    return analysed_models


def show(session: Session, models: Sequence[state.Model], body: Body) -> None:
    """Draw the body of a page once per model, several side by side, and the notes below it."""
    if len(models) == 1:
        body(models[0])
    else:
        _side_by_side(session, models, body)
    notes.below(session, models)


def _side_by_side(session: Session, models: Sequence[state.Model], body: Body) -> None:
    session.pending = Pending()
    places = side_by_side.columns(len(models))
    for number, (model, place) in enumerate(zip(models, places, strict=True)):
        session.drawn = number
        with place:
            st.markdown(f":material/model_training: **{plain(model.name)}**")
            body(model)
    waiting, session.pending, session.drawn = session.pending, None, 0
    side_by_side.finish(waiting)


def once(name: str, draw: Callable[[], object]) -> None:
    """Draw what is the same for every model: here if there is one, else once below all."""
    pending = state.current().pending
    if pending is None:
        draw()
    else:
        pending.once.setdefault(name, draw)


def reading(text: str, about: str = "") -> None:
    """Draw an explanation in an expander. Once it is opened, it is open on all pages."""
    session, key = state.current(), state.key(f"reading_{about}")

    def remember() -> None:
        widgets.take_answer(key, partial(setattr, session, "explains"))

    def draw() -> None:
        title = f"How to read {about or 'it'}"
        with st.expander(title, expanded=session.explains, key=key, on_change=remember):
            st.markdown(text)

    once(text, draw)


def source(session: Session) -> None:
    if session.waits:
        _wait(session)
    # The menu of the data has this line on every page, and the Overview below its answer.
    if session.upload is not None and session.page == "Data":
        st.caption(data_menu.read_as(session, session.upload))


def predictions(session: Session) -> Data:
    """The shown data. It ends the page if they have errors or a question must be answered first."""
    rows = state.predictions(session)
    if rows is None:
        st.error("Fix these problems before the file can be analysed.")
        assert session.upload is not None
        for problem in session.upload.problems:
            if problem.severity == "error":
                st.markdown(f"- {problem.sentence}")
        st.page_link(PAGES["Data"], label="Fix them on the Data page", icon=":material/build:")
        st.stop()
    if uploaders.question(session):
        st.stop()
    return rows


def comparison(session: Session, method: str) -> ModelComparison:
    return _compute(partial(state.compare, session, method), "comparison")


def _compute(work: Callable[[Progress], Result], kind: str, name: str = "") -> Result:
    """Show the progress and a Cancel button. If the work fails, say why and end the page."""
    session = state.current()
    if session.cancelled == session.asked:
        st.info("The analysis was cancelled.")
        again = (session, "cancelled", None)
        st.button("Analyse", key="analyse_anyway", type="primary", on_click=setattr, args=again)
        st.stop()
    session.cancelled = None
    # Several computations of one page may take long, so each button has its own key.
    slot, cancel = st.empty(), Cancel(f"cancel_{kind}_{name}", _cancel)

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{plain(name)}: {text} …" if name else f"{plain(text)} …")
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

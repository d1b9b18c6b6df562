"""The frame of every page: title, navigation row, notices, and the way to the analysis."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NoReturn, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.analysis import LiveAnalysis
from calib.analysis.model_comparison import ModelComparison
from calib.core.predictions import Predictions
from calib.core.progress import Progress
from calib.figures import Chart
from calib.loading.examples import EXAMPLES
from calib.text import plain, sentence
from calib.ui import data_in, side_by_side, state, style, svg_button, views
from calib.ui.memory import share_heaps
from calib.ui.pages import GROUPS, OF_A_MATRIX, PAGES, WITHOUT_DATA
from calib.ui.pending import Pending
from calib.ui.state import Session

ICON = "⚖️"
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
    bar.scrollLeft += left + width / 2 - bar.clientWidth / 2;
})(200);
</script>
"""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Model:
    """One model's rows, and their analysis: what the body of a page draws."""

    rows: Predictions
    analysis: LiveAnalysis
    name: str = ""


Body = Callable[[Model], None]
Analyse = Callable[[Session, Predictions, Progress], LiveAnalysis]
Found = TypeVar("Found")


def begin(title: str) -> Session:
    """Start a page: its configuration, the navigation row, and what the link was refused."""
    st.set_page_config(page_title=f"{title} · {PRODUCT}", page_icon=ICON, layout="wide")
    _prepare_server()
    session = state.current()
    # A page may have ended in the middle of several models.
    session.pending, session.drawn = None, 0
    state.on_page_enter(session, title)
    style.apply()
    svg_button.add()
    rows = state.predictions(session)
    if rows is not None:
        session.adapt_to_data(rows)
    state.write_address(session)
    session.answered = session.chosen
    _navigation(title, has_classes(session))
    _notices(session)
    if session.waits and title not in WITHOUT_DATA:
        _wait(session)
    if rows is not None and rows.is_matrix:
        with st.sidebar:
            views.control(session, rows)
    return session


@st.cache_resource
def _prepare_server() -> None:
    share_heaps()
    # Modules live as long as the server: a collection need not look at them again.
    gc.collect()
    gc.freeze()


def has_classes(session: Session) -> bool:
    """Whether there are classes to compare: more than two."""
    rows = state.predictions(session)
    return rows is not None and rows.is_matrix and rows.n_classes > 2


# Drawn again from memory at every run: its links do not depend on what was chosen.
@st.cache_resource(show_spinner=False)
def _navigation(title: str, classes: bool) -> None:
    hidden = "" if title == "Overview" else f'<span class="unseen">: {title}</span>'
    with st.container(horizontal=True, key="navigation", gap=None):
        scripts = HISTORY + CURRENT.replace("PAGE", title)
        st.html(f"<h1>{PRODUCT}{hidden}</h1>{scripts}", unsafe_allow_javascript=True)
        for name, pages in GROUPS.items():
            with st.container(horizontal=True, key=f"pages_{name.lower()}", gap=None):
                for label, page in pages.items():
                    if classes or label not in OF_A_MATRIX:
                        st.page_link(page, label=label)


def _notices(session: Session) -> None:
    if session.refused:
        st.warning("\n\n".join(session.refused))
        st.button("Understood", key="dismiss_refused", on_click=_dismiss)


def _wait(session: Session) -> NoReturn:
    """Ask for the data of the link, and end the page: what it would show is not of them."""
    data_in.awaited(session)
    st.stop()


def _dismiss() -> None:
    state.current().refused = ()


def models(session: Session) -> tuple[Model, ...]:
    """Everything that is shown, analysed; or a sentence on why not and the end of the page."""
    return _models(session, lambda rows: rows, state.analysis)


def maps(session: Session) -> tuple[Model, ...]:
    """The same with the view of a matrix for the rows: its methods are maps of one score."""
    return _models(session, lambda rows: state.one_score(session, rows), state.maps)


def _models(
    session: Session, prepare: Callable[[Predictions], Predictions], analyse: Analyse
) -> tuple[Model, ...]:
    source(session)
    predictions(session)
    side_by_side.control(session)
    shown = {name: prepare(rows) for name, rows in state.shown_models(session).items()}
    found = tuple(
        Model(rows, analysis(session, rows, analyse, name if len(shown) > 1 else ""), name)
        for name, rows in shown.items()
    )
    # The slider was drawn before the data were known.
    if state.follow_auto(session, found[0].analysis):
        st.rerun()
    return found


def show(session: Session, found: Sequence[Model], body: Body) -> None:
    """Draw the body of a page, once a model: several side by side."""
    if len(found) == 1:
        _warnings(found[0])
        body(found[0])
        return
    # Above the columns: charts that belong together stay at one height.
    for model in found:
        _warnings(model, f"**{plain(model.name)}**: ")
    session.pending = Pending()
    places = side_by_side.columns(len(found))
    for number, (model, place) in enumerate(zip(found, places, strict=True)):
        session.drawn = number
        with place:
            st.markdown(f":material/model_training: **{plain(model.name)}**")
            body(model)
    waiting, session.pending, session.drawn = session.pending, None, 0
    side_by_side.finish(waiting)


def once(name: str, draw: Callable[[], object]) -> None:
    """Draw what is the same for every model: here, or once below several."""
    pending = state.current().pending
    if pending is None:
        draw()
    else:
        pending.once.setdefault(name, draw)


def reading(text: str, about: str = "") -> None:
    """Explain how to read something, folded away until a person opens it, on all pages then."""
    session, key = state.current(), state.key(f"reading_{about}")

    def remember() -> None:
        session.explains = st.session_state[key]

    def draw() -> None:
        title = f"How to read {about or 'it'}"
        with st.expander(title, expanded=session.explains, key=key, on_change=remember):
            st.markdown(text)

    once(text, draw)


def _warnings(model: Model, name: str = "") -> None:
    for warning in model.analysis.warnings:
        st.caption(f":material/info: {name}{plain(warning)}")


def source(session: Session) -> None:
    """What is shown: an example and its story, or the name of a file; of a matrix which view."""
    if session.waits:
        _wait(session)
    _data(session)
    rows = state.predictions(session)
    if rows is not None and rows.is_matrix:
        st.caption(views.caption(rows, session.settings.view))


def _data(session: Session) -> None:
    if session.upload is None:
        # The first page has them all to choose from.
        if session.page != "Overview":
            st.caption(f"Example: **{EXAMPLES[session.example].title}**")
        return
    test = session.upload.test_table
    tested = f", tested on **{plain(test.name)}**" if test else ""
    files = "File" if len(session.upload.tables) == 1 else "Files"
    st.caption(f"{files}: **{plain(session.upload.name)}**{tested}")


def predictions(session: Session) -> Predictions:
    """What is shown, or a sentence on what is missing and the end of the page."""
    rows = state.predictions(session)
    if rows is None:
        _stop_unmapped(session)
    return rows


def _stop_unmapped(session: Session) -> NoReturn:
    st.error("The file cannot be analysed as it is mapped now.")
    assert session.upload is not None
    for problem in session.upload.problems:
        if problem.severity == "error":
            st.markdown(f"- {problem.sentence}")
    st.page_link(PAGES["Data"], label="Repair it on the Data page", icon=":material/build:")
    st.stop()


def analysis(
    session: Session,
    rows: Predictions,
    analyse: Analyse = state.analysis,
    name: str = "",
) -> LiveAnalysis:
    """The analysis of these rows, or a sentence on why there is none and the end of the page."""
    return _worked_out(lambda progress: analyse(session, rows, progress), name)


def comparison(session: Session, method: str) -> ModelComparison:
    """All models of the data, compared; or a sentence on why not and the end of the page."""
    return _worked_out(lambda progress: state.compare(session, method, progress))


def _worked_out(work: Callable[[Progress], Found], name: str = "") -> Found:
    """What takes its time, with its progress."""
    slot = st.empty()

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{plain(name)}: {text} …" if name else f"{plain(text)} …")

    try:
        found = work(progress)
    except ValueError as error:
        _fail(slot, sentence(str(error)))
    except Exception:
        log.exception("The analysis failed")
        _fail(slot, "The analysis failed for a reason that is not the data's: it is in the log.")
    slot.empty()
    return found


def _fail(slot: DeltaGenerator, reason: str) -> NoReturn:
    slot.empty()
    st.error(f"No analysis: {reason}")
    with st.container(horizontal=True):
        st.page_link(PAGES["Data"], label="Look at the data", icon=":material/table:")
        st.button("Reset all settings", key="reset_failed", on_click=state.current().reset_all)
    st.stop()


def chart(shown: Chart, key: str, on_select: Callable[[], None] | None = None) -> None:
    """Draw a chart with its alternative text; of several models with the same axes.

    `on_select` answers a click on a dot; what was clicked is in the state under the chart's key.
    """
    plot = partial(_plot, key=state.key(key), on_select=on_select)
    pending = state.current().pending
    if pending is None:
        plot(shown)
    else:
        pending.charts.setdefault(key, []).append((st.container(), shown, plot))


def _plot(shown: Chart, key: str, on_select: Callable[[], None] | None) -> None:
    if not shown.is_square:
        _plotly_chart(shown, key, on_select)
        return
    with st.container(key=f"square_{key}"):
        st.html(f"<style>.st-key-{key} {{ --by-width: {shown.height_by_width}; }}</style>")
        _plotly_chart(shown, key, on_select, height="stretch")


def _plotly_chart(
    shown: Chart,
    key: str,
    on_select: Callable[[], None] | None,
    height: Literal["content", "stretch"] = "content",
) -> None:
    st.plotly_chart(
        shown.unchecked,
        height=height,
        key=key,
        config=shown.config,
        alt=shown.alt,
        on_select=on_select or "ignore",
        selection_mode="points",
    )

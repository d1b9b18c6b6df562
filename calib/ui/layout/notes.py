"""Notes about the data that may mislead or help. They are the same on every page."""

from __future__ import annotations

import streamlit as st

from calib.data.origin import code_of
from calib.loading import Problem
from calib.text import plain, plural
from calib.ui.controls import data_menu, uploaders
from calib.ui.session import state
from calib.ui.session.choices import SINCE
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session

TRAINED_ON = (
    "The model was trained on these rows, so the results are optimistic, and a calibrator that is "
    "fitted to them is wrong for new rows."
)


def above(session: Session) -> None:
    """Draw what must be read before the answer: warnings about the data, and what a click settles.

    The first is drawn, and the others are in an expander. A person's answer that the rows are
    training rows stands above all of them.
    """
    if session.unseen == "no":
        st.warning(TRAINED_ON)
    problems = _of_file(session, before_answer=True)
    for problem in problems[:1]:
        _problem(session, problem, "note_0")
    if others := problems[1:]:
        with st.expander(plural(len(others), "more note")):
            for number, problem in enumerate(others, 1):
                _problem(session, problem, f"note_{number}")


def plan(session: Session, model: state.Model) -> None:
    """Say which plan Overview recommends, on every page that shows calibrators of all rows."""
    plan = model.analysis.recommendation.plan
    is_shown = session.page == "Overview" or (session.page == "Slices" and session[SINCE])
    if is_shown or plan is None:
        return
    said = f"{plain(plan.words)} is recommended. Calibrators here are of all rows."
    with st.container(key="findings_plan"):
        icon, link = ":material/info:", session.link()
        st.page_link(PAGES["Overview"], label=said, icon=icon, query_params=link)


def below(session: Session, model: state.Model) -> None:
    """Draw the other notes on the data and those of the analysis, below the body of a page.

    The Overview also says what the columns of a file were read as.
    """
    if session.upload is not None and session.page == "Overview":
        st.caption(data_menu.read_as(session, session.upload))
    sentences = [problem.sentence for problem in _of_file(session, before_answer=False)]
    sentences += _of_analysis(session, model)
    for sentence in sentences:
        st.caption(f":material/info: {sentence}")


def _of_file(session: Session, *, before_answer: bool) -> list[Problem]:
    """The warnings and notes that stand above the answer, or those that stand below the body."""
    problems = [] if session.upload is None else session.upload.problems
    chosen = [
        problem
        for problem in problems
        if problem.severity in ("warning", "note") and _is_first(problem) == before_answer
    ]
    # A problem that a click can settle is never folded away, because it asks for an action.
    return sorted(chosen, key=lambda problem: not (problem.choices or problem.repair))


def _is_first(problem: Problem) -> bool:
    return problem.severity == "warning" or bool(problem.choices or problem.repair)


def _of_analysis(session: Session, model: state.Model) -> list[str]:
    problems = () if session.upload is None else session.upload.problems
    said = {problem.code for problem in problems}
    said |= {"swapped"} if "which-class" in said else set()
    if not model.rows.has_rows:
        # The remarks of a scan are problems of the upload.
        said |= {one.code for one in model.rows.remarks}
    return [plain(warning) for warning in model.analysis.warnings if code_of(warning) not in said]


def _problem(session: Session, problem: Problem, key: str) -> None:
    draw = st.warning if problem.severity == "warning" else st.info
    draw(problem.sentence)
    uploaders.repair(session, problem, key)

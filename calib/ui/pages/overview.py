"""Overview: can these probabilities be trusted, and what would repair them?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib import text
from calib.analysis import Analysis
from calib.analysis.plans import PlanChoice, why_no_plan
from calib.analysis.ranking import ranking_of
from calib.analysis.summary import Parts
from calib.figures import answer
from calib.figures.summary import summary_chart
from calib.ui.controls import uploaders, use_calibrator, widgets
from calib.ui.layout import charts, frame, notes, tables
from calib.ui.session import results, state
from calib.ui.session.choices import SLICE_BY, TAB
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import FIRST_EXAMPLE, Session
from calib.words import checks
from calib.words.checks import Check
from calib.words.measures import undrawn
from calib.words.periods import counted_until

DROP_PIXELS = 178
MARKS: Mapping[str, str] = {
    checks.HOLDS: f":green-badge[{checks.HOLDS}]",
    checks.FAILS: f":orange-badge[{checks.FAILS}]",
    checks.OPEN: f":gray-badge[{checks.OPEN}]",
}
# Only a person knows this about an uploaded file. If the answer is that the model was trained on
# the rows, a note on every page says so.
HELD_OUT = Check("Held out", "Data", "not confirmed yet", checks.OPEN, checks.OPEN)
COLUMNS = (734, 466)  # The widths of the chart and of what to do at 1,440 pixels.


def page() -> None:
    session = frame.begin("Overview")
    if is_first_visit(session):
        landing(session)
    model = frame.model(session)
    body(session, model)
    notes.below(session, model)


def is_first_visit(session: Session) -> bool:
    return session.upload is None and session.example == FIRST_EXAMPLE


def landing(session: Session) -> None:
    """Draw the purpose of the app, the drop zone for a file, and the examples, on a first visit."""
    with st.container(horizontal=True, vertical_alignment="center", key="landing"):
        st.html(
            '<p class="purpose">Can your probabilities be trusted?</p><p>One row per prediction: '
            f"outcomes (0/1 or yes/no) and probabilities. {escape(uploaders.files_stay())}</p>"
        )
        with st.container(width=DROP_PIXELS):
            uploaders.uploader(session, "data", "Drop your predictions: CSV, Parquet or NumPy")
        uploaders.sample()
        widgets.example_list(session)


def body(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    result = analysis.advised
    methods = ("uncalibrated", *([] if result is None else [result.key]))
    with st.spinner("Checking slices and time"):
        parts = results.parts(session, model, methods)
    with st.container(key="answer"):
        place = st.empty()
    said(session, place, analysis, parts)
    with st.container(key="evidence"):
        left, right = st.columns(COLUMNS, gap="large")
    with left:
        before_and_after(session, analysis, parts.plan)
    with right:
        advice(session, model)
        others = holds(session, model, parts) if answer.is_answered(analysis) else ()
        with st.container(key="compared"):
            tables.calibrators(analysis, model.plan)
    if others:
        said(session, place, analysis, replace(parts, others=others))


def said(session: Session, place: DeltaGenerator, analysis: Analysis, parts: Parts) -> None:
    is_example = session.upload is None
    place.html(answer.section(analysis, is_example=is_example, parts=parts, tag="h1"))


def before_and_after(session: Session, analysis: Analysis, plan: PlanChoice | None) -> None:
    if reason := undrawn(analysis.uncalibrated.reliability):
        st.info(reason)
        return
    markup = session.memo(answer.summaries, analysis, plan)
    charts.drawing(markup, "summary", charts.kept(summary_chart, analysis, plan))


def advice(session: Session, model: state.Model) -> None:
    """What to do, what it changes, and its code."""
    analysis, plan = model.analysis, model.plan
    with st.container(key="best_fix"):
        st.html(answer.advice(analysis, plan))
        with st.container(horizontal=True, vertical_alignment="center", key="steps"):
            if plan is not None and plan.calibrator is not None:
                time = state.time_column(session, model.rows)
                use_calibrator.plan_button(session, model, plan, time)
            elif answer.is_answered(analysis):
                use_calibrator.button(session, model, leads=not is_first_visit(session))
            st.html(answer.small_print(analysis, plan))


def holds(session: Session, model: state.Model, parts: Parts) -> tuple[str, ...]:
    """Whether the answer holds, each line with a link; returns what else fails afterwards.

    Each line is drawn once it is computed, below the answer that is already seen.
    """
    with st.container(key="findings"):
        st.html(answer.holds_head())
        line(session, checks.of_parts(parts, of_time=False))
        line(session, with_reason(model, parts, checks.of_parts(parts, of_time=True)))
        analysis = model.analysis
        is_drawn = not undrawn(analysis.uncalibrated.reliability)
        bins = checks.of_bins(results.sensitivities(session, model) if is_drawn else ())
        line(session, bins, **{TAB.link: "bins"})
        decisions = checks.of_decisions(*results.decisions_after(session, model))
        line(session, decisions)
        about = ranking_of(analysis, analysis.held_out.cells["uncalibrated"]).sentence
        line(session, checks.of_ranking(analysis, parts, about))
        if session.upload is not None and session.unseen == "unknown":
            line(session, HELD_OUT)
        days = results.last_days(session, model)
        counted = f"\n\n{counted_until(days)}" if days else ""
        st.caption(f"{checks.LEGEND}{counted}")
    return checks.failing([bins, decisions])


def line(session: Session, check: Check, **address: str) -> None:
    """One line; `address` is what its link has besides the choices of the session."""
    now, after = (MARKS.get(mark, f":small[{mark}]") for mark in (check.now, check.after))
    label = f"**{check.name}** {text.plain(check.words)} {now} {after}"
    there, column = PAGES[check.page], check.column
    link = session.link_with(SLICE_BY, column) if column else session.link()
    link |= address
    st.page_link(there, label=label, help=check.about or None, query_params=link)


def with_reason(model: state.Model, parts: Parts, check: Check) -> Check:
    """The periods, and why there is no plan although periods fail after what is recommended."""
    reason = why_no_plan(model.rows, model.analysis)
    if not reason or {held.unit for held in parts.failing} <= {"slice"}:
        return check
    why = f"Data with {reason} get no calibrator of the rows since a change."
    return replace(check, about=f"{check.about} {why}".strip())

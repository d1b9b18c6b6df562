"""Overview: can these probabilities be trusted, and what would repair them?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape

import streamlit as st

from calib import text
from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.plans import PlanChoice, why_no_plan
from calib.analysis.ranking import ranking_of
from calib.analysis.summary import Parts
from calib.curves.functions import MAX_BINS, MIN_BINS
from calib.figures import answer
from calib.figures.summary import summary_chart
from calib.ui.controls import uploaders, use_calibrator, widgets
from calib.ui.layout import charts, frame, notes, tables
from calib.ui.session import results, state
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import FIRST_EXAMPLE, Session
from calib.ui.session.team_reports import NEW
from calib.words import overview as wording
from calib.words.decisions import costs_of, what_costs
from calib.words.measures import undrawn

DROP_PIXELS = 178
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
        st.html(answer.section(analysis, is_example=session.upload is None, parts=parts, tag="h1"))
    with st.container(key="evidence"):
        left, right = st.columns(COLUMNS, gap="large")
    with left:
        before_and_after(session, analysis, parts.plan)
    with right:
        if parts.plan is None or parts.plan.calibrator is None:
            recommendation(session, model)
        else:
            planned(session, model, parts.plan)
        findings(session, model, parts)


def planned(session: Session, model: state.Model, plan: PlanChoice) -> None:
    """The plan for some rows, its evidence, and its code."""
    with st.container(border=True, key="best_fix"):
        st.html(answer.recommended_plan(plan))
        reasons = wording.reasons_of_plan(plan, model.analysis.settings.confidence_level)
        st.caption(text.plain(" ".join(reasons)))
        with st.container(horizontal=True, vertical_alignment="center", key="steps"):
            time = state.time_column(session, model.rows)
            use_calibrator.plan_button(session, model, plan, time)
            there = session.link() | {NEW: "report"}
            st.page_link(PAGES["Reports"], label="Save a report", query_params=there)


def before_and_after(session: Session, analysis: Analysis, plan: PlanChoice | None) -> None:
    if reason := undrawn(analysis.uncalibrated.reliability):
        st.info(reason)
        return
    markup = session.memo(answer.summaries, analysis, plan)
    charts.drawing(markup, "summary", charts.kept(summary_chart, analysis, plan))


def recommendation(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    with st.container(border=True, key="best_fix"):
        st.html(answer.recommended(analysis))
        st.markdown(wording.in_plain_words(analysis))
        evidence = text.plain(" ".join(wording.evidence(analysis)))
        st.caption(evidence, help=text.plain(analysis.after_sentence) or None)
        tables.calibrators(analysis)
        with st.container(horizontal=True, vertical_alignment="center", key="steps"):
            link = session.link()
            use_calibrator.button(session, model, leads=not is_first_visit(session))
            there = link | {NEW: "report"}
            st.page_link(PAGES["Reports"], label="Save a report", query_params=there)


def findings(session: Session, model: state.Model, parts: Parts) -> None:
    """How well the scores rank the rows, and one finding of some pages, with links to them.

    Each is drawn once it is computed, below the answer that is already seen.
    """
    analysis = model.analysis
    lines: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("Ranking", "Decisions", partial(ranking_finding, analysis)),
        ("Slices", "Slices", partial(parts_finding, parts, of_time=False)),
        ("Time", "Slices", partial(time_finding, model, parts)),
        ("Reliability", "Reliability", partial(bins_finding, session, analysis)),
        ("Decisions", "Decisions", partial(costs_finding, session, analysis)),
        ("Data", "Data", partial(held_out_finding, session)),
    )
    with st.container(key="findings"):
        for name, page, finding in lines:
            if sentence := finding():
                label = f"**{name}**: {text.plain(sentence)}"
                st.page_link(PAGES[page], label=label, query_params=session.link())


def ranking_finding(analysis: LiveAnalysis) -> str:
    """How well the scores separate right from wrong, because calibration does not show it."""
    return ranking_of(analysis, analysis.held_out.cells["uncalibrated"]).sentence


def parts_finding(parts: Parts, *, of_time: bool) -> str:
    """In how many slices, or periods, the scores are miscalibrated, before and after."""
    chosen = [i for i, held in enumerate(parts.before) if (held.unit != "slice") == of_time]
    if not chosen:
        return ""
    before = wording.wrong_parts([parts.before[i] for i in chosen])
    since = f" since {text.day_words(parts.plan.since)}" if parts.plan else ""
    if not parts.after:
        return f"{before}{since}"
    counts = text.joined([f"{parts.after[i].wrong:,}" for i in chosen])
    return f"{before}{since}; after calibration {counts}"


def time_finding(model: state.Model, parts: Parts) -> str:
    """The periods, and why there is no plan although periods fail after what is recommended."""
    said, failing = parts_finding(parts, of_time=True), [held.unit for held in parts.failing]
    reason = why_no_plan(model.rows, model.analysis)
    if not reason or set(failing) <= {"slice"}:
        return said
    return f"{said}. Data with {reason} get no calibrator of the rows since a change"


def bins_finding(session: Session, analysis: LiveAnalysis) -> str:
    """Whether the number of bins matters."""
    if undrawn(analysis.uncalibrated.reliability):
        return ""
    by_bins = results.sensitivity(session, analysis, "uncalibrated")
    if by_bins.flips:
        share = text.percent(by_bins.share, 0)
        return f"with {share} of the numbers of bins, the ECE finds miscalibration"
    return f"same conclusion with {MIN_BINS} to {MAX_BINS} bins"


def costs_finding(session: Session, analysis: LiveAnalysis) -> str:
    """The expected cost before and after what is recommended, at the costs of Decisions.

    That page decides by calibrators of all rows, so there is no finding about a plan for some.
    """
    decided, result = results.decisions(session, analysis), analysis.advised
    if result is None:
        return ""
    after = decided.methods[result.key]
    changed = " → ".join(costs_of(decided, ("uncalibrated", result.key)))
    per = f"{what_costs(decided.costs)} per {text.count(decided.reference_rows)} rows"
    significance = "not significant"
    if after.change.high < 0.0:
        significance = "significantly better"
    elif after.change.low > 0.0:
        significance = "significantly worse"
    return f"{changed} {per}, {significance}"


def held_out_finding(session: Session) -> str:
    """Ask what only a person knows about an uploaded file.

    If the answer is that the model was trained on the rows, a note on every page says so.
    """
    if session.upload is None or session.unseen != "unknown":
        return ""
    return "not confirmed that the model was not trained on these rows"

"""Overview: can these probabilities be trusted, and what would repair them?"""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from calib import text
from calib.analysis import Analysis
from calib.figures.before_after import before_after_panel
from calib.figures.words import band_meaning
from calib.loading.examples import EXAMPLES
from calib.ui.controls import uploaders, use_calibrator, widgets
from calib.ui.layout import charts, frame, words
from calib.ui.session import state
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session

# Symbol and colour of an answer. The symbol has the same meaning as the colour.
ANSWER_LOOKS = {
    "not calibrated": ("✕", "red"),
    "no evidence": ("✓", "green"),
    "inconclusive": ("?", "orange"),
}
CHART_SIDE_PIXELS = 290


def page() -> None:
    session = frame.begin("Overview")
    landing(session)
    frame.show(session, frame.models(session), partial(body, session))


def landing(session: Session) -> None:
    """Draw the purpose of the app, the drop zone for a file, and the examples."""
    with st.container(key="landing"):
        purpose, drop = st.columns(2, gap="medium", vertical_alignment="center")
    with purpose:
        st.html(
            '<p class="purpose">Can these probabilities be trusted?</p>'
            "<p>Check a model's probabilities against what happened, and calibrate them.</p>"
        )
    with drop:
        uploaders.uploader(session, "data", "Drop your predictions: CSV, Parquet or NumPy")
    widgets.example(session)
    widgets.changed(session)


def about(session: Session) -> None:
    if session.upload is None:
        st.markdown("### About this example")
        st.markdown(EXAMPLES[session.example].story)


def body(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    card(session, analysis)
    with st.container(key=state.key("evidence")):
        pair, beside = st.columns([5, 3], gap="medium")
    with pair:
        before_and_after(analysis)
    with beside:
        recommendation(session, model)
        four_numbers(session, analysis)
    frame.once("about", partial(about, session))


def names_of_rates(session: Session, analysis: Analysis) -> tuple[str, str, str]:
    """The names of the mean score, of the observed frequency, and of a positive row."""
    if session.is_matrix and analysis.settings.view == "top:1":
        return "Mean confidence", "Accuracy", "correct"
    return "Mean prediction", "Base rate", "positive"


def card(session: Session, analysis: Analysis) -> None:
    verdict, data, scores = analysis.verdict, analysis.data, analysis.uncalibrated
    symbol, color = ANSWER_LOOKS[verdict.answer]
    with st.container(border=True, key=state.key(f"answer_{color}")):
        st.markdown(f"## :{color}[{symbol}] {text.plain(verdict.heading)}")
        mean, rate = text.percents(data.mean_score, data.base_rate)
        predicted, observed, positive = names_of_rates(session, analysis)
        averages = f"{predicted} is {mean}, {observed.lower()} {rate}."
        lead = [averages] if verdict.answer == "no evidence" else []
        st.markdown(text.plain(" ".join([*lead, verdict.finding])))
        ks = f"KS error {text.number(scores.ks.statistic)}, {text.p_value(scores.ks.p_value)}"
        evidence = verdict.evidence or "; ".join(filter(None, [ks, verdict.tested]))
        counted = f"{data.n_rows:,} rows, {data.n_positive:,} {positive}"
        st.caption(text.plain(f"{evidence}. {counted}."))


def before_and_after(analysis: Analysis) -> None:
    advised = analysis.recommendation.method
    keys = dict.fromkeys(("uncalibrated", advised or "uncalibrated"))
    with st.container(horizontal=True, key=state.key("pair"), gap="xsmall"):
        for key in keys:
            shown = before_after_panel(analysis, key, side=CHART_SIDE_PIXELS)
            name = "before" if key == "uncalibrated" else "after"
            charts.chart(shown, f"chart_{name}")
    st.caption(
        "Each dot is one bin. The grey area is the consistency band: "
        f"{band_meaning(analysis.uncalibrated.reliability)}."
    )


def recommendation(session: Session, model: state.Model) -> None:
    analysis, advice = model.analysis, model.analysis.recommendation
    with st.container(border=True, key=state.key("best_fix")):
        st.markdown(f"**{text.plain(advice.sentence)}**")
        st.markdown(text.plain(" ".join(advice.reasons)))
        if after := analysis.after_sentence:
            st.markdown(text.plain(after))
        st.caption(words.protocol(analysis))
        with st.container(horizontal=True, vertical_alignment="center", key=state.key("steps")):
            link = session.link()
            use_calibrator.button(session, model)
            st.page_link(PAGES["Reports"], label="Share a report", query_params=link)


def four_numbers(session: Session, analysis: Analysis) -> None:
    data, scores = analysis.data, analysis.uncalibrated
    predicted, observed, _ = names_of_rates(session, analysis)
    below: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off"}
    # A cell of counts can hold several scores.
    grouped = scores.metrics["log_loss"].resolution > 0.0
    with st.container(key=state.key("numbers")):
        left, right = st.columns(2, wrap=False)
        left.metric(
            "Rows",
            f"{data.n_rows:,}",
            text.plural(data.n_distinct, "score cell" if grouped else "distinct score"),
            **below,
            help=words.set_aside(data) or "Rows that are scored.",
        )
        ks = scores.metrics["ks_error"]
        meaning = next(column.meaning for column in analysis.columns if column.key == "ks_error")
        right.metric(
            "KS error",
            text.number(ks.value),
            text.p_value(scores.ks.p_value),
            **below,
            help=f"{meaning} {words.on_average(ks)} Below it: the p-value of the KS test alone.",
        )
        left.metric(
            predicted,
            text.percent(data.mean_score),
            help=f"If the model is calibrated, it equals the {observed.lower()}.",
        )
        right.metric(observed, text.percent(data.base_rate))

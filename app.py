"""Overview: can these probabilities be trusted, and what would repair them?"""

import streamlit as st

from calib import text
from calib.analysis import Analysis
from calib.figures.reliability import reliability_chart
from calib.figures.words import band_meaning
from calib.text import plural
from calib.ui import choices, frame, state, widgets, words
from calib.ui.frame import Model
from calib.ui.pages import OF_A_MATRIX


def four_numbers(analysis: Analysis) -> None:
    data, scores = analysis.data, analysis.uncalibrated
    loss = scores.metrics["log_loss"]
    at = text.level(analysis.settings.confidence_level)
    with st.container(key=state.key("numbers")):
        left, right = st.columns(2, wrap=False)
        left.metric(
            "Rows",
            f"{data.n_rows:,}",
            f"{data.n_positive:,} {'came true' if session.is_matrix else 'positive'}",
            delta_color="off",
            delta_arrow="off",
            help=words.set_aside(data) or "Rows that are scored.",
        )
        right.metric(
            "Predicted, observed",
            f"{text.percent(data.mean_score)}, {text.percent(data.base_rate)}",
            plural(data.n_distinct, "distinct score"),
            delta_color="off",
            delta_arrow="off",
            help="Mean score and observed frequency: a calibrated model's are the same.",
        )
        left.metric(
            "KS error",
            text.number(scores.metrics["ks_error"].value),
            text.p_value(scores.p_adjusted["ks"]),
            delta_color="off",
            delta_arrow="off",
            help=f"{words.meaning(analysis, 'ks_error')} "
            f"{words.on_average(scores.metrics['ks_error'])} Below it: the p-value after Holm's "
            "correction for five tests.",
        )
        right.metric(
            text.plain(words.label(analysis, "log_loss")),
            text.number(loss.value),
            text.interval(loss),
            delta_color="off",
            delta_arrow="off",
            help=f"{words.meaning(analysis, 'log_loss')} Below it: the {at} interval.",
        )


def next_steps() -> None:
    st.markdown("##### Look closer")
    for label, page, why in (
        ("Reliability", "pages/reliability.py", "where the scores are off, bin by bin"),
        ("Cumulative", "pages/cumulative.py", "the same without bins"),
        ("Functions", "pages/functions.py", "what each calibrator does to a score"),
        ("Compare", "pages/compare.py", "which calibrator is worth it"),
        ("Classes", "pages/classes.py", "which classes are off, and which way"),
        ("Slices", "pages/slices.py", "whether every part of the data is served alike"),
        ("Decisions", "pages/decisions.py", "which threshold, and what it costs"),
        ("Data", "pages/data.py", "bring your own predictions"),
    ):
        if label in OF_A_MATRIX and not frame.has_classes(session):
            continue
        st.page_link(page, label=f"**{label}**: {why}", query_params=session.link())


session = frame.begin("Overview")

with st.sidebar:
    widgets.example(session)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: Model) -> None:
    analysis = model.analysis
    st.markdown(f"## {text.plain(analysis.verdict.sentence)}")
    picture, numbers = st.columns([6, 5], gap="medium")
    with picture:
        frame.chart(reliability_chart(analysis), "chart_reliability")
        st.caption(
            "Each dot is one bin of scores. The grey area is the consistency band: "
            f"{band_meaning(analysis.uncalibrated.reliability)}."
        )
    with numbers:
        four_numbers(analysis)
        with st.container(border=True, key=state.key("best_fix")):
            st.markdown(f"**{text.plain(analysis.recommendation.sentence)}**")
            st.caption(words.protocol(analysis))
        frame.once("Look closer", next_steps)


frame.show(session, frame.models(session), body)

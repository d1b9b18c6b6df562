"""Decisions: which threshold, what it costs, and what calibration changes about it."""

import streamlit as st

from calib.analysis.decisions import cost_curves, expected_counts, net_benefit
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.ui.controls import widgets
from calib.ui.layout import charts, frame
from calib.ui.pages import decisions
from calib.ui.session import choices, parts, state

session = frame.begin("Decisions")

with st.sidebar:
    costs = decisions.costs_control(session)
    below = st.container()
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: state.Model) -> None:
    analysis = model.analysis
    weighted = analysis.data.weighted
    decided = parts.decisions(session, analysis)
    st.markdown("## Decisions")
    with st.container(border=True, key=state.key("decision")):
        st.markdown(decisions.verdict(decided, shown, weighted=weighted))
        widgets.why_shown(analysis, shown)

    cost = session.memo(cost_curves, analysis.held_out, costs)
    benefit = session.memo(net_benefit, analysis.held_out)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("### Expected cost")
        charts.chart(cost_chart(cost, decided, shown), "chart_cost")
        rule = "costs" if costs.capacity is None else "capacity"
        frame.reading(decisions.COST_READINGS[rule], "the cost curve")
    with right:
        st.markdown("### Net benefit (decision curve)")
        at = None if costs.capacity else costs.threshold
        charts.chart(net_benefit_chart(benefit, shown, threshold=at), "chart_benefit")
        st.markdown(" ".join(decisions.benefit_sentence(benefit, key) for key in shown))
        frame.reading(decisions.BENEFIT_READING, "the decision curve")

    st.markdown("### Decisions by method")
    decisions.table(decided, weighted=weighted)
    counted(model)


def counted(model: state.Model) -> None:
    st.markdown("### Expected and observed counts")
    low, high = decisions.range_control(session)
    at, held_out = session.settings.confidence_level, model.analysis.held_out
    counts = session.memo(expected_counts, held_out, low, high, confidence_level=at)
    st.markdown(decisions.counts_sentence(counts, shown))
    if counts.rows:
        decisions.counts_table(counts, at)
    frame.once("counts", lambda: st.caption(decisions.COUNT_READING))


models = frame.models(session)
with below:
    shown = widgets.after_control(session, models[0].analysis)
frame.show(session, models, body)

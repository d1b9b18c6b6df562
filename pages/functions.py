"""Functions: what every calibrator maps a score to."""

from functools import partial

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis
from calib.figures.functions import compact_logit_chart, functions_chart
from calib.figures.losses import lambda_path_chart, with_path
from calib.ui.controls import use_calibrator, widgets
from calib.ui.layout import charts, frame, tables, words
from calib.ui.pages import functions
from calib.ui.session import choices, state

LAMBDA = """
- A larger **λ** gives a smoother curve. The loss is cross-validated.
- The **large marker** is the λ in use. **Spline** adds a small penalty per degree of freedom
  (d.f.), because the minimum of a flat curve is often noise. Its marker may therefore lie to the
  right of the minimum.
"""
FUNCTIONS = """
- Each **line** is a calibrator: it maps the model's score (x) to a calibrated probability (y).
- The **dots** are bins of the uncalibrated scores: mean score (x) against observed frequency (y).
  The line of a good calibrator is near the dots, also for rows on which it was not fitted.
"""
MAPS_OF_A_VIEW = (
    "Calibrators of a matrix use the whole row, so a curve over one score cannot show them. The "
    "curves below are fitted to the score of this view alone, and methods that need the matrix are "
    "left out. All other pages show the calibrators of the matrix."
)

session = frame.begin("Functions")

with st.sidebar:
    widgets.methods(session)
    widgets.control(session, choices.KNOTS)
    widgets.control(session, choices.AXIS)
    widgets.control(session, choices.CONFIDENCE_LEVEL)
    widgets.changed(session)


def body(model: state.Model) -> None:
    analysis = model.analysis
    st.markdown("## Calibration functions")
    with st.container(key=state.key("epsilon_matters")):
        first = st.empty()
    used = bool(functions.methods(analysis))
    first.markdown(functions.epsilon_matters(analysis, (), is_known=not used))
    if session.is_matrix:
        st.info(MAPS_OF_A_VIEW)
    if reason := words.too_few(analysis):
        first.info(reason)
        return
    diagrams(analysis)
    beside = epsilons(analysis)
    st.markdown("### Fitted parameters")
    tables.formulas(analysis)
    # Of a matrix these are maps of one view; the calibrators for use map whole rows.
    if not session.is_matrix:
        use_calibrator.button(session, model)
    smoothness(analysis)
    # Last: everything else can be read while its points are computed.
    with beside:
        curves = functions.over_epsilon(session, analysis)
    if curves:
        first.markdown(functions.epsilon_matters(analysis, curves))


def diagrams(analysis: LiveAnalysis) -> None:
    by_rule = functions.rule_maps(session, analysis)
    axis, knots = session[choices.AXIS], session[choices.KNOTS]
    draw = partial(functions_chart, axis=axis, highlight_knots=knots, by_rule=by_rule)
    drawn, tested = tuple(analysis.methods), analysis.data.protocol == "test rows"
    left, right = st.columns(2 if tested else [2, 1], gap="medium")
    with left:
        n = f"{analysis.data.n_calibration:,}"
        st.markdown(f"### Fitted on {f'the {n} calibration' if tested else f'all {n}'} rows")
        fitted = draw(analysis, drawn, rows="fitted")
        charts.chart(fitted, "chart_functions_fitted")
    with right:
        if tested:
            st.markdown(f"### Evaluated on the {analysis.data.n_rows:,} test rows")
            scored = draw(analysis, drawn, rows="test")
            charts.chart(scored, "chart_functions_test")
        else:
            frame.reading(FUNCTIONS)
            st.caption(words.protocol(analysis))
    if tested:
        frame.reading(FUNCTIONS)


def epsilons(analysis: LiveAnalysis) -> st.delta_generator.DeltaGenerator:
    """The slider, its charts beside it; returns the place of the last of them."""
    st.markdown("### Epsilon")
    control, transform, effect = st.columns([2, 3, 3], gap="medium")
    with control:
        # Several models share one epsilon.
        if session.drawn == 0:
            widgets.epsilon(session, analysis.compact_logit.rule)
        meaning = functions.compact_logit(analysis.compact_logit)
        frame.reading(meaning + functions.epsilon_reading(analysis), "epsilon")
        frame.once("Lucena", lambda: st.caption(functions.SOURCE))
    with transform:
        st.markdown("#### Compact-logit transform")
        charts.chart(compact_logit_chart(analysis), "chart_compact_logit")
    with effect:
        st.markdown("#### Effect of epsilon on log loss")
    return effect


def smoothness(analysis: Analysis) -> None:
    smoothed = with_path(analysis)
    if not smoothed:
        return
    st.markdown("### Smoothing (lambda)")
    columns = st.columns(2, gap="medium")
    for column, key in zip(columns, smoothed, strict=False):
        with column:
            st.markdown(f"#### {choices.method_label(key)}")
            charts.chart(lambda_path_chart(analysis, key), f"chart_lambda_{key}")
    with columns[1] if len(smoothed) == 1 else st.container():
        frame.reading(LAMBDA, "smoothing")


frame.show(session, frame.models(session, one_score=True), body)

"""Functions: what every calibrator maps a score to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis
from calib.crossfit.epsilon import (
    EPSILONS,
    CrossFitFolds,
    EpsilonCurve,
    by_rule,
    cross_fit_folds,
    epsilon_curve,
    takes_epsilon,
)
from calib.curves.functions import CalibrationFunction, CompactLogitCurve
from calib.data.progress import Progress
from calib.figures.functions import compact_logit_chart, functions_chart
from calib.figures.losses import epsilon_chart, lambda_path_chart, with_path
from calib.numerics.estimate import Estimate
from calib.text import interval, level, number, significant
from calib.ui.controls import use_calibrator, widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import charts, frame, tables, words
from calib.ui.layout.words import n_folds
from calib.ui.session import choices, state
from calib.ui.session.choices import OVER_EPSILON, method_label
from calib.ui.session.memo import Keyed
from calib.ui.session.session import Session

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
VIEW_NOTE = (
    "Calibrators of a matrix use the whole row, so a curve over one score cannot show them. The "
    "curves below are fitted to the score of this view alone, and methods that need the matrix are "
    "left out. All other pages show the calibrators of the matrix."
)
SOURCE = (
    "The compact logit and its epsilon are from "
    "[Lucena 2018](https://arxiv.org/abs/1809.07751), section 5.1."
)


def page() -> None:
    session = frame.begin("Functions")
    with widgets.toolbar():
        widgets.control(session, choices.KNOTS)
        widgets.axis(session)
    frame.show(session, frame.models(session, one_score=True), partial(body, session))


def body(session: Session, model: state.Model) -> None:
    analysis = model.analysis
    st.markdown("## Calibration functions")
    with st.container(key=state.key("epsilon_matters")):
        first = st.empty()
    used = bool(epsilon_methods(analysis))
    first.markdown(epsilon_matters(analysis, (), is_known=not used))
    if session.is_matrix:
        st.info(VIEW_NOTE)
    if reason := words.too_few(analysis):
        first.info(reason)
        return
    diagrams(session, analysis)
    beside = epsilons(session, analysis)
    st.markdown("### Fitted parameters")
    tables.formulas(analysis)
    # The curves of a matrix are those of one view, but the calibrators for use map whole rows.
    if not session.is_matrix:
        use_calibrator.button(session, model)
    smoothness(analysis)
    # This is drawn last, so that everything else can be read while its points are computed.
    with beside:
        curves = over_epsilon(session, analysis)
    if curves:
        first.markdown(epsilon_matters(analysis, curves))


def diagrams(session: Session, analysis: LiveAnalysis) -> None:
    by_rule = automatic_calibrators(session, analysis)
    axis, knots = session[choices.AXIS] or "linear", session[choices.KNOTS]
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


def epsilons(session: Session, analysis: LiveAnalysis) -> st.delta_generator.DeltaGenerator:
    """Draw the slider and its charts; returns the place of the last chart."""
    st.markdown("### Epsilon")
    control, transform, effect = st.columns([2, 3, 3], gap="medium")
    with control:
        # Models side by side share one epsilon.
        if session.drawn == 0:
            widgets.epsilon(session, analysis.compact_logit.rule)
        meaning = compact_logit(analysis.compact_logit)
        frame.reading(meaning + epsilon_reading(analysis), "epsilon")
        frame.once("Lucena", lambda: st.caption(SOURCE))
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


def epsilon_methods(analysis: LiveAnalysis) -> tuple[str, ...]:
    """The analysed methods that epsilon changes."""
    return tuple(key for key in analysis.methods if takes_epsilon(key))


def automatic_calibrators(
    session: Session, analysis: LiveAnalysis
) -> Mapping[str, CalibrationFunction]:
    """The calibrators with the automatic epsilon, if another epsilon is in use."""
    logit, keys = analysis.compact_logit, epsilon_methods(analysis)
    if logit.epsilon == logit.rule:
        return {}
    # They are fitted on all rows and with the automatic epsilon, so the folds and the epsilon of
    # the settings do not matter.
    made = Keyed(by_rule, analysis.held_out, keys)
    return session.memo(made, analysis.source, analysis.settings.view, keys)


def over_epsilon(session: Session, analysis: LiveAnalysis) -> Sequence[EpsilonCurve]:
    options = epsilon_methods(analysis)
    if not options:
        st.caption("None of the chosen methods uses the compact logit. Add Spline to see its loss.")
        return ()
    chosen = OVER_EPSILON.among(session[OVER_EPSILON], options) or options[:1]
    if len(options) > 1:
        control(session, OVER_EPSILON, options, value=chosen)
    slot = st.empty()

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{text} …")

    curves = [curve(session, analysis, key, progress) for key in chosen]
    with slot.container():
        charts.chart(epsilon_chart(analysis, curves), "chart_epsilon")
    return curves


def curve(session: Session, analysis: LiveAnalysis, key: str, progress: Progress) -> EpsilonCurve:
    """Compute the curve. If the person leaves the page, the finished points are kept."""
    held_out = analysis.held_out
    # The curve depends on the view and the folds, not on the chosen methods nor on epsilon.
    folds = replace(analysis.settings.fitting(), methods=(), epsilon=None)
    data, point = analysis.source, 0

    def tell(share: float, text: str) -> None:
        progress((point + share) / len(EPSILONS), text)

    def count() -> CrossFitFolds:
        tell(0.0, "Counting the rows of every fold")
        return session.memo(Keyed(cross_fit_folds, held_out), data, folds)

    def log_loss(epsilon: float) -> float:
        nonlocal point
        made = Keyed(_log_loss, count, key, epsilon, tell)
        value = session.memo.heavy(made, data, folds, key, epsilon)
        point += 1
        return value

    return epsilon_curve(key, held_out.fitted_on, log_loss)


def _log_loss(
    count: Callable[[], CrossFitFolds], key: str, epsilon: float, progress: Progress
) -> float:
    return count().log_loss(key, epsilon, progress)


def compact_logit(curve: CompactLogitCurve) -> str:
    origin = (
        "the automatic one for these scores"
        if curve.epsilon == curve.rule
        else f"chosen here; the automatic one is {significant(curve.rule)}"
    )
    return f"""
- **ε = {significant(curve.epsilon)}** is {origin}.
- The **compact logit** spreads out scores near 0 and 1 as the logit does, and stays within [0, 1].
  Splines are fitted on this scale, so they can follow scores that are crowded at the ends.
- Scores outside [ε, 1 − ε] are left unchanged. If there are none, ε has almost no effect.
"""


def epsilon_matters(
    analysis: Analysis, curves: Sequence[EpsilonCurve], *, is_known: bool = True
) -> str:
    """Say whether epsilon matters: how many scores are outside, and how much the loss moves."""
    logit = analysis.compact_logit
    n_all, n = analysis.data.n_calibration, logit.n_outside
    outside = (
        f"{'none' if not n else f'{n:,}'} of {n_all:,} scores "
        f"{'is' if n < 2 else 'are'} outside [ε, 1 − ε] at ε = {significant(logit.epsilon)}"
    )
    if not curves:
        if is_known:
            return f"**Epsilon has no effect**: no chosen calibrator uses it; {outside}."
        return f"{outside[0].upper()}{outside[1:]}."
    losses = {curve: analysis.methods[curve.key].metrics["log_loss"] for curve in curves}
    # The loss must move by more than its own uncertainty.
    much = any(curve.swing > (loss.high - loss.low) / 2.0 for curve, loss in losses.items())
    lead = "Epsilon matters" if much else "Epsilon matters little"
    at = level(analysis.settings.confidence_level)
    moves = "; ".join(_moves(curve, loss, at) for curve, loss in losses.items())
    return f"**{lead} for these scores**: {outside}. {moves}."


def _moves(curve: EpsilonCurve, loss: Estimate, at: str) -> str:
    grid = curve.epsilon
    return (
        f"Over ε from {significant(grid.min(), 1)} to {significant(grid.max(), 2)} the held-out "
        f"log loss of {method_label(curve.key)} moves by {number(curve.swing)} (it is "
        f"{number(loss.value)}, {at} CI {interval(loss)})"
    )


def epsilon_reading(analysis: Analysis) -> str:
    scored = f"each scored by a calibrator fitted on the other folds ({n_folds(analysis)} folds)"
    if analysis.data.protocol == "test rows":
        scored = "the test rows, scored by calibrators fitted on the calibration rows"
    return f"""
- Upper panel: log loss on **held-out rows**, {scored}. The **large marker** is
  the ε in use; the dotted line is the automatic ε. Small steps of the curve are noise.
- Lower panel: rows outside [ε, 1 − ε].
- Do not report the loss at the ε that minimises it on these rows; it is optimistic.
"""

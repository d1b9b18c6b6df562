"""What every calibrator maps a score to, and the epsilon of splines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.method_results import function_findings
from calib.calibrators import CALIBRATORS
from calib.crossfit.epsilon import (
    EPSILONS,
    CrossFitFolds,
    EpsilonCurve,
    by_rule,
    cross_fit_folds,
    epsilon_curve,
    takes_epsilon,
)
from calib.curves.functions import CalibrationFunction
from calib.data.progress import Progress
from calib.figures.functions import compact_logit_chart, functions_chart
from calib.figures.losses import epsilon_chart
from calib.text import interval, joined, level, number, plain, significant
from calib.ui.controls import use_calibrator, widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import charts, frame, tables, words
from calib.ui.session import choices, state
from calib.ui.session.choices import OVER_EPSILON
from calib.ui.session.memo import KeyedCall
from calib.ui.session.session import Session

READING = (
    "Each line maps the model's score (x) to a calibrated probability (y). The dots are bins of "
    "{}: mean score against observed frequency, with its interval."
)
TRANSFORM = (
    "Splines are fitted on this scale, which spreads out scores near 0 and 1. Scores outside "
    "[ε, 1 − ε] are left unchanged ([Lucena 2018](https://arxiv.org/abs/1809.07751), section 5.1)."
)
EFFECT = (
    "Log loss on held-out rows; the large marker is the ε in use. Do not report the loss at the ε "
    "that minimises it on these rows; it is optimistic."
)
VIEW_NOTE = (
    "Calibrators of a matrix use the whole row, so a curve over one score cannot show them. The "
    "curves below are fitted to the score of this view alone, and methods that need the matrix are "
    "left out. The tables have the calibrators of the matrix."
)


def body(session: Session, model: state.Model) -> None:
    analysis = frame.one_score_analysis(session, model)
    if session.is_matrix:
        st.info(f"{VIEW_NOTE} {plain(analysis.recommendation.sentence)}")
    findings = function_findings(analysis)
    st.markdown(f"### {plain(findings.sentence)}")
    if findings.detail:
        st.markdown(plain(findings.detail))
    if reason := words.too_few(analysis):
        st.info(reason)
        return
    left, right = st.columns([7, 6], gap="large")
    with left:
        with widgets.toolbar("calibrators"):
            widgets.axis(session)
            widgets.control(session, choices.KNOTS)
        diagram(session, analysis)
    with right:
        parameters(session, replace(model, analysis=analysis))
    spline_settings(session, analysis)


def diagram(session: Session, analysis: LiveAnalysis) -> None:
    tested = analysis.data.protocol == "test rows"
    axis = session[choices.AXIS]
    drawn = charts.kept(
        functions_chart,
        analysis,
        tuple(analysis.methods),
        rows="test" if tested else "fitted",
        axis=axis or "linear",
        highlight_knots=session[choices.KNOTS],
        by_rule=automatic_calibrators(session, analysis),
    )
    charts.chart(drawn, "chart_functions")
    rows = f"the {analysis.data.n_rows:,} test rows" if tested else "all rows"
    st.caption(READING.format(rows))


def parameters(session: Session, model: state.Model) -> None:
    """One row per method, the lowest held-out loss first."""
    analysis = model.analysis
    at = level(analysis.settings.confidence_level)
    with st.container(key="parameters", gap=None):
        titles = ["Calibrator", "Parameters", f"Log loss, {at} CI"]
        titles += [] if session.is_matrix else ["Code"]
        head = "".join(f"<span>{title}</span>" for title in titles)
        st.html(f'<div class="parameters head" aria-hidden="true">{head}</div>')
        for key in analysis.ranked:
            with st.container(key=f"parameters_{key}"):
                st.html(parameters_row(analysis, key))
                # A matrix has curves of one view, but its calibrators for use map whole rows.
                if not session.is_matrix:
                    use_calibrator.row_button(session, model, key)
        tables.with_buttons("parameters", "calibrators", copied_parameters(analysis))
        st.caption("s is the score. Log loss on held-out rows.")


def copied_parameters(analysis: LiveAnalysis) -> list[Iterable[object]]:
    lines = [
        {
            "calibrator": CALIBRATORS[key].label,
            "parameters": analysis.held_out.calibrators[key].n_parameters(),
            **analysis.methods[key].metrics["log_loss"].with_bounds("log_loss"),
            "formula": words.formula(analysis.methods[key]),
        }
        for key in analysis.ranked
    ]
    return [lines[0], *(line.values() for line in lines)]


def parameters_row(analysis: LiveAnalysis, key: str) -> str:
    method, loss = analysis.methods[key], analysis.methods[key].metrics["log_loss"]
    is_advised = key == analysis.recommendation.method
    name = f"<b>{escape(CALIBRATORS[key].label)}</b>{' recommended' if is_advised else ''}"
    return (
        f'<div class="parameters{" marked" if is_advised else ""}">'
        f"<span>{name}</span>"
        f"<span>{words.parameter_count(analysis, key)}"
        '<span class="unseen"> parameters</span></span>'
        f'<span><span class="unseen">log loss </span>{number(loss.value)}'
        f"<small>{interval(loss)}</small></span>"
        f"<small>{escape(words.formula(method))}</small></div>"
    )


def spline_settings(session: Session, analysis: LiveAnalysis) -> None:
    """Epsilon of splines, computed when it is opened."""
    options = epsilon_methods(analysis)
    if not options:
        return
    chosen = bool({choices.EPSILON, OVER_EPSILON} & session.explicit)
    settings = st.expander(
        "Spline settings", expanded=chosen, key="spline_settings", on_change="rerun"
    )
    if not settings.open:
        return
    with settings:
        scale, effect = st.columns(2, gap="large")
        with scale:
            transform(session, analysis)
        with effect:
            st.markdown("#### Effect of epsilon")
            over_epsilon(session, analysis, options)


def transform(session: Session, analysis: LiveAnalysis) -> None:
    st.markdown("#### Compact logit")
    widgets.epsilon(session, analysis.compact_logit.rule)
    drawn = compact_logit_chart(analysis)
    charts.chart(drawn, "chart_compact_logit")
    st.caption(TRANSFORM)


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
    made = KeyedCall(by_rule, analysis.held_out, keys)
    return session.memo(made, analysis.source, analysis.settings.view, keys)


def over_epsilon(session: Session, analysis: LiveAnalysis, options: tuple[str, ...]) -> None:
    chosen = OVER_EPSILON.among(session[OVER_EPSILON], options) or options[:1]
    if len(options) > 1:
        control(session, OVER_EPSILON, options, value=chosen)
    slot = st.empty()

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{text} …")

    curves = [curve(session, analysis, key, progress) for key in chosen]
    with slot.container():
        drawn = epsilon_chart(analysis, curves)
        charts.chart(drawn, "chart_epsilon")
        st.caption(f"{epsilon_matters(analysis, curves)} {EFFECT}")


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
        return session.memo(KeyedCall(cross_fit_folds, held_out), data, folds)

    def log_loss(epsilon: float) -> float:
        nonlocal point
        made = KeyedCall(_log_loss, count, key, epsilon, tell)
        value = session.memo.heavy(made, data, folds, key, epsilon)
        point += 1
        return value

    return epsilon_curve(key, folds, held_out.fitted_on, log_loss)


def _log_loss(
    count: Callable[[], CrossFitFolds], key: str, epsilon: float, progress: Progress
) -> float:
    return count().log_loss(key, epsilon, progress)


def epsilon_matters(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
    """Say whether epsilon matters: how much the loss moves, against its own uncertainty."""
    losses = {curve: analysis.methods[curve.key].metrics["log_loss"] for curve in curves}
    much = any(curve.swing > (loss.high - loss.low) / 2.0 for curve, loss in losses.items())
    lead = "Epsilon matters" if much else "Epsilon matters little"
    moves = joined([f"{CALIBRATORS[one.key].short_label} by {number(one.swing)}" for one in curves])
    grid = curves[0].epsilon
    ends = f"{significant(grid.min(), 1)} to {significant(grid.max(), 2)}"
    return f"**{lead}**: from ε = {ends} the log loss moves, of {moves}."

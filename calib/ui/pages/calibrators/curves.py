"""What every calibrator maps a score to, and the epsilon of splines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from calib.analysis import Analysis, LiveAnalysis, MethodResult
from calib.analysis.method_results import function_findings
from calib.blocks.kinds import Code, Facts, Paragraph, Text
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
from calib.data.base import Progress
from calib.figures.functions import (
    Rows,
    adjustments_chart,
    compact_logit_chart,
    functions_chart,
)
from calib.figures.losses import epsilon_chart
from calib.text import joined, number, plain, significant
from calib.ui.controls import widgets
from calib.ui.controls.widgets import control
from calib.ui.layout import charts, words
from calib.ui.session import choices
from calib.ui.session.choices import OVER_EPSILON
from calib.ui.session.memo import KeyedCall
from calib.ui.session.session import Session

READING = "Dots are bins of {}, with the interval of the observed frequency."
AUTOMATIC = (
    ", automatic: one order of magnitude below the smallest distance of a score from 0 or 1."
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
    "curves are fitted to the score of this view alone, and methods that need the matrix are "
    "left out. The first table has the calibrators of the matrix."
)


def body(session: Session, analysis: LiveAnalysis) -> None:
    """The curves of all calibrators, and what they add to a score."""
    if session.is_matrix:
        st.info(f"{VIEW_NOTE} {plain(analysis.recommendation.sentence)}")
    if reason := words.too_few(analysis):
        st.info(reason)
        return
    with widgets.toolbar("calibrators"):
        axis = session[choices.AXIS] or "linear"
        control(session, choices.AXIS, value=axis, label_visibility="collapsed")
        knots = control(session, choices.KNOTS)
        if epsilon_methods(analysis):
            control(session, choices.EPSILON, width=300)
    tested = analysis.data.protocol == "test rows"
    rows: Rows = "test" if tested else "fitted"
    methods, by_rule = tuple(analysis.methods), automatic_calibrators(session, analysis)
    small, wide = st.columns([3, 7], gap="large")
    with small:
        drawn = charts.kept(
            functions_chart, analysis, methods, rows=rows, axis=axis, by_rule=by_rule, small=True
        )
        charts.chart(drawn, "chart_functions", widths=charts.SQUARE_WIDTHS)
    with wide:
        drawn = charts.kept(
            adjustments_chart,
            analysis,
            methods,
            rows=rows,
            axis=axis,
            by_rule=by_rule,
            highlight_knots=knots,
        )
        charts.chart(drawn, "chart_adjustments")
    findings = function_findings(analysis)
    about = f"{plain(findings.sentence)}. {plain(findings.detail)}".strip()
    place = f"the {analysis.data.n_rows:,} test rows" if tested else "all rows"
    st.caption(f"{about} {READING.format(place)}")


def opened(
    analysis: LiveAnalysis, methods: Mapping[str, MethodResult]
) -> dict[str, tuple[Text, ...]]:
    """What the row of each method opens: its words, formula, parameters and code."""
    return {
        key: (
            Paragraph(CALIBRATORS[key].summary),
            Facts(
                (
                    ("Formula, s is the score", words.formula(method)),
                    ("Parameters", words.parameter_count(analysis, key)),
                )
            ),
            *([] if key == "uncalibrated" else [Code(_code(analysis, key))]),
        )
        for key, method in methods.items()
    }


def _code(analysis: LiveAnalysis, key: str) -> str:
    """The line of Python that makes the calibrator, before it is fitted."""
    used = f", epsilon={significant(analysis.compact_logit.epsilon)}" if takes_epsilon(key) else ""
    return f'calib.calibrator("{key}"{used})'


def epsilon(session: Session, analysis: LiveAnalysis) -> None:
    """The value of epsilon; its effect is computed when it is opened."""
    options = epsilon_methods(analysis)
    if not options:
        return
    st.markdown("### Epsilon of splines")
    logit, chosen = analysis.compact_logit, session.settings.epsilon
    with st.container(horizontal=True, vertical_alignment="center", key="epsilon_value"):
        st.markdown(f"**ε = {significant(logit.epsilon, 2)}**{'' if chosen else AUTOMATIC}")
        if chosen is None:
            # The value stays the same, so that a person can first compare and then move it.
            fix = (choices.EPSILON, logit.rule)
            st.button("Fix this value", key="fix_epsilon", on_click=session.change, args=fix)
    st.caption(TRANSFORM)
    is_chosen = bool({choices.EPSILON, OVER_EPSILON} & session.explicit)
    effect = st.expander(
        "Effect on the held-out log loss",
        expanded=is_chosen,
        key="epsilon_effect",
        on_change="rerun",
    )
    if effect.open:
        with effect:
            losses, scale = st.columns(2, gap="large")
            with losses:
                over_epsilon(session, analysis, options)
            with scale:
                charts.chart(compact_logit_chart(analysis), "chart_compact_logit")


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

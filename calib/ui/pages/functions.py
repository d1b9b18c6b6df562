"""Epsilon on the Functions page: its curves, each point computed once, and whether it matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

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
from calib.crossfit.settings import Settings
from calib.curves.functions import CalibrationFunction, CompactLogitCurve
from calib.data.progress import Progress
from calib.figures.losses import epsilon_chart
from calib.numerics.estimate import Estimate
from calib.text import interval, level, number, significant
from calib.ui.controls.widgets import control
from calib.ui.layout import charts
from calib.ui.layout.words import n_folds
from calib.ui.session.choices import OVER_EPSILON, method_label
from calib.ui.session.memo import Keyed, keep
from calib.ui.session.session import Session
from calib.ui.session.state import shared_memo

SOURCE = (
    "The compact logit and its epsilon are from "
    "[Lucena 2018](https://arxiv.org/abs/1809.07751), section 5.1."
)
keep(1)(cross_fit_folds)


def methods(analysis: LiveAnalysis) -> tuple[str, ...]:
    """The analysed methods that epsilon changes."""
    return tuple(key for key in analysis.methods if takes_epsilon(key))


def rule_maps(session: Session, analysis: LiveAnalysis) -> Mapping[str, CalibrationFunction]:
    """Functions with the automatic epsilon, for methods that it changes. Empty if it is in use."""
    known, keys = analysis.compact_logit, methods(analysis)
    if known.epsilon == known.rule:
        return {}
    # Fitted on all rows: no fold counts, and not the epsilon in use.
    made = Keyed(by_rule, analysis.held_out, keys)
    return session.memo(made, analysis.data.fingerprint, analysis.settings.view, keys)


def over_epsilon(session: Session, analysis: LiveAnalysis) -> Sequence[EpsilonCurve]:
    options = methods(analysis)
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
    """A person who moves on while it is computed ends it: the points that are done are kept."""
    held_out, folds = analysis.held_out, _folds(analysis.settings)
    data, point = analysis.data.fingerprint, 0

    def tell(share: float, text: str) -> None:
        progress((point + share) / len(EPSILONS), text)

    def count() -> CrossFitFolds:
        tell(0.0, "Counting the rows of every fold")
        return session.memo(Keyed(cross_fit_folds, held_out), data, folds)

    def log_loss(epsilon: float) -> float:
        nonlocal point
        made = Keyed(_log_loss, count, key, epsilon, tell)
        value = shared_memo().heavy(made, data, folds, key, epsilon)
        point += 1
        return value

    return epsilon_curve(key, held_out.fitted_on, log_loss)


def _log_loss(
    count: Callable[[], CrossFitFolds], key: str, epsilon: float, progress: Progress
) -> float:
    return count().log_loss(key, epsilon, progress)


def _folds(settings: Settings) -> Settings:
    """What the curve depends on: the view and the folds, not the methods nor the epsilon in use."""
    return replace(settings.fitting(), methods=(), epsilon=None)


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
    """Whether epsilon matters for these scores: how many are outside, how much the loss moves."""
    known = analysis.compact_logit
    n_all, n = analysis.data.n_calibration, known.n_outside
    outside = (
        f"{'none' if not n else f'{n:,}'} of {n_all:,} scores "
        f"{'is' if n < 2 else 'are'} outside [ε, 1 − ε] at ε = {significant(known.epsilon)}"
    )
    if not curves:
        if is_known:
            return f"**Epsilon has no effect**: no chosen calibrator uses it; {outside}."
        return f"{outside[0].upper()}{outside[1:]}."
    losses = {curve: analysis.methods[curve.key].metrics["log_loss"] for curve in curves}
    # By more than the uncertainty of the loss itself.
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

"""Epsilon on the Functions page: its curves and functions, each point of them computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from calib.analysis import LiveAnalysis
from calib.analysis.run import Data
from calib.core.progress import Progress
from calib.crossfit.cross_fitted import CrossFitted
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
from calib.curves.functions import CalibrationFunction
from calib.figures.epsilon import epsilon_chart
from calib.ui.controls import widgets
from calib.ui.layout import charts
from calib.ui.session.memo import Unkeyed, keep
from calib.ui.session.session import Session
from calib.ui.session.state import shared_memo

SOURCE = (
    "The compact logit and its epsilon are from "
    "[Lucena 2018](https://arxiv.org/abs/1809.07751), section 5.1."
)


def methods(analysis: LiveAnalysis) -> tuple[str, ...]:
    """The analysed methods that epsilon changes."""
    return tuple(key for key in analysis.methods if takes_epsilon(key))


def rule_maps(session: Session, analysis: LiveAnalysis) -> Mapping[str, CalibrationFunction]:
    """Functions with the automatic epsilon, for methods that it changes. Empty if it is in use."""
    known, keys = analysis.compact_logit, methods(analysis)
    if known.epsilon == known.rule:
        return {}
    # Fitted on all rows: no fold counts, and not the epsilon in use.
    made = Unkeyed(_by_rule, held_out=analysis.held_out)
    return session.memo(made, analysis.data.fingerprint, analysis.settings.view, keys)


def _by_rule(
    _fingerprint: str, _view: str, keys: tuple[str, ...], *, held_out: CrossFitted
) -> Mapping[str, CalibrationFunction]:
    return by_rule(held_out, keys)


def over_epsilon(session: Session, rows: Data, analysis: LiveAnalysis) -> Sequence[EpsilonCurve]:
    """Log loss over epsilon of the methods that a person picks; progress until it is there."""
    options = methods(analysis)
    if not options:
        st.caption("None of the chosen methods uses the compact logit. Add Spline to see its loss.")
        return ()
    chosen = widgets.over_epsilon(session, options) if len(options) > 1 else options
    slot = st.empty()

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{text} …")

    curves = [curve(session, rows, analysis, key, progress) for key in chosen]
    with slot.container():
        charts.chart(epsilon_chart(analysis, curves), "chart_epsilon")
    return curves


def curve(
    session: Session, rows: Data, analysis: LiveAnalysis, key: str, progress: Progress
) -> EpsilonCurve:
    """Held-out log loss of a method over epsilon.

    A person who moves on while it is computed ends it: the points that are done are kept.
    """
    held_out, folds = analysis.held_out, _folds(analysis.settings)
    point = 0

    def tell(share: float, text: str) -> None:
        progress((point + share) / len(EPSILONS), text)

    def count() -> CrossFitFolds:
        tell(0.0, "Counting the rows of every fold")
        return session.memo(Unkeyed(_counted, held_out=held_out), rows, folds)

    def log_loss(epsilon: float) -> float:
        nonlocal point
        made = Unkeyed(_log_loss, count=count, progress=tell)
        value = shared_memo().heavy(made, rows.fingerprint, folds, key, epsilon)
        point += 1
        return value

    return epsilon_curve(key, held_out.fitted_on, log_loss)


def _log_loss(
    _fingerprint: str,
    _folds: Settings,
    key: str,
    epsilon: float,
    *,
    count: Callable[[], CrossFitFolds],
    progress: Progress,
) -> float:
    return count().log_loss(key, epsilon, progress)


@keep(1)
def _counted(_rows: Data, _folds: Settings, *, held_out: CrossFitted) -> CrossFitFolds:
    return cross_fit_folds(held_out)


def _folds(settings: Settings) -> Settings:
    """What the curve depends on: the view and the folds, not the methods nor the epsilon in use."""
    return replace(settings.fitting(), methods=(), epsilon=None)

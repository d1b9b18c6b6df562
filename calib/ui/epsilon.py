"""Epsilon on the Functions page: its curves and maps, each point of them computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from calib.analysis import Analysis
from calib.core.predictions import Predictions
from calib.crossfit.comparison import Progress
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
from calib.figures.epsilon import epsilon_chart
from calib.settings import Settings
from calib.ui import frame, how_to_read, widgets
from calib.ui.recent import Recent
from calib.ui.state import HEAVY, Session


@st.cache_resource
def _losses() -> Recent[float]:
    # Numbers only, by fingerprint: nothing of a person's rows.
    return Recent(most=4096)


def methods(analysis: Analysis) -> tuple[str, ...]:
    """The analysed methods that epsilon changes."""
    return tuple(key for key in analysis.methods if takes_epsilon(key))


def rule_maps(session: Session, analysis: Analysis) -> Mapping[str, CalibrationFunction]:
    """Maps under the paper's rule of the methods that epsilon changes; none if it is in use."""
    held_out, known = analysis.held_out, analysis.compact_logit
    if held_out is None or known.epsilon == known.rule:
        return {}
    key = (analysis.data.fingerprint, analysis.settings.view, methods(analysis))
    return session.rule_maps.get_or_make(key, lambda: by_rule(held_out, methods(analysis)))


def over_epsilon(session: Session, rows: Predictions, analysis: Analysis) -> None:
    """Log loss over epsilon of the methods that a person picks; progress until it is there."""
    options = methods(analysis)
    if not options:
        st.caption("None of the chosen methods is fitted on this scale: add Spline to see more.")
        return
    chosen = widgets.over_epsilon(session, options) if len(options) > 1 else options
    slot = st.empty()

    def progress(share: float, text: str) -> None:
        slot.progress(share, f"{text} …")

    curves = [curve(session, rows, analysis, key, progress) for key in chosen]
    with slot.container():
        frame.chart(epsilon_chart(analysis, curves), "chart_epsilon")
        st.markdown(how_to_read.epsilon(analysis, curves))


def curve(
    session: Session, rows: Predictions, analysis: Analysis, key: str, progress: Progress
) -> EpsilonCurve:
    """Held-out log loss of a method over epsilon.

    A person who moves on while it is computed ends it: the points that are done are kept.
    """
    held_out = analysis.held_out
    assert held_out is not None
    folds = _folds(analysis.settings)
    point = 0

    def rounds() -> CrossFitFolds:
        return session.rounds.get_or_make(
            (rows.fingerprint, folds), lambda: cross_fit_folds(held_out)
        )

    def fit(epsilon: float) -> float:
        def tell(share: float, text: str) -> None:
            progress((point + share) / len(EPSILONS), text)

        tell(0.0, "Counting the rows of every fold")
        with HEAVY:
            return rounds().log_loss(key, epsilon, tell)

    def log_loss(epsilon: float) -> float:
        nonlocal point
        value = _losses().get_or_make((rows.fingerprint, folds, key, epsilon), lambda: fit(epsilon))
        point += 1
        return value

    return epsilon_curve(key, held_out.fitted_on, log_loss)


def _folds(settings: Settings) -> Settings:
    """What the curve depends on: the view and the folds, not the methods nor the epsilon in use."""
    return replace(settings.fitting(), methods=(), epsilon=None)

"""Curves that only one page draws: computed when they are looked at, and then kept."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis import LiveAnalysis
from calib.crossfit.cross_fitted import CrossFitted
from calib.curves.rate import RateCurve, RateKind, corp_curve, smooth_curve
from calib.curves.sensitivity import Sensitivity, ece_sensitivity
from calib.ui.session.session import Session


def rates(
    session: Session, analysis: LiveAnalysis, method: str, kinds: Sequence[RateKind]
) -> tuple[RateCurve, ...]:
    """CORP and smooth curves of a method's held-out scores."""
    settings = analysis.settings
    chosen = (method, settings.confidence_level, settings.seed)
    return tuple(session.memo.heavy(_rate, analysis.held_out, kind, *chosen) for kind in kinds)


def _rate(held_out: CrossFitted, kind: RateKind, method: str, level: float, seed: int) -> RateCurve:
    cells, clusters = held_out.cells[method], held_out.clusters(method)
    if kind == "smooth":
        return smooth_curve(cells, confidence_level=level, clusters=clusters)
    return corp_curve(cells, confidence_level=level, random_state=seed, clusters=clusters)


def sensitivity(session: Session, analysis: LiveAnalysis, method: str) -> Sensitivity:
    """ECE of a method's held-out scores over the number of bins."""
    level = analysis.settings.confidence_level
    return session.memo.heavy(_sensitivity, analysis.held_out, method, level)


def _sensitivity(held_out: CrossFitted, method: str, level: float) -> Sensitivity:
    cells, replicates = held_out.cells[method], held_out.replicates[method]
    return ece_sensitivity(cells, replicates, confidence_level=level)

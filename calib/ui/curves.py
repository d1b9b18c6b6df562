"""Curves that only one page draws: computed when they are looked at, and then kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from calib.analysis import Analysis
from calib.curves.corp import corp_curve
from calib.curves.rate import RateCurve, RateKind
from calib.curves.sensitivity import Sensitivity, ece_sensitivity
from calib.curves.smooth import smooth_curve
from calib.settings import Settings
from calib.ui.state import HEAVY, Session

Key = tuple[str, Settings, str]


def rates(
    session: Session, analysis: Analysis, method: str, kinds: Sequence[RateKind]
) -> tuple[RateCurve, ...]:
    """CORP and smooth curves of a method's held-out scores; none in an opened report."""
    held_out, settings = analysis.held_out, analysis.settings
    if held_out is None:
        return ()
    cells, level = held_out.cells[method], settings.confidence_level
    clusters = held_out.clusters(method)

    def make(kind: RateKind) -> RateCurve:
        with HEAVY:
            if kind == "smooth":
                return smooth_curve(cells, confidence_level=level, clusters=clusters)
            return corp_curve(
                cells, confidence_level=level, random_state=settings.seed, clusters=clusters
            )

    key = _key(analysis, method)
    return tuple(session.rates.get_or_make((key, kind), partial(make, kind)) for kind in kinds)


def sensitivity(session: Session, analysis: Analysis, method: str) -> Sensitivity | None:
    """ECE of a method's held-out scores over the number of bins; None in an opened report."""
    held_out, level = analysis.held_out, analysis.settings.confidence_level
    if held_out is None:
        return None
    cells, replicates = held_out.cells[method], held_out.replicates[method]

    def make() -> Sensitivity:
        with HEAVY:
            return ece_sensitivity(cells, replicates, confidence_level=level)

    return session.sensitivities.get_or_make(_key(analysis, method), make)


def _key(analysis: Analysis, method: str) -> Key:
    """All that held-out scores and their intervals depend on: everything but the bins."""
    settings = analysis.settings
    fitting = replace(settings.fitting(), confidence_level=settings.confidence_level)
    return analysis.data.fingerprint, fitting, method

"""Curves that only one page draws: computed when they are looked at, and then kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from calib.analysis import Analysis
from calib.curves.corp import corp_curve
from calib.curves.rate import RateCurve, RateKind
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

    def make(kind: RateKind) -> RateCurve:
        with HEAVY:
            if kind == "smooth":
                return smooth_curve(cells, confidence_level=level)
            return corp_curve(cells, confidence_level=level, random_state=settings.seed)

    key = _key(analysis, method)
    return tuple(session.rates.get_or_make((key, kind), partial(make, kind)) for kind in kinds)


def _key(analysis: Analysis, method: str) -> Key:
    """All that held-out scores and their intervals depend on: everything but the bins."""
    settings = analysis.settings
    fitting = replace(settings.fitting(), confidence_level=settings.confidence_level)
    return analysis.data.fingerprint, fitting, method

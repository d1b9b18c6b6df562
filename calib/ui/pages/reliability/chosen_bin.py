"""Results that only the Reliability page draws: a chosen bin, curves without bins, sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.analysis import LiveAnalysis
from calib.analysis.slices import SliceMix, Slicing, bin_of, bin_rows, slice_mix
from calib.crossfit.cross_fitted import CrossFitted
from calib.curves.rate import RateCurve, RateKind, corp_curve, smooth_curve
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.curves.sensitivity import Sensitivity, ece_sensitivity
from calib.numerics.arrays import IntArray
from calib.ui.session.choices import BIN_AT, BIN_OF, SCORE_RANGE
from calib.ui.session.memo import keep
from calib.ui.session.session import Session


@dataclass(frozen=True, slots=True, eq=False)
class ChosenBin:
    """A bin of one method's reliability diagram, or a range of scores that a person chose."""

    method: str
    curve: ReliabilityCurve
    # The position among the bins that have rows. If it is None, no bin is chosen, or the chosen one
    # is empty.
    position: int | None
    # Whether the bins of `curve` are a range of scores and the scores on both sides of it.
    is_range: bool = False

    @property
    def ring(self) -> tuple[str, int] | None:
        """The method and the position of the bin that the diagram marks."""
        if self.position is None or self.is_range:
            return None
        return self.method, self.position


def chosen(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> ChosenBin:
    """The chosen range, or else the bin that contains the chosen score."""
    method, score, ends = session[BIN_OF], session[BIN_AT], session[SCORE_RANGE]
    methods = analysis.methods if score is not None else shown
    method = method if method in methods else shown[0]
    if ends:
        level = session.settings.confidence_level
        curve = session.memo(range_curve, analysis.held_out, method, ends, level)
        return ChosenBin(method, curve, bin_of(curve, ends[1]), is_range=True)
    curve = analysis.methods[method].reliability
    return ChosenBin(method, curve, None if score is None else bin_of(curve, score))


def range_curve(
    held_out: CrossFitted, method: str, ends: tuple[float, ...], level: float
) -> ReliabilityCurve:
    """A reliability curve of three bins: a range of scores, and the scores on both sides."""
    return reliability_curve(
        held_out.cells[method],
        edges=np.unique([0.0, *ends, 1.0]),
        confidence_level=level,
        clusters=held_out.clusters(method),
    )


@keep(4)
def rows(held_out: CrossFitted, method: str, curve: ReliabilityCurve, position: int) -> IntArray:
    return bin_rows(curve, position, held_out.row_scores(method))


def mix(
    held_out: CrossFitted,
    method: str,
    curve: ReliabilityCurve,
    position: int,
    cut: Slicing,
    level: float,
) -> SliceMix:
    view = held_out.given_rows
    inside = np.zeros(len(view), dtype=np.bool_)
    inside[rows(held_out, method, curve, position)] = True
    return slice_mix(cut, inside, view.weight, view.group, confidence_level=level)


def rates(
    session: Session, analysis: LiveAnalysis, method: str, kinds: Sequence[RateKind]
) -> tuple[RateCurve, ...]:
    settings = analysis.settings
    chosen = (method, settings.confidence_level, settings.seed)
    return tuple(session.memo.heavy(_rate, analysis.held_out, kind, *chosen) for kind in kinds)


def _rate(held_out: CrossFitted, kind: RateKind, method: str, level: float, seed: int) -> RateCurve:
    cells, clusters = held_out.cells[method], held_out.clusters(method)
    if kind == "smooth":
        return smooth_curve(cells, confidence_level=level, clusters=clusters)
    return corp_curve(cells, confidence_level=level, random_state=seed, clusters=clusters)


def sensitivity(held_out: CrossFitted, method: str, level: float) -> Sensitivity:
    cells, replicates = held_out.cells[method], held_out.replicates[method]
    return ece_sensitivity(cells, replicates, confidence_level=level)

"""A bin that is looked into: which one, its rows, and the mix of its slices, each found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.analysis import Analysis
from calib.analysis.slices import SliceMix, Slicing, bin_of, bin_rows, slice_mix
from calib.crossfit.cross_fitted import CrossFitted
from calib.curves.reliability import ReliabilityCurve
from calib.numerics.arrays import IntArray
from calib.ui.choices import BIN_AT, BIN_OF
from calib.ui.memo import keep
from calib.ui.state import Session


@dataclass(frozen=True, slots=True, eq=False)
class ChosenBin:
    """A bin of one method's reliability diagram.

    Attributes
    ----------
    method : str
    curve : ReliabilityCurve
    position : int or None
        Among the occupied bins; None where none is chosen, or the chosen score's bin is empty.
    """

    method: str
    curve: ReliabilityCurve
    position: int | None

    @property
    def ring(self) -> tuple[str, int] | None:
        """What the diagram marks."""
        return None if self.position is None else (self.method, self.position)


def chosen(session: Session, analysis: Analysis, shown: Sequence[str]) -> ChosenBin:
    """The bin that holds the chosen score, among those of the chosen method."""
    method, score = session[BIN_OF], session[BIN_AT]
    known = analysis.methods if score is not None else shown
    method = method if method in known else shown[0]
    curve = analysis.methods[method].reliability
    return ChosenBin(method, curve, None if score is None else bin_of(curve, score))


@keep(4)
def rows(held_out: CrossFitted, method: str, curve: ReliabilityCurve, position: int) -> IntArray:
    """Indices of its rows."""
    return bin_rows(curve, position, held_out.row_scores(method))


def mix(
    held_out: CrossFitted,
    method: str,
    curve: ReliabilityCurve,
    position: int,
    cut: Slicing,
    level: float,
) -> SliceMix:
    """Its slices against those of all other rows."""
    view = held_out.given_rows
    inside = np.zeros(len(view), dtype=np.bool_)
    inside[rows(held_out, method, curve, position)] = True
    return slice_mix(cut, inside, view.weight, view.group, confidence_level=level)

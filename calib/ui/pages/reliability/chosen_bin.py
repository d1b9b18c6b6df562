"""The bin, or the range of scores, that a person chose on the Reliability page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calib.analysis import LiveAnalysis
from calib.analysis.slices import bin_of
from calib.curves.reliability import ReliabilityCurve
from calib.ui.session import results
from calib.ui.session.choices import BIN_AT, BIN_OF, SCORE_RANGE
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
        curve = session.memo(results.range_curve, analysis.held_out, method, ends, level)
        return ChosenBin(method, curve, bin_of(curve, ends[1]), is_range=True)
    curve = analysis.methods[method].reliability
    return ChosenBin(method, curve, None if score is None else bin_of(curve, score))

"""Clipping: no score may be surer than a bound."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator, register
from calib.core.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import clip_certain

CANDIDATES = (1e-2, 1e-3, 1e-4, 1e-5)


@register(
    "clip",
    "Clip",
    simplicity=5,
    summary="Assumes that only the scores nearest to 0 and 1 are wrong, being too sure.",
    source="Lucena 2018, arXiv:1809.07751",
)
class Clip(Calibrator):
    """min(max(s, p_min), 1 - p_min).

    Parameters
    ----------
    p_min : float or None
        Bound in (0, 0.5); None takes the one of 1e-2, 1e-3, 1e-4, 1e-5 with the least log loss on
        the fitted rows, and of equal ones the smallest.

    Attributes
    ----------
    p_min_ : float
        Bound in use.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", arXiv:1809.07751.

    Examples
    --------
    >>> fitted = Clip().fit([0.0, 0.2, 0.7, 1.0], [0, 0, 1, 0])
    >>> fitted.predict([0.0, 0.5, 1.0])
    array([0.01, 0.5 , 0.99])
    """

    def __init__(self, p_min: float | None = None) -> None:
        self.p_min = p_min

    def _fit(self, cells: ScoreCells) -> None:
        if self.p_min is None:
            self.p_min_ = min(reversed(CANDIDATES), key=lambda p_min: _log_loss(cells, p_min))
        elif 0.0 < self.p_min < 0.5:
            self.p_min_ = float(self.p_min)
        else:
            raise ValueError(f"p_min must fulfil 0 < p_min < 0.5, got {self.p_min}.")

    def _map(self, scores: FloatArray) -> FloatArray:
        return _clipped(scores, self.p_min_)

    def formula(self) -> str:
        """The fitted map in words and numbers."""
        return f"min(max(s, {self.p_min_:g}), 1 - {self.p_min_:g})"

    def knots(self) -> FloatArray:
        """Both bounds."""
        return np.array([self.p_min_, 1.0 - self.p_min_])


def _clipped(scores: FloatArray, p_min: float) -> FloatArray:
    return np.clip(scores, p_min, 1.0 - p_min)


def _log_loss(cells: ScoreCells, p_min: float) -> float:
    p = clip_certain(_clipped(cells.score, p_min))
    return -float(cells.positive @ np.log(p) + cells.negative @ np.log1p(-p))

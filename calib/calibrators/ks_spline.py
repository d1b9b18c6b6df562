"""KS-spline: the slope of a spline through the cumulative difference of outcomes and scores."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator, register
from calib.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.cumulative_spline import fit_cumulative_spline


@register(
    "ks_spline",
    "KS spline",
    simplicity=64,
    summary="Assumes that outcomes drift from scores smoothly along the ranking of the rows.",
    source="Gupta et al. 2021, section 4, arXiv:2006.12800",
)
class KSSpline(Calibrator):
    """s + h'(t): t is the share of rows scored below s, h the cumulative outcome minus score.

    h is fitted by a natural cubic spline of few even knots in least squares. Its slope is the gap
    between the observed rate and the score at that place of the ranking. Tied scores share one
    place, the middle of their run. The result is clipped to [0, 1].

    Parameters
    ----------
    n_knots : int
        At least 2.

    Attributes
    ----------
    spline_ : CubicSpline
        h on [0, 1].
    scores_, fractiles_ : ndarray of shape (k,)
        Distinct scores, and the place of each in the ranking.

    References
    ----------
    Gupta et al. 2021, "Calibration of neural networks using splines", arXiv:2006.12800.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.linspace(0.005, 0.995, 100)
    >>> y = np.arange(100) % 4 == 0  # a quarter, whatever the score
    >>> KSSpline().fit(scores, y).predict([0.3, 0.7]).round(2)
    array([0.25, 0.25])
    """

    monotone = False

    def __init__(self, n_knots: int = 6) -> None:
        self.n_knots = n_knots

    def _fit(self, cells: ScoreCells) -> None:
        total = cells.total_weight
        ends = cells.cumulative_weight / total
        gap = (cells.cumulative_positive - cells.cumulative_score) / total
        self.spline_ = fit_cumulative_spline(ends, gap, self.n_knots)
        self.scores_ = cells.score
        self.fractiles_ = (ends[1:] + ends[:-1]) / 2.0

    def _map(self, scores: FloatArray) -> FloatArray:
        t = np.interp(scores, self.scores_, self.fractiles_)
        return scores + self.spline_.derivative()(t)

    def knots(self) -> FloatArray:
        """Scores at the even fractiles that are the knots."""
        return np.interp(self.spline_.x, self.fractiles_, self.scores_)

    def formula(self) -> str:
        """The fitted map in words and numbers."""
        return (
            f"s + h'(t(s)), clipped to [0, 1]: h a natural cubic spline with {self.n_knots} knots "
            "through the cumulative outcome minus score, t(s) the share of rows scored below s"
        )

"""KS-spline: the slope of a spline through the cumulative difference of outcomes and scores."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator, register
from calib.core.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.certain_rates import shrink_certain
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
    place, the middle of their run.

    Nothing keeps s + h'(t) within [0, 1]. It is clipped to what n rows of one outcome would show,
    1 / (n + 1 / b) and 1 - 1 / (n + 1 / (1 - b)) with n rows fitted and base rate b, or to the
    score itself where that is nearer to 0 or 1.

    Parameters
    ----------
    n_knots : int
        At least 2.
    shrink : bool
        False clips to [0, 1], as the paper does.

    Attributes
    ----------
    low_, high_ : float
        The bounds in use.
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

    def __init__(self, n_knots: int = 6, shrink: bool = True) -> None:
        self.n_knots = n_knots
        self.shrink = shrink

    def _fit(self, cells: ScoreCells) -> None:
        total = cells.total_weight
        ends = cells.cumulative_weight / total
        gap = (cells.cumulative_positive - cells.cumulative_score) / total
        self.spline_ = fit_cumulative_spline(ends, gap, self.n_knots)
        self.scores_ = cells.score
        self.fractiles_ = (ends[1:] + ends[:-1]) / 2.0
        bounds = np.array([0.0, 1.0])
        if self.shrink:
            bounds = shrink_certain(bounds, np.full(2, total), cells.base_rate)
        self.low_, self.high_ = bounds.tolist()

    def _map(self, scores: FloatArray) -> FloatArray:
        t = np.interp(scores, self.scores_, self.fractiles_)
        value = scores + self.spline_.derivative()(t)
        return np.clip(value, np.minimum(scores, self.low_), np.maximum(scores, self.high_))

    def knots(self) -> FloatArray:
        """Scores at the even fractiles that are the knots."""
        return np.interp(self.spline_.x, self.fractiles_, self.scores_)

    def formula(self) -> str:
        """The fitted map in words and numbers."""
        return (
            f"s + h'(t(s)), clipped to [{self.low_:.3g}, {self.high_:.6g}]: "
            f"h a natural cubic spline with {self.n_knots} knots "
            "through the cumulative outcome minus score, t(s) the share of rows scored below s"
        )

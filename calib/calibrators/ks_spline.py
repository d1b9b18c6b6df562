"""KS spline: the derivative of a spline that is fitted to the cumulative difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.calibrators.forms import Drift
from calib.calibrators.registry import register, register_matrix
from calib.calibrators.uncalibrated import Uncalibrated
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.class_scores import binary_problem, leading_classes
from calib.numerics.isotonic import shrink_certain
from calib.numerics.splines import fit_cumulative_spline, lines, of_polynomials


@register(
    "ks_spline",
    "KS spline",
    simplicity=64,
    summary="Assumes that the error of the scores changes smoothly along the ranking of the rows.",
    source="Gupta et al. 2021, section 4, arXiv:2006.12800",
    aliases="spline recalibration",
    weighs_evidence=True,
)
class KSSpline(Calibrator):
    """KS spline: s + h'(t), where t is the fractile of the score s.

    h(t) is the cumulative difference of outcomes and scores over the share t of rows with the
    lowest scores. It is fitted by least squares with a natural cubic spline with few, evenly spaced
    knots. Its derivative is the difference of observed rate and score. Equal scores have one
    fractile, the middle of their range.

    s + h'(t) can leave [0, 1]. It is clipped to 1 / (n + 1 / b) and 1 - 1 / (n + 1 / (1 - b)) with
    n fitted rows and base rate b, or to the score itself if that is nearer to 0 or 1.

    Parameters
    ----------
    n_knots : int, default 6
        Number of knots, at least 2.
    shrink : bool, default True
        If False, the result is clipped to [0, 1], as in the paper.

    Attributes
    ----------
    low_, high_ : float
        The bounds in use.
    spline_ : CubicSpline
        h on [0, 1].
    scores_, fractiles_ : ndarray of shape (k,)
        Distinct scores, and the fractile of each.

    References
    ----------
    Gupta et al. 2021, "Calibration of neural networks using splines", arXiv:2006.12800.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.linspace(0.005, 0.995, 100)
    >>> y = np.arange(100) % 4 == 0  # a rate of 1/4 at every score
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

    def to_map(self) -> Drift:
        slope = self.spline_.derivative()
        return Drift(
            lines(self.scores_, self.fractiles_),
            of_polynomials(slope.x, slope.c),
            self.low_,
            self.high_,
        )

    def knots(self) -> FloatArray:
        """Scores at the fractiles of the knots."""
        return np.interp(self.spline_.x, self.fractiles_, self.scores_)

    def n_parameters(self) -> float:
        return self.n_knots

    def formula(self) -> str:
        return (
            f"s + h'(t(s)), clipped to [{self.low_:.3g}, {self.high_:.6g}]: "
            f"h a natural cubic spline with {self.n_knots} knots "
            "through the cumulative outcome minus score, t(s) the share of rows scored below s"
        )


# A calibrated score is lower than that of the rank before it by this share, so that ranks stay.
MIN_RANK_STEP = 1e-9
# A smaller missing sum of a row is a rounding error.
ROUNDING = 1e-15
# This replaces scores of 0, so that they can get a share if all others are 0 too.
MIN_SCORE = 1e-300


@register_matrix(
    "ks_spline",
    "KS spline, top scores",
    "Assumes that the error of the top scores changes smoothly along their ranking.",
)
class TopSpline(MatrixCalibrator):
    """KS splines for the `n_top` highest scores of each row, one spline per rank.

    The paper calibrates only these scores. Here the other classes share the remaining probability
    in proportion to their scores. The ranking of the classes does not change: a calibrated score
    that is above the score of the rank before it is lowered to that score, and the excess goes to
    the later classes. So the `n_top` highest classes and the accuracy never change. If the class of
    a rank is always or never the true one, its scores do not change.

    Parameters
    ----------
    n_top : int, default 2
        Number of ranks, at least 1. Values above m - 1 count as m - 1.
    n_knots : int, default 6
        Number of knots, at least 2.
    shrink : bool, default True
        If False, a calibrated score can be exactly 0 or 1, as in the paper.

    Attributes
    ----------
    splines_ : list of Calibrator
        Splines of top-1, top-2, ...

    References
    ----------
    Gupta et al. 2021, "Calibration of neural networks using splines", arXiv:2006.12800.

    Examples
    --------
    >>> import numpy as np
    >>> top = np.linspace(0.5, 0.9, 100)
    >>> scores = np.column_stack([top, 0.75 * (1 - top), 0.25 * (1 - top)])
    >>> fitted = TopSpline(n_top=1).fit(scores, np.tile([0, 1], 50))  # accuracy 1/2
    >>> fitted.predict([[0.6, 0.3, 0.1]]).round(2)
    array([[0.5 , 0.37, 0.12]])
    """

    keeps_accuracy = True

    def __init__(self, n_top: int = 2, n_knots: int = 6, shrink: bool = True) -> None:
        self.n_top = n_top
        self.n_knots = n_knots
        self.shrink = shrink

    def _fit_rows(
        self,
        scores: FloatArray,
        label: IntArray,
        weight: FloatArray | None,
        groups: ArrayLike | None,
    ) -> None:
        if self.n_top < 1:
            raise ValueError(f"n_top must be at least 1, got {self.n_top}.")
        self.splines_: list[Calibrator] = []
        for r in range(1, min(self.n_top, scores.shape[1] - 1) + 1):
            score, outcome = binary_problem(scores, label, "top", r)
            one_outcome = outcome.all() or not outcome.any()
            unfitted = Uncalibrated() if one_outcome else KSSpline(self.n_knots, self.shrink)
            # The calibrator of a rank counts the evidence of its own rows.
            self.splines_.append(unfitted.fit(score, outcome, weight, groups))

    def _map(self, scores: FloatArray) -> FloatArray:
        ranked = leading_classes(scores, len(self.splines_))
        first = self._first(np.take_along_axis(scores, ranked, axis=1))
        rest = scores + MIN_SCORE
        np.put_along_axis(rest, ranked, 0.0, axis=1)
        left = np.maximum(1.0 - first.sum(axis=1), 0.0)
        rest *= (left / rest.sum(axis=1))[:, None]
        _level(rest, first[:, -1] * (1.0 - MIN_RANK_STEP))
        np.put_along_axis(rest, ranked, first, axis=1)
        rest /= rest.sum(axis=1, keepdims=True)
        return rest

    def _first(self, values: FloatArray) -> FloatArray:
        """The highest scores, calibrated and kept in their order among all scores of the row."""
        calibrated = np.empty_like(values)
        left, most = np.ones(len(values)), np.ones(len(values))
        for r, spline in enumerate(self.splines_):
            rest = self.n_classes_ - r
            # The bound is slightly above the mean of the rest, which then can keep a strict order.
            least = left / rest * (1.0 + rest * MIN_RANK_STEP)
            calibrated[:, r] = np.clip(spline.predict(values[:, r]), least, np.maximum(most, least))
            left = np.maximum(left - calibrated[:, r], 0.0)
            most = np.minimum(calibrated[:, r] * (1.0 - MIN_RANK_STEP), left)
        return calibrated

    def formula(self) -> str:
        return (
            f"s + h'(t(s)) for the {len(self.splines_)} first scores of a row, h a natural cubic "
            f"spline with {self.n_knots} knots; the rest shares what is left in proportion"
        )


def _level(rest: FloatArray, most: FloatArray) -> None:
    """Lower scores above `most` to it, and add the excess to the other scores of the row."""
    high = np.flatnonzero(rest.max(axis=1) > most)
    while len(high):
        row, top = rest[high], most[high, None]
        total = row.sum(axis=1)
        capped = row >= top
        row = np.minimum(row, top)
        free = np.where(capped, 0.0, row).sum(axis=1)
        missing = total - row.sum(axis=1)
        factor = 1.0 + missing / np.where(free > 0.0, free, 1.0)
        rest[high] = np.where(capped, row, row * factor[:, None])
        still = (missing > ROUNDING) & (free > 0.0)
        high = high[still]

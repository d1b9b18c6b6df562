"""KS-spline: the slope of a spline through the cumulative difference of outcomes and scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calib.calibrators.base import Calibrator, MatrixCalibrator
from calib.calibrators.forms import Drift
from calib.calibrators.registry import register, register_matrix
from calib.calibrators.uncalibrated import Uncalibrated
from calib.core.cells import ScoreCells
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.certain_rates import shrink_certain
from calib.numerics.class_scores import binary_problem, leading_classes
from calib.numerics.splines import fit_cumulative_spline, lines, of_polynomials


@register(
    "ks_spline",
    "KS spline",
    simplicity=64,
    summary="Assumes that the error of the scores changes smoothly along the ranking of the rows.",
    source="Gupta et al. 2021, section 4, arXiv:2006.12800",
    aliases="spline recalibration",
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

    def to_map(self) -> Drift:
        """The function as data."""
        slope = self.spline_.derivative()
        return Drift(
            lines(self.scores_, self.fractiles_),
            of_polynomials(slope.x, slope.c),
            self.low_,
            self.high_,
        )

    def knots(self) -> FloatArray:
        """Scores at the even fractiles that are the knots."""
        return np.interp(self.spline_.x, self.fractiles_, self.scores_)

    def formula(self) -> str:
        """The fitted function in words and numbers."""
        return (
            f"s + h'(t(s)), clipped to [{self.low_:.3g}, {self.high_:.6g}]: "
            f"h a natural cubic spline with {self.n_knots} knots "
            "through the cumulative outcome minus score, t(s) the share of rows scored below s"
        )


# Below its neighbour by this share, so that ties do not exchange ranks.
STEP_DOWN = 1e-9
ROUNDING = 1e-15
SMALLEST = 1e-300


@register_matrix(
    "ks_spline",
    "KS spline, top scores",
    "Assumes that the error of the top scores changes smoothly along their ranking.",
)
class TopSpline(MatrixCalibrator):
    """The n_top first scores of a row, each calibrated by a KS spline of its own view.

    The paper calibrates the r-th score as a number beside the predicted class. Here the rest of
    the row shares what is left in proportion to its scores, and no class overtakes: a score that
    would come out above the one ranked before it is lowered to that one, and the excess goes to
    the classes after it. So the first n_top classes and the accuracy never change. A rank whose
    class is always the true one, or never, keeps its scores.

    Parameters
    ----------
    n_top : int
        From 1 to m - 1 (more are cut to that).
    n_knots : int
        At least 2.
    shrink : bool
        False lets a calibrated score be exactly 0 or 1, as the paper does.

    Attributes
    ----------
    splines_ : list of Calibrator
        Of top-1, top-2, ...

    References
    ----------
    Gupta et al. 2021, "Calibration of neural networks using splines", arXiv:2006.12800.

    Examples
    --------
    >>> import numpy as np
    >>> top = np.linspace(0.5, 0.9, 100)
    >>> scores = np.column_stack([top, 0.75 * (1 - top), 0.25 * (1 - top)])
    >>> fitted = TopSpline(n_top=1).fit(scores, np.tile([0, 1], 50))  # right in half of the rows
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
        # Each rank's calibrator counts its own evidence.
        if self.n_top < 1:
            raise ValueError(f"n_top must be at least 1, got {self.n_top}.")
        self.splines_: list[Calibrator] = []
        for r in range(1, min(self.n_top, scores.shape[1] - 1) + 1):
            score, outcome = binary_problem(scores, label, "top", r)
            one_outcome = outcome.all() or not outcome.any()
            made = Uncalibrated() if one_outcome else KSSpline(self.n_knots, self.shrink)
            self.splines_.append(made.fit(score, outcome, weight, groups))

    def _map(self, scores: FloatArray) -> FloatArray:
        ranked = leading_classes(scores, len(self.splines_))
        first = self._first(np.take_along_axis(scores, ranked, axis=1))
        # The least float stands for 0, so that zeros can take a share where nothing else can.
        rest = scores + SMALLEST
        np.put_along_axis(rest, ranked, 0.0, axis=1)
        left = np.maximum(1.0 - first.sum(axis=1), 0.0)
        rest *= (left / rest.sum(axis=1))[:, None]
        _level(rest, first[:, -1] * (1.0 - STEP_DOWN))
        np.put_along_axis(rest, ranked, first, axis=1)
        rest /= rest.sum(axis=1, keepdims=True)
        return rest

    def _first(self, values: FloatArray) -> FloatArray:
        """The first scores, calibrated, none above the one before or below what comes after."""
        calibrated = np.empty_like(values)
        left, most = np.ones(len(values)), np.ones(len(values))
        for r, spline in enumerate(self.splines_):
            rest = self.n_classes_ - r
            # A hair above the mean of what is left, so that room remains for a strict order.
            least = left / rest * (1.0 + rest * STEP_DOWN)
            calibrated[:, r] = np.clip(spline.predict(values[:, r]), least, np.maximum(most, least))
            left = np.maximum(left - calibrated[:, r], 0.0)
            most = np.minimum(calibrated[:, r] * (1.0 - STEP_DOWN), left)
        return calibrated

    def formula(self) -> str:
        """The fitted function in words and numbers."""
        return (
            f"s + h'(t(s)) for the {len(self.splines_)} first scores of a row, h a natural cubic "
            f"spline with {self.n_knots} knots; the rest shares what is left in proportion"
        )


def _level(rest: FloatArray, most: FloatArray) -> None:
    """Lower what is above `most` to it, row by row, and raise the row's other scores instead."""
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

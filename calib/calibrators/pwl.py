"""A non-decreasing piecewise-linear function on quantile keypoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import Axis, Piecewise
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import quantile_cells
from calib.numerics.few_cells import into_buckets
from calib.numerics.isotonic import pool_adjacent_violators, shrink_certain
from calib.numerics.logistic import Loss, fit_bounded
from calib.numerics.splines import lines

MIN_PROBABILITY = 1e-12  # The log loss of a lower probability is mostly rounding error.
# Smaller differences of neighbouring values are rounding errors. The values are made equal, because
# ties of calibrated scores must not depend on the order in which a processor adds.
MIN_STEP = 1e-10


@register(
    "pwl",
    "Piecewise linear",
    simplicity=55,
    summary="Assumes that the rate never falls, and is linear between quantiles of the scores.",
    source="Richardson, Pospisil 2021; Gupta et al. 2016, arXiv:1505.06378",
    aliases="PWL, monotone piecewise-linear calibration",
    weighs_evidence=True,
)
class PiecewiseLinear(Calibrator):
    """Piecewise-linear calibration: a non-decreasing function, linear between keypoints.

    It is the calibrator of TF-Lattice, fitted to its optimum. Keypoints are at quantiles of the
    scores; beyond the lowest and highest score the function is constant. With the log loss, one
    more row is added, which is spread over all scores and has the base rate as its outcome; it
    keeps values away from 0 and 1. With the squared error, values stay within 1 / (n + 1 / b) and
    1 - 1 / (n + 1 / (1 - b)) with n rows and base rate b.

    Parameters
    ----------
    loss : {"log", "brier"}, default "log"
        Loss that is minimised: log loss or squared error.
    n_keypoints : int, default 10
        Approximate maximum number of keypoints, at least 2.

    Attributes
    ----------
    keypoints_, values_ : ndarray of shape (k,)
        Scores, and the calibrated probability at each.

    Raises
    ------
    ValueError
        If a parameter is out of its range, when it is fitted.

    References
    ----------
    Gupta et al. 2016, "Monotonic calibrated interpolated look-up tables", arXiv:1505.06378.
    Richardson, Pospisil 2021, "Why model calibration matters and how to achieve it".

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
    >>> y = np.concatenate([np.arange(20) < k for k in (1, 2, 5, 10, 18)])
    >>> PiecewiseLinear(loss="brier").fit(scores, y).predict([0.1, 0.4, 0.9]).round(3)
    array([0.05 , 0.175, 0.9  ])
    """

    def __init__(self, loss: Literal["log", "brier"] = "log", n_keypoints: int = 10) -> None:
        self.loss = loss
        self.n_keypoints = n_keypoints

    def _fit(self, cells: ScoreCells) -> None:
        if self.loss not in ("log", "brier"):
            raise ValueError(f"loss must be 'log' or 'brier', got {self.loss!r}.")
        if self.n_keypoints < 2:
            raise ValueError(f"n_keypoints must be at least 2, got {self.n_keypoints}.")
        at = quantile_cells(cells, np.linspace(0.0, 1.0, self.n_keypoints))
        chosen = cells.score[np.unique(np.append(at, len(cells) - 1))]
        buckets = into_buckets(cells.score, cells.weight, cells.positive)
        # A keypoint beyond all buckets would extrapolate, down to 0 or up to 1.
        self.keypoints_ = np.unique(np.clip(chosen, buckets.x[0], buckets.x[-1]))
        self.values_ = self._best(buckets.x, buckets.weight, buckets.positive)

    def _best(self, x: FloatArray, weight: FloatArray, positive: FloatArray) -> FloatArray:
        total = float(weight.sum())
        base_rate = float(positive.sum()) / total
        if len(self.keypoints_) == 1:
            return np.array([base_rate])
        # Column k is the weight of the k-th value in the function at x.
        hats = np.column_stack(
            [np.interp(x, self.keypoints_, hat) for hat in np.eye(len(self.keypoints_))]
        )
        mass = weight @ hats + 1.0
        rate = pool_adjacent_violators((positive @ hats + base_rate) / mass, mass)
        if self.loss == "log":
            weight, positive = weight * (1.0 + 1.0 / total), positive + weight * base_rate / total
            bounds, loss = (MIN_PROBABILITY, 1.0 - MIN_PROBABILITY), _log_loss
        else:
            ends = shrink_certain(np.array([0.0, 1.0]), np.full(2, total), base_rate)
            bounds, loss = (float(ends[0]), float(ends[1])), _squared_error
        start = np.clip(rate, 1e-3, 1.0 - 1e-3).clip(*bounds)
        shares = weight / total, positive / total
        values = _never_falling(hats, lambda offset: loss(*shares, offset), start, bounds)
        # The best constant is the base rate. The search would add rounding errors, which would
        # break ties between folds with the same base rate.
        return values if values[-1] > values[0] else np.full(len(values), base_rate)

    def to_map(self) -> Piecewise:
        return Piecewise(Axis(), lines(self.keypoints_, self.values_))

    def knots(self) -> FloatArray:
        """The keypoints."""
        return self.keypoints_

    def n_parameters(self) -> float:
        return len(self.values_)

    def formula(self) -> str:
        low, high = self.values_[0], self.values_[-1]
        if high - low < 1e-9:
            return f"{low:.3g} for every score: the observed rate does not rise with the score"
        return f"straight lines between {len(self.values_)} keypoints, from {low:.3g} to {high:.3g}"


def _never_falling(
    hats: FloatArray,
    loss: Callable[[FloatArray], Loss],
    start: FloatArray,
    bounds: tuple[float, float],
) -> FloatArray:
    """The values of least loss that do not fall and stay within the bounds.

    They are fitted as a first value and steps of at least 0, so that only the upper bound is left
    to keep. If the last value of a fit is above it, the bound is active at the optimum, since the
    loss is convex: the last value is set to the bound and the values before it are fitted again.
    """
    low, high = bounds
    for free in range(len(start), 0, -1):
        sums = np.tril(np.ones((free, free)))
        least = np.append(low, np.zeros(free - 1))
        c = fit_bounded(
            hats[:, :free] @ sums,
            loss(high * hats[:, free:].sum(axis=1)),
            np.zeros((free, free)),
            least,
            np.diff(start[:free], prepend=0.0),
        )
        values = np.cumsum(np.where((least == 0.0) & (c < MIN_STEP), 0.0, c))
        if values[-1] <= high:
            return np.append(values, np.full(len(start) - free, high))
    return np.full(len(start), high)


def _log_loss(weight: FloatArray, positive: FloatArray, offset: FloatArray) -> Loss:
    """Log loss of the probability offset + f, infinite outside (0, 1)."""
    negative = weight - positive

    def at(f: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        p = offset + f
        if p.min() <= 0.0 or p.max() >= 1.0:
            return np.inf, p, p
        value = -(positive @ np.log(p) + negative @ np.log1p(-p))
        of_positive, of_negative = positive / p, negative / (1.0 - p)
        return float(value), of_negative - of_positive, of_positive / p + of_negative / (1.0 - p)

    return at


def _squared_error(weight: FloatArray, positive: FloatArray, offset: FloatArray) -> Loss:
    """Squared error of the probability offset + f."""

    def at(f: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        p = offset + f
        value = positive @ (1.0 - p) ** 2 + (weight - positive) @ (p * p)
        return float(value), 2.0 * (weight * p - positive), 2.0 * weight

    return at

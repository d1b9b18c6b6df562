"""A non-decreasing piecewise-linear function on quantile keypoints."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse import csr_array

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import Axis, Piecewise
from calib.calibrators.registry import register
from calib.core.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import quantile_cells
from calib.numerics.few_cells import into_buckets
from calib.numerics.isotonic import pool_adjacent_violators, shrink_certain
from calib.numerics.splines import lines

LEAST = 1e-12  # a probability of which the log loss can be taken


@register(
    "pwl",
    "Piecewise linear",
    simplicity=55,
    summary="Assumes that the rate never falls, and is linear between quantiles of the scores.",
    source="Richardson, Pospisil 2021; Gupta et al. 2016, arXiv:1505.06378",
    aliases="PWL, monotone piecewise-linear calibration",
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
    loss : {"log", "brier"}
        Loss that is minimised: log loss or squared error.
    n_keypoints : int
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
        found = quantile_cells(cells, np.linspace(0.0, 1.0, self.n_keypoints))
        chosen = cells.score[np.unique(np.append(found, len(cells) - 1))]
        buckets = into_buckets(cells.score, cells.weight, cells.positive)
        # An end keypoint beyond all buckets would extrapolate, down to 0 or up to 1.
        self.keypoints_ = np.unique(np.clip(chosen, buckets.x[0], buckets.x[-1]))
        self.values_ = self._best(buckets.x, buckets.weight, buckets.positive)

    def _best(self, x: FloatArray, weight: FloatArray, positive: FloatArray) -> FloatArray:
        total = float(weight.sum())
        base_rate = float(positive.sum()) / total
        basis = _hats(x, self.keypoints_)
        if len(self.keypoints_) == 1:
            return np.array([base_rate])
        if self.loss == "log":
            weight, positive = weight * (1.0 + 1.0 / total), positive + weight * base_rate / total
        negative = weight - positive
        objective, bounds = _log_loss, (LEAST, 1.0 - LEAST)
        if self.loss == "brier":
            ends = shrink_certain(np.array([0.0, 1.0]), np.full(2, total), base_rate)
            objective, bounds = _squared_error, (float(ends[0]), float(ends[1]))
        mass = basis.T @ weight + 1.0
        rate = (basis.T @ positive + base_rate) / mass
        found = minimize(
            lambda v: objective(basis, positive / total, negative / total, v),
            np.clip(pool_adjacent_violators(rate, mass), 1e-3, 1.0 - 1e-3).clip(*bounds),
            jac=True,
            method="SLSQP",
            bounds=[bounds] * len(rate),
            constraints=[LinearConstraint(np.diff(np.eye(len(rate)), axis=0), 0.0, np.inf)],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        # The solver keeps the order and the bounds up to rounding.
        return np.clip(np.maximum.accumulate(found.x), *bounds)

    def to_map(self) -> Piecewise:
        return Piecewise(Axis(), lines(self.keypoints_, self.values_))

    def knots(self) -> FloatArray:
        """The keypoints."""
        return self.keypoints_

    def formula(self) -> str:
        low, high = self.values_[0], self.values_[-1]
        if high - low < 1e-9:
            return f"{low:.3g} for every score: the observed rate does not rise with the score"
        return f"straight lines between {len(self.values_)} keypoints, from {low:.3g} to {high:.3g}"


def _hats(x: FloatArray, keypoints: FloatArray) -> csr_array:
    """Weight of each keypoint's value in the function at x: sparse, shape (m, k)."""
    if len(keypoints) == 1:
        return csr_array(np.ones((len(x), 1)))
    left = np.clip(np.searchsorted(keypoints, x, side="right") - 1, 0, len(keypoints) - 2)
    along = (x - keypoints[left]) / (keypoints[left + 1] - keypoints[left])
    rows = np.arange(len(x))
    shares = np.concatenate([1.0 - along, along])
    places = (np.concatenate([rows, rows]), np.concatenate([left, left + 1]))
    return csr_array((shares, places), shape=(len(x), len(keypoints)))


def _log_loss(
    basis: csr_array, positive: FloatArray, negative: FloatArray, v: FloatArray
) -> tuple[float, FloatArray]:
    p = np.clip(basis @ v, LEAST, 1.0 - LEAST)
    value = -(positive @ np.log(p) + negative @ np.log1p(-p))
    return float(value), basis.T @ (negative / (1.0 - p) - positive / p)


def _squared_error(
    basis: csr_array, positive: FloatArray, negative: FloatArray, v: FloatArray
) -> tuple[float, FloatArray]:
    p = basis @ v
    value = positive @ (1.0 - p) ** 2 + negative @ (p * p)
    return float(value), 2.0 * (basis.T @ (negative * p - positive * (1.0 - p)))

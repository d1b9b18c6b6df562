"""I-splines: a strictly increasing smooth curve of the log-odds."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.interpolate import BSpline

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import Axis, Piecewise
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import quantiles
from calib.numerics.few_cells import into_buckets
from calib.numerics.logistic import fit_bounded, log_loss, squared_error
from calib.numerics.splines import constant_beyond, of_bspline
from calib.numerics.transforms import automatic_epsilon, compact_logit, sigmoid

DEGREE = 3
# The log-odds rise by at least this along each basis function: invisible, but it keeps the order.
MIN_RISE = 1e-3
# The smallest distance of two knots, on an axis of length 1.
MIN_KNOT_GAP = 1e-4
# The penalty determines coefficients that the data do not. It has no visible effect on others.
RIDGE = 1e-3


@register(
    "ispline",
    "I-spline",
    simplicity=50,
    summary="Assumes that the log-odds are a smooth curve that increases with the score.",
    source="Richardson, Pospisil 2021; Ramsay 1988",
    aliases="monotone spline",
    weighs_evidence=True,
)
class ISpline(Calibrator):
    """I-spline: sigmoid(b + sum beta_r I_r(G(s))) with all beta_r > 0, so strictly increasing.

    G is the compact logit. The I-splines rise from 0 at G = 0 to 1 at G = 1, so that the function
    increases over all of [0, 1]. Inner knots are at quantiles of the scores. If the observed rate
    falls as the score rises, the calibrated score is the base rate and `constant_` is True.

    Parameters
    ----------
    loss : {"log", "brier"}, default "log"
        Loss that is minimised: log loss or squared error.
    n_knots : int, default 5
        Number of inner knots, at least 0.
    epsilon : float or None, default None
        Epsilon of the compact logit, in [1e-15, 0.5). None: the rule of Lucena 2018, at the end
        of [0, 1] that scores come nearest to, so that the classes can be exchanged.

    Attributes
    ----------
    intercept_ : float
        b.
    coefficients_ : ndarray of shape (r,)
        beta.
    knots_ : ndarray
        Inner knots, as scores.
    constant_ : bool
    epsilon_ : float

    Raises
    ------
    ValueError
        If a parameter is out of its range, when it is fitted.

    References
    ----------
    Ramsay 1988, "Monotone regression splines in action", doi:10.1214/ss/1177012761.
    Richardson, Pospisil 2021, "Why model calibration matters and how to achieve it".

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
    >>> y = np.concatenate([np.arange(20) < k for k in (1, 2, 5, 10, 18)])
    >>> ISpline(n_knots=2).fit(scores, y).predict([0.3, 0.5]).round(1)
    array([0.1, 0.2])
    """

    def __init__(
        self, loss: Literal["log", "brier"] = "log", n_knots: int = 5, epsilon: float | None = None
    ) -> None:
        self.loss = loss
        self.n_knots = n_knots
        self.epsilon = epsilon

    def _fit(self, cells: ScoreCells) -> None:
        if self.loss not in ("log", "brier"):
            raise ValueError(f"loss must be 'log' or 'brier', got {self.loss!r}.")
        if self.n_knots < 0:
            raise ValueError(f"n_knots must be at least 0, got {self.n_knots}.")
        automatic = automatic_epsilon(cells.score, self.epsilon_rule)
        self.epsilon_ = automatic if self.epsilon is None else self.epsilon
        # Rounding errors may leave [0, 1], on which the I-splines are defined.
        x = np.clip(compact_logit(cells.score, self.epsilon_), 0.0, 1.0)
        self.knots_ = self._inner_knots(cells)
        inner = compact_logit(self.knots_, self.epsilon_)
        self._padded_ = np.concatenate([[0.0] * (DEGREE + 1), inner, [1.0] * (DEGREE + 1)])
        buckets = into_buckets(x, cells.weight, cells.positive)
        self._fit_curve(buckets.x, buckets.weight, buckets.positive)

    def _inner_knots(self, cells: ScoreCells) -> FloatArray:
        """Quantiles of the scores that are not too near to each other or to an end."""
        kept, before = [], 0.0
        scores = quantiles(cells, np.arange(1, self.n_knots + 1) / (self.n_knots + 1))
        for score, at in zip(scores, compact_logit(scores, self.epsilon_).tolist(), strict=True):
            if min(at - before, 1.0 - at) >= MIN_KNOT_GAP:
                kept.append(score)
                before = at
        return np.array(kept)

    def _fit_curve(self, x: FloatArray, weight: FloatArray, positive: FloatArray) -> None:
        rise = self._rising(x)
        design = np.column_stack([np.ones(len(x)), rise])
        rate = positive.sum() / weight.sum()
        least = np.append(-np.inf, np.full(rise.shape[1], MIN_RISE))
        ridge = np.diag(np.append(0.0, np.full(rise.shape[1], RIDGE)))
        start = np.append(np.log(rate / (1.0 - rate)), least[1:])
        c = fit_bounded(design, log_loss(weight, positive), ridge, least, start)
        if self.loss == "brier":
            c = fit_bounded(design, squared_error(weight, positive), ridge, least, c)
        self.constant_ = bool((c[1:] <= MIN_RISE).all())
        self.intercept_, self.coefficients_ = float(c[0]), c[1:]
        if self.constant_:
            self.intercept_, self.coefficients_ = float(start[0]), np.zeros(rise.shape[1])

    def _rising(self, x: FloatArray) -> FloatArray:
        """I-splines at x: sums of the B-splines from the r-th on, without the constant sum."""
        basis = BSpline.design_matrix(x, self._padded_, DEGREE).toarray()
        return np.asarray(np.cumsum(basis[:, ::-1], axis=1)[:, -2::-1], dtype=np.float64)

    def to_map(self) -> Piecewise:
        steps = np.append(self.intercept_, self.coefficients_)
        axis = Axis("compact_logit", self.epsilon_, 1.0 - self.epsilon_)
        curve = of_bspline(BSpline(self._padded_, np.cumsum(steps), DEGREE))
        # If 1 - epsilon is rounded, the axis leaves [0, 1], on which the I-splines are defined.
        return Piecewise(axis, constant_beyond(curve, 0.0, 1.0), "sigmoid")

    def formula(self) -> str:
        if self.constant_:
            rate = float(sigmoid(np.array(self.intercept_)))
            return f"{rate:.3g} for every score: the observed rate does not rise with the score"
        return (
            f"sigmoid(b + sum of {len(self.coefficients_)} rising I-splines of G(s)), "
            f"b = {self.intercept_:.3g}; G the compact logit with epsilon = {self.epsilon_:.3g}"
        )

"""SplineCalib as published: a ridge-penalised natural cubic spline of the scores."""

from __future__ import annotations

from typing import Literal

import numpy as np

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import ON_ARRAYS, Axis, Link, Piecewise
from calib.calibrators.inverse import falling_part
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.few_cells import into_buckets
from calib.numerics.penalized_logistic import choose_ridge
from calib.numerics.smoothed_rate import MIN_AXIS_LENGTH
from calib.numerics.splines import NaturalSpline, choose_knots, truncated_powers
from calib.numerics.transforms import EpsilonRule, automatic_epsilon, check_epsilon

# These are the values of the author's package, whose basis is on log-odds.
LAMBDAS = np.logspace(4.0, -4.0, 17)
# These are tried if the loss still falls at the last one: on an axis of length 1, a wavy curve has
# coefficients in the thousands.
SMALLER_LAMBDAS = np.logspace(-4.5, -14.0, 20)
TRANSFORMS = {"none": "s", "compact_logit": "G(s)", "logit": "logit(s)"}


@register(
    "splinecalib",
    "SplineCalib",
    simplicity=62,
    summary="Assumes that the log-odds are a smooth curve; penalises coefficients, not curvature.",
    source="Lucena 2018, algorithms 1 and 2, arXiv:1809.07751",
    aliases="ML-Insights",
    weighs_evidence=True,
)
class SplineCalib(Calibrator):
    """SplineCalib: logistic regression on a natural cubic spline basis with an L2 penalty.

    Knots are distinct scores, the basis is the truncated-power basis of natural cubic splines, and
    lambda has the lowest cross-validated loss. The published algorithm uses random folds and random
    knots. Here the cross-validation leaves one row out (one Newton step from the full fit) and the
    knots follow the distribution of the scores, so that the fit is always the same. The published
    penalty is on coefficients that count from the lowest score, so that the fit changes if the two
    classes are exchanged (y to 1 - y, scores to 1 - s).

    Parameters
    ----------
    transform : {"compact_logit", "none", "logit"}, default "compact_logit"
        Transformation of the scores before the spline. "logit" replaces scores of 0 and 1 by
        epsilon and 1 - epsilon, or by the nearest other score if that is nearer to 0 or 1.
    loss : {"log", "brier"}, default "log"
        "log": logistic regression. "brier": ridge regression of the outcome, clipped to [0, 1].
    n_knots : int, default 200
        Approximate maximum number of knots, at least 2.
    epsilon : float or None, default None
        Epsilon of the compact logit and of the logit, in [1e-15, 0.5). None: the published rule, a
        power of ten below the distance of the nearest score from 1. If events are rare, most of
        their scores are then below epsilon, where the compact logit is the score itself, and their
        log-odds cannot be followed; and the fit depends on which class is 1. `Spline` has a rule
        without this cost.
    least_lambda : float, default 1e-14
        Smallest lambda that is tried if the loss still falls at 1e-4, where the grid of the author
        ends. With 1e-4 only that grid is used.

    Attributes
    ----------
    epsilon_ : float
        Epsilon in use.
    lambda_ : float
    lambdas_, cv_losses_ : ndarray of shape (p,)
        Cross-validated loss per row (log loss or squared error) by lambda: from 1e4 down to 1e-4
        in half decades. If the loss still falls there, smaller values are tried until four have not
        lowered it.
    knots_ : ndarray of shape (k,)
        Knots, as scores.
    intercept_ : float
    coefficients_ : ndarray of shape (k - 1,)
        Coefficients of the basis in Hastie, Tibshirani and Friedman, equation 5.4.

    Raises
    ------
    ValueError
        If a parameter is not allowed. It is raised by `fit`.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", arXiv:1809.07751.
    Hastie, Tibshirani, Friedman 2009, "The Elements of Statistical Learning", section 5.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
    >>> y = np.concatenate([np.arange(20) < k for k in (1, 2, 5, 10, 18)])
    >>> SplineCalib().fit(scores, y).predict([0.3, 0.5]).round(1)
    array([0.1, 0.3])
    """

    monotone = False
    epsilon_rule: EpsilonRule = "published"

    def __init__(
        self,
        transform: Literal["compact_logit", "none", "logit"] = "compact_logit",
        loss: Literal["log", "brier"] = "log",
        n_knots: int = 200,
        epsilon: float | None = None,
        least_lambda: float = 1e-14,
    ) -> None:
        self.transform = transform
        self.loss = loss
        self.n_knots = n_knots
        self.epsilon = epsilon
        self.least_lambda = least_lambda

    def _check(self) -> None:
        if self.transform not in TRANSFORMS:
            names = ", ".join(map(repr, TRANSFORMS))
            raise ValueError(f"transform must be one of {names}, got {self.transform!r}.")
        if self.loss not in ("log", "brier"):
            raise ValueError(f"loss must be 'log' or 'brier', got {self.loss!r}.")
        if self.n_knots < 2:
            raise ValueError(f"n_knots must be at least 2, got {self.n_knots}.")
        if not 0.0 < self.least_lambda < np.inf:
            raise ValueError(f"least_lambda must be positive and finite, got {self.least_lambda}.")

    def _fit(self, cells: ScoreCells) -> None:
        self._check()
        automatic = automatic_epsilon(cells.score, self.epsilon_rule)
        self.epsilon_ = automatic if self.epsilon is None else self.epsilon
        if self.transform == "compact_logit":
            check_epsilon(self.epsilon_)
            self._axis_ = Axis(self.transform, self.epsilon_, 1.0 - self.epsilon_)
        elif self.transform == "logit":
            self._axis_ = Axis(self.transform, *_logit_ends(cells.score, self.epsilon_))
        else:
            self._axis_ = Axis()
        # At epsilon the compact logit changes its formula, and rounding may swap two neighbours.
        x = np.maximum.accumulate(self._axis_(ON_ARRAYS, cells.score))
        if x[-1] - x[0] < MIN_AXIS_LENGTH:
            self._fit_constant(cells, x)
            return
        buckets = into_buckets(x, cells.weight, cells.positive)
        chosen = choose_knots(x, buckets, self.n_knots)
        columns = truncated_powers(buckets.x, x[chosen])
        path = choose_ridge(
            columns,
            buckets.weight,
            buckets.positive,
            LAMBDAS,
            logistic=self.loss == "log",
            further=SMALLER_LAMBDAS[self.least_lambda * (1.0 - 1e-9) <= SMALLER_LAMBDAS],
            row=buckets.row_weight(cells.weight_sq),
        )
        self.intercept_, self.coefficients_ = path.intercept, path.coefficients
        self.lambda_ = float(path.lambdas[path.chosen])
        self.lambdas_, self.cv_losses_ = path.lambdas, path.losses
        self.knots_ = cells.score[chosen]
        values = path.intercept + truncated_powers(x[chosen], x[chosen]) @ path.coefficients
        self._spline_ = NaturalSpline(x[chosen])
        self._local_ = self._spline_.through(values)

    def _fit_constant(self, cells: ScoreCells, x: FloatArray) -> None:
        rate = cells.base_rate
        self.intercept_ = float(np.log(rate / (1.0 - rate))) if self.loss == "log" else rate
        self.coefficients_ = self.lambdas_ = self.cv_losses_ = np.empty(0)
        self.lambda_ = float("inf")
        self.knots_ = cells.score[:1]
        self._spline_ = NaturalSpline(x[0] + np.array([-0.5, 0.5]))
        self._local_ = np.full(2, self.intercept_)

    def to_map(self) -> Piecewise:
        link: Link = "sigmoid" if self.loss == "log" else "none"
        return Piecewise(self._axis_, self._spline_.pieces(self._local_), link)

    def formula(self) -> str:
        if not len(self.lambdas_):
            rate = float(self._map(self.knots_)[0])
            return f"{rate:.3g} for every score: all scores were equal"
        curve = f"f({TRANSFORMS[self.transform]})"
        shape = f"sigmoid({curve})" if self.loss == "log" else f"{curve}, clipped to [0, 1]"
        axis = (
            f"; G the compact logit with epsilon = {self.epsilon_:.3g}"
            if self.transform == "compact_logit"
            else ""
        )
        return (
            f"{shape}: f a natural cubic spline with {len(self.knots_)} knots, "
            f"lambda = {self.lambda_:.3g}{axis}{falling_part(self)}"
        )


def _logit_ends(scores: FloatArray, epsilon: float) -> tuple[float, float]:
    """The lowest and highest score of which the logit is taken."""
    between = scores[(scores > 0.0) & (scores < 1.0)]
    return float(between.min(initial=epsilon)), float(between.max(initial=1.0 - epsilon))

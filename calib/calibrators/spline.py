"""Smoothing spline on the compact-logit axis, with the exact penalty on its curvature."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator, register
from calib.cells import ScoreCells
from calib.numerics.aggregate import bucket_starts, bucket_sums
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.natural_spline import NaturalSpline
from calib.numerics.penalized_logistic import PenalizedLogistic
from calib.numerics.smoothness import SmoothnessPath, choose_smoothness
from calib.numerics.transforms import compact_logit, default_epsilon, sigmoid

MOST_BUCKETS = 1024
MOST_KNOTS = 100
# Scores that span less than this on the axis are one score: a slope between them means nothing.
SHORTEST_AXIS = 1e-12


@register(
    "spline",
    "Spline",
    simplicity=60,
    summary="Assumes that the log-odds bend smoothly; without evidence of a bend it is a line.",
    source="Lucena 2018, equation 1, arXiv:1809.07751",
)
class Spline(Calibrator):
    """sigmoid(f(G(s))): a cubic smoothing spline f of the compact logit G.

    f maximises log-likelihood - (lambda / 2) * integral of f''(x)^2, x = G(s). It is a natural
    cubic spline: beyond the fitted scores it goes on as a straight line. lambda is chosen by
    leaving out every row in turn (one Newton step from the full fit): no random folds, the same
    answer for any order of the rows, and a row of weight 2 counts exactly as two rows.

    Perfectly separated classes have no most likely f. One more row, spread over all scores like the
    data and with the base rate as its outcome, keeps every fit finite.

    Parameters
    ----------
    epsilon : float or None
        Epsilon of the compact logit, in (0, 0.5); None follows the paper's rule.

    Attributes
    ----------
    epsilon_ : float
        Epsilon in use.
    lambda_ : float
        Weight of the curvature; infinite where all scores are equal.
    lambdas_, cv_losses_, degrees_ : ndarray of shape (p,)
        The path: cross-validated log loss of a row, and effective degrees of freedom, by lambda.
    knots_ : ndarray of shape (k,)
        Knots, as scores.
    coefficients_ : ndarray of shape (k,)
        Of the natural B-splines on the knots.
    n_iter_ : int
        Newton steps along the path.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", equation 1, arXiv:1809.07751.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 20)
    >>> y = np.concatenate([np.arange(20) < k for k in (1, 2, 5, 10, 18)])
    >>> Spline().fit(scores, y).predict([0.3, 0.5]).round(2)
    array([0.12, 0.28])
    """

    monotone = False

    def __init__(self, epsilon: float | None = None) -> None:
        self.epsilon = epsilon

    def _fit(self, cells: ScoreCells) -> None:
        self.epsilon_ = default_epsilon(cells.score) if self.epsilon is None else self.epsilon
        x = compact_logit(cells.score, self.epsilon_)
        length = float(x[-1] - x[0])
        if length < SHORTEST_AXIS:
            self._fit_constant(cells, x)
            return
        starts = bucket_starts(x, cells.weight, MOST_BUCKETS)
        weight, positive, sums = bucket_sums(starts, cells.weight, cells.positive, cells.weight * x)
        knots = choose_knots(x, starts, weight)
        self._spline = NaturalSpline(x[knots])
        problem = PenalizedLogistic.prepare(
            self._spline.basis(np.clip(sums / weight, x[0], x[-1])),
            weight,
            positive,
            self._spline.curvature(),
        )
        self._keep(choose_smoothness(problem, length), cells.score[knots])

    def _fit_constant(self, cells: ScoreCells, x: FloatArray) -> None:
        self._spline = NaturalSpline(x[0] + np.array([-0.5, 0.5]))
        rate = cells.base_rate
        self.knots_ = cells.score[:1]
        self.coefficients_ = np.full(2, np.log(rate / (1.0 - rate)))
        self.lambda_, self.n_iter_ = float("inf"), 0
        self.lambdas_ = self.cv_losses_ = self.degrees_ = np.empty(0)

    def _keep(self, path: SmoothnessPath, knots: FloatArray) -> None:
        self.knots_ = knots
        self.lambdas_, self.cv_losses_, self.degrees_ = path.lambdas, path.losses, path.degrees
        self.lambda_ = path.fit.lam
        self.coefficients_, self.n_iter_ = path.fit.coefficients, path.n_iter
        self._chosen_degrees = float(path.degrees[path.chosen])

    def _map(self, scores: FloatArray) -> FloatArray:
        x = compact_logit(scores, self.epsilon_)
        return sigmoid(self._spline.evaluate(self.coefficients_, x))

    def knots(self) -> FloatArray:
        """Knots of the spline, as scores."""
        return self.knots_

    def formula(self) -> str:
        """The fitted map in words and numbers."""
        if not len(self.lambdas_):
            rate = float(sigmoid(self.coefficients_)[0])
            return f"constant {rate:.4g}, since all scores are equal"
        return (
            f"sigmoid(f(G(s))): f a cubic smoothing spline with {len(self.knots_)} knots, "
            f"lambda = {self.lambda_:.3g} ({self._chosen_degrees:.1f} degrees of freedom); "
            f"G the compact logit with epsilon = {self.epsilon_:.3g}"
        )


def choose_knots(x: FloatArray, starts: IntArray, weight: FloatArray) -> IntArray:
    """Cells to put knots at: all buckets if they are few, else a choice of them; both ends always.

    Half of the choice is even on the axis, half holds equal weight. Knots closer than an eighth of
    the mean distance are thinned: the penalty's condition grows with the inverse cube of the gap.
    """
    chosen = starts[bucket_starts(x[starts], weight, MOST_KNOTS)]
    gap = (x[-1] - x[0]) / (8 * MOST_KNOTS)
    kept = [0]
    for cell in chosen.tolist():
        if x[cell] - x[kept[-1]] >= gap and x[-1] - x[cell] >= gap:
            kept.append(cell)
    return np.array([*kept, len(x) - 1])

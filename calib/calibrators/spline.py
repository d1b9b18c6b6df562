"""Smoothing spline on the compact-logit axis, with the exact penalty on its curvature."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import Axis, Piecewise
from calib.calibrators.inverse import falling_part
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.logistic import increasing_coefficients
from calib.numerics.penalized_logistic import LogisticFit, PenalizedLogistic, left_out
from calib.numerics.smoothed_rate import (
    MIN_AXIS_LENGTH,
    choose_smoothness,
    compact_axis,
    penalized_spline,
)
from calib.numerics.splines import NaturalSpline
from calib.numerics.transforms import EpsilonRule, automatic_epsilon, sigmoid


@register(
    "spline",
    "Spline",
    simplicity=60,
    summary="Smooth function of the log-odds; shrinks to a straight line without evidence of "
    "curvature.",
    source="Lucena 2018, equation 1, arXiv:1809.07751",
    aliases="smoothing spline, generalized additive model (GAM)",
    weighs_evidence=True,
)
class Spline(Calibrator):
    """Spline calibration: sigmoid(f(G(s))) with a cubic smoothing spline f of the compact logit G.

    f maximises log-likelihood - (lambda / 2) * integral of f''(x)^2, x = G(s). It is a natural
    cubic spline, so it is linear beyond the fitted scores. lambda is chosen by approximate
    leave-one-out cross-validation (one Newton step from the full fit). There are no random folds,
    so the result does not depend on the order of the rows. If groups are named, as many rows are
    left out as the design effect.

    If the classes are perfectly separated, the likelihood has no maximum. One more row, which is
    spread over all scores like the data and has the base rate as its outcome, keeps every fit
    finite.

    Parameters
    ----------
    epsilon : float or None, default None
        Epsilon of the compact logit, in [1e-15, 0.5). None: the automatic one.
    monotone : bool, default False
        Whether f must not decrease. lambda is that of the unconstrained fit. If that fit does not
        decrease, it is not changed.
    epsilon_rule : {"symmetric", "published"}, default "symmetric"
        Rule of the automatic epsilon: a power of ten below the distance of the nearest score from
        the nearer end, 0 or 1, or only from 1, as published (Lucena 2018, section 5.1). With the
        published rule the fit depends on which class is 1, and if events are rare, most of their
        scores are below epsilon, where f cannot follow their log-odds.

    Attributes
    ----------
    epsilon_ : float
        Epsilon in use.
    lambda_ : float
        Penalty on the curvature; infinite if all scores are equal.
    lambdas_, cv_losses_, degrees_ : ndarray of shape (p,)
        Values of lambda that were tried, with the cross-validated log loss per row and the
        effective degrees of freedom of each.
    knots_ : ndarray of shape (k,)
        Knots, as scores.
    coefficients_ : ndarray of shape (k,)
        Coefficients of the natural B-splines on the knots.
    n_iter_ : int
        Number of Newton steps for all lambdas.

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

    def __init__(
        self,
        epsilon: float | None = None,
        monotone: bool = False,
        epsilon_rule: EpsilonRule = "symmetric",
    ) -> None:
        self.epsilon = epsilon
        self.monotone = monotone
        self.epsilon_rule = epsilon_rule

    def _fit(self, cells: ScoreCells) -> None:
        automatic = automatic_epsilon(cells.score, self.epsilon_rule)
        self.epsilon_ = automatic if self.epsilon is None else self.epsilon
        x = compact_axis(cells.score, self.epsilon_)
        length = float(x[-1] - x[0])
        if length < MIN_AXIS_LENGTH:
            self._fit_constant(cells, x)
            return
        knots, self._spline_, problem = penalized_spline(x, cells)
        self._penalty_ = problem.penalty
        path = choose_smoothness(problem, length)
        self.knots_ = cells.score[knots]
        self.lambdas_, self.cv_losses_, self.degrees_ = path.lambdas, path.losses, path.degrees
        self.lambda_ = path.fit.lam
        self.coefficients_, self.n_iter_ = path.fit.coefficients, path.n_iter
        self._chosen_degrees_ = float(path.degrees[path.chosen])
        if self.monotone:
            self.coefficients_ = increasing_coefficients(
                problem, path.fit.lam, path.fit.coefficients
            )

    def _fit_constant(self, cells: ScoreCells, x: FloatArray) -> None:
        self._spline_ = NaturalSpline(x[0] + np.array([-0.5, 0.5]))
        rate = cells.base_rate
        self.knots_ = cells.score[:1]
        self.coefficients_ = np.full(2, np.log(rate / (1.0 - rate)))
        self.lambda_, self.n_iter_ = float("inf"), 0
        self.lambdas_ = self.cv_losses_ = self.degrees_ = np.empty(0)

    def left_out(self, cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
        """Follow the fit at its lambda by one Newton step."""
        knots = self._spline_.knots
        basis = self._spline_.basis(
            np.clip(compact_axis(cells.score, self.epsilon_), knots[0], knots[-1])
        )
        f = basis @ self.coefficients_
        if not len(self.lambdas_):
            return f, f
        row = cells.weight_sq / cells.weight
        problem = PenalizedLogistic(basis, cells.weight, cells.positive, self._penalty_, row)
        fit = LogisticFit(self.lambda_, self.coefficients_, f, self.n_iter_)
        negative, positive, _ = left_out(problem, fit)
        return negative, positive

    def to_map(self) -> Piecewise:
        axis = Axis("compact_logit", self.epsilon_, 1.0 - self.epsilon_)
        return Piecewise(axis, self._spline_.pieces(self.coefficients_), "sigmoid")

    def n_parameters(self) -> float:
        return self._chosen_degrees_ if len(self.lambdas_) else 1

    def formula(self) -> str:
        if not len(self.lambdas_):
            rate = float(sigmoid(self.coefficients_)[0])
            return f"{rate:.3g} for every score: all scores were equal"
        if self.monotone and np.ptp(self.coefficients_) < 1e-9:
            rate = float(sigmoid(self.coefficients_)[0])
            return f"{rate:.3g} for every score: the observed rate does not rise with the score"
        return (
            "cubic smoothing spline on the log-odds, "
            f"{self._chosen_degrees_:.1f} degrees of freedom ({len(self.knots_)} knots, "
            f"lambda = {self.lambda_:.3g}, compact logit with epsilon = {self.epsilon_:.3g})"
            f"{falling_part(self)}"
        )

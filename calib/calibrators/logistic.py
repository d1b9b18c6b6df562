"""Sigmoids of increasing functions of the score: the parametric methods, logistic and Platt."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from calib.calibrators.base import RowCalibrator
from calib.calibrators.forms import ON_ARRAYS, Axis, Feature, Form, Piecewise, SigmoidOfFeatures
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, chunks
from calib.numerics.logistic import fit_logistic
from calib.numerics.penalized_logistic import newton_step
from calib.numerics.splines import steps
from calib.numerics.transforms import certain_logit, sigmoid


class IncreasingSigmoid(RowCalibrator):
    """sigmoid(slopes @ columns(s) + intercept) with slopes of at least 0.

    The likelihood is concave, so its maximum under the constraint is the best of the fits on fewer
    columns that need no negative slope. If no column deserves a positive slope, the calibrated
    score is the base rate, also without an intercept, and `constant_` is True. If the columns
    separate the classes, no finite fit to the outcomes exists: `separated_` is True, and Platt's
    targets are fitted, as they always are with `smooth_targets`.
    """

    has_intercept = True
    smooth_targets = False
    features: tuple[Feature, ...] = ("logit s",)  # These are the names of the columns.

    def _columns(self, scores: FloatArray, log_odds: FloatArray | None) -> list[FloatArray]:
        """Increasing functions of the score: its log-odds, unless a subclass has others."""
        return [certain_logit(scores) if log_odds is None else log_odds]

    def _name_parameters(self) -> None:
        """Set the attributes that hold the parameters of the method."""

    def _expression(self) -> str:
        """The formula of the fitted curve with its numbers."""
        raise NotImplementedError

    def _fit(self, cells: ScoreCells) -> None:
        self._fit_rows(cells.score, cells.positive, cells.weight, cells.log_odds)

    def _fit_rows(
        self,
        scores: FloatArray,
        positive: FloatArray,
        weight: FloatArray,
        log_odds: FloatArray | None = None,
    ) -> None:
        n_columns = len(self._columns(scores[:1], None))
        self.slopes_, self.separated_ = np.zeros(n_columns), False
        for size in range(n_columns, 0, -1):
            subsets = combinations(range(n_columns), size)
            given = scores, positive, weight, log_odds
            fits = [self._fit_columns(subset, *given) for subset in subsets]
            allowed = [fit for fit in fits if fit[1].min() >= 0.0]
            best = max(allowed, key=lambda fit: fit[0], default=None)
            if best is not None and best[1].any():
                _, self.slopes_, self.intercept_, self.separated_ = best
                break
        else:
            n_positive = float(positive.sum())
            self.intercept_ = float(np.log(n_positive) - np.log(float(weight.sum()) - n_positive))
        self.constant_ = not self.slopes_.any()
        self._name_parameters()

    def _fit_columns(
        self,
        subset: tuple[int, ...],
        scores: FloatArray,
        positive: FloatArray,
        weight: FloatArray,
        log_odds: FloatArray | None,
    ) -> tuple[float, FloatArray, float, bool]:
        """Log-likelihood, slopes and intercept of a fit on some columns, and if they separate."""

        def features(part: slice) -> FloatArray:
            columns = self._columns(scores[part], None if log_odds is None else log_odds[part])
            ones = [np.ones(len(columns[0]))] if self.has_intercept else []
            return np.array([*ones, *(columns[i] for i in subset)])

        fit = None if self.smooth_targets else fit_logistic(features, positive, weight)
        separated = fit is not None and not fit.converged
        if fit is None or separated:
            fit = fit_logistic(features, platt_targets(positive, weight), weight)
        slopes = np.zeros(len(self.slopes_))
        slopes[list(subset)] = fit.coefficients[-len(subset) :]
        intercept = float(fit.coefficients[0]) if self.has_intercept else 0.0
        return fit.log_likelihood, slopes, intercept, separated

    def left_out(self, cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
        """Follow the fit by one Newton step."""
        used = np.flatnonzero(self.slopes_)
        columns = [self._columns(cells.score, cells.log_odds)[i] for i in used]
        if self.has_intercept or self.constant_:
            columns.append(np.ones(len(cells)))
        design = np.column_stack(columns)
        f = self.to_map().log_odds(ON_ARRAYS, cells.score, cells.log_odds)
        p = sigmoid(f)
        variance = p * (1.0 - p)
        information = design.T @ (design * (cells.weight * variance)[:, None])
        leverage = ((design @ np.linalg.pinv(information, hermitian=True)) * design).sum(axis=1)
        row = cells.weight_sq / cells.weight
        step = newton_step(row, cells.weight, leverage, variance)
        low, high = 0.0, 1.0
        if self.smooth_targets or self.separated_:
            low, high = softened_outcomes(cells.total_positive, cells.total_weight)
        return f + step * (p - low), f - step * (high - p)

    def _map_log_odds(self, scores: FloatArray, log_odds: FloatArray) -> FloatArray:
        return np.asarray(self.to_map()(ON_ARRAYS, scores, log_odds))

    def _base_rate(self) -> float:
        return float(sigmoid(np.array(self.intercept_)))

    def to_map(self) -> Form:
        if self.constant_:
            return Piecewise(Axis(), steps([], [self._base_rate()], "left"))
        # If two columns were not identified, one slope of their sum was fitted.
        features = self.features if len(self.slopes_) == len(self.features) else ("logit s",)
        return SigmoidOfFeatures(self.intercept_, tuple(self.slopes_.tolist()), features)

    def n_parameters(self) -> float:
        return len(self.slopes_) + self.has_intercept

    def formula(self) -> str:
        if self.constant_:
            rate = f"{self._base_rate():.3g}"
            return f"{rate} for every score: the observed rate does not rise with the score"
        if self.separated_:
            return (
                f"{self._expression()}; the scores separate the classes perfectly, so the curve "
                "is fitted to Platt's softened outcomes"
            )
        return self._expression()


def softened_outcomes(n_positive: float, n_rows: float) -> tuple[float, float]:
    """Platt's outcomes of a negative and of a positive row.

    >>> softened_outcomes(1.0, 3.0)
    (0.25, 0.6666666666666666)
    """
    return 1.0 / (n_rows - n_positive + 2.0), (n_positive + 1.0) / (n_positive + 2.0)


def platt_targets(positive: FloatArray, weight: FloatArray) -> FloatArray:
    """Positive weights with each outcome replaced by Platt's target.

    A positive counts as (N+ + 1)/(N+ + 2), a negative as 1/(N- + 2): the posterior mean of a
    label under a uniform prior, so that no fit runs away on separated classes.

    >>> platt_targets(np.array([0.0, 2.0]), np.array([2.0, 2.0]))
    array([0.5, 1.5])
    """
    low, high = softened_outcomes(float(positive.sum()), float(weight.sum()))
    targets = positive * (high - low)
    for part in chunks(len(weight)):
        targets[part] += weight[part] * low
    return targets


def signed(value: float) -> str:
    """A number as the last term of a sum.

    >>> signed(-1.0249)
    '- 1.02'
    """
    value = round(value, 12)  # Sums that are 0 have rounding errors.
    return f"{'-' if value < 0 else '+'} {abs(value):.3g}"


@register(
    "logistic",
    "Logistic (on log-odds)",
    simplicity=20,
    summary="One slope and one intercept on the log-odds for all scores.",
    source="Cox 1958; Kull, Silva Filho, Flach 2017",
    aliases="logistic recalibration, Cox recalibration, Platt scaling of the log-odds",
)
class Logistic(IncreasingSigmoid):
    """Logistic calibration: sigmoid(a logit(s) + c) with a >= 0, fitted by maximum likelihood.

    It is beta calibration with a = b. Scores are clipped to [eps, 1 - eps] with eps = 2.2e-16, as
    in `Beta`.

    Attributes
    ----------
    slope_, intercept_ : float
        a and c. The identity has 1 and 0. A slope below 1 means that the scores are overconfident.
    constant_ : bool
        True if the observed rate does not rise with the score. The calibrated score is then the
        base rate.
    separated_ : bool
        True if the scores separate the classes perfectly. The curve is then fitted to Platt's
        softened outcomes.

    References
    ----------
    Cox 1958, "Two further applications of a model for binary regression", Biometrika 45.
    Kull, Silva Filho, Flach 2017, "Beta calibration", AISTATS.

    Examples
    --------
    >>> fitted = Logistic().fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> fitted.formula()
    '1 / (1 + exp(-(1.5 logit(s) + 0)))'
    """

    def _name_parameters(self) -> None:
        self.slope_ = float(self.slopes_[0])

    def _expression(self) -> str:
        return f"1 / (1 + exp(-({self.slope_:.3g} logit(s) {signed(self.intercept_)})))"


@register(
    "platt",
    "Platt scaling (on scores)",
    simplicity=20,
    summary="Assumes an S-shaped (sigmoid) curve of the score itself.",
    source="Platt 1999",
    aliases="Platt scaling, sigmoid calibration",
    weighs_evidence=True,
)
class Platt(IncreasingSigmoid):
    """Platt scaling: sigmoid(gamma s + delta), fitted to softened outcomes by maximum likelihood.

    The outcome of a positive row is (N+ + 1)/(N+ + 2), that of a negative row 1/(N- + 2), so that
    the fit also exists for separated classes. The curve is a function of the score itself, while
    `Logistic` is a function of its log-odds.

    Attributes
    ----------
    slope_, intercept_ : float
        gamma and delta.
    constant_ : bool
        True if the observed rate does not rise with the score. The calibrated score is then the
        base rate.

    References
    ----------
    Platt 1999, "Probabilistic outputs for support vector machines".
    Lin, Lin, Weng 2007, "A note on Platt's probabilistic outputs", doi:10.1007/s10994-007-5018-6.

    Examples
    --------
    >>> fitted = Platt().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> fitted.formula()
    '1 / (1 + exp(-(1.84 s - 0.92)))'
    >>> fitted.predict([0.0, 0.5]).round(3)
    array([0.285, 0.5  ])
    """

    smooth_targets = True
    features = ("s",)

    def _columns(self, scores: FloatArray, log_odds: FloatArray | None) -> list[FloatArray]:  # noqa: ARG002
        return [scores]

    def _name_parameters(self) -> None:
        self.slope_ = float(self.slopes_[0])

    def _expression(self) -> str:
        return f"1 / (1 + exp(-({self.slope_:.3g} s {signed(self.intercept_)})))"

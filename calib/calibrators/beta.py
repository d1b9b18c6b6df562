"""Beta calibration: logistic regression on ln s and -ln(1 - s), and two of its special cases."""

from __future__ import annotations

import math

from calib.calibrators.logistic import IncreasingSigmoid
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import logarithms


@register(
    "beta",
    "Beta",
    simplicity=40,
    summary="Three parameters: slopes at both ends and an offset.",
    source="Kull, Silva Filho, Flach 2017",
    aliases="beta calibration",
)
class Beta(IncreasingSigmoid):
    """Beta calibration: 1 / (1 + 1 / (e^c s^a / (1 - s)^b)) with a, b >= 0.

    It is fitted by maximum likelihood, as a logistic regression on ln s and -ln(1 - s). If a
    coefficient is negative, it is set to 0 and the others are fitted again. Scores are clipped to
    [eps, 1 - eps] with eps = 2.2e-16, as in the package of the authors. Without clipping, a score
    such as 1e-300 would dominate the fit.

    Attributes
    ----------
    a_, b_, c_ : float
        The identity has a = b = 1 and c = 0. With a = b it is logistic calibration of the log-odds.
    constant_ : bool
        True if the observed rate does not rise with the score. The calibrated score is then the
        base rate.
    separated_ : bool
        True if the scores separate the classes perfectly. There is then no finite maximum, and the
        curve is fitted to Platt's softened outcomes.

    References
    ----------
    Kull, Silva Filho, Flach 2017, "Beta calibration", AISTATS.

    Examples
    --------
    >>> scores, y = [0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1]
    >>> fitted = Beta().fit(scores, y)
    >>> round(fitted.a_, 3), round(fitted.b_, 3)
    (1.505, 1.505)
    >>> fitted.predict([0.0, 0.5, 1.0]).round(3)
    array([0. , 0.5, 1. ])
    """

    features = ("ln s", "-ln(1 - s)")

    def _columns(self, scores: FloatArray, log_odds: FloatArray | None) -> list[FloatArray]:
        log_p, log_not_p = logarithms(scores, log_odds)
        return [log_p, -log_not_p] if self.free_ else [log_p - log_not_p]

    def _fit_rows(
        self,
        scores: FloatArray,
        positive: FloatArray,
        weight: FloatArray,
        log_odds: FloatArray | None = None,
    ) -> None:
        # Two distinct scores do not identify a and b, so they are set equal.
        self.free_ = not ((scores == scores.min()) | (scores == scores.max())).all()
        super()._fit_rows(scores, positive, weight, log_odds)

    def _name_parameters(self) -> None:
        self.a_, self.b_ = float(self.slopes_[0]), float(self.slopes_[-1])
        self.c_ = self.intercept_

    def _expression(self) -> str:
        return beta_expression(self.a_, self.b_, self.c_)


def beta_expression(a: float, b: float, c: float) -> str:
    """The formula of a beta curve with its numbers.

    >>> beta_expression(2.0, 1.5, 0.0)
    '1 / (1 + (1 - s)^1.5 / s^2)'
    """
    # exp(c) overflows if c is above 709.
    scale = f"{math.exp(c):.3g}" if abs(c) < 700.0 else f"e^{c:.3g}"
    odds = f"s^{a:.3g}" if scale == "1" else f"({scale} s^{a:.3g})"
    return f"1 / (1 + (1 - s)^{b:.3g} / {odds})"


@register(
    "beta_ab",
    "Beta, midpoint 1/2",
    simplicity=36,
    summary="Two parameters: slopes at both ends; a score of 0.5 stays 0.5.",
    source="Kull, Silva Filho, Flach 2017",
    aliases="beta calibration with two parameters",
)
class BetaMidpoint(IncreasingSigmoid):
    """Beta calibration with c = (a - b) ln 2, so that a score of 1/2 stays 1/2.

    The curve is 1 / (1 + 1 / (e^c s^a / (1 - s)^b)) with a, b >= 0. It is fitted as a logistic
    regression without intercept on ln 2s and -ln 2(1 - s).

    Attributes
    ----------
    a_, b_, c_ : float
    constant_, separated_ : bool
        As in `Beta`. If the curve is constant, the calibrated score is the base rate, not 1/2.

    References
    ----------
    Kull, Silva Filho, Flach 2017, "Beta calibration", AISTATS.

    Examples
    --------
    >>> fitted = BetaMidpoint().fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 0, 1])
    >>> fitted.predict([0.1, 0.5, 0.9]).round(3)
    array([0.087, 0.5  , 0.751])
    """

    has_intercept = False
    features = ("ln 2s", "-ln 2(1 - s)")

    def _columns(self, scores: FloatArray, log_odds: FloatArray | None) -> list[FloatArray]:
        log_p, log_not_p = logarithms(scores, log_odds)
        return [math.log(2.0) + log_p, -math.log(2.0) - log_not_p]

    def _name_parameters(self) -> None:
        self.a_, self.b_ = map(float, self.slopes_)
        self.c_ = self.intercept_ if self.constant_ else (self.a_ - self.b_) * math.log(2.0)

    def _expression(self) -> str:
        return beta_expression(self.a_, self.b_, self.c_)


@register(
    "beta_am",
    "Beta, a = b",
    simplicity=35,
    summary="Two parameters: one slope at both ends and an offset (a = b).",
    source="Kull, Silva Filho, Flach 2017",
    aliases="beta calibration with two parameters",
)
class BetaSymmetric(IncreasingSigmoid):
    """Beta calibration with a = b: 1 / (1 + 1 / (e^c s^a / (1 - s)^a)) with a >= 0.

    It is the same curve as `Logistic`, with other parameters.

    Attributes
    ----------
    a_, c_ : float
    constant_, separated_ : bool
        As in `Beta`.

    References
    ----------
    Kull, Silva Filho, Flach 2017, "Beta calibration", AISTATS.

    Examples
    --------
    >>> fitted = BetaSymmetric().fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> fitted.formula()
    '1 / (1 + (1 - s)^1.5 / s^1.5)'
    """

    def _name_parameters(self) -> None:
        self.a_, self.c_ = float(self.slopes_[0]), self.intercept_

    def _expression(self) -> str:
        return beta_expression(self.a_, self.a_, self.c_)

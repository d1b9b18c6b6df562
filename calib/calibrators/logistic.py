"""Logistic calibration: a straight line on the log-odds, or on the raw score (Platt scaling)."""

from __future__ import annotations

from calib.calibrators.increasing import IncreasingSigmoid, signed
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray


@register(
    "logistic",
    "Logistic",
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
    "Platt",
    simplicity=20,
    summary="Assumes an S-shaped (sigmoid) curve of the score itself.",
    source="Platt 1999",
    aliases="Platt scaling, sigmoid calibration",
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

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        return [scores]

    def _name_parameters(self) -> None:
        self.slope_ = float(self.slopes_[0])

    def _expression(self) -> str:
        return f"1 / (1 + exp(-({self.slope_:.3g} s {signed(self.intercept_)})))"

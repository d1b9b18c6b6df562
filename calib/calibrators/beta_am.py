"""Beta calibration with a = b."""

from __future__ import annotations

from calib.calibrators.beta import beta_expression
from calib.calibrators.increasing import IncreasingSigmoid
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import certain_logit


@register(
    "beta_am",
    "Beta, a = b",
    simplicity=35,
    summary="Assumes beta-distributed scores with equal shape parameters (a = b).",
    source="Kull, Silva Filho, Flach 2017",
    aliases="beta calibration with two parameters",
)
class BetaSymmetric(IncreasingSigmoid):
    """1 / (1 + 1 / (e^c s^a / (1 - s)^a)) with a >= 0: the curve of `logistic`, in beta's terms.

    Attributes
    ----------
    a_, c_ : float
    constant_, separated_ : bool
        As in `beta`.

    References
    ----------
    Kull, Silva Filho, Flach 2017, "Beta calibration", AISTATS.

    Examples
    --------
    >>> fitted = BetaSymmetric().fit([0.1, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 1, 0, 1, 1])
    >>> fitted.formula()
    '1 / (1 + (1 - s)^1.5 / s^1.5)'
    """

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        return [certain_logit(scores)]

    def _name_parameters(self) -> None:
        self.a_, self.c_ = float(self.slopes_[0]), self.intercept_

    def _expression(self) -> str:
        return beta_expression(self.a_, self.a_, self.c_)

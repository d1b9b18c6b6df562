"""Beta calibration with its midpoint fixed at 1/2."""

from __future__ import annotations

import math

import numpy as np

from calib.calibrators.beta import beta_expression
from calib.calibrators.increasing import IncreasingSigmoid
from calib.calibrators.registry import register
from calib.numerics.arrays import FloatArray
from calib.numerics.transforms import clip_certain


@register(
    "beta_ab",
    "Beta, midpoint 1/2",
    simplicity=36,
    summary="Assumes beta-distributed scores, and that a score of 0.5 is right.",
    source="Kull, Silva Filho, Flach 2017",
    aliases="beta calibration with two parameters",
)
class BetaMidpoint(IncreasingSigmoid):
    """1 / (1 + 1 / (e^c s^a / (1 - s)^b)) with a, b >= 0 and c = (a - b) ln 2.

    c makes 1/2 a fixed point: a logistic regression without intercept on ln 2s and -ln 2(1 - s).

    Attributes
    ----------
    a_, b_, c_ : float
    constant_, separated_ : bool
        As in `beta`; a constant calibrated score is the base rate and not 1/2.

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

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        clipped = clip_certain(scores)
        return [np.log(2.0 * clipped), -math.log(2.0) - np.log1p(-clipped)]

    def _name_parameters(self) -> None:
        self.a_, self.b_ = map(float, self.slopes_)
        self.c_ = self.intercept_ if self.constant_ else (self.a_ - self.b_) * math.log(2.0)

    def _expression(self) -> str:
        return beta_expression(self.a_, self.b_, self.c_)

"""Base of the parametric methods: a sigmoid of increasing functions of the score."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import RowCalibrator
from calib.calibrators.forms import Axis, Feature, Form, Piecewise, SigmoidOfFeatures
from calib.numerics.arrays import FloatArray
from calib.numerics.increasing_logistic import fit_increasing
from calib.numerics.splines import steps
from calib.numerics.transforms import certain_logit, sigmoid


class IncreasingSigmoid(RowCalibrator):
    """sigmoid(slopes @ columns(s) + intercept) with slopes of at least 0.

    If the observed rate falls as the score rises, the best increasing curve is constant: the
    calibrated score is the base rate, and `constant_` is True.
    """

    has_intercept = True
    smooth_targets = False
    features: tuple[Feature, ...] = ("logit s",)  # the columns by name

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        """Increasing functions of the score: its log-odds, unless a subclass has others."""
        return [certain_logit(scores)]

    def _name_parameters(self) -> None:
        """Set the attributes that hold the parameters of the method."""

    def _expression(self) -> str:
        """The formula of the fitted curve with its numbers."""
        raise NotImplementedError

    def _fit_rows(self, scores: FloatArray, positive: FloatArray, weight: FloatArray) -> None:
        fit = fit_increasing(
            scores,
            self._columns,
            positive,
            weight,
            intercept=self.has_intercept,
            smooth=self.smooth_targets,
        )
        self.slopes_ = fit.slopes
        self.intercept_ = fit.intercept
        self.constant_ = fit.constant
        self.separated_ = fit.separated
        self._name_parameters()

    def _base_rate(self) -> float:
        return float(sigmoid(np.array(self.intercept_)))

    def to_map(self) -> Form:
        if self.constant_:
            return Piecewise(Axis(), steps([], [self._base_rate()], "left"))
        # Of two columns that are one, the sum of both was fitted.
        features = self.features if len(self.slopes_) == len(self.features) else ("logit s",)
        return SigmoidOfFeatures(self.intercept_, tuple(self.slopes_.tolist()), features)

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


def signed(value: float) -> str:
    """A number as the last term of a sum.

    >>> signed(-1.0249)
    '- 1.02'
    """
    value = round(value, 12)  # the rounding of sums that are 0 is not shown
    return f"{'-' if value < 0 else '+'} {abs(value):.3g}"

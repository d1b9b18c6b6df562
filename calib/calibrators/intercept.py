"""Updating by intercept only: one shift of the log-odds."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import SigmoidOfFeatures
from calib.calibrators.logistic import signed
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.data.views import log_odds_of
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import best_intercept
from calib.numerics.transforms import sigmoid


@register(
    "intercept",
    "Intercept only",
    simplicity=12,
    summary="One shift of the log-odds for all scores.",
    source="Steyerberg et al. 2004, doi:10.1002/sim.1844",
    aliases="recalibration in the large, update of the intercept, central tendency, anchor point",
)
class Intercept(Calibrator):
    """Intercept only: sigmoid(logit(s) + a), so that the calibrated mean is a wanted rate.

    Without a target mean, that is the observed rate of the fitted rows, and a is the maximum
    likelihood estimate. Scores are clipped to [eps, 1 - eps] with eps = 2.2e-16.

    Parameters
    ----------
    target_mean : float or None, default None
        Mean of the calibrated scores of the fitted rows, in (0, 1), such as a long-run default
        rate. Outcomes are then not used. Default: the observed rate.

    Attributes
    ----------
    intercept_ : float
        a.
    mean_before_, mean_after_ : float
        Weighted mean of the scores, and of the calibrated scores, of the fitted rows.

    References
    ----------
    Steyerberg et al. 2004, "Validation and updating of predictive logistic regression models",
    doi:10.1002/sim.1844.

    Examples
    --------
    >>> fitted = Intercept(target_mean=0.1).fit([0.1, 0.3, 0.4, 0.8], [0, 0, 1, 1])
    >>> fitted.formula()
    '1 / (1 + exp(-(logit(s) - 2.3)))'
    >>> round(fitted.mean_before_, 3), round(fitted.mean_after_, 3)
    (0.4, 0.1)
    """

    needs_both_classes = False  # With a target mean, the outcomes are not used.

    def __init__(self, target_mean: float | None = None) -> None:
        self.target_mean = target_mean

    def _fit(self, cells: ScoreCells) -> None:
        x, weight = log_odds_of(cells), cells.weight
        self.intercept_ = best_intercept(x, self._wanted(cells), weight, xtol=1e-13)
        self.mean_before_ = float(weight @ cells.score) / cells.total_weight
        self.mean_after_ = float(weight @ sigmoid(x + self.intercept_)) / cells.total_weight

    def _wanted(self, cells: ScoreCells) -> FloatArray:
        """Positive weights whose sum is that of the calibrated scores."""
        if self.target_mean is not None:
            if not 0.0 < self.target_mean < 1.0:
                raise ValueError(
                    f"target_mean must fulfil 0 < target_mean < 1, got {self.target_mean}."
                )
            return self.target_mean * cells.weight
        if cells.one_class:
            raise ValueError(
                "Intercept needs rows of both classes to fit, got only class "
                f"{int(cells.total_positive > 0)}. Give target_mean instead."
            )
        return cells.positive

    def _map_log_odds(self, scores: FloatArray, log_odds: FloatArray) -> FloatArray:  # noqa: ARG002
        return np.asarray(sigmoid(log_odds + self.intercept_))

    def to_map(self) -> SigmoidOfFeatures:
        return SigmoidOfFeatures(self.intercept_, (1.0,), ("logit s",))

    def n_parameters(self) -> float:
        return 1

    def formula(self) -> str:
        return f"1 / (1 + exp(-(logit(s) {signed(self.intercept_)})))"

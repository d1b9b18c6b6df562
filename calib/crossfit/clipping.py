"""Clipping compared with calibration: how much of the gain comes from limiting extreme scores?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from calib.calibrators.clip import CANDIDATES, MatrixClip
from calib.crossfit.estimates import by_loss, mean_estimate
from calib.crossfit.matrix import MatrixFits
from calib.crossfit.matrix_comparison import LiveMulticlassComparison
from calib.metrics.matrix import row_log_loss
from calib.numerics.arrays import FloatArray
from calib.numerics.estimate import Estimate
from calib.text import number


@dataclass(frozen=True, slots=True)
class ClippedLoss:
    """Log loss of the scores under one bound.

    Attributes
    ----------
    p_min : float
        Lower bound of the scores, before the row is divided by its sum.
    log_loss, change : Estimate
        Log loss on held-out rows, and its difference from the uncalibrated scores, paired by row.
    """

    p_min: float
    log_loss: Estimate
    change: Estimate


@dataclass(frozen=True, slots=True)
class Clipping:
    """Log loss under each bound, without clipping, and with calibration.

    Attributes
    ----------
    bounds : tuple of ClippedLoss
        Largest bound first.
    best : ClippedLoss
        The bound with the lowest log loss. It was chosen on the same rows, so its log loss is
        optimistic.
    uncalibrated, calibrated : Estimate
        Log loss of the uncalibrated scores, and of the calibrator with the lowest log loss.
    calibrator : str
        Key of that calibrator, or "uncalibrated" if no calibrator was compared.
    gain : Estimate
        Log loss of the calibrator minus that of the best bound, paired by row. Below 0: calibration
        lowers the log loss more than clipping does.
    """

    bounds: tuple[ClippedLoss, ...]
    best: ClippedLoss
    uncalibrated: Estimate
    calibrated: Estimate
    calibrator: str
    gain: Estimate

    def frame(self) -> pd.DataFrame:
        """One row per bound."""
        rows = [
            {"p_min": one.p_min}
            | one.log_loss.with_bounds("log_loss")
            | one.change.with_bounds("change")
            for one in self.bounds
        ]
        return pd.DataFrame(rows).set_index("p_min")


def compare_clipping(compared: LiveMulticlassComparison) -> Clipping:
    """Clip the held-out scores at 1e-2, 1e-3, 1e-4 and 1e-5, and compare the best with calibration.

    Parameters
    ----------
    compared : LiveMulticlassComparison
        Result of `calib.compare_multiclass`.

    Raises
    ------
    ValueError
        If every bound is too large for this number of classes.

    References
    ----------
    Lucena 2018, "Spline-based probability calibration", Figure 2, arXiv:1809.07751.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.crossfit.matrix_comparison import compare_multiclass
    >>> from calib.data.predictions import Predictions
    >>> scores = [[0.999, 0.0005, 0.0005], [0.0005, 0.999, 0.0005], [0.0005, 0.0005, 0.999]]
    >>> label = np.append(np.arange(100) % 3, 0)
    >>> rows = Predictions.from_arrays(label, np.array(scores)[np.arange(101) % 3])
    >>> found = compare_clipping(compare_multiclass(rows, ("temperature",)))
    >>> found.best.p_min, found.bounds[0].change.value < 0.0
    (0.01, True)
    """
    held_out = compared.held_out
    m, level = len(held_out.class_names), compared.confidence_level
    rows = {p_min: _row_losses(held_out, p_min) for p_min in CANDIDATES if p_min * m < 1.0}
    if not rows:
        raise ValueError(
            f"Clipping needs fewer than {number(1 / min(CANDIDATES), 0)} classes, got {m:,}."
        )
    reference = compared.scored["uncalibrated"].rows["log_loss"]
    view = held_out.top_label

    def mean(values: FloatArray, added_variance: float = 0.0) -> Estimate:
        return mean_estimate(values, view, level, added_variance)

    bounds = tuple(
        ClippedLoss(p_min, mean(values), mean(values - reference)) for p_min, values in rows.items()
    )
    best = min(bounds, key=lambda one: one.log_loss.value)
    key = next(key for key in by_loss(compared.results) if key != "clip")
    return Clipping(
        bounds=bounds,
        best=best,
        uncalibrated=compared.results["uncalibrated"].metrics["log_loss"],
        calibrated=compared.results[key].metrics["log_loss"],
        calibrator=key,
        gain=mean(
            compared.scored[key].rows["log_loss"] - rows[best.p_min],
            compared.scored[key].fold_variance(None, "log_loss", held_out.fold_points[1]),
        ),
    )


def _row_losses(held_out: MatrixFits, p_min: float) -> FloatArray:
    rows = held_out.in_order("uncalibrated")
    clipped = MatrixClip(p_min).fit(rows.scores[:1], rows.label[:1]).predict(rows.scores)
    return row_log_loss(clipped, rows.label)

"""Effect of epsilon and of clipping on the held-out log loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from calib.calibrators import CALIBRATORS
from calib.calibrators.clip import CANDIDATES, MatrixClip
from calib.crossfit.cross_fitted import CrossFitted, by_loss, mean_estimate
from calib.crossfit.matrix import MatrixFits, create
from calib.crossfit.matrix_comparison import LiveMulticlassComparison
from calib.crossfit.settings import Settings
from calib.curves.functions import CalibrationFunction, calibration_function
from calib.data.base import Progress, no_progress
from calib.data.cells import ScoreCells
from calib.metrics.matrix import row_log_loss
from calib.metrics.proper import mean_log_loss
from calib.numerics.arrays import FloatArray, Locked, arrays_of
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.intervals import Estimate
from calib.numerics.transforms import automatic_epsilon, safe_logit, sigmoid
from calib.text import number, significant

# The compact logit can use epsilons in this range, of which the curve has the whole decades.
EPSILONS = (*(float(f"1e-{k}") for k in range(15, 0, -1)), 0.3)
MAX_CELLS = 4096
# A score whose log-odds are further from 0 is outside every epsilon.
MAX_LOG_ODDS = 36.0


@dataclass(frozen=True, slots=True, eq=False)
class EpsilonCurve(Locked):
    """Held-out log loss of one method over epsilon.

    Attributes
    ----------
    key : str
        Key of the method.
    epsilon : ndarray of shape (g,)
        Increasing values.
    log_loss : ndarray of shape (g,)
        Log loss on test rows or by cross-fitting, as in the comparison of methods.
    n_outside : ndarray of shape (g,)
        Number of rows with a score outside [epsilon, 1 - epsilon], among the rows on which the
        plotted calibrator is fitted.
    automatic : float
        The epsilon that the method takes by itself, one of `epsilon`.
    """

    key: str
    epsilon: FloatArray
    log_loss: FloatArray
    n_outside: FloatArray
    automatic: float

    @property
    def swing(self) -> float:
        """Largest minus smallest log loss over all epsilons."""
        return float(self.log_loss.max() - self.log_loss.min())

    def frame(self) -> pd.DataFrame:
        """One row per epsilon."""
        return pd.DataFrame(arrays_of(self))


@dataclass(frozen=True, slots=True, eq=False)
class CrossFitFolds:
    """The cells to fit on and the cells to score, as in the comparison: one pair per fold."""

    pairs: tuple[tuple[ScoreCells, ScoreCells], ...]
    settings: Settings

    def log_loss(self, key: str, epsilon: float, progress: Progress = no_progress) -> float:
        """Held-out log loss of a method at one epsilon.

        Before each fit, ``progress(share, step)`` is called. Raises ValueError if the method cannot
        be fitted.
        """
        settings = replace(self.settings, epsilon=epsilon)
        total = loss = 0.0
        for place, (fit_on, scored) in enumerate(self.pairs):
            progress(
                place / len(self.pairs),
                f"{CALIBRATORS[key].short_label} at ε = {significant(epsilon, 2)}",
            )
            p = create(key, settings).fit_cells(fit_on).predict(scored.score)
            loss += scored.total_weight * mean_log_loss(scored, p)
            total += scored.total_weight
        return loss / total


def cross_fit_folds(held_out: CrossFitted) -> CrossFitFolds:
    """Count the rows of every round into at most about 4,096 cells, once for all epsilons."""
    rows, fold = held_out.rows, held_out.rows.fold
    if fold is None:
        pairs = [(held_out.fitted_on, rows.cells())]
    else:
        pairs = [
            (rows.rows(fold != number).cells(), rows.rows(fold == number).cells())
            for number in np.unique(fold)
        ]
    few = tuple((few_cells(fit_on), few_cells(scored)) for fit_on, scored in pairs)
    return CrossFitFolds(few, held_out.settings)


def few_cells(cells: ScoreCells, most: int = MAX_CELLS) -> ScoreCells:
    """Join neighbouring cells at their mean log-odds, until at most about `most` are left.

    Scores of 0 and 1 are not joined with others, nor are scores on different sides of an end of
    the compact logit.
    """
    if len(cells) <= most:
        return cells
    x = np.clip(safe_logit(cells.score), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    # Cells end at each epsilon, so that no cell has rows on both sides of it.
    ends = [*np.searchsorted(cells.score, EPSILONS)]
    ends += [*np.searchsorted(cells.score, 1.0 - np.array(EPSILONS), side="right")]
    starts = np.unique([*bucket_starts(x, cells.weight, most), *ends])
    starts = starts[starts < len(cells)]
    return cells.joined(starts, sigmoid(bucket_means(x, cells.weight, starts)))


def rows_outside(cells: ScoreCells, epsilon: float) -> int:
    """Number of rows with a score outside [epsilon, 1 - epsilon], which stay unchanged."""
    below = np.searchsorted(cells.score, epsilon)
    upto = np.searchsorted(cells.score, 1.0 - epsilon, side="right")
    inside = cells.cumulative_rows[upto] - cells.cumulative_rows[below]
    return cells.n_rows - int(inside)


@lru_cache
def takes_epsilon(key: str) -> bool:
    return CALIBRATORS[key].takes("epsilon")


def epsilon_curve(
    key: str, settings: Settings, fitted_on: ScoreCells, log_loss: Callable[[float], float]
) -> EpsilonCurve:
    """Held-out log losses at all epsilons, by `log_loss`; the plotted fit is on `fitted_on`."""
    automatic = automatic_epsilon(fitted_on.score, create(key, settings).epsilon_rule)
    losses = [log_loss(epsilon) for epsilon in EPSILONS]
    outside = [float(rows_outside(fitted_on, epsilon)) for epsilon in EPSILONS]
    return EpsilonCurve(key, np.array(EPSILONS), np.array(losses), np.array(outside), automatic)


def by_rule(held_out: CrossFitted, keys: tuple[str, ...]) -> Mapping[str, CalibrationFunction]:
    """Calibrators of some methods, fitted with the automatic epsilon."""
    settings = replace(held_out.settings, epsilon=None)
    return {
        key: calibration_function(create(key, settings).fit_cells(held_out.fitted_on))
        for key in keys
    }


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

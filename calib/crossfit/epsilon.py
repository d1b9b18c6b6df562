"""Effect of epsilon: the held-out log loss, and the number of rows outside its range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.methods import create
from calib.crossfit.settings import Settings
from calib.curves.functions import CalibrationFunction, calibration_function
from calib.data.cells import ScoreCells
from calib.data.progress import Progress, no_progress
from calib.metrics.proper import mean_log_loss
from calib.numerics.arrays import FloatArray, Locked, arrays_of
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.transforms import automatic_epsilon, safe_logit, sigmoid
from calib.text import significant

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
        for number, (fit_on, scored) in enumerate(self.pairs):
            progress(
                number / len(self.pairs),
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

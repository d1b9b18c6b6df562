"""Calibration functions of fitted calibrators, and the sensitivity of ECE to the number of bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from calib.data.cells import ScoreCells
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, arrays_of
from calib.numerics.binning import Strategy, bin_between, bin_edges
from calib.numerics.transforms import compact_logit, sigmoid
from calib.uncertainty import Replicates

GRID_SIZE = 201


@dataclass(frozen=True, slots=True, eq=False)
class LambdaPath(Locked):
    """How the smoothing of a calibrator was chosen: cross-validated loss per row by penalty.

    `lambdas` and `losses` have the shape (p,), and so have the effective `degrees` of freedom,
    which are empty if the method does not compute them. `chosen` is the position of the lambda in
    use.

    Raises ValueError if the lengths differ, or `chosen` is not a position.
    """

    lambdas: FloatArray
    losses: FloatArray
    degrees: FloatArray
    chosen: int

    def __post_init__(self) -> None:
        n = len(self.lambdas)
        if len(self.losses) != n or len(self.degrees) not in (0, n):
            raise ValueError(
                "lambdas, losses and degrees must have one length, got "
                f"{n}, {len(self.losses)} and {len(self.degrees)}."
            )
        if not 0 <= self.chosen < n:
            raise ValueError(f"chosen must fulfil 0 <= chosen < {n}, got {self.chosen}.")
        Locked.__post_init__(self)

    @property
    def lowest(self) -> int:
        """The position of the lowest loss."""
        return int(self.losses.argmin())

    @property
    def excess(self) -> float:
        """How much the loss of the lambda in use exceeds the lowest."""
        return float(self.losses[self.chosen] - self.losses[self.lowest])

    def frame(self) -> pd.DataFrame:
        """One row per lambda."""
        table = pd.DataFrame({"lambda": self.lambdas, "loss": self.losses})
        if len(self.degrees):
            table["degrees"] = self.degrees
        return table.assign(chosen=table.index == self.chosen)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class CalibrationFunction(Locked):
    """A fitted calibrator on a grid of scores.

    `score` and `calibrated` have the shape (g,). They are empty if the calibrator reads whole rows
    of a matrix. `knots` are the scores at which the function changes its formula. `formula`
    describes the function in words and numbers. `path` is None if the method has no smoothing.
    """

    score: FloatArray
    calibrated: FloatArray
    knots: FloatArray
    formula: str
    path: LambdaPath | None = None

    @property
    def has_curve(self) -> bool:
        """Whether the calibrator is a function of one score."""
        return len(self.score) > 0

    def frame(self) -> pd.DataFrame:
        """One row per grid point."""
        return pd.DataFrame({"score": self.score, "calibrated": self.calibrated})


@dataclass(frozen=True, slots=True, eq=False)
class CompactLogitCurve(Locked):
    """The compact logit at one epsilon, on a grid of scores.

    `rule` is the automatic epsilon for these scores. `n_outside` is the number of
    rows with a score outside [epsilon, 1 - epsilon], where the transform is the identity.
    """

    epsilon: float
    rule: float
    score: FloatArray
    transformed: FloatArray
    n_outside: int

    def frame(self) -> pd.DataFrame:
        """One row per grid point."""
        return pd.DataFrame({"score": self.score, "transformed": self.transformed})


class FittedMap(Protocol):
    """The parts of a fitted calibrator that are needed for its curve."""

    def predict(self, scores: FloatArray, /) -> FloatArray: ...

    def knots(self) -> FloatArray: ...

    def described(self) -> str: ...


def score_grid() -> FloatArray:
    """Scores from 0 to 1: evenly spaced in the middle, and dense near 0 and 1."""
    even = np.linspace(0.0, 1.0, GRID_SIZE)
    tails = sigmoid(np.linspace(-14.0, 14.0, 57))
    return np.unique(np.concatenate([even, tails]))


def calibration_function(fitted: FittedMap) -> CalibrationFunction:
    """Evaluate a fitted calibrator on the grid."""
    grid = score_grid()
    return CalibrationFunction(
        grid, fitted.predict(grid), fitted.knots(), fitted.described(), lambda_path(fitted)
    )


def lambda_path(fitted: Any) -> LambdaPath | None:
    """The path of a calibrator with the attributes `lambdas_`, `cv_losses_` and `lambda_`.

    If all scores were equal, the path is empty and the result is None.
    """
    lambdas: FloatArray = getattr(fitted, "lambdas_", np.empty(0))
    if not len(lambdas):
        return None
    degrees: FloatArray = getattr(fitted, "degrees_", np.empty(0))
    chosen = int(np.flatnonzero(lambdas == fitted.lambda_)[0])
    return LambdaPath(lambdas, fitted.cv_losses_, degrees, chosen)


def compact_logit_curve(epsilon: float, rule: float, n_outside: int) -> CompactLogitCurve:
    """Evaluate the compact logit on the grid."""
    grid = score_grid()
    return CompactLogitCurve(epsilon, rule, grid, compact_logit(grid, epsilon), n_outside)


MIN_BINS, MAX_BINS = 5, 50


@dataclass(frozen=True, slots=True, eq=False)
class SensitivityCurve(Locked):
    """ECE by number of bins, with one strategy and with its interval. Arrays: shape (m,).

    `noise_floor` is the mean ECE of calibrated scores, and `noise` its quantile at the level.
    """

    strategy: Strategy
    n_bins: IntArray
    ece: FloatArray
    low: FloatArray
    high: FloatArray
    noise_floor: FloatArray
    noise: FloatArray
    confidence_level: float

    @property
    def miscalibrated(self) -> BoolArray:
        """Whether ECE is larger than expected by chance: its interval excludes 0."""
        return self.ece > self.noise

    def frame(self) -> pd.DataFrame:
        """One row per number of bins."""
        columns = {"strategy": self.strategy, **arrays_of(self)}
        return pd.DataFrame(columns | {"miscalibrated": self.miscalibrated})


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Sensitivity:
    """ECE over the number of bins, for both strategies."""

    uniform: SensitivityCurve
    quantile: SensitivityCurve

    @property
    def share(self) -> float:
        """Share of all binnings that find miscalibration."""
        return float(
            np.mean(np.concatenate([self.uniform.miscalibrated, self.quantile.miscalibrated]))
        )

    @property
    def flips(self) -> bool:
        """Whether some binnings find miscalibration and others do not."""
        return 0.0 < self.share < 1.0

    def frame(self) -> pd.DataFrame:
        """One row per strategy and number of bins."""
        return pd.concat([self.uniform.frame(), self.quantile.frame()], ignore_index=True)


def ece_sensitivity(
    cells: ScoreCells,
    replicates: Replicates,
    *,
    fewest: int = MIN_BINS,
    most: int = MAX_BINS,
    confidence_level: float = 0.95,
) -> Sensitivity:
    """ECE with its interval from `fewest` to `most` bins, for uniform and quantile bins.

    The replicates are those of the same rows: ``analysis.held_out.replicates[key]``. Raises
    ValueError if the range of bins is empty. See Nixon et al. 2019, arXiv:1904.01685 (how ECE
    varies with its bins).
    """
    if not 1 <= fewest <= most:
        raise ValueError(f"bins must fulfil 1 <= fewest <= most, got {fewest} and {most}.")

    def curve(strategy: Strategy) -> SensitivityCurve:
        counts = np.arange(fewest, most + 1)
        rows = [_row(cells, replicates, int(n), strategy, confidence_level) for n in counts]
        ece, low, high, floor, noise = np.array(rows).T
        return SensitivityCurve(strategy, counts, ece, low, high, floor, noise, confidence_level)

    return Sensitivity(curve("uniform"), curve("quantile"))


def _row(
    cells: ScoreCells, replicates: Replicates, n_bins: int, strategy: Strategy, level: float
) -> tuple[float, float, float, float, float]:
    edges = bin_edges(cells, n_bins, strategy)
    bins, errors = bin_between(cells, edges), replicates.ece(edges, cells)
    value = float(bins.weight @ np.abs(bins.gap)) / cells.total_weight
    estimate = errors.estimate(value, level)
    noise = float(np.quantile(errors.noise, level))
    return value, estimate.low, estimate.high, estimate.noise_floor, noise

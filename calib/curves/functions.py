"""Calibration functions: the output of a fitted calibrator as a function of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.transforms import compact_logit, sigmoid

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

"""Cost and net benefit over all thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.analysis.decisions.costs import Costs
from calib.analysis.decisions.decide import cost_from
from calib.core.cells import ScoreCells
from calib.crossfit.cross_fitted import CrossFitted
from calib.numerics.arrays import FloatArray, Locked

# Rounded, so that a score of 0.3 reaches the threshold 0.3.
GRID = np.linspace(0.0, 1.0, 201).round(3)


@dataclass(frozen=True, slots=True, eq=False)
class CostCurves(Locked):
    """Expected cost of a row at every threshold, by method.

    Attributes
    ----------
    threshold : ndarray of shape (g,)
        0 to 1 in equal steps.
    cost : mapping of str to ndarray of shape (g,)
        By method key.
    treat_all, treat_none : float
    """

    threshold: FloatArray
    cost: Mapping[str, FloatArray]
    treat_all: float
    treat_none: float

    def frame(self) -> pd.DataFrame:
        """One row per threshold, one column per method."""
        return pd.DataFrame({"threshold": self.threshold, **self.cost})


@dataclass(frozen=True, slots=True, eq=False)
class NetBenefit(Locked):
    """Net benefit at every threshold, by method.

    Attributes
    ----------
    threshold : ndarray of shape (g,)
        0 to below 1 in equal steps.
    benefit : mapping of str to ndarray of shape (g,)
        By method key: true positives minus false positives times t / (1 - t), per row.
    treat_all : ndarray of shape (g,)
        Of flagging every row; of flagging none it is 0.
    base_rate : float
        The most that can be reached.
    """

    threshold: FloatArray
    benefit: Mapping[str, FloatArray]
    treat_all: FloatArray
    base_rate: float

    def frame(self) -> pd.DataFrame:
        """One row per threshold, one column per method."""
        both = {"threshold": self.threshold, "treat_all": self.treat_all}
        return pd.DataFrame({**both, **self.benefit})

    def shortfall(self, key: str) -> FloatArray:
        """How far a method lies below the better of flagging all and none; 0 where it does not.

        Parameters
        ----------
        key : str
            Of the method.

        Returns
        -------
        ndarray of shape (g,)
        """
        missing = np.maximum(self.treat_all, 0.0) - self.benefit[key]
        # Rounding alone does not make a method worse.
        return np.where(missing > 1e-9, missing, 0.0)


def cost_curves(held_out: CrossFitted, costs: Costs) -> CostCurves:
    """Expected cost of a row if all rows of a score of at least t are flagged, for t in [0, 1].

    Parameters
    ----------
    held_out : CrossFitted
    costs : Costs
        Its capacity plays no part.
    """
    spent = {key: cost_from(cells, costs)[_first(cells, GRID)] for key, cells in _cells(held_out)}
    base_rate = held_out.cells["uncalibrated"].base_rate
    treat_all, treat_none = (1 - base_rate) * costs.false_positive, base_rate * costs.false_negative
    return CostCurves(GRID.copy(), spent, treat_all, treat_none)


def net_benefit(held_out: CrossFitted) -> NetBenefit:
    """Net benefit of acting on a score of at least t, for t in [0, 1).

    The threshold says what a false alarm is worth: a person who acts from t on holds one missed
    positive for as bad as (1 - t) / t false alarms. Calibrated scores never do worse than flagging
    all rows or none; miscalibrated ones can.

    Parameters
    ----------
    held_out : CrossFitted

    References
    ----------
    Vickers and Elkin 2006, doi:10.1177/0272989X06295361.
    """
    threshold = GRID[:-1].copy()
    odds = threshold / (1.0 - threshold)
    benefit = {key: _benefit(cells, threshold, odds) for key, cells in _cells(held_out)}
    base_rate = held_out.cells["uncalibrated"].base_rate
    return NetBenefit(threshold, benefit, base_rate - (1.0 - base_rate) * odds, base_rate)


def _cells(held_out: CrossFitted) -> list[tuple[str, ScoreCells]]:
    return [(key, held_out.cells[key]) for key in held_out.scores]


def _first(cells: ScoreCells, threshold: FloatArray) -> np.ndarray:
    """The first cell that is flagged at each threshold."""
    return np.searchsorted(cells.score, threshold, side="left")


def _benefit(cells: ScoreCells, threshold: FloatArray, odds: FloatArray) -> FloatArray:
    first = _first(cells, threshold)
    true_positives = cells.total_positive - cells.cumulative_positive[first]
    false_positives = cells.total_weight - cells.cumulative_weight[first] - true_positives
    return np.asarray((true_positives - false_positives * odds) / cells.total_weight)

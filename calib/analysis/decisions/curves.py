"""Expected cost and net benefit as functions of the threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.analysis.decisions.decide import Costs, cost_from
from calib.crossfit.cross_fitted import CrossFitted
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, Locked
from calib.numerics.isotonic import increasing_blocks

# Thresholds are rounded, so that a score of 0.3 reaches the threshold 0.3.
THRESHOLDS = np.linspace(0.0, 1.0, 201).round(3)


@dataclass(frozen=True, slots=True, eq=False)
class CostCurves(Locked):
    """Expected cost per row at each threshold, by method.

    Attributes
    ----------
    threshold : ndarray of shape (g,)
        0 to 1 in equal steps.
    cost : mapping of str to ndarray of shape (g,)
        Expected cost per row, by method key.
    treat_all, treat_none : float
        Expected cost per row if all rows are flagged, and if no row is flagged.
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
    """Net benefit at each threshold (decision curve), by method.

    Attributes
    ----------
    threshold : ndarray of shape (g,)
        0 to below 1 in equal steps.
    benefit : mapping of str to ndarray of shape (g,)
        True positives minus t / (1 - t) times false positives, per row, by method key.
    treat_all : ndarray of shape (g,)
        Net benefit if all rows are flagged. If no row is flagged, it is 0.
    base_rate : float
        The largest possible net benefit.
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
        """Loss of net benefit compared with the better of flagging all rows and flagging none.

        Parameters
        ----------
        key : str
            Key of the method.

        Returns
        -------
        ndarray of shape (g,)
            At least 0. It is 0 at thresholds at which the method is not worse.
        """
        missing = np.maximum(self.treat_all, 0.0) - self.benefit[key]
        # Smaller differences are rounding errors.
        return np.where(missing > 1e-9, missing, 0.0)

    def worse_than_all(self, key: str) -> FloatArray:
        """Thresholds at which a method is worse than flagging all rows, the better alternative."""
        return self.threshold[(self.shortfall(key) > 0.0) & (self.treat_all > 0.0)]

    def worse_than_none(self, key: str) -> FloatArray:
        """Thresholds at which a method is worse than flagging no row, the better alternative."""
        return self.threshold[(self.shortfall(key) > 0.0) & (self.treat_all <= 0.0)]


@dataclass(frozen=True, slots=True, eq=False)
class ErrorShares(Locked):
    """Errors per row at thresholds. Arrays have the shape (g,).

    Attributes
    ----------
    threshold : ndarray
        Rows with at least this score are flagged; inf flags no row.
    missed, false_alarms : ndarray
        False negatives and false positives, divided by the weight of all rows. Costs are linear in
        both.
    detected : ndarray
        True positives, divided by the same weight.
    """

    threshold: FloatArray
    missed: FloatArray
    false_alarms: FloatArray
    detected: FloatArray


def error_shares(cells: ScoreCells, threshold: FloatArray) -> ErrorShares:
    """Missed positives and false alarms per row at the given thresholds.

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.8])
    >>> errors = error_shares(cells, np.array([0.2, 0.5]))
    >>> errors.missed, errors.false_alarms
    (array([0.  , 0.25]), array([0.25, 0.25]))
    """
    return _errors(cells, _first(cells, threshold), threshold)


def expected_shares(held_out: CrossFitted, key: str, threshold: FloatArray) -> FloatArray:
    """Positives per row that one method expects among rows that the uncalibrated scores flag.

    Parameters
    ----------
    held_out : CrossFitted
        ``analysis.held_out``.
    key : str
        Key of the method.
    threshold : ndarray of shape (g,)
        Rows with at least this uncalibrated score are flagged.

    Returns
    -------
    ndarray of shape (g,)
        Weighted sum of the scores of the method over these rows, divided by the weight of all rows.
    """
    view, uncalibrated = held_out.view(key), held_out.scores["uncalibrated"]
    order = np.argsort(uncalibrated)
    up_to = np.concatenate([[0.0], np.cumsum((view.weights * view.score)[order])])
    first = np.searchsorted(uncalibrated[order], threshold, side="left")
    return np.asarray((up_to[-1] - up_to[first]) / view.weights.sum())


def cheapest_errors(cells: ScoreCells) -> ErrorShares:
    """The errors at all thresholds that have the lowest cost on these rows for some costs.

    These are the corners of the convex hull of the ROC curve, which are the edges of the blocks of
    isotonic regression.

    References
    ----------
    Fawcett and Niculescu-Mizil 2007, "PAV and the ROC convex hull", doi:10.1007/s10994-007-5011-0.

    Examples
    --------
    >>> cells = ScoreCells.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.6, 0.8])
    >>> cheapest_errors(cells).threshold
    array([0.1, 0.2, 0.8, inf])
    """
    first = increasing_blocks(cells.positive / cells.weight, cells.weight)
    return _errors(cells, first, np.append(cells.score, np.inf)[first])


def _errors(cells: ScoreCells, first: np.ndarray, threshold: FloatArray) -> ErrorShares:
    missed = cells.cumulative_positive[first]
    negatives = cells.total_weight - cells.total_positive
    false_alarms = negatives - (cells.cumulative_weight[first] - missed)
    total = cells.total_weight
    shares = (missed, np.maximum(false_alarms, 0.0), cells.total_positive - missed)
    return ErrorShares(threshold, *(weight / total for weight in shares))


def cost_curves(held_out: CrossFitted, costs: Costs) -> CostCurves:
    """Expected cost per row if rows with a score of at least t are flagged, for t in [0, 1].

    Parameters
    ----------
    held_out : CrossFitted
        ``analysis.held_out``.
    costs : Costs
        The capacity has no effect.

    References
    ----------
    Elkan 2001, "The foundations of cost-sensitive learning", IJCAI.

    Examples
    --------
    With these costs, a missed positive row costs as much as four false positives:

    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> curves = cost_curves(analysis.held_out, Costs(false_positive=1, false_negative=4))
    >>> curves.treat_all, curves.treat_none
    (0.5, 2.0)
    """
    spent = {
        key: cost_from(cells, costs)[_first(cells, THRESHOLDS)]
        for key, cells in held_out.cells.items()
    }
    base_rate = held_out.cells["uncalibrated"].base_rate
    treat_all, treat_none = (1 - base_rate) * costs.false_positive, base_rate * costs.false_negative
    return CostCurves(THRESHOLDS.copy(), spent, treat_all, treat_none)


def net_benefit(held_out: CrossFitted) -> NetBenefit:
    """Net benefit (decision curve) of flagging rows with a score of at least t, for t in [0, 1).

    Flagging at threshold t means that one true positive is worth (1 - t) / t false positives.
    The expected net benefit of calibrated scores is never below that of flagging all rows or none.
    That of miscalibrated scores can be.

    Parameters
    ----------
    held_out : CrossFitted
        ``analysis.held_out``.

    References
    ----------
    Vickers and Elkin 2006, doi:10.1177/0272989X06295361.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> found = net_benefit(analysis.held_out)
    >>> found.base_rate, float(found.shortfall("uncalibrated").max())
    (0.5, 0.0)
    """
    threshold = THRESHOLDS[:-1].copy()
    odds = threshold / (1.0 - threshold)
    benefit = {key: _benefit(cells, threshold, odds) for key, cells in held_out.cells.items()}
    base_rate = held_out.cells["uncalibrated"].base_rate
    return NetBenefit(threshold, benefit, base_rate - (1.0 - base_rate) * odds, base_rate)


def _first(cells: ScoreCells, threshold: FloatArray) -> np.ndarray:
    """The first flagged cell at each threshold."""
    return np.searchsorted(cells.score, threshold, side="left")


def _benefit(cells: ScoreCells, threshold: FloatArray, odds: FloatArray) -> FloatArray:
    first = _first(cells, threshold)
    true_positives = cells.total_positive - cells.cumulative_positive[first]
    false_positives = cells.total_weight - cells.cumulative_weight[first] - true_positives
    return np.asarray((true_positives - false_positives * odds) / cells.total_weight)

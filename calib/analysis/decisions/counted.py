"""Decisions of a round number of rows, as pages print them: counts that add up, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib.analysis.decisions.curves import ErrorShares
from calib.analysis.decisions.decide import Decision, DecisionTable
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, arrays_of
from calib.numerics.intervals import Estimate

# Counts have no decimals if their cost differs by at most this share from the exact one.
MAX_COST_ERROR = 0.01
MAX_COUNT_DIGITS = 3
MIN_WHOLE_COST = 100  # Costs of at least this size have no decimals.


@dataclass(frozen=True, slots=True, eq=False)
class Counted(Locked):
    """Decisions by the scores of one method, in rounded numbers of rows. Arrays have shape (g,).

    Attributes
    ----------
    detected, false_alarms, missed : ndarray
        Positive rows that are flagged, negative rows that are flagged, and positive rows that are
        not.
    digits : ndarray
        Decimals of these numbers.
    cost : ndarray
        Cost of these numbers of missed positives and false alarms.
    """

    detected: FloatArray
    false_alarms: FloatArray
    missed: FloatArray
    digits: IntArray
    cost: FloatArray

    @property
    def flagged(self) -> FloatArray:
        """Flagged rows: the sum of the two printed numbers."""
        return self.detected + self.false_alarms

    def replaced(self, at: int, other: Counted) -> Counted:
        """These numbers, with the only ones of another at one threshold."""
        parts = {name: values.copy() for name, values in arrays_of(self).items()}
        for name, values in arrays_of(other).items():
            parts[name][at] = values[0]
        return Counted(**parts)


def to_digits(value: FloatArray | float, digits: IntArray | int) -> FloatArray:
    """Numbers with these decimals; halves are rounded to even."""
    scale = 10.0 ** np.asarray(digits)
    # An error of rounding must not decide how a half is rounded.
    return np.asarray(np.round(np.round(value * scale, 6)) / scale)


def counted(
    errors: Mapping[str, ErrorShares],
    n_rows: int,
    miss: FloatArray | float,
    alarm: float,
    change: Estimate | None = None,
) -> dict[str, Counted]:
    """Count the decisions of each method in `n_rows` rows, with as few decimals as possible.

    Parameters
    ----------
    errors : mapping of str to ErrorShares
        Errors at g thresholds by method key.
    n_rows : int
        Number of rows of which errors are counted.
    miss, alarm : ndarray of shape (g,) or float
        Cost of a missed positive, and of a false alarm.
    change : Estimate, optional
        Cost of the last method minus that of the first, of `n_rows` rows. The printed costs then
        differ by a number within this interval.

    Returns
    -------
    dict of str to Counted
        All methods have the same decimals at one threshold.
    """
    exact = [n_rows * (miss * part.missed + alarm * part.false_alarms) for part in errors.values()]
    limit = MAX_COST_ERROR * np.maximum.reduce(exact)
    digits = np.zeros(len(limit), dtype=np.int64)
    for _ in range(MAX_COUNT_DIGITS):
        spent = [one.cost for one in _at(errors, n_rows, miss, alarm, digits).values()]
        off = np.maximum.reduce([abs(a - b) for a, b in zip(spent, exact, strict=True)]) > limit
        off |= _outside(spent[-1] - spent[0], change)
        digits += off
    return _at(errors, n_rows, miss, alarm, digits)


def _outside(difference: FloatArray, change: Estimate | None) -> BoolArray:
    if change is None:
        return np.zeros(len(difference), dtype=np.bool_)
    return np.asarray((difference < change.low - 1e-9) | (difference > change.high + 1e-9))


def _at(
    errors: Mapping[str, ErrorShares],
    n_rows: int,
    miss: FloatArray | float,
    alarm: float,
    digits: IntArray,
) -> dict[str, Counted]:
    made = {}
    for key, part in errors.items():
        detected, alarms, missed = (
            to_digits(n_rows * share, digits)
            for share in (part.detected, part.false_alarms, part.missed)
        )
        made[key] = Counted(detected, alarms, missed, digits.copy(), miss * missed + alarm * alarms)
    return made


def counted_decisions(table: DecisionTable, methods: Sequence[str]) -> dict[str, Counted]:
    """The decisions of a table, of which the first and the last method are compared."""
    n_rows, decisions = table.reference_rows, [table.methods[key] for key in methods]
    return counted(
        {key: _shares(one) for key, one in zip(methods, decisions, strict=True)},
        n_rows,
        table.costs.false_negative,
        table.costs.false_positive,
        decisions[-1].change.scaled(n_rows) if len(methods) > 1 else None,
    )


def _shares(decision: Decision) -> ErrorShares:
    weights = (decision.false_negatives, decision.false_positives, decision.true_positives)
    shares = (np.array([weight / decision.n_rows]) for weight in weights)
    return ErrorShares(np.array([decision.threshold]), *shares)


def printed_costs(made: Sequence[Counted], at: int = 0) -> tuple[list[float], int]:
    """What each method costs as it is printed at one of the thresholds, and the decimals."""
    spent = [float(one.cost[at]) for one in made]
    digits = cost_digits(max(spent))
    return [float(to_digits(cost, digits)) for cost in spent], digits


def cost_digits(most: float) -> int:
    """Decimals of printed costs of which this is the largest."""
    return 0 if most >= MIN_WHOLE_COST else 1

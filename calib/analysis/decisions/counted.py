"""Decisions of a round number of rows, as pages print them, and the positives to expect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from calib.analysis.decisions.curves import ErrorShares
from calib.analysis.decisions.decide import Decision, DecisionTable
from calib.analysis.slices import Slicing, slice_gaps
from calib.crossfit.cross_fitted import CrossFitted
from calib.data.views import BinaryView
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


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedCounts:
    """Expected and observed number of positive rows in a range of scores.

    Attributes
    ----------
    low, high : float
        The range of uncalibrated scores, both ends included. So all methods have the same rows.
    rows : int
        Number of rows in the range.
    weight, observed : float
        Total weight of the rows, and of the positive rows. Without weights these are counts.
    expected : mapping of str to float
        Weighted sum of the scores of each method over these rows.
    excess : mapping of str to Estimate
        Observed minus expected, with its interval.
    """

    low: float
    high: float
    rows: int
    weight: float
    observed: float
    expected: Mapping[str, float]
    excess: Mapping[str, Estimate]

    def frame(self) -> pd.DataFrame:
        """One row per method."""
        rows = {
            key: {"expected": expected, "observed": expected + self.excess[key].value}
            | self.excess[key].with_bounds("excess")
            for key, expected in self.expected.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def expected_counts(
    held_out: CrossFitted,
    low: float = 0.0,
    high: float = 1.0,
    *,
    methods: Sequence[str] | None = None,
    confidence_level: float = 0.95,
) -> ExpectedCounts:
    """Compare the observed number of positive rows with the sum of scores of each method.

    Parameters
    ----------
    held_out : CrossFitted
        ``analysis.held_out``.
    low, high : float
        Range of the uncalibrated scores, 0 <= low <= high <= 1, both ends included.
    methods : sequence of str, optional
        Keys of the methods. The default is all.
    confidence_level : float
        Confidence level of the interval of observed minus expected, in (0, 1). The interval is that
        of `slice_gaps`, multiplied by the weight of the rows.

    Raises
    ------
    ValueError
        If the range is not within [0, 1].

    Examples
    --------
    >>> import calib
    >>> from calib.crossfit.fitting import cross_fit
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> counts = expected_counts(cross_fit(rows, calib.Settings(methods=("beta",))), 0.9)
    >>> counts.rows, int(counts.observed), round(counts.expected["uncalibrated"])
    (617, 566, 609)
    """
    if not 0.0 <= low <= high <= 1.0:
        raise ValueError(f"low and high must fulfil 0 <= low <= high <= 1, got {low} and {high}.")
    score = held_out.scores["uncalibrated"]
    chosen = np.flatnonzero((score >= low) & (score <= high))
    keys = tuple(held_out.scores if methods is None else methods)
    if not len(chosen):
        return _nothing(low, high, keys)
    everything = len(chosen) == len(score)
    views = {key: held_out.view(key) for key in keys}
    picked = views if everything else {key: view.rows(chosen) for key, view in views.items()}
    band = np.zeros(len(chosen), dtype=np.int64)
    return _counted(picked, band, [(low, high)], confidence_level)[0]


def expected_by_band(
    held_out: CrossFitted,
    n_bands: int = 10,
    *,
    methods: Sequence[str] | None = None,
    confidence_level: float = 0.95,
) -> tuple[ExpectedCounts, ...]:
    """Compare observed and expected positives in bands of the uncalibrated score of equal width.

    Each row is in one band, so the counts of the bands add up to those of all rows. A score at the
    end of a band belongs to the next one, as a score at a threshold is flagged.

    Parameters
    ----------
    held_out : CrossFitted
        ``analysis.held_out``.
    n_bands : int
        Number of bands, at least 1.
    methods : sequence of str, optional
        Keys of the methods. The default is all.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    Raises
    ------
    ValueError
        If there is no band.

    Examples
    --------
    >>> import calib
    >>> from calib.crossfit.fitting import cross_fit
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> bands = expected_by_band(cross_fit(rows, calib.Settings(methods=("beta",))), 4)
    >>> [(band.high, band.rows, int(band.observed)) for band in bands]
    [(0.25, 857, 122), (0.5, 116, 64), (0.75, 113, 64), (1.0, 711, 641)]
    """
    if n_bands < 1:
        raise ValueError(f"n_bands must be at least 1, got {n_bands}.")
    # Products of a step would not reach a score of exactly 0.3.
    edges = [i / n_bands for i in range(n_bands + 1)]
    score = held_out.scores["uncalibrated"]
    band = np.minimum(np.searchsorted(edges, score, side="right") - 1, n_bands - 1)
    keys = held_out.scores if methods is None else methods
    views = {key: held_out.view(key) for key in keys}
    return _counted(views, band, list(pairwise(edges)), confidence_level)


def _nothing(low: float, high: float, keys: Iterable[str]) -> ExpectedCounts:
    nothing = dict.fromkeys(keys, 0.0)
    return ExpectedCounts(low, high, 0, 0.0, 0.0, nothing, dict.fromkeys(nothing, Estimate(0.0)))


def _counted(
    views: Mapping[str, BinaryView],
    band: IntArray,
    ends: Sequence[tuple[float, float]],
    confidence_level: float,
) -> tuple[ExpectedCounts, ...]:
    """Counts of each band, where `band` has that of every entry."""
    slicing = Slicing((), tuple(f"{low:g} to {high:g}" for low, high in ends), band)
    # The rows and their weights are those of every method.
    rows = next(iter(views.values()))
    weight = np.bincount(band, rows.weights, minlength=len(ends))
    positive = np.bincount(band, rows.weights * rows.outcome, minlength=len(ends))
    gaps = {
        key: slice_gaps(view, view.score, slicing, confidence_level=confidence_level)
        for key, view in views.items()
    }
    counts = [_nothing(low, high, views) for low, high in ends]
    first = next(iter(gaps.values()))
    for i, number in enumerate(first.number.tolist()):
        total, (low, high) = float(weight[number]), ends[number]
        counts[number] = ExpectedCounts(
            low,
            high,
            rows=int(first.rows[i]),
            weight=total,
            observed=float(positive[number]),
            expected={key: total * float(part.mean_score[i]) for key, part in gaps.items()},
            excess={
                key: Estimate(
                    *(total * float(bound[i]) for bound in (part.gap, part.low, part.high))
                )
                for key, part in gaps.items()
            },
        )
    return tuple(counts)

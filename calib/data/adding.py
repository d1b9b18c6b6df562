"""add_counts: add up counts of disjoint rows, and refuse rows that would count twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from calib.data.aggregate import Aggregate
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray
from calib.numerics.sorting import run_starts
from calib.text import count

# A file of scores with fewer digits must be recognised as the same rows.
DIGITS = 6
# A file that was written with fewer digits has scores that differ by less.
MAX_DISTANCE_OF_EQUAL_SCORES = 1e-9
# If scores and outcomes are mostly distinct, two samples share at most about 60% of them by chance.
MAX_SHARE_OF_EQUAL_ROWS = 0.9
MAX_ROWS_PER_SCORE = 1.5
# Up to this number of counts, the name of the sum contains all names.
MAX_LISTED_NAMES = 3


def add_counts(counts: Mapping[str, Aggregate]) -> Aggregate:
    """The sum of the counts of disjoint rows.

    Parameters
    ----------
    counts : mapping of str to Aggregate
        Counts of one model by name, for example the name of the file; names are used in messages.

    Raises
    ------
    ValueError
        If two are of the same data, in any order and with scores of fewer digits, or nearly all
        their scores are the same; if only some have weights; or if they cannot be added.

    Examples
    --------
    >>> from calib.data.aggregating import aggregate
    >>> from calib.data.predictions import Predictions
    >>> def counted(scores):
    ...     return aggregate(Predictions.from_arrays([0, 1], scores))
    >>> add_counts({"a": counted([0.2, 0.7]), "b": counted([0.3, 0.7])}).frame()["rows"].tolist()
    [1, 1, 2]
    >>> add_counts({"a": counted([0.2, 0.7]), "b": counted([0.2, 0.7])})
    Traceback (most recent call last):
    ...
    ValueError: a and b are of the same data, so rows would count twice. Leave one out.
    """
    (first, whole), *others = counts.items()
    for name, other in others:
        if whole.weighted != other.weighted:
            weighted, unweighted = (first, name) if whole.weighted else (name, first)
            raise ValueError(
                f"Counts that are added must all have row weights, or none: {weighted} has, and "
                f"{unweighted} has not."
            )
    _check_disjoint(counts)
    for name, other in others:
        try:
            whole = whole + other
        except ValueError as error:
            raise ValueError(f"{first} and {name} cannot be added. {error}") from error
    names = list(dict.fromkeys(one.name for one in counts.values()))
    rest = f" and {len(names) - MAX_LISTED_NAMES} more" if len(names) > MAX_LISTED_NAMES else ""
    return replace(whole, name=" + ".join(names[:MAX_LISTED_NAMES]) + rest)


def _check_disjoint(counts: Mapping[str, Aggregate]) -> None:
    entries = {name: one.rows().entries for name, one in counts.items()}
    rounded = {name: _rounded(rows) for name, rows in entries.items()}
    exact = (name for name, one in counts.items() if one.exact)
    distinct = {name: _mostly_distinct(entries[name]) for name in exact}
    for one, other in combinations(counts, 2):
        same = set(counts[one].sources) & set(counts[other].sources)
        alike = np.array_equal(rounded[one], rounded[other])
        if same or alike:
            reason = "of the same data" if same else "of the same scores and outcomes"
            raise ValueError(
                f"{one} and {other} are {reason}, so rows would count twice. Leave one out."
            )
        fewer, more = sorted((distinct.get(name, np.empty(0)) for name in (one, other)), key=len)
        n_shared = _n_shared(fewer, more) if len(fewer) else 0
        if n_shared > MAX_SHARE_OF_EQUAL_ROWS * len(fewer):
            raise ValueError(
                f"{one} and {other} share {count(n_shared)} of {count(len(fewer))} scores with "
                "their outcomes, so rows would count twice. Add counts of different rows."
            )


def _rounded(rows: BinaryView) -> FloatArray:
    """Rounded scores, and the shares of rows, weights and positive weights that have them."""
    cells = rows.cells()
    score = np.round(cells.score, DIGITS) + 0.0
    starts = run_starts(score)
    sums = (
        np.add.reduceat(values, starts) for values in (cells.rows, cells.weight, cells.positive)
    )
    return np.array([score[starts], *(np.round(total / total.sum(), 9) for total in sums)])


def _mostly_distinct(rows: BinaryView) -> FloatArray:
    """Pairs of score and outcome as numbers; none if many rows have the same pair."""
    pairs = np.unique(rows.score + 2.0 * rows.outcome)  # Scores are at most 1.
    return pairs if rows.n_rows <= MAX_ROWS_PER_SCORE * len(pairs) else np.empty(0)


def _n_shared(fewer: FloatArray, more: FloatArray) -> int:
    after = np.searchsorted(more, fewer)
    beside = (more[np.clip(at, 0, len(more) - 1)] for at in (after - 1, after))
    near = [np.abs(neighbour - fewer) < MAX_DISTANCE_OF_EQUAL_SCORES for neighbour in beside]
    return int(np.any(near, axis=0).sum())

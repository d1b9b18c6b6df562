"""Expected and observed number of positive rows in a range of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from calib.analysis.slices import Slicing, slice_gaps
from calib.crossfit.cross_fitted import CrossFitted
from calib.data.views import BinaryView
from calib.numerics.arrays import IntArray
from calib.numerics.intervals import Estimate


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

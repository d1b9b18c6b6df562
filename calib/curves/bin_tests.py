"""The bins of a reliability diagram as a table: positives expected and observed, and a test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.curves.reliability import BIN_COLUMNS, ReliabilityCurve
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray, Locked, arrays_of
from calib.numerics.binning import Bins, bin_between
from calib.numerics.intervals import binomial_p_value, holm
from calib.uncertainty import Replicates


@dataclass(frozen=True, slots=True, eq=False)
class BinTests(Locked):
    """Expected and observed positives of each bin, and a test whether they agree.

    Arrays have shape (b + 1,): one entry per bin with rows, and the last one is all rows.

    Attributes
    ----------
    low_edge, high_edge, rows, weight, positive, mean_score, observed : ndarray
        As in ReliabilityCurve. With weights, `positive` and `expected` are sums of weights.
    expected : ndarray
        Sum of the scores of the rows.
    ratio : ndarray
        Observed positives divided by expected ones; NaN if none are expected.
    p_value : ndarray
        Two-sided exact binomial test: if every row of the bin were positive with the probability of
        the bin's mean score, a number of positives at least as far in either tail would have this
        probability. It is conservative if the scores of a bin differ much, as those of all rows
        do. Rows with weights or clusters count with their effective number.
    p_adjusted : ndarray
        Adjusted for the number of bins (Holm 1979). All rows are one more test, which is not
        adjusted.
    """

    low_edge: FloatArray
    high_edge: FloatArray
    rows: FloatArray
    weight: FloatArray
    positive: FloatArray
    mean_score: FloatArray
    observed: FloatArray
    expected: FloatArray
    ratio: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray

    def frame(self) -> pd.DataFrame:
        """One row per bin, and a last one of all rows."""
        return pd.DataFrame(arrays_of(self)).astype({"rows": np.int64})


def bin_tests(
    cells: ScoreCells, curve: ReliabilityCurve, clusters: Replicates | None = None
) -> BinTests:
    """Compare the positives of each bin of a curve of these cells with those that it expects.

    `clusters` are resamples of the clusters of the rows. They reduce the effective number of rows.

    References
    ----------
    Basel Committee 2005, Working Paper 14 (binomial test of rating grades). Korn and Graubard 1998,
    Survey Methodology 24 (exact binomial tails with the effective number of rows).

    Examples
    --------
    >>> from calib.curves.reliability import reliability_curve
    >>> cells = ScoreCells.from_arrays([0, 1] * 50, [0.2, 0.4] * 50)
    >>> tests = bin_tests(cells, reliability_curve(cells, n_bins=2))
    >>> tests.frame()[["rows", "expected", "positive", "ratio"]]
       rows  expected  positive     ratio
    0    50      10.0       0.0  0.000000
    1    50      20.0      50.0  2.500000
    2   100      30.0      50.0  1.666667
    """
    edges = np.union1d(curve.low_edge, curve.high_edge)
    parts = (bin_between(cells, edges), bin_between(cells, np.array([0.0, 1.0])))
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in BIN_COLUMNS
    }
    expected = columns["weight"] * columns["mean_score"]
    rows = np.concatenate([_effective_rows(part, clusters) for part in parts])
    p_value = binomial_p_value(columns["observed"], rows, columns["mean_score"])
    return BinTests(
        **columns,
        expected=expected,
        ratio=np.divide(
            columns["positive"], expected, out=np.full(len(rows), np.nan), where=expected > 0.0
        ),
        p_value=p_value,
        p_adjusted=np.append(holm(p_value[:-1]), p_value[-1:]),
    )


def _effective_rows(bins: Bins, clusters: Replicates | None) -> FloatArray:
    effect = 1.0 if clusters is None else clusters.design_effect(bins)
    return bins.effective_rows / effect

"""Tests of calibration in each slice, with the slope and the KS error of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.analysis.groups import FittedGroup, Groups, GroupTable, fitted_groups, lines_of
from calib.analysis.verdict import adjusted, calibration_tests
from calib.curves.reliability import FEW_ROWS
from calib.data.slicing import Slicing
from calib.data.views import BinaryView
from calib.metrics.base import TestResult
from calib.metrics.by_cluster import clustered_tests, widened_test
from calib.metrics.cumulative import ks_error, ks_test
from calib.numerics.arrays import FloatArray, IntArray, arrays_of, over_cores, single_thread

LINE = ("slope", "slope_low", "slope_high")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SliceTests(GroupTable):
    """Whether the scores are calibrated in each slice that has rows. Arrays have the shape (k,).

    Attributes
    ----------
    names : tuple of str
    number : ndarray of int
        Position of each slice in its Slicing.
    rows : ndarray of int
    slope, slope_low, slope_high : ndarray
        Calibration slope and its interval. NaN if it cannot be estimated.
    ks : ndarray
        KS error.
    p_value : ndarray
        The smallest p-value of the tests of the slice, after Holm's correction for their number.
        NaN for slices that are `few`.
    p_adjusted : ndarray
        The same after Holm's correction for the number of slices.
    confidence_level : float
        Confidence level of the intervals.
    """

    names: tuple[str, ...]
    number: IntArray
    rows: IntArray
    slope: FloatArray
    slope_low: FloatArray
    slope_high: FloatArray
    ks: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    confidence_level: float

    @property
    def order(self) -> IntArray:
        """Positions sorted by evidence, strongest first. Slices with few rows are last."""
        return np.lexsort((-self.ks, self.p_value, self.few)).astype(np.int64)

    def frame(self) -> pd.DataFrame:
        """One row per slice, strongest evidence first."""
        columns = {"slice": self.names, **arrays_of(self), "few": self.few}
        return pd.DataFrame(columns).iloc[self.order]


def slice_tests(
    rows: BinaryView, score: FloatArray, slicing: Slicing, *, confidence_level: float = 0.95
) -> SliceTests:
    """Test each slice with the tests of the verdict, and estimate its slope and KS error.

    `slice_gaps` compares means only: scores that are too extreme on both sides have no gap. The
    tests are those of `calib.metrics` that the verdict uses (KS, Kuiper, Spiegelhalter,
    Hosmer-Lemeshow, slope and intercept). If groups are named, they are by cluster, and Kuiper's
    test, which needs resamples, is left out.

    Parameters
    ----------
    rows : BinaryView
    score : ndarray of shape (n,)
        Scores of these rows, uncalibrated or calibrated.
    slicing : Slicing
        Slices of the same rows.
    confidence_level : float
        Confidence level of the intervals, in (0, 1).

    References
    ----------
    Holm 1979, https://www.jstor.org/stable/4615733 (adjusted p-values); Cox 1958,
    doi:10.1093/biomet/45.3-4.562 (slope).

    Examples
    --------
    Scores that are too extreme on both sides have a slope below 1, and no gap:

    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> from calib.data.slicing import slice_by
    >>> site = np.repeat(["north", "south"], 400)
    >>> y = np.tile([0, 0, 0, 1, 1, 1, 1, 0], 100)
    >>> score = np.where(site == "north", np.tile([0.1] * 4 + [0.9] * 4, 100), 0.5)
    >>> rows = Predictions.from_arrays(y, score).view()
    >>> tests = slice_tests(rows, rows.score, slice_by({"site": site}, ["site"]))
    >>> tests.significant(), tests.slope[:1].round(2)
    (array([ True, False]), array([0.5]))
    """
    groups, slices = Groups.of(rows, slicing), fitted_groups(rows, score, slicing)
    with single_thread():
        p_values = over_cores(lambda k: _p_value(slices[k]), range(len(slices)))
    p_value = np.array(list(p_values.values()))
    return SliceTests(
        **groups.head,
        number=groups.number,
        **lines_of(slices, confidence_level, LINE),
        ks=np.array([ks_error(one.cells) for one in slices]),
        p_value=p_value,
        p_adjusted=groups.adjusted(p_value),
        confidence_level=confidence_level,
    )


def _p_value(of: FittedGroup) -> float:
    """The smallest adjusted p-value of the tests of one slice."""
    if of.cells.n_rows < FEW_ROWS:
        return float("nan")
    return float(np.nanmin(list(adjusted(_tests(of)).values())))


def _tests(of: FittedGroup) -> dict[str, TestResult]:
    if of.rows.group is None:
        return calibration_tests(of.cells, of.fit)
    ks = widened_test(ks_test(of.cells), of.rows, of.cells)
    return {"ks": ks, **clustered_tests(of.rows, of.cells, of.fit)}

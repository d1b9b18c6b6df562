"""False-positive and false-negative rates of every slice, once scores became decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib.numerics.arrays import FloatArray, IntArray, lock
from calib.numerics.intervals import wilson_interval
from calib.predictions import BinaryView
from calib.slices.slicing import Slicing


@dataclass(frozen=True, slots=True, eq=False)
class SliceErrorRates:
    """Error rates of each slice that has rows; arrays of shape (k,), NaN where no row can err.

    Attributes
    ----------
    names : tuple of str
    rows, negatives, positives : ndarray of int
    flagged : ndarray
        Share of the slice's rows that are decided to be positive.
    false_positive, false_positive_low, false_positive_high : ndarray
        Share of the negative rows that are flagged, with its Wilson interval.
    false_negative, false_negative_low, false_negative_high : ndarray
        Share of the positive rows that are not flagged.
    """

    names: tuple[str, ...]
    rows: IntArray
    negatives: IntArray
    positives: IntArray
    flagged: FloatArray
    false_positive: FloatArray
    false_positive_low: FloatArray
    false_positive_high: FloatArray
    false_negative: FloatArray
    false_negative_low: FloatArray
    false_negative_high: FloatArray

    def __post_init__(self) -> None:
        lock(self)

    def frame(self) -> pd.DataFrame:
        """One row a slice."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "names"}
        return pd.DataFrame({"slice": self.names, **own})


def slice_error_rates(
    rows: BinaryView, flagged: FloatArray, slicing: Slicing, *, confidence_level: float = 0.95
) -> SliceErrorRates:
    """Who is wronged by a decision, slice by slice.

    Parameters
    ----------
    rows : BinaryView
    flagged : ndarray of shape (n,), in [0, 1]
        1 where a row is decided to be positive, 0 where not, and between where ties are broken by
        lot: `Decision.flag`.
    slicing : Slicing
        Of the same rows.
    confidence_level : float
        Of the Wilson intervals; weighted rows count as (sum w)^2 / sum w^2.

    References
    ----------
    Wilson 1927, doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.predictions import Predictions
    >>> rows = Predictions.from_arrays([0, 0, 1, 1], [0.2, 0.6, 0.7, 0.4]).view()
    >>> rates = slice_error_rates(rows, (rows.score >= 0.5) * 1.0, Slicing.whole(4))
    >>> rates.false_positive, rates.false_negative
    (array([0.5]), array([0.5]))
    """
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(slicing.codes, values, minlength=len(slicing)).astype(float)

    count = total(np.ones(len(rows)))
    kept = np.flatnonzero(count > 0)
    negative, positive = (~rows.outcome).astype(float), rows.outcome.astype(float)

    def rate(wrong: FloatArray, among: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        of = total(among * weight)[kept]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(total(wrong * among * weight)[kept] / of, 0.0, 1.0)
            effective = of**2 / total(among * weight**2)[kept]
            low, high = wilson_interval(share, effective, confidence_level)
        nothing = of == 0.0
        return share, np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)

    return SliceErrorRates(
        tuple(slicing.names[i] for i in kept),
        count[kept].astype(np.int64),
        total(negative)[kept].astype(np.int64),
        total(positive)[kept].astype(np.int64),
        total(flagged * weight)[kept] / total(weight)[kept],
        *rate(flagged, negative),
        *rate(1.0 - flagged, positive),
    )

"""Isotonic regression."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import RowCalibrator, register
from calib.numerics.arrays import FloatArray
from calib.numerics.isotonic import isotonic_steps


@register(
    "isotonic",
    "Isotonic",
    simplicity=70,
    summary="Assumes only that the rate never falls as the score rises.",
    source="Zadrozny, Elkan 2002",
)
class Isotonic(RowCalibrator):
    """The non-decreasing map nearest to the outcomes in weighted least squares.

    Pool-adjacent-violators on the cells; between blocks the map is linear, beyond them constant,
    as in scikit-learn's ``IsotonicRegression(out_of_bounds="clip")``. It makes ties, and it says
    0 and 1 where a first block has no positives or a last one no negatives.

    Attributes
    ----------
    knots_, values_ : ndarray of shape (b,)
        First and last score of every block, and the block's rate.
    n_blocks_ : int

    References
    ----------
    Zadrozny, Elkan 2002, doi:10.1145/775047.775151.

    Examples
    --------
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> fitted.predict([0.0, 0.25, 0.5, 1.0])
    array([0.  , 0.25, 0.5 , 1.  ])
    >>> fitted.formula()
    '3 steps from 0 to 1, with straight lines between them'
    """

    def _fit_rows(self, scores: FloatArray, positive: FloatArray, weight: FloatArray) -> None:
        first, last, rate = isotonic_steps(scores, positive, weight)
        wide = np.column_stack([np.ones(len(rate), dtype=np.bool_), last > first]).ravel()
        self.knots_ = np.column_stack([first, last]).ravel()[wide]
        # Rates of neighbouring blocks may be equal but for their rounding.
        self.values_ = np.maximum.accumulate(np.repeat(rate, 2)[wide])
        self.n_blocks_ = len(rate)

    def _map(self, scores: FloatArray) -> FloatArray:
        return np.interp(scores, self.knots_, self.values_)

    def formula(self) -> str:
        """The fitted map in words and numbers."""
        low, high = self.values_[0], self.values_[-1]
        if self.n_blocks_ == 1:
            return f"{low:.3g} for every score: the observed rate does not rise with the score"
        return (
            f"{self.n_blocks_} steps from {low:.3g} to {high:.3g}, with straight lines between them"
        )

    def knots(self) -> FloatArray:
        """First and last score of every block."""
        return self.knots_

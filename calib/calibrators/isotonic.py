"""Isotonic regression."""

from __future__ import annotations

import numpy as np

from calib.calibrators.base import RowCalibrator
from calib.calibrators.forms import Axis, Piecewise
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.isotonic import isotonic_steps, shrink_certain, steps_of_cells
from calib.numerics.splines import lines


@register(
    "isotonic",
    "Isotonic",
    simplicity=70,
    summary="Assumes only that the observed rate does not fall as the score rises.",
    source="Zadrozny, Elkan 2002",
    aliases="isotonic regression, pool adjacent violators (PAV, PAVA), monotone regression",
    weighs_evidence=True,
)
class Isotonic(RowCalibrator):
    """Isotonic regression: the best-fitting non-decreasing function, in weighted least squares.

    It is fitted by pool-adjacent-violators on the cells. The function is linear between blocks and
    constant beyond the first and last block, as in scikit-learn's
    ``IsotonicRegression(out_of_bounds="clip")``. Different scores can become equal.

    In the textbook function, a first block without positives predicts 0 and a last block without
    negatives predicts 1, even if they have few rows. One later row of the other outcome then has an
    unbounded log loss. The rates of these two blocks are therefore shrunk towards the base rate b,
    to 1 / (n + 1 / b) and 1 - 1 / (n + 1 / (1 - b)) with n rows in the block (an m-estimate), but
    not beyond the rate of the next block. Between them the function is the textbook function.

    Parameters
    ----------
    shrink : bool, default True
        If False, the function is the textbook function, including rates of 0 and 1.

    Attributes
    ----------
    knots_, values_ : ndarray of shape (b,)
        First and last score of each block, and its value.
    n_blocks_ : int

    References
    ----------
    Zadrozny, Elkan 2002, doi:10.1145/775047.775151. Cestnik 1990, "Estimating probabilities: a
    crucial task in machine learning", ECAI (the m-estimate).

    Examples
    --------
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> fitted.predict([0.0, 0.25, 0.5, 1.0]).round(3)
    array([0.333, 0.417, 0.5  , 0.667])
    >>> fitted.formula()
    '3 steps from 0.333 to 0.667, with straight lines between them'
    >>> Isotonic(shrink=False).fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]).predict([0.0, 0.25, 1.0])
    array([0.  , 0.25, 1.  ])
    """

    def __init__(self, shrink: bool = True) -> None:
        self.shrink = shrink

    def _fit_rows(self, scores: FloatArray, positive: FloatArray, weight: FloatArray) -> None:
        self._keep(*isotonic_steps(scores, positive, weight))

    def _fit(self, cells: ScoreCells) -> None:
        self._keep(*steps_of_cells(cells.score, cells.positive, cells.weight))

    def _keep(
        self, first: FloatArray, last: FloatArray, rate: FloatArray, total: FloatArray
    ) -> None:
        if self.shrink:
            rate = _shrink_ends(rate, total)
        wide = np.column_stack([np.ones(len(rate), dtype=np.bool_), last > first]).ravel()
        self.knots_ = np.column_stack([first, last]).ravel()[wide]
        # Rates of neighbouring blocks may decrease by rounding errors.
        self.values_ = np.maximum.accumulate(np.repeat(rate, 2)[wide])
        self.n_blocks_ = len(rate)

    def _map(self, scores: FloatArray) -> FloatArray:
        return np.interp(scores, self.knots_, self.values_)

    def to_map(self) -> Piecewise:
        return Piecewise(Axis(), lines(self.knots_, self.values_))

    def n_parameters(self) -> float:
        return self.n_blocks_

    def formula(self) -> str:
        low, high = self.values_[0], self.values_[-1]
        if self.n_blocks_ == 1:
            return f"{low:.3g} for every score: the observed rate does not rise with the score"
        return (
            f"{self.n_blocks_} steps from {low:.3g} to {high:.3g}, with straight lines between them"
        )


def _shrink_ends(rate: FloatArray, weight: FloatArray) -> FloatArray:
    """Rates of the blocks, with the first and last shrunk from 0 and 1, still in order."""
    base_rate = float(rate @ weight) / float(weight.sum())
    # Rates increase from block to block, so only the first and the last can be 0 or 1.
    shrunk = shrink_certain(rate, weight, base_rate)
    if len(rate) > 1:
        shrunk[0] = min(shrunk[0], rate[1])
        shrunk[-1] = max(shrunk[-1], rate[-2])
    return shrunk

"""Inductive Venn-Abers: isotonic regression with an interval for each probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import BetweenTwo
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.data.checks import check_scores
from calib.numerics.arrays import FloatArray
from calib.numerics.isotonic import Places, increasing_blocks, upper_steps
from calib.numerics.splines import steps
from calib.numerics.transforms import certain_logit


@register(
    "venn_abers",
    "Venn-Abers",
    simplicity=75,
    summary="Assumes only that the rate never falls; shows how much one more row could change it.",
    source="Vovk, Petej, Fedorova 2015, arXiv:1511.00213",
    aliases="inductive Venn-Abers predictor (IVAP)",
    weighs_evidence=True,
)
class VennAbers(Calibrator):
    """Inductive Venn-Abers predictor: p1 / (1 - p0 + p1).

    p0 and p1 are isotonic fits at the score, with one more row there of outcome 0 and of outcome 1.
    If the rows are exchangeable, one of p0 and p1 is perfectly calibrated. The result is exact at
    every score. The fit takes as long as a sort; there are no two fits per score.

    Attributes
    ----------
    lower_scores_, lower_ : ndarray of shape (u,) and (u + 1,)
        p0 as a step function: the i-th value applies from lower_scores_[i - 1] (included).
    upper_scores_, upper_ : ndarray of shape (v,) and (v + 1,)
        p1 as a step function: the i-th value applies above upper_scores_[i - 1].

    References
    ----------
    Vovk, Petej, Fedorova 2015, arXiv:1511.00213.

    Examples
    --------
    >>> fitted = VennAbers().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> p0, p1 = fitted.interval([0.5])
    >>> p0.round(3), p1.round(3), fitted.predict([0.5]).round(3)
    (array([0.333]), array([0.667]), array([0.5]))
    """

    def _fit(self, cells: ScoreCells) -> None:
        x, y = cells.cumulative_weight, cells.cumulative_positive
        ends = increasing_blocks(cells.rate, cells.weight)
        first, self.upper_ = upper_steps(x, y, ends)
        self.upper_scores_ = cells.score[first[1:] - 1]
        # With classes and order exchanged, a new row of outcome 0 is a new positive row. Prefix
        # sums in the opposite order may be off by a constant.
        first, value = upper_steps(-x[::-1], -(x - y)[::-1], len(cells) - ends[::-1])
        self.lower_ = 1.0 - value[::-1]
        self.lower_scores_ = cells.score[len(cells) - first[:0:-1]]

    def left_out(self, cells: ScoreCells) -> tuple[FloatArray, FloatArray]:
        """Exact for rows of weight 1.

        Venn-Abers adds a row of outcome 0 or 1. One of them has the outcome of the row that was
        left out, and restores the fit to all rows; the other one changes the outcome of the row.
        """
        x, y = cells.cumulative_weight, cells.cumulative_positive
        ends = increasing_blocks(cells.rate, cells.weight)
        fit = np.repeat(np.diff(y[ends]) / np.diff(x[ends]), np.diff(ends))
        raised = _at_cells(*upper_steps(x, y, ends, added=0.0), len(cells))
        reverse = upper_steps(-x[::-1], -(x - y)[::-1], len(cells) - ends[::-1], added=0.0)
        lowered = 1.0 - _at_cells(*reverse, len(cells))[::-1]
        return _log_odds(fit, raised), _log_odds(lowered, fit)

    def interval(self, scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The probabilities p0 and p1 of each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores in [0, 1].

        Returns
        -------
        p0, p1 : ndarray of shape (n,)
            0 <= p0 < p1 <= 1. The interval is wide if few rows have similar scores.
        """
        check_is_fitted(self, "n_rows_")
        checked = check_scores(scores, "scores")
        p0 = self.lower_[np.searchsorted(self.lower_scores_, checked, side="right")]
        return p0, self.upper_[np.searchsorted(self.upper_scores_, checked, side="left")]

    def to_map(self) -> BetweenTwo:
        return BetweenTwo(
            steps(self.lower_scores_, self.lower_, "left"),
            steps(self.upper_scores_, self.upper_, "right"),
        )

    def formula(self) -> str:
        p0, p1 = self.interval(self.knots())
        return (
            "p1 / (1 - p0 + p1) of isotonic fits with one more row of outcome 0 and 1; "
            f"p1 - p0 is at most {(p1 - p0).max():.3g}"
        )

    def knots(self) -> FloatArray:
        """Scores at which p0 or p1 has a step."""
        return np.union1d(self.lower_scores_, self.upper_scores_)


def _at_cells(first: Places, value: FloatArray, n_cells: int) -> FloatArray:
    """Steps from the places `first` on, as one value for each cell."""
    return np.repeat(value, np.diff(np.minimum(first, n_cells), append=n_cells))


def _log_odds(p0: FloatArray, p1: FloatArray) -> FloatArray:
    return certain_logit(p1 / (1.0 - p0 + p1))

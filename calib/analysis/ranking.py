"""How well the scores separate right from wrong, which calibration does not show."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calib.analysis.analysis import Analysis
from calib.data.cells import ScoreCells
from calib.data.views import parse_view
from calib.numerics.arrays import FloatArray
from calib.text import number, percent, percents

# This share of the rows is left to people in the sentence.
SHARE = 0.2
CONFIDENCE_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well the scores rank the rows, and what is gained if people decide the doubtful ones.

    Attributes
    ----------
    auc : float
        NaN if all rows are of one class.
    share : float
        Share of the rows, those of least confidence, that are left to people.
    accuracy, accuracy_of_rest : float
        Share of right decisions among all rows, and among those that are not left to people.
    constant : bool
        Whether all rows have the same score.
    equally_confident : bool
        Whether all decisions have the same confidence, also if not all are for the same class.
    """

    auc: float
    share: float
    accuracy: float
    accuracy_of_rest: float
    constant: bool
    equally_confident: bool

    @property
    def sentence(self) -> str:
        """What the scores are worth for ordering rows; "" if all rows are of one class."""
        if math.isnan(self.auc):
            return ""
        if self.constant:
            return (
                "all rows have the same score. Even if it is calibrated, it does not separate "
                "right from wrong (AUC 0.5)"
            )
        if self.equally_confident:
            return (
                f"AUC {number(self.auc, 2)}, but all rows are equally confident, so the scores do "
                "not show which of them people should decide"
            )
        before, after = percents(self.accuracy, self.accuracy_of_rest, digits=0)
        return (
            f"AUC {number(self.auc, 2)}. Accuracy {before}, or {after} without the "
            f"{percent(self.share, 0)} least confident rows"
        )


def ranking(cells: ScoreCells, *, of_answers: bool, share: float = SHARE) -> Ranking:
    """How well scores rank the rows, on the cells of the rows.

    A score of 0.5 or more decides for the positive class, and the confidence of a decision is the
    probability of its class. With `of_answers` a score is the confidence of an answer that was
    given already, and a positive row is a right answer. Of rows with equal confidence, an average
    selection is left to people.

    >>> cells = ScoreCells.from_arrays([0, 1, 0, 1, 1], [0.1, 0.4, 0.5, 0.8, 0.9])
    >>> ranking(cells, of_answers=False)
    Ranking(auc=0.8333333333333334, share=0.2, accuracy=0.6, accuracy_of_rest=0.75, \
constant=False, equally_confident=False)
    """
    positive, score = cells.score >= 0.5, cells.score
    confidence: FloatArray = score
    right: FloatArray = cells.positive
    if not of_answers:
        # 2/3 and 1 - 1/3 differ in the last digit, but are the same confidence.
        confidence = np.where(positive, score, 1.0 - score).round(CONFIDENCE_DIGITS)
        right = np.where(positive, cells.positive, cells.weight - cells.positive)
    levels, level = np.unique(confidence, return_inverse=True)
    weight = np.cumsum(np.bincount(level, cells.weight)[::-1])
    n_right = np.cumsum(np.bincount(level, right)[::-1])
    total = float(weight[-1])
    kept = (1.0 - share) * total
    # The accuracy of the most confident rows is linear within rows of equal confidence.
    right_kept = float(np.interp(kept, np.append(0.0, weight), np.append(0.0, n_right)))
    return Ranking(
        auc=cells.auc,
        share=share,
        accuracy=float(n_right[-1]) / total,
        accuracy_of_rest=right_kept / kept,
        constant=len(score) < 2,
        equally_confident=len(levels) < 2,
    )


def ranking_of(analysis: Analysis, cells: ScoreCells) -> Ranking:
    """The ranking by the uncalibrated scores in the view of the analysis, with these cells."""
    kind, _ = parse_view(analysis.settings.view)
    return ranking(cells, of_answers=analysis.has_answers or kind != "class")

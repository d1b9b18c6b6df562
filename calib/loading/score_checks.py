"""Checks of the scores: are they probabilities, and of the right class?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from calib.core.cells import ScoreCells
from calib.loading.outcome_checks import positive_question
from calib.loading.problems import Problem, plural, quoted
from calib.loading.rows import Rows
from calib.numerics.arrays import FloatArray, IntArray, chunks

# So far outside [0, 1] a score may lie and still be meant as a probability.
LITTLE = 0.05
CLEARLY = 4.0
# Scores are counted in so many ranges, to see without sorting them that the AUC is not low.
RANGES = 4096


def score_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of the range of the scores and of their relation to the outcome."""
    score = np.asarray(rows.of_usable(rows.score), dtype=np.float64)
    if not len(score):
        return
    low, high = float(score.min()), float(score.max())
    if low < 0.0 or high > 1.0:
        yield _outside(rows, low, high)
    elif low == high:
        yield _constant(rows, low)
    else:
        yield from _labels_only(rows, score)
        yield from _swapped(rows, score)
        yield from positive_question(rows, float(score.mean()))


def _outside(rows: Rows, low: float, high: float) -> Problem:
    found = rows.usable & ((rows.score < 0.0) | (rows.score > 1.0))
    lead = (
        f"Column {quoted(rows.mapping.score)} has {plural(int(found.sum()), 'value')} outside "
        f"[0, 1] (from {low:.4g} to {high:.4g}), first in {rows.where(found)}. "
    )
    if rows.mapping.transform != "none" or rows.mapping.swap:
        none = replace(rows.mapping, transform="none", swap=False)
        text = lead + f"The transform {rows.mapping.transform!r} does not fit these scores."
        return Problem("outside", "error", text, none, "Undo the transform")
    if low >= -LITTLE and high <= 1.0 + LITTLE:
        repair = replace(rows.mapping, transform="clip")
        text = lead + "They miss the range by little: clip them, or look for the cause."
        return Problem("slightly-outside", "error", text, repair, "Clip to [0, 1]")
    if low < 0.0:
        repair = replace(rows.mapping, transform="logit")
        text = lead + (
            "They look like log-odds or raw decision scores: the sigmoid makes probabilities of "
            "log-odds, and a first approximation of raw scores."
        )
        return Problem("logit", "error", text, repair, "Apply the sigmoid")
    return _above(rows, lead, high)


def _above(rows: Rows, lead: str, high: float) -> Problem:
    whole = bool((rows.score[rows.usable] % 1.0 == 0.0).all())
    if high > 100.0:
        text = lead + "They are no probabilities. Choose the column that holds the probability."
        return Problem("not-probabilities", "error", text)
    if whole and high <= 10.0:
        text = lead + (
            "They look like ratings or classes, not probabilities. Choose the column that holds "
            "the probability; or divide ratings by 10, and let calibration make probabilities of "
            "them."
        )
        repair = replace(rows.mapping, transform="tenths")
        return Problem("ratings", "error", text, repair, "Divide by 10")
    repair = replace(rows.mapping, transform="percent")
    # Up to 10 they could be odds or ratings as well.
    text = lead + (
        "They look like percentages: divide them by 100."
        if high > 10.0
        else "If they are percentages, divide them by 100; else choose another column."
    )
    return Problem("percent", "error", text, repair, "Divide by 100")


def _constant(rows: Rows, value: float) -> Problem:
    return Problem(
        "constant",
        "warning",
        f"All scores of {quoted(rows.mapping.score)} are {value:.4g}. Only their mean can be "
        "compared with the outcome; choose another column if this is not meant.",
    )


def _labels_only(rows: Rows, score: FloatArray) -> Iterator[Problem]:
    if ((score != 0.0) & (score != 1.0)).any():
        return
    name = quoted(rows.mapping.score)
    copy = bool((rows.of_usable(rows.outcome) == score).all())
    if copy:
        text = f"Column {name} equals the outcome in every row: it is the label, not a score."
    else:
        text = f"Column {name} holds only 0 and 1: predicted labels, not probabilities."
    yield Problem(
        "labels-only",
        "warning",
        f"{text} Choose the column of probabilities (predict_proba in scikit-learn).",
    )


def _swapped(rows: Rows, score: FloatArray) -> Iterator[Problem]:
    outcome = rows.of_usable(rows.outcome)
    if outcome.min() < 0 or outcome.max() > 1:
        return
    n_positive = int(np.count_nonzero(outcome))
    pairs = n_positive * (len(outcome) - n_positive)
    if not pairs:
        return
    limit = 0.5 - CLEARLY * math.sqrt((len(outcome) + 1.0) / (12.0 * pairs))
    # Most scores need not be sorted: a bound says that they are not the other class's.
    if _least_auc(outcome, score, pairs) >= limit:
        return
    auc = _auc(ScoreCells.from_arrays(outcome, score))
    if auc < limit:
        mapping = rows.mapping
        other = "of the other class" if mapping.predicted is None else "that it is wrong"
        yield Problem(
            "swapped",
            "warning",
            f"Positive rows have the lower scores (AUC {auc:.3f}): column "
            f"{quoted(mapping.score)} may hold the probability {other}. Swap the classes if so.",
            replace(mapping, swap=not mapping.swap),
            "Swap the classes",
        )


def _least_auc(outcome: IntArray, score: FloatArray, pairs: int) -> float:
    """A bound below the AUC: pairs within one of many equal ranges of scores count as wrong."""
    count = np.zeros(2 * RANGES)
    for part in chunks(len(score)):
        code = 2 * (score[part] * (RANGES - 1)).astype(np.int64) + outcome[part]
        count += np.bincount(code, minlength=2 * RANGES)
    below = np.cumsum(count[0::2]) - count[0::2]
    return float(count[1::2] @ below) / pairs


def _auc(cells: ScoreCells) -> float:
    """AUC of the unweighted rows."""
    below = np.cumsum(cells.negative) - cells.negative
    pairs = cells.total_positive * (cells.total_weight - cells.total_positive)
    return float(cells.positive @ (below + cells.negative / 2.0)) / pairs

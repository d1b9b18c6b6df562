"""Bounds of the difference between metrics of grouped scores and metrics of exact scores."""

from __future__ import annotations

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.metrics.proper import row_brier, row_log_loss
from calib.numerics.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    chunks,
    increasing_order,
    run_starts,
)

# The temporaries of this number of entries stay in the processor's second cache.
CHUNK_ENTRIES = 1 << 14


def resolutions(
    rows: BinaryView,
    cells: ScoreCells,
    ends: tuple[FloatArray, FloatArray],
    middle: FloatArray,
    aside: FloatArray,
) -> dict[str, float]:
    """Bounds of the change of metrics if each row had its own score instead of its cell's score.

    Calibrated scores and losses are assumed to be convex or concave within a cell. They then lie
    between a tangent and a chord. The width of a cell is at most 4e-5, or 0.2% of the distance
    from 0 or 1.

    `rows` are entries with the scores of their cells, uncalibrated or calibrated. `ends` are the
    lowest and the highest score of each cell, calibrated in the same way. `middle` is the position
    of the cell's score between these two, 0 to 1, and `aside` the distance of the mean score of the
    entry's own rows from that position, in the same unit.

    The bounds are those of log_loss, brier_score, ks_error, auc and mean_score (the mean of all
    scores). `edge` is the largest difference between outcomes and scores that the rows on one side
    of a bin edge inside a cell can have.

    >>> import numpy as np
    >>> outcome, count = np.array([False, True]), np.array([6.0, 4.0])
    >>> rows = BinaryView(outcome, np.array([0.4, 0.4]), count=count)
    >>> ends = np.array([0.39, 0.39]), np.array([0.41, 0.41])
    >>> bounds = resolutions(rows, rows.cells(), ends, np.array([0.5, 0.5]), np.array([-0.1, 0.15]))
    >>> {name: round(value, 4) for name, value in bounds.items()}
    {'log_loss': 0.0053, 'brier_score': 0.0025, 'mean_score': 0.0, 'edge': 0.246, \
'ks_error': 0.244, 'auc': 0.5}
    """
    share = rows.weights / rows.weights.sum()
    low, high = np.minimum(*ends), np.maximum(*ends)
    grouped = high > low
    log_loss, brier_score, mean_score = _changes(rows, ends, middle, aside, share)
    cell, same_score = _alone(rows, cells, grouped, share)
    code = 2 * cell + rows.outcome

    def total(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Sums per cell of positive and negative rows: of all, and of those in unknown order."""
        free = np.where(same_score, 0.0, values)
        every, loose = (
            np.bincount(code, of, 2 * len(cells)).astype(np.float64) for of in (values, free)
        )
        return every[1::2], every[::2], loose[1::2], loose[::2]

    reach = share * np.where(rows.outcome, 1.0 - low, high)
    rise, fall, rise_of_few, fall_of_few = total(reach)
    # Within a cell the cumulative difference can exceed its values at both ends by this much.
    beyond = np.minimum(np.minimum(rise, fall), np.maximum(rise_of_few, fall_of_few))
    positive, negative, few_positive, few_negative = total(share)
    tied = (positive - few_positive) @ (negative - few_negative)
    pairs = float(positive.sum() * negative.sum())
    return {
        "log_loss": log_loss,
        "brier_score": brier_score,
        "mean_score": mean_score,
        "edge": float(np.maximum(rise_of_few, fall_of_few).max()),
        "ks_error": float(beyond.max()) + mean_score,
        "auc": 0.5 * float(positive @ negative - tied) / pairs if pairs > 0.0 else 0.0,
    }


def _changes(
    rows: BinaryView,
    ends: tuple[FloatArray, FloatArray],
    middle: FloatArray,
    aside: FloatArray,
    share: FloatArray,
) -> list[float]:
    """Bounds of the change of the mean log loss, Brier score and score."""
    leaning, most = np.zeros(3), np.zeros(3)
    for part in chunks(len(rows), CHUNK_ENTRIES):
        inside, off, weight = middle[part], aside[part], share[part]
        # The slopes left and right of the cell's score differ by gap / (middle (1 - middle)).
        bend = 1.0 + np.abs(off) / np.maximum(inside * (1.0 - inside), 1e-12)
        scores = rows.score[part], ends[0][part], ends[1][part]
        losses = [
            [loss(rows.outcome[part], score) for score in scores]
            for loss in (row_log_loss, row_brier)
        ]
        for number, (at, first, last) in enumerate((*losses, scores)):
            whole = last - first
            gap = np.abs(first + inside * whole - at)
            leaning[number] += (weight * off) @ whole
            most[number] += weight @ np.minimum(gap * bend, np.abs(whole))
    bounds: list[float] = (np.abs(leaning) + most).tolist()
    return bounds


def _alone(
    rows: BinaryView, cells: ScoreCells, grouped: BoolArray, share: FloatArray
) -> tuple[IntArray, BoolArray]:
    """The cell of each entry, and whether it certainly has the most frequent score of the cell.

    Rows that certainly have equal scores are one step. Others can be in any order.
    """
    between = 0.5 * (cells.score[1:] + cells.score[:-1])
    order = increasing_order(rows.score)
    starts = run_starts(rows.score[order])
    score, atom = rows.score[order][starts], np.empty(len(order), dtype=np.int64)
    atom[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    cell = np.searchsorted(between, score)
    weight = np.bincount(atom, np.where(grouped, 0.0, share), len(score))
    # Each cell has one atom of the largest weight: the last one if several have the same weight.
    starts = run_starts(cell)
    length = np.diff(starts, append=len(cell))
    top = np.flatnonzero(weight == np.repeat(np.maximum.reduceat(weight, starts), length))
    largest = np.zeros(len(score), dtype=np.bool_)
    largest[top[np.append(cell[top][1:] != cell[top][:-1], True)]] = True
    return cell[atom], largest[atom] & ~grouped

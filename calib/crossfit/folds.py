"""Folds: sets of rows that are held out together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from sklearn.model_selection import PredefinedSplit, StratifiedGroupKFold, StratifiedKFold

from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, ScoreMatrix
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.resampling import split_counts


def n_positive(rows: BinaryView) -> int:
    return int(rows.counts[rows.outcome].sum())


def split_into_folds(entries: BinaryView, settings: Settings) -> tuple[BinaryView, IntArray]:
    """Split entries into the named folds, or into random folds by outcome or by group.

    The array is the position of the given entry from which each of the entries comes. Raises
    ValueError if there are too few rows of a class.
    """
    if entries.fold is not None:
        _check_folds(entries, entries.fold)
        return entries, np.arange(len(entries))
    positives = n_positive(entries)
    smaller = min(positives, entries.n_rows - positives)
    n_folds = min(settings.n_folds, smaller)
    if n_folds < 2:
        raise ValueError(
            "Cross-fitting needs at least 2 rows of each class, "
            f"got {smaller} of the rarer one. Add rows, or name calibration and test rows."
        )
    if entries.group is None:
        return _split_counts(entries, n_folds, settings.seed)
    n_folds = min(n_folds, _n_groups(entries.group))
    grouped = StratifiedGroupKFold(n_folds, shuffle=True, random_state=settings.seed)
    fold = np.empty(len(entries), dtype=np.int64)
    for number, (_, held_out) in enumerate(
        grouped.split(entries.score, entries.outcome, entries.group)
    ):
        fold[held_out] = number
    return replace(entries, fold=fold), np.arange(len(entries))


def _n_groups(group: IntArray) -> int:
    n = len(np.unique(group))
    if n < 2:
        raise ValueError(
            f"Cross-fitting holds out whole groups and needs at least 2, got {n}. Name smaller "
            "groups, name calibration and test rows, or leave the group column out."
        )
    return n


def _check_folds(entries: BinaryView, fold: IntArray) -> None:
    rows = np.array([entries.counts * entries.outcome, entries.counts * ~entries.outcome])
    for number in np.unique(fold):
        outside = rows[:, fold != number].sum(axis=1)
        if outside.min() == 0:
            raise ValueError(
                "The rows outside of each named fold must hold both classes, got "
                f"{int(outside.sum())} rows with {int(outside[0])} positive ones outside of one. "
                "Name other folds, or leave the fold column out."
            )


def _split_counts(entries: BinaryView, n_folds: int, seed: int) -> tuple[BinaryView, IntArray]:
    rng, count = np.random.default_rng(seed), entries.counts.astype(np.int64)
    parts = np.empty((n_folds, len(entries)), dtype=np.int64)
    for outcome in (True, False):
        has_outcome = entries.outcome == outcome
        # Remaining rows of the two outcomes go to different folds, so that folds have equal sizes.
        parts[:, has_outcome] = split_counts(count[has_outcome], n_folds, rng, extra_first=outcome)
    source, fold = np.nonzero(parts.T)
    rows = parts[fold, source].astype(np.float64)
    share = rows / count[source]
    whole = entries.rows(source)
    return replace(
        whole,
        count=rows,
        fold=fold,
        weight=None if whole.weight is None else whole.weight * share,
        weight_sq=None if whole.weight_sq is None else whole.weight_sq * share,
    ), source


def matrix_folds(
    rows: ScoreMatrix, order: IntArray, settings: Settings
) -> list[tuple[IntArray, IntArray]]:
    """Positions in `order` of the rows to fit on and of the rows to score, for each fold."""
    if rows.fold is not None:
        return list(PredefinedSplit(rows.fold[order]).split())
    label, group = rows.label[order], None if rows.group is None else rows.group[order]
    n_units = len(label) if group is None else _n_groups(group)
    if n_units < 2:
        raise ValueError(f"Cross-fitting needs at least 2 rows, got {n_units}.")
    n_folds = min(settings.n_folds, n_units)
    # Classes with fewer rows than folds cannot be stratified, so they count as the largest class.
    counts = np.bincount(label)
    strata = np.where(counts[label] < n_folds, counts.argmax(), label)
    if np.bincount(strata).max() < n_folds:
        strata = np.zeros_like(strata)
    kind = StratifiedKFold if group is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=settings.seed)
    return list(splitter.split(strata, strata, group))


def cells_outside_folds(rows: BinaryView, cell: IntArray | None) -> Iterator[ScoreCells]:
    """The cells of all rows outside of a fold, for each fold in turn.

    `cell` is the index of the cell of each counted row, in the order of the scores.
    """
    assert rows.fold is not None
    numbers, fold = np.unique(rows.fold, return_inverse=True)
    if cell is None or rows.count is None:
        yield from (rows.rows(fold != number).cells() for number in range(len(numbers)))
        return
    n = int(cell.max()) + 1
    score = np.empty(n)
    score[cell] = rows.score
    code = fold * n + cell

    def outside(values: FloatArray) -> list[FloatArray]:
        """Sums per cell over all folds but one. They are exactly 0 if no row is left."""
        sums = np.bincount(code, values, len(numbers) * n).reshape(len(numbers), n)
        return [np.delete(sums, number, axis=0).sum(axis=0) for number in range(len(numbers))]

    def both(values: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        return outside(values), outside(np.where(rows.outcome, values, 0.0))

    counts = outside(rows.count)
    if rows.weight is None:
        weight, positive = counts, outside(np.where(rows.outcome, rows.count, 0.0))
        square, positive_square = weight, positive
    else:
        weight, positive = both(rows.weight)
        square, positive_square = both(rows.squared_weights)
    for sums in zip(counts, weight, positive, square, positive_square, strict=True):
        kept = np.flatnonzero(sums[0] > 0.0)
        # Without weights, weights and counts are the same array. They must stay the same: fits test
        # identity to see whether rows are weighted.
        part = {id(values): values[kept] for values in sums}
        count, total, ones, squares, squared_ones = (part[id(values)] for values in sums)
        sums_of_cells = count, total, ones, squares, squared_ones
        yield ScoreCells(score[kept], *sums_of_cells, far=rows.far)

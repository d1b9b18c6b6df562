"""Folds: which rows are held out together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.model_selection import PredefinedSplit, StratifiedGroupKFold, StratifiedKFold

from calib.core.views import BinaryView, ScoreMatrix
from calib.crossfit.settings import Settings
from calib.numerics.arrays import IntArray
from calib.numerics.fold_counts import split_counts


def n_positive(rows: BinaryView) -> int:
    """Positive rows, however they are counted."""
    return int(rows.counts[rows.outcome].sum())


def split_into_folds(entries: BinaryView, settings: Settings) -> tuple[BinaryView, IntArray]:
    """Entries split into folds: stratified by outcome, or by group, and seeded; or as they name.

    Parameters
    ----------
    entries : BinaryView
        Counted rows.
    settings : Settings
        Its `n_folds` and `seed` are used.

    Returns
    -------
    entries : BinaryView
        With the fold of each.
    source : ndarray of int
        Which of the given entries each is a part of.

    Raises
    ------
    ValueError
        If there are too few rows of a class.
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
    grouped = StratifiedGroupKFold(n_folds, shuffle=True, random_state=settings.seed)
    fold = np.empty(len(entries), dtype=np.int64)
    for number, (_, held_out) in enumerate(
        grouped.split(entries.score, entries.outcome, entries.group)
    ):
        fold[held_out] = number
    return replace(entries, fold=fold), np.arange(len(entries))


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
        own = entries.outcome == outcome
        # The rows that do not divide evenly go to other folds for the other outcome.
        parts[:, own] = split_counts(count[own], n_folds, rng, extra_first=outcome)
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
    """Positions in `order` of the rows to fit on and of those to score, for each fold."""
    if rows.fold is not None:
        return list(PredefinedSplit(rows.fold[order]).split())
    label, group = rows.label[order], None if rows.group is None else rows.group[order]
    n_units = len(label) if group is None else len(np.unique(group))
    if n_units < 2:
        unit = "row" if group is None else "group"
        raise ValueError(f"Cross-fitting needs at least 2 {unit}s, got {n_units}.")
    n_folds = min(settings.n_folds, n_units)
    # Classes with fewer rows than folds cannot be spread evenly: they count as the commonest one.
    counts = np.bincount(label)
    strata = np.where(counts[label] < n_folds, counts.argmax(), label)
    if np.bincount(strata).max() < n_folds:
        strata = np.zeros_like(strata)
    kind = StratifiedKFold if group is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=settings.seed)
    return list(splitter.split(strata, strata, group))

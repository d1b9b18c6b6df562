"""Labels as pass or fail, and scores or answers of a judge as numbers from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from calib.loading import name_patterns as names
from calib.loading.columns import as_labels, as_numbers, as_outcome
from calib.loading.judged_columns import SCALES, JudgedColumns
from calib.loading.problems import Choice, InputError, error, refuse
from calib.numerics.arrays import FloatArray
from calib.text import listed, quoted, significant


def passes(column: pd.Series, positive: str | None) -> FloatArray:
    """1 for labels that pass, 0 for those that fail, NaN for missing ones."""
    labels, _ = as_outcome(column, () if positive is None else (positive,))
    if not len(labels):
        raise refuse("no-labels", f"Column {quoted(column.name)} has no labels.")
    codes = _pass_codes(labels.names, positive) if len(labels) <= 2 else None
    if codes is None:
        offered = labels.names if len(labels) <= 2 else ()
        raise InputError(
            [
                error(
                    "unclear-labels",
                    f"Column {quoted(column.name)} has the labels {listed(labels.names, 5)}. Two "
                    "are needed, and which of them passes must be clear.",
                    choices=tuple(Choice(f"{name} passes", {"positive": name}) for name in offered),
                )
            ]
        )
    return np.append(codes, np.nan)[labels.codes]


def _pass_codes(labels: Sequence[str], positive: str | None) -> FloatArray | None:
    """For each label whether it passes; None if that is not clear."""
    words = [label.casefold() for label in labels]
    if positive is not None:
        passes = [word == positive.casefold() for word in words]
        return np.array(passes, dtype=np.float64) if any(passes) or len(words) == 1 else None
    if not all(word in names.PASS_WORDS | names.FAIL_WORDS for word in words):
        return None
    if len(words) == 1 and len(words[0]) == 1 and words[0].isalpha():
        # C beside I is correct, but alone it may be one of A, B and C.
        return None
    passes = [word in names.PASS_WORDS for word in words]
    return np.array(passes, dtype=np.float64) if len(passes) == 1 or any(passes) else None


def scores_of(column: pd.Series, columns: JudgedColumns, gold: frozenset[str]) -> FloatArray:
    """The scores in [0, 1]; answers such as pass and fail become 1 and 0."""
    numbers = as_numbers(column)
    if len(numbers.text):
        return _answers(column, columns.positive, gold)
    low, high = columns.scale
    values = (numbers.values - low) / (high - low)
    finite = values[~np.isnan(values)]
    if len(finite) and (finite.min() < 0.0 or finite.max() > 1.0):
        least, most = np.nanmin(numbers.values), np.nanmax(numbers.values)
        raise _outside(column, (float(least), float(most)), columns.scale)
    return values


def _outside(
    column: pd.Series, ends_of_scores: tuple[float, float], scale: tuple[float, float]
) -> InputError:
    """An error that offers the scales that hold the scores."""
    (least, most), (low, high) = ends_of_scores, scale
    holding = [ends for ends in SCALES if ends[0] <= least and most <= ends[1]]
    # If no usual scale holds them, their own range is the only one that can be offered.
    offered = holding[:4] or [(float(math.floor(least)), float(math.ceil(most)))]
    return InputError(
        [
            error(
                "scale",
                f"The scores in {quoted(column.name)} go from {significant(least, 4)} to "
                f"{significant(most, 4)}, outside {low:g} to {high:g}. State the lowest and the "
                "highest possible score.",
                choices=tuple(
                    Choice(f"From {ends[0]:g} to {ends[1]:g}", {"scale": ends}) for ends in offered
                ),
            )
        ]
    )


def _answers(column: pd.Series, positive: str | None, gold: frozenset[str]) -> FloatArray:
    """1 for answers that pass, 0 for those that fail.

    The label that passes is meant for the gold labels. It says what the judge means only if both
    use the same words.
    """
    same = positive is not None and words_of(column) <= gold | {positive.casefold()}
    try:
        return passes(column, positive if same else None)
    except InputError:
        shown = as_labels(column)
        raise refuse(
            "not-scores",
            f"Column {quoted(column.name)} holds neither numbers nor answers such as pass and "
            f"fail, but {listed(shown.names, 3)}. Name the column of the judge's scores "
            "(`score`).",
        ) from None


def words_of(column: pd.Series) -> frozenset[str]:
    """The labels of a column, whose letter case does not matter."""
    labels, _ = as_outcome(column)
    return frozenset(name.casefold() for name in labels.names)

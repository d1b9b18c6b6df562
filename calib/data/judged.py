"""Rows that a judge scored, of which only some have a gold label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib.data.checks import check_same_length, check_scores
from calib.data.predictions import Predictions
from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class JudgedRows(Locked):
    """Scores of a judge for all rows, and gold labels for some of them.

    Attributes
    ----------
    score : ndarray of shape (n,), in [0, 1]
        The judge's score that the row passes; 0 or 1 if it only says pass or fail.
    outcome : ndarray of shape (n,)
        Gold label: 1 for pass, 0 for fail, NaN for rows without a label.
    group : ndarray of int, shape (n,), or None
        Cluster of each row, if rows are not independent, such as the samples of one question.
    columns : mapping of str to ndarray of shape (n,)
        What identifies and explains the rows, for lists of rows. An id comes first.
    judge_columns : tuple of str
        Names of the columns that the judge wrote, such as its explanation. A person who labels a
        row should not see them.
    name : str
        Name of the judged rows.
    notes : tuple of str
        Sentences about how the rows were read.
    read_with : mapping of str to str
        Arguments of `calib.judge` that name the columns that were read.
    """

    score: FloatArray
    outcome: FloatArray
    group: IntArray | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    judge_columns: tuple[str, ...] = ()
    name: str = "judge"
    notes: tuple[str, ...] = ()
    read_with: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_arrays(
        cls,
        score: ArrayLike,
        outcome: ArrayLike,
        group: ArrayLike | None = None,
        *,
        columns: Mapping[str, ArrayLike] | None = None,
        judge_columns: tuple[str, ...] = (),
        name: str = "judge",
        notes: tuple[str, ...] = (),
        read_with: Mapping[str, str] | None = None,
    ) -> JudgedRows:
        """Check arrays and make judged rows of them.

        Raises
        ------
        ValueError
            If the arrays differ in length, a score is not in [0, 1], or a label is not 0, 1 or
            missing.

        Examples
        --------
        >>> rows = JudgedRows.from_arrays([0.9, 0.2, 0.7], [1, None, 0])
        >>> rows.outcome, rows.labelled
        (array([ 1., nan,  0.]), array([ True, False,  True]))
        """
        scores = check_scores(score, "judged").copy()
        labels = _labels(outcome)
        codes = None if group is None else pd.factorize(pd.Series(group))[0].astype(np.int64)
        if codes is not None and (codes < 0).any():
            missing = int((codes < 0).sum())
            raise ValueError(f"group must name the group of every row, got {missing} missing.")
        extra = {key: np.array(values) for key, values in (columns or {}).items()}
        optional = {"gold": labels, "group": codes, **extra}
        for column, values in optional.items():
            if values is not None:
                check_same_length(**{"judged": scores, column: values})
        read_with = dict(read_with or {})
        return cls(scores, labels, codes, extra, judge_columns, name, notes, read_with)

    def __len__(self) -> int:
        return len(self.score)

    @property
    def labelled(self) -> BoolArray:
        """Which rows have a gold label."""
        return ~np.isnan(self.outcome)

    def gold(self) -> Predictions:
        """The labelled rows as predictions, for the reliability of the judge's scores."""
        rows = self.labelled
        return Predictions.from_arrays(
            self.outcome[rows],
            self.score[rows],
            group=None if self.group is None else self.group[rows],
            class_names=("fail", "pass"),
            name=self.name,
        )


def _labels(outcome: ArrayLike) -> FloatArray:
    """Labels as numbers, NaN where they are missing."""
    cells = pd.Series(np.asarray(outcome, dtype=object))
    present = cells[cells.notna()]
    numbers = pd.to_numeric(present, errors="coerce").astype(np.float64)
    refused = ~numbers.isin((0.0, 1.0))
    if refused.any():
        first = present[refused].iloc[0]
        raise ValueError(f"gold must hold only 0, 1 and missing labels, got {first!r}.")
    labels = np.full(len(cells), np.nan)
    labels[cells.notna()] = numbers
    return labels

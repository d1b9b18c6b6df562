"""JudgedColumns: the meaning of the columns of judged rows and gold labels, named or guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from calib.data.file_options import option
from calib.loading import name_patterns as names
from calib.loading.name_patterns import plain_name
from calib.loading.problems import InputError, refuse
from calib.loading.table import Table
from calib.text import joined, listed, quoted

SCORE, GOLD = "score", "gold"
# Usual scales of ratings, the shortest first.
SCALES = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))


@dataclass(frozen=True, kw_only=True)
class JudgedColumns:
    """The meaning of the columns of judged rows; columns that are not named are guessed."""

    score: str | Sequence[str] | None = option(
        None,
        "Column of the judge's score, or of its answer such as pass and fail; several columns are "
        "several judges.",
        many=True,
    )
    outcome: str | None = option(None, "Column of the gold labels.")
    row_id: str | None = option(
        None,
        "Column that identifies each row, in both files. Without one the files must have the same "
        "rows in the same order.",
    )
    model: str | None = option(None, "Column that names the model that answered each row.")
    group: str | None = option(
        None, "Column of cluster IDs, if rows are not independent: samples of one question."
    )
    positive: str | None = option(
        None, "The label that passes, if it is not a word such as pass, yes or 1.", metavar="LABEL"
    )
    scale: tuple[float, float] = option(
        (0.0, 1.0), "Lowest and highest possible score, such as 1 and 5.", metavar="NUMBER"
    )

    def __post_init__(self) -> None:
        low, high = self.scale
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(f"scale must fulfil low < high and be finite, got {low} and {high}.")

    @property
    def scores(self) -> tuple[str, ...]:
        """The score columns that were named."""
        if self.score is None or isinstance(self.score, str):
            return (self.score,) if self.score else ()
        return tuple(self.score)


def judged_tables(tables: Sequence[Table]) -> tuple[Table, Table | None] | None:
    """The rows of a judge and the table of gold labels, if tables that were dropped are these.

    A judge scores every row, and people label at most half of them. A name must say that there is a
    judge, or that the labels are those of people.
    """
    if any(table.log or table.tests is not None for table in tables):
        return None
    if len(tables) == 1:
        return (tables[0], None) if _few_labels(tables[0].frame, tables[0].frame) else None
    pairs = (tables, tables[::-1]) if len(tables) == 2 else ()
    for rows, gold in pairs:
        has_id = _id_column(rows.frame, gold.frame, JudgedColumns()) is not None
        if has_id and _few_labels(rows.frame, gold.frame):
            return rows, gold
    return None


def _few_labels(frame: pd.DataFrame, labels: pd.DataFrame) -> bool:
    certain = [_by_name(frame, set(), names.JUDGE_NAMES[:1])]
    certain.append(_by_name(labels, set(), names.GOLD_NAMES[:1]))
    score = certain[0] or _by_name(frame, {certain[1]}, (*names.JUDGE_NAMES, *names.SCORE_NAMES))
    label = certain[1] or _by_name(labels, {score}, (*names.GOLD_NAMES, *names.OUTCOME_NAMES))
    if not any(certain) or score is None or label is None or frame[score].isna().any():
        return False
    return 0 < 2 * int(labels[label].notna().sum()) <= len(frame)


def guessed_columns(
    columns: JudgedColumns, frame: pd.DataFrame, gold: pd.DataFrame | None
) -> tuple[JudgedColumns, tuple[str, ...]]:
    """The columns with those that were not named, and the names of the guessed roles."""
    _check_named(columns, frame, gold)
    guesses: dict[str, Any] = {}
    if columns.row_id is None:
        guesses["row_id"] = _id_column(frame, gold, columns)
    if columns.outcome is None:
        taken = {
            *columns.scores,
            columns.row_id,
            guesses.get("row_id"),
            columns.group,
            columns.model,
        }
        guesses["outcome"] = _outcome_column(frame if gold is None else gold, taken)
    if not columns.scores:
        outcome = guesses.get("outcome", columns.outcome)
        taken = {columns.row_id, guesses.get("row_id"), columns.group, columns.model}
        guesses["score"] = _score_column(frame, taken | ({outcome} if gold is None else set()))
    guesses = {role: column for role, column in guesses.items() if column is not None}
    return replace(columns, **guesses), tuple(guesses)


def _check_named(columns: JudgedColumns, frame: pd.DataFrame, gold: pd.DataFrame | None) -> None:
    for column in (*columns.scores, columns.model, columns.group, columns.row_id):
        if column is not None and column not in frame.columns:
            raise _no_column(column, frame, "judged rows")
    labels, what = (frame, "judged rows") if gold is None else (gold, "gold labels")
    for column in (columns.outcome, columns.row_id):
        if column is not None and column not in labels.columns:
            raise _no_column(column, labels, what)


def _no_column(column: str, frame: pd.DataFrame, what: str) -> InputError:
    there = listed(list(frame.columns), 5)
    return refuse("no-column", f"The {what} have no column {quoted(column)}. They have {there}.")


def _by_name(frame: pd.DataFrame, taken: set[str | None], patterns: Sequence[str]) -> str | None:
    for pattern in patterns:
        for column in frame.columns:
            if column not in taken and re.fullmatch(pattern, plain_name(str(column))):
                return str(column)
    return None


def _id_column(
    frame: pd.DataFrame, gold: pd.DataFrame | None, columns: JudgedColumns
) -> str | None:
    """A column with the name of an id, in both tables, which differs from row to row if one does.

    If none does, labels cannot be matched by it. They are then refused, and not matched by
    position, because the order of repeated ids may differ between the tables.
    """
    meant = {*columns.scores, columns.outcome, columns.model}
    shared = [
        str(column)
        for column in frame.columns
        if column not in meant
        and re.fullmatch(names.ID_NAMES, plain_name(str(column)))
        and (gold is None or column in gold.columns)
    ]
    model = [] if columns.model is None else [columns.model]
    unique = [column for column in shared if not frame.duplicated([column, *model]).any()]
    if unique or gold is None:
        return next(iter(unique), None)
    return next(iter(shared), None)


def _score_column(frame: pd.DataFrame, taken: set[str | None]) -> str:
    column = _by_name(frame, taken, (*names.JUDGE_NAMES, *names.SCORE_NAMES))
    if column is None:
        raise refuse(
            "no-score",
            f"No column looks like a judge's score among {listed(list(frame.columns), 5)}. Name "
            "the column of the judge's scores (`score`).",
        )
    return column


def _outcome_column(frame: pd.DataFrame, taken: set[str | None]) -> str:
    column = _by_name(frame, taken, (*names.GOLD_NAMES, *names.OUTCOME_NAMES))
    free = [str(one) for one in frame.columns if one not in taken]
    if column is None and len(free) == 1:
        column = free[0]
    if column is None:
        raise refuse(
            "no-gold",
            f"No column looks like gold labels among {listed(list(frame.columns), 5)}. Name the "
            "column of the gold labels (`outcome`).",
        )
    return column


def guess_notes(
    columns: JudgedColumns, guessed: tuple[str, ...], gold: pd.DataFrame | None
) -> tuple[str, ...]:
    meanings = {"score": "the judge's score", "outcome": "the gold label", "row_id": "the id"}
    parts = []
    for role, meaning in meanings.items():
        column = getattr(columns, role)
        if role in guessed and column not in (SCORE, GOLD):
            parts.append(f"{quoted(column)} as {meaning}")
    said = [f"Read {joined(parts)}."] if parts else []
    if gold is not None and columns.row_id is None and list(gold) != [GOLD]:
        said.append("The labels are matched to the judged rows by position.")
    return tuple(said)


def weight_notes(frame: pd.DataFrame, columns: JudgedColumns) -> tuple[str, ...]:
    """A sentence if a column has the name of weights: they are not supported."""
    taken = {*columns.scores, columns.outcome, columns.row_id, columns.model, columns.group}
    weight = _by_name(frame, taken, (*names.WEIGHT_NAMES, *names.PERHAPS_WEIGHT_NAMES))
    if weight is None:
        return ()
    return (f"Weights are not supported: {quoted(weight)} is not used, and each row counts once.",)

"""read_judged: a judge's scores and gold labels, from files, tables or arrays, matched by row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib.data.file_options import ColumnMapping, FileFormat
from calib.data.judged import JudgedRows
from calib.data.predictions import Predictions
from calib.loading import name_patterns as names
from calib.loading.columns import as_labels, label_text
from calib.loading.judged_columns import (
    GOLD,
    SCORE,
    JudgedColumns,
    guess_notes,
    guessed_columns,
    weight_notes,
)
from calib.loading.judged_values import passes, scores_of, words_of
from calib.loading.logs import combined, log_mapping
from calib.loading.name_patterns import plain_name
from calib.loading.problems import refuse
from calib.loading.reading.reader import Source, read
from calib.loading.table import Table
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.text import FORMULA, count, joined, plural, quoted

GUESSED_FORMAT = FileFormat()
# These columns of a log may be the judge's opinion, so a person who labels must not see them.
LOG_VERDICTS = ("correct", "confidence")
# A log that asks the same question several times counts them in this column.
EPOCH = "epoch"
Judged: TypeAlias = Source | Predictions | ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class JudgedParts:
    """Judged rows by judge, by model, or by both ("model, judge").

    `failures` say why the others cannot be used.
    """

    rows: Mapping[str, JudgedRows] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)


def read_judged(
    judged: Judged, gold: Judged | None, columns: JudgedColumns, given: FileFormat = GUESSED_FORMAT
) -> JudgedParts:
    """Read the rows of each judge and model. `given` says how files are read.

    Labels are matched to the judged rows by an id column that both have, or by position if they
    have none. Rows without a score are left out, and a note says how many.

    Raises
    ------
    InputError
        If a column cannot be guessed or read, or labels do not match the rows.
    """
    table = _table(judged, SCORE, given)
    frame, name = table.frame, table.name
    gold_table = None if gold is None else _gold_table(gold, len(frame), given)
    columns, of_log = _of_log(table, columns, has_gold=gold is not None)
    labels = None if gold_table is None else gold_table.frame
    columns, guessed = guessed_columns(columns, frame, labels)
    _check_is_gold(gold_table or table, columns)
    outcome = _outcomes(frame, labels, columns)
    notes = (*of_log, *guess_notes(columns, guessed, labels), *weight_notes(frame, columns))
    taken = {*columns.scores, columns.outcome}
    kept = {column: frame[column].to_numpy() for column in _in_order(frame, columns, taken)}
    written = [c for c in kept if c != columns.row_id and _is_of_judge(c, table)]
    group = None if columns.group is None else as_labels(frame[columns.group]).codes
    notes += _without_model(frame, columns, outcome)
    words = words_of((frame if labels is None else labels)[columns.outcome])
    values = {score: scores_of(frame[score], columns, words) for score in columns.scores}
    results, failures = {}, {}
    for part, (score, rows) in _parts(frame, columns, name).items():
        usable = rows & ~np.isnan(values[score])
        if not usable.any():
            failures[part] = f"Column {quoted(score)} has no scores."
            continue
        _check_clusters(group, usable, columns)
        results[part] = JudgedRows.from_arrays(
            values[score][usable],
            outcome[usable],
            None if group is None else group[usable],
            columns={column: cells[usable] for column, cells in kept.items()},
            judge_columns=tuple(written),
            name=part,
            notes=(*notes, *_left_out(rows & ~usable, outcome, "score")),
            read_with=_read_with(columns, score),
        )
    if not results:
        raise refuse("no-scores", next(iter(failures.values())))
    return JudgedParts(results, failures)


def _is_of_judge(column: str, table: Table) -> bool:
    if table.log and column in LOG_VERDICTS:
        return True
    return re.fullmatch(names.JUDGE_WORDS, plain_name(column)) is not None


def _of_log(
    table: Table, columns: JudgedColumns, *, has_gold: bool
) -> tuple[JudgedColumns, tuple[str, ...]]:
    """The meaning of the columns of a log that was not named, as in `calib.load`, and notes."""
    if not table.log:
        return columns, ()
    notes = []
    mapping = log_mapping(table, ColumnMapping(), models=columns.model is not None)
    if columns.group is None and mapping.group is not None:
        columns = replace(columns, group=mapping.group)
        notes.append(f"Rows with the same {quoted(mapping.group)} are one cluster.")
    if has_gold and not columns.scores and table.frame["confidence"].isna().all():
        columns = replace(columns, score="correct")
        notes.append("Read `correct` as the judge's answer, because the log has no confidence.")
    return columns, tuple(notes)


def _table(data: Judged, column: str, given: FileFormat) -> Table:
    """A table of the data; an array becomes its only column."""
    if isinstance(data, Predictions):
        return Table(_of_predictions(data, column), data.name)
    if isinstance(data, Table):
        return data
    # Lists, arrays and series hold scores or labels. Tables and texts are read as files.
    if isinstance(data, str | bytes | pd.DataFrame) or hasattr(data, "__fspath__"):
        return combined([read(data, given=given)])[0]
    if not isinstance(data, Sequence | np.ndarray | pd.Series) and (
        hasattr(data, "__arrow_c_stream__") or hasattr(data, "frame")
    ):
        return read(data)
    values = np.asarray(data)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"An array of scores or labels must have one dimension and rows, got {values.shape}."
        )
    return Table(pd.DataFrame({column: values}), "judge")


def _of_predictions(data: Predictions, column: str) -> pd.DataFrame:
    if data.is_matrix:
        raise refuse("matrix", "The judged rows have one score per class. One per row is needed.")
    if data.weight is not None:
        raise refuse("weights", "Rows with weights are not supported. Leave the weights out.")
    values = data.scores if column == SCORE else data.outcome
    frame = pd.DataFrame({column: values})
    return frame if data.group is None else frame.assign(group=data.group)


def _gold_table(gold: Judged, n_rows: int, given: FileFormat) -> Table:
    table = _table(gold, GOLD, given)
    frame = table.frame
    is_array = not isinstance(gold, str | bytes | pd.DataFrame | Table) and list(frame) == [GOLD]
    if is_array and len(frame) != n_rows:
        raise refuse(
            "unmatched",
            f"There are {plural(len(frame), 'label')} for {plural(n_rows, 'judged row')}. Give one "
            "label per row, missing for rows without one, or tables with an id column.",
        )
    return table


def _check_is_gold(table: Table, columns: JudgedColumns) -> None:
    """Refuse the verdict of a judge in place of gold labels: it would agree with itself."""
    if table.judged and columns.outcome == "correct":
        raise refuse(
            "judged",
            f"{quoted(table.file or table.name)} says whether a judge's scores reached a threshold "
            "(`correct`), and has no label that does not depend on the judge. Gold labels are "
            "needed: let people label some of its rows, and give these labels as well (`gold`).",
        )


def _read_with(columns: JudgedColumns, score: str) -> dict[str, str]:
    """The columns of one judge by their arguments."""
    names = {role: getattr(columns, role) for role in ("outcome", "row_id", "group", "positive")}
    return {role: name for role, name in ({"score": score} | names).items() if name is not None}


def _in_order(frame: pd.DataFrame, columns: JudgedColumns, taken: set[str | None]) -> list[str]:
    """The columns to keep for lists of rows, the id first."""
    rest = [str(column) for column in frame.columns if column not in {*taken, columns.row_id}]
    return ([columns.row_id] if columns.row_id else []) + rest


def _outcomes(frame: pd.DataFrame, gold: pd.DataFrame | None, columns: JudgedColumns) -> FloatArray:
    """The label of each judged row: 1, 0 or NaN."""
    assert columns.outcome is not None
    if gold is None:
        return passes(frame[columns.outcome], columns.positive)
    labels = passes(gold[columns.outcome], columns.positive)
    if columns.row_id is None:
        return _by_position(frame, labels)
    keys = _key_columns(frame, gold, columns)
    wanted, there = (_keys(one, keys, what) for one, what in ((gold, "gold"), (frame, "judged")))
    # A blank label needs no judged row.
    wanted, labels = wanted[~np.isnan(labels)], labels[~np.isnan(labels)]
    _check_unique(there, keys[0], "judged rows", _unique_keys(frame, keys, columns))
    _check_unique(wanted, keys[0], "gold labels", "Give one label per row.")
    position = there.get_indexer(wanted)
    if (position < 0).any():
        absent = wanted[position < 0]
        raise refuse(
            "unmatched",
            f"{count(len(absent))} of {plural(len(wanted), 'gold label')} "
            f"{'has' if len(absent) == 1 else 'have'} an id that is not among the judged rows, "
            f"such as {_written(absent[0])}. Judge these rows, or remove them.",
        )
    outcome = np.full(len(frame), np.nan)
    outcome[position] = labels
    return outcome


def _key_columns(frame: pd.DataFrame, gold: pd.DataFrame, columns: JudgedColumns) -> list[str]:
    """The columns that identify a row: its id, and the model and the epoch if both tables say it.

    Logs repeat an id in each epoch.
    """
    assert columns.row_id is not None
    keys = [columns.row_id]
    if columns.model is not None and columns.model in gold.columns:
        keys.append(columns.model)
    in_both = EPOCH in frame.columns and EPOCH in gold.columns
    return [*keys, EPOCH] if in_both and frame.duplicated(keys).any() else keys


def _by_position(frame: pd.DataFrame, labels: FloatArray) -> FloatArray:
    if len(labels) != len(frame):
        raise refuse(
            "unmatched",
            f"The tables have no id column in common, and {plural(len(labels), 'gold row')} cannot "
            f"be matched to {plural(len(frame), 'judged row')} by position. Add a column that "
            "identifies each row to both, and name it (`row_id`).",
        )
    return labels


def _keys(frame: pd.DataFrame, columns: Sequence[str], what: str) -> pd.Index:
    texts = []
    for column in columns:
        labels = as_labels(frame[column])
        if (labels.codes < 0).any():
            row = int(np.flatnonzero(labels.codes < 0)[0]) + 1
            raise refuse("no-id", f"Row {row} of the {what} rows has no {quoted(column)}.")
        texts.append(np.array([_id_text(value) for value in labels.values])[labels.codes])
    return pd.Index(texts[0]) if len(texts) == 1 else pd.MultiIndex.from_arrays(texts)


def _id_text(value: object) -> str:
    """An id as text. The file of rows to label next has an apostrophe before one like a formula."""
    text = label_text(value)
    return text[1:] if text.startswith("'") and FORMULA.match(text[1:]) else text


def _check_unique(keys: pd.Index, column: str, what: str, repair: str) -> None:
    if keys.is_unique:
        return
    repeated = keys[keys.duplicated()][0]
    raise refuse(
        "repeated-id",
        f"The id {_written(repeated)} is in more than one of the {what} (column {quoted(column)}). "
        f"{repair} Labels of the same rows in the same order need no ids: leave their column out "
        "of the gold labels.",
    )


def _unique_keys(frame: pd.DataFrame, keys: Sequence[str], columns: JudgedColumns) -> str:
    """What makes the keys of the judged rows unique, in a sentence."""
    for column in (columns.model, EPOCH):
        if column in frame.columns and column not in keys:
            return f"Give the gold labels the column {quoted(column)} as well."
    model = ", or the column of the model (`model`)" if columns.model is None else ""
    return f"Name a column that identifies each row (`row_id`){model}."


def _written(key: object) -> str:
    return joined([quoted(part) for part in key]) if isinstance(key, tuple) else quoted(key)


def _parts(
    frame: pd.DataFrame, columns: JudgedColumns, name: str
) -> Mapping[str, tuple[str, BoolArray]]:
    """The score column and the rows of each judge and model."""
    everything = np.ones(len(frame), dtype=np.bool_)
    if columns.model is None:
        if len(columns.scores) == 1:
            return {name: (columns.scores[0], everything)}
        return {score: (score, everything) for score in columns.scores}
    labels = as_labels(frame[columns.model])
    if not len(labels):
        raise refuse(
            "no-models", f"Column {quoted(columns.model)} names no model. Name another (`model`)."
        )
    models: dict[str, BoolArray] = {
        label_text(value): labels.codes == code for code, value in enumerate(labels.values)
    }
    several = len(columns.scores) > 1
    return {
        f"{model}, {score}" if several else model: (score, rows)
        for model, rows in models.items()
        for score in columns.scores
    }


def _check_clusters(group: IntArray | None, usable: BoolArray, columns: JudgedColumns) -> None:
    if group is not None and (group[usable] < 0).any():
        row = int(np.flatnonzero(usable & (group < 0))[0]) + 1
        raise refuse(
            "no-group",
            f"Row {row} of the judged rows has no {quoted(columns.group)} (its cluster). "
            "Fill it in, or name another column (`group`).",
        )


def _without_model(
    frame: pd.DataFrame, columns: JudgedColumns, outcome: FloatArray
) -> tuple[str, ...]:
    if columns.model is None:
        return ()
    return _left_out(as_labels(frame[columns.model]).codes < 0, outcome, "model")


def _left_out(missing: BoolArray, outcome: FloatArray, what: str) -> tuple[str, ...]:
    """A sentence about rows that lack a score or a model."""
    if not missing.any():
        return ()
    labelled = int((~np.isnan(outcome[missing])).sum())
    extra = f", {count(labelled)} of them labelled" if labelled else ""
    return (f"{plural(int(missing.sum()), 'row')} without a {what} left out{extra}.",)

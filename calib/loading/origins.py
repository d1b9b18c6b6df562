"""origin_of: how rows were read, so that a report can say it."""

from __future__ import annotations

from typing import Any

from calib.core.origin import Origin
from calib.loading import column_ranges
from calib.loading.mapping import ColumnMapping
from calib.loading.problems import Guess, joined, quoted
from calib.loading.rows import Rows
from calib.loading.table import Table

MEANING = {
    "outcome": "The outcome column was",
    "score": "The score column was",
    "positive": "The positive class was",
    "predicted": "The column of predicted labels was",
    "weight": "The weight column was",
    "group": "The group column was",
    "split": "The split column was",
    "fold": "The fold column was",
    "test_value": "The value that means test was",
    "slices": "The columns to slice by were",
    "time": "The time column was",
    "models": "The columns of models were",
    "model": "The model column was",
}


def origin_of(rows: Rows) -> Origin:
    """The arguments of `calib.load` that read these rows again, and guess nothing."""
    mapping, table = rows.mapping, rows.table
    model, value = table.model or ("", "")
    plain: dict[str, Any] = {
        name: getattr(mapping, name) or ""
        for name in ("outcome", "predicted", "weight", "group", "split", "fold", "time")
    }
    return Origin(
        file=table.file,
        test="" if rows.test_table is None else rows.test_table.file,
        test_value=(mapping.split and mapping.test_value) or "",
        slices=mapping.slices,
        model=model,
        model_value=value,
        transform="" if mapping.transform == "none" else mapping.transform,
        drop_missing=mapping.drop_missing,
        swap=mapping.swap,
        decimal=mapping.decimal or "",
        delimiter=table.format.delimiter or "",
        header=table.format.header,
        encoding=table.format.encoding or "",
        guesses=tuple(map(str, guesses_of(rows))),
        repeated_rows=rows.repeats.rows,
        repeated_ids=rows.repeats.ids,
        **plain,
        **_positive(mapping),
        **_scores(mapping, table),
    )


def guesses_of(rows: Rows) -> tuple[Guess, ...]:
    """Everything that nobody said, and that the file does not say for certain."""
    tables = [rows.table, *([rows.test_table] if rows.test_table else [])]
    written = dict.fromkeys(guess for table in tables for guess in table.guesses)
    # The rows of one model have no model column of their own any more.
    model, _ = rows.table.model or ("", "")
    changed = rows.mapping.changed() | {"model": model}
    columns = [
        column_guess(name, changed[name]) for name in rows.mapping.guessed if changed.get(name)
    ]
    in_order = rows.classes is not None and rows.classes.match == "order"
    order = Guess("", None, "The labels were taken for the score columns in sorted order.")
    return (*written, *columns, *([order] if in_order else []))


def column_guess(name: str, value: object) -> Guess:
    """A guess of what a column, or a label, means."""
    return Guess(name, value, f"{MEANING[name]} taken to be {_shown(value)}.")


def _shown(value: object) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return joined([quoted(part) for part in parts[:3]], len(parts))


def _positive(mapping: ColumnMapping) -> dict[str, Any]:
    if isinstance(mapping.positive, tuple):
        return {"positives": mapping.positive}
    return {"positive": mapping.positive or ""}


def _scores(mapping: ColumnMapping, table: Table) -> dict[str, Any]:
    """A thousand class columns in few words, where words can say which."""
    if not isinstance(mapping.score, tuple):
        return {"score": mapping.score or ""}
    said = column_ranges.written(mapping.score, table.columns)
    if column_ranges.read(said, table.columns) == mapping.score:
        return {"class_columns": said}
    return {"scores": mapping.score}

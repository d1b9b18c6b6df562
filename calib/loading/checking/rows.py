"""Checks of rows that cannot be used, of weights, times, and of the split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib.data.checks import weight_range_trouble
from calib.data.file_options import Columns
from calib.data.origin import are_copies, copied_rows, repeated_ids, repeated_rows
from calib.data.predictions import MAX_FOLDS
from calib.loading.checking.mapped_rows import NEITHER, OUTSIDE, REASONS, Rows
from calib.loading.columns import EMPTY, MISSING_WORDS, Labels, Numbers
from calib.loading.guessing.class_columns import shortened
from calib.loading.problems import Choice, Places, Problem, error, ignoring, note, warning
from calib.numerics.arrays import BoolArray, IntArray
from calib.text import percent

LEAVE_OUT = "Leave these rows out"
FEW = 0.05  # If more rows are left out, the text of the button says how many.
WORDS = MISSING_WORDS - {"", "-", "."}
# Keys of problems by the state of a cell. Any other state has the key "missing".
KEYS = {"infinite": "infinite", "not positive": "weights"}
ALL_ROWS = "the rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """Rows that cannot be used for one reason: how many, and of rows in memory also where.

    `cell` is the first of their outcomes, if it is a label.
    """

    count: int
    rows: Places | None = None
    cell: object = None


def row_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of missing, unreadable, infinite and non-positive cells, and of the split."""
    mapping = rows.mapping
    numbers: dict[str, tuple[str, Numbers]] = {
        column: ("score", values) for column, values in rows.raw.items()
    }
    if rows.weight is not None and mapping.weight is not None:
        numbers[mapping.weight] = ("weight", rows.weight)
    for column, (role, values) in numbers.items():
        yield from _text(rows, column, role, values)
        yield from _unclear(rows, column, values)
        if len(values.rewritten):
            yield note("rewritten", column=column, count=len(values.rewritten))
    unusable = {
        reason: Unusable(
            count=int(marked.sum()),
            rows=rows.places(marked),
            cell=str(rows.frame[mapping.outcome].iloc[int(marked.argmax())]),
        )
        for reason, marked in rows.unusable.items()
    }
    yield from unusable_problems(mapping, unusable, len(rows.frame), rows.labels, "file")
    weights = None if rows.weight is None else rows.weight.values[rows.usable]
    if weights is not None and len(weights) and (trouble := weight_range_trouble(weights)):
        ignored = {"repair": replace(mapping, weight=None), "label": "Ignore the weights"}
        yield error("weights.range", column=mapping.weight, trouble=trouble, **ignored)
    if rows.split is not None:
        n_test = None if rows.test is None else int((rows.test & rows.usable).sum())
        yield from split_problems(mapping, rows.split.names, n_test, int(rows.usable.sum()))
    yield from _folds(rows)
    yield from _dates(rows)
    yield from _words(rows)
    yield from _repeated(rows)


def _text(rows: Rows, column: str, role: str, numbers: Numbers) -> Iterator[Problem]:
    count, total = len(numbers.text), len(numbers.values)
    few = count < total / 2
    if count and not (few and rows.mapping.drop_missing):
        yield error(
            "text.few" if few else "text.most",
            column=column,
            role=role,
            count=count,
            total=total,
            cells=[*dict.fromkeys(numbers.cells)],
            rows=rows.places(numbers.text),
            repair=replace(rows.mapping, drop_missing=True) if few else None,
            label=leave_out(count, total),
        )


def _unclear(rows: Rows, column: str, numbers: Numbers) -> Iterator[Problem]:
    if not len(numbers.unclear):
        return
    cell = str(rows.frame[column].iloc[int(numbers.unclear[0])]).strip()
    mark, other, word = (",", ".", "comma") if "," in cell else (".", ",", "point")
    yield error(
        "decimal-mark",
        count=len(numbers.unclear),
        column=column,
        cell=cell,
        rows=rows.places(numbers.unclear[:1]),
        mark=word,
        choices=(
            Choice(f"The {word} is the decimal mark", {"decimal": mark}),
            Choice(f"The {word} is the thousands separator", {"decimal": other}),
        ),
    )


def unusable_problems(
    mapping: Columns,
    unusable: Mapping[str, Unusable],
    total: int,
    labels: Labels | None,
    place: Literal["file", "source"],
) -> Iterator[Problem]:
    """Problems of rows that cannot be used, or how many are left out. The repair leaves them out.

    `labels` are those of the outcome, if they are known.
    """
    if mapping.drop_missing:
        if unusable:
            # A person who did not ask for it must learn of it.
            say = warning if "drop_missing" in mapping.guessed else note
            reasons = [(reason, rows.count) for reason, rows in unusable.items()]
            count = sum(rows.count for rows in unusable.values())
            yield say("left-out", count=count, total=total, reasons=reasons)
        return
    for reason, rows in unusable.items():
        _, state = REASONS[reason]
        # Other checks report these states.
        if state in ("not a number", OUTSIDE):
            continue
        if reason == "outcome missing" and labels is not None and len(labels) == 1:
            # If all labels are the same, empty cells may mean the other label.
            label, share = labels.name(0), percent(1.0 - rows.count / total)
            yield error(
                "empty-outcomes",
                column=mapping.outcome,
                label_of_all=label,
                count=rows.count,
                total=total,
                rows=rows.rows,
                choices=(
                    Choice(
                        f"Empty means negative ({share} positive)",
                        {"positive": label, "negative": EMPTY},
                    ),
                ),
            )
            continue
        if rows.count == total:
            yield none_usable(mapping, reason, place)
            continue
        yield error(
            KEYS.get(state, "missing"),
            **_cells_of(mapping, reason),
            count=rows.count,
            total=total,
            cell=rows.cell if state in ("unknown", NEITHER) else None,
            rows=rows.rows,
            place=place,
            repair=replace(mapping, drop_missing=True),
            label=leave_out(rows.count, total),
        )


def none_usable(
    mapping: Columns, reason: str, place: Literal["file", "source"] = "file"
) -> Problem:
    """Make the error that no row can be used, for one reason."""
    cells = _cells_of(mapping, reason)
    return error(f"{KEYS.get(cells['state'], 'missing')}.all", place=place, **cells)


def _cells_of(mapping: Columns, reason: str) -> dict[str, Any]:
    """The column whose cells cannot be used for a reason, and their state."""
    role, state = REASONS[reason]
    column = shortened(mapping.score_columns) if role == "score" else getattr(mapping, role)
    return {"role": role, "column": column, "state": state}


def leave_out(count: int, total: int) -> str:
    """Text of the button that leaves out rows, with their share if they are not few."""
    if count < FEW * total:
        return LEAVE_OUT
    return f"Leave out {count:,} of {total:,} rows ({percent(count / total)})"


def _dates(rows: Rows) -> Iterator[Problem]:
    times, mapping = rows.times, rows.mapping
    if times is None or not rows.usable.any():
        return
    cells, numbers = rows.frame[mapping.time], np.flatnonzero(rows.usable)
    if times.values is None:
        yield no_times(mapping, cells.iloc[numbers], unclear=times.unclear)
    if times.zoned:
        yield note("time-zone", column=mapping.time)
    if len(times.unread):
        no_date_rows = numbers[times.unread]
        places = rows.places(no_date_rows)
        yield no_dates(mapping, len(no_date_rows), cells.iloc[no_date_rows[0]], places)


def no_dates(mapping: Columns, count: int, cell: object, rows: Places | None = None) -> Problem:
    """Make the warning that this number of cells of the time column are not dates."""
    given: dict[str, Any] = {"column": mapping.time, "count": count, "cell": str(cell)}
    return warning("dates", **given, rows=rows, **ignoring(mapping, "time"))


def no_times(mapping: Columns, cells: pd.Series, *, unclear: bool) -> Problem:
    """Make the problem that the time column has no dates, or that day and month are unclear.

    It is an error if a person named the column; a guessed column is only not used.
    """
    guessed = "time" in mapping.guessed
    present = cells.dropna()
    choices = (
        Choice("The day stands first", {"day_first": True}),
        Choice("The month stands first", {"day_first": False}),
    )
    return (warning if guessed else error)(
        "date-order" if unclear else "not-times",
        column=mapping.time,
        cell=str(present.iloc[0]) if len(present) else None,
        unused=guessed,
        choices=choices if unclear else (),
        **ignoring(mapping, "time"),
    )


def _words(rows: Rows) -> Iterator[Problem]:
    """Note a word that often means "missing" but is read as a value."""
    mapping = rows.mapping
    many = isinstance(mapping.score, tuple) or mapping.predicted is not None
    roles = {
        **dict.fromkeys(mapping.slices, "a value"),
        **({mapping.outcome: "a class"} if many else {}),
        mapping.split: "a value",
        mapping.group: "one group",
        mapping.fold: "a fold",
    }
    for column, meaning in roles.items():
        if column is None or pd.api.types.is_numeric_dtype(rows.frame[column].dtype):
            continue
        cells = rows.frame[column]
        texts = [cell for cell in cells.unique() if isinstance(cell, str)]
        words = [cell for cell in texts if cell.strip().casefold() in WORDS]
        if words:
            count = int(cells.isin(words).sum())
            yield note("missing-words", words=words, column=column, count=count, meaning=meaning)


def _repeated(rows: Rows) -> Iterator[Problem]:
    repeats, mapping = rows.repeats, rows.mapping
    if (
        repeats.rows
        and mapping.group is None
        and are_copies(rows.of_usable(rows.outcome), rows.of_usable(rows.score))
    ):
        yield warning("copied-rows", remark=copied_rows(repeats.rows, len(rows.frame)))
    elif repeats.rows:
        yield note("repeated-rows", remark=repeated_rows(repeats.rows))
    if repeats.ids:
        yield note(
            "repeated-ids",
            column=repeats.id_column,
            remark=repeated_ids(repeats.ids),
            repair=replace(mapping, group=repeats.id_column) if mapping.group is None else None,
            label="Use it as the cluster ID",
        )


def split_problems(
    mapping: Columns, names: Sequence[str], n_test: int | None, n_rows: int
) -> Iterator[Problem]:
    """Problems of the values of the split column.

    `n_test` is the number of test rows among `n_rows`, or None if no value marks them.
    """
    column, value, repair = mapping.split, mapping.test_value, ignoring(mapping, "split")
    if n_test is None:
        yield error("test-value", column=column, names=names, value=str(value), **repair)
        return
    if not 0 < n_test < n_rows:
        yield error(f"split-empty.{'all' if n_test else 'none'}", column=column, **repair)
    if len(names) > 2:
        others = [name for name in names if name != value]
        yield warning(
            "split-values", column=column, n=len(names), others=others, value=value, **repair
        )
    if any(name.casefold() in ("train", "training") for name in names):
        yield warning("train-rows", column=column, **repair)


def _folds(rows: Rows) -> Iterator[Problem]:
    if rows.fold is None:
        return
    usable = rows.fold.codes[rows.usable]
    count = np.bincount(usable, minlength=len(rows.fold))
    problems = list(fold_problems(rows.mapping, int((count > 0).sum())))
    yield from problems
    if not problems and rows.classes is None:
        code = _one_class_outside(rows, count)
        if code is not None:
            given = {"column": rows.mapping.fold, "fold": rows.fold.name(code)}
            yield error("folds.one-class", **given, **ignoring(rows.mapping, "fold"))


def fold_problems(mapping: Columns, n_folds: int) -> Iterator[Problem]:
    """The error that the fold column has too few or too many values."""
    if not 2 <= n_folds <= MAX_FOLDS:
        given = {"column": mapping.fold, "n": n_folds, "most": MAX_FOLDS}
        yield error("folds", **given, **ignoring(mapping, "fold"))


def _one_class_outside(rows: Rows, count: IntArray) -> int | None:
    """Find a fold for which all other rows are of one class, although there are two classes."""
    assert rows.fold is not None
    is_positive = rows.usable & (rows.outcome == 1)
    positive = np.bincount(rows.fold.codes[is_positive], minlength=len(count))
    if not 0 < positive.sum() < count.sum():
        return None
    outside = positive.sum() - positive
    fold_codes = np.flatnonzero((outside == 0) | (outside == count.sum() - count))
    return int(fold_codes[0]) if len(fold_codes) else None


def parts(rows: Rows) -> dict[str, BoolArray]:
    """The usable rows, or those of the calibration and test rows, by the name of the part."""
    if rows.test is None:
        return {ALL_ROWS: rows.usable}
    return {
        "the calibration rows": rows.usable & ~rows.test,
        "the test rows": rows.usable & rows.test,
    }

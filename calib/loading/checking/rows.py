"""Checks of rows that cannot be used, of weights, and of the split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from calib.data.checks import weight_range_trouble
from calib.data.origin import are_copies, copied_rows, repeated_ids, repeated_rows
from calib.data.predictions import MAX_FOLDS
from calib.loading.checking.mapped_rows import NEITHER, Rows
from calib.loading.columns import EMPTY, MISSING_WORDS, Numbers
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import shortened
from calib.loading.problems import Choice, Problem, error, ignoring, note, warning
from calib.numerics.arrays import BoolArray, IntArray
from calib.text import joined, listed, percent, plural, quoted

LEAVE_OUT = "Leave these rows out"
FEW = 0.05  # If more rows are left out, the text of the button says how many.
MAX_SPLIT_VALUES = 10
WORDS = MISSING_WORDS - {"", "-", "."}
OUTSIDE = "none of the classes"
# Codes of problems by the state of a cell. Any other state has the code "missing".
CODES = {"infinite": "infinite", "not positive": "weights", OUTSIDE: "outside-classes"}


def row_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of missing, unreadable, infinite and non-positive cells, and of the split."""
    numbers: dict[str, tuple[str, Numbers]] = {
        column: ("score", values) for column, values in rows.raw.items()
    }
    if rows.weight is not None and rows.mapping.weight is not None:
        numbers[rows.mapping.weight] = ("weight", rows.weight)
    for column, (role, values) in numbers.items():
        yield from _text(rows, column, role, values)
        yield from _unclear(rows, column, values)
        yield from _rewritten(column, values)
    if rows.mapping.drop_missing:
        yield from _left_out(rows)
    else:
        yield from _missing(rows)
    yield from _weight_range(rows)
    yield from _split(rows)
    yield from _folds(rows)
    yield from _dates(rows)
    yield from _words(rows)
    yield from _repeated(rows)


def _text(rows: Rows, column: str, role: str, numbers: Numbers) -> Iterator[Problem]:
    count, total = len(numbers.text), len(numbers.values)
    few = count < total / 2
    if not count or (few and rows.mapping.drop_missing):
        return
    repair = (
        "Leave these rows out, or write numbers there."
        if few
        else f"Choose another column for the {role}."
    )
    yield error(
        "text",
        f"Column {quoted(column)} was chosen as the {role}, but {plural(count, 'cell')} of "
        f"{total:,} {'is' if count == 1 else 'are'} not a number, such as "
        f"{listed([*dict.fromkeys(numbers.cells)])} in "
        f"{rows.where(numbers.text)}. {repair}",
        replace(rows.mapping, drop_missing=True) if few else None,
        leave_out(count, total) if few else "",
    )


def _unclear(rows: Rows, column: str, numbers: Numbers) -> Iterator[Problem]:
    count = len(numbers.unclear)
    if not count:
        return
    cell = str(rows.frame[column].iloc[int(numbers.unclear[0])]).strip()
    mark, word = (",", "comma") if "," in cell else (".", "point")
    yield error(
        "decimal-mark",
        f"{plural(count, 'cell')} of column {quoted(column)}, such as {quoted(cell)} in "
        f"{rows.where(numbers.unclear[:1])}, are ambiguous: the {word} is either a decimal mark "
        "or a thousands separator. Choose which.",
        choices=(
            Choice(f"The {word} is the decimal mark", {"decimal": mark}),
            Choice(
                f"The {word} is the thousands separator", {"decimal": "." if mark == "," else ","}
            ),
        ),
    )


def _rewritten(column: str, numbers: Numbers) -> Iterator[Problem]:
    if len(numbers.rewritten):
        yield note(
            "rewritten",
            f"{plural(len(numbers.rewritten), 'cell')} of column {quoted(column)} "
            "were written with a percent sign or a decimal comma, and were read as such: 25% is "
            "0.25.",
        )


def _missing(rows: Rows) -> Iterator[Problem]:
    for reason, marked in rows.unusable.items():
        state = reason.partition(" ")[2]
        # Other checks report these states.
        if state in ("not a number", OUTSIDE):
            continue
        cell = quoted(rows.frame[rows.mapping.outcome].iloc[int(marked.argmax())])
        example = f", such as {cell}" if state in ("unknown", NEITHER) else ""
        where = f"{example}: {rows.where(marked)}"
        if reason == "outcome missing" and len(rows.labels) == 1:
            yield _empty_or_missing(rows, int(marked.sum()), where)
            continue
        yield unusable(rows.mapping, reason, int(marked.sum()), len(marked), where, place="file")


def _empty_or_missing(rows: Rows, count: int, where: str) -> Problem:
    """Ask whether rows without a label are negative, if all others have the same label."""
    mapping, label = rows.mapping, rows.labels.name(0)
    total = len(rows.frame)
    text = (
        f"All labels of the outcome {quoted(mapping.outcome)} are {quoted(label)}, and "
        f"{plural(count, 'row')} of {total:,} are empty{where}. Are the empty ones negative, or "
        "are their outcomes unknown? Calibration needs both outcomes."
    )
    share = percent(1.0 - count / total)
    negative = Choice(
        f"Empty means negative ({share} positive)", {"positive": label, "negative": EMPTY}
    )
    return error("empty-outcomes", text, choices=(negative,))


def unusable(
    mapping: ColumnMapping,
    reason: str,
    count: int,
    total: int,
    where: str = "",
    *,
    place: str = "source",
) -> Problem:
    """Make the error about rows that cannot be used for a reason; the repair leaves them out."""
    role, _, state = reason.partition(" ")
    column = shortened(mapping.score_columns) if role == "score" else getattr(mapping, role)
    if count == total:
        return error(
            CODES.get(state, "missing"),
            f"The {role} {quoted(column)} is {state.removeprefix('label ')} in all rows. "
            f"Choose another column, or fill it in the {place}.",
        )
    return error(
        CODES.get(state, "missing"),
        f"The {role} {quoted(column)} is {state.removeprefix('label ')} in {plural(count, 'row')} "
        f"of {total:,}{where}. Leave these rows out, or fill them in the {place}.",
        replace(mapping, drop_missing=True),
        leave_out(count, total),
    )


def leave_out(count: int, total: int) -> str:
    """Text of the button that leaves out rows, with their share if they are not few."""
    if count < FEW * total:
        return LEAVE_OUT
    return f"Leave out {count:,} of {total:,} rows ({percent(count / total)})"


def _left_out(rows: Rows) -> Iterator[Problem]:
    reasons = [f"{reason} ({int(marked.sum()):,})" for reason, marked in rows.unusable.items()]
    if reasons:
        count = int((~rows.usable).sum())
        verb = "is" if count == 1 else "are"
        # A person who did not ask for it must learn of it.
        say = warning if "drop_missing" in rows.mapping.guessed else note
        yield say(
            "left-out",
            f"{plural(count, 'row')} of {len(rows.usable):,} {verb} left out: {joined(reasons)}.",
        )


def _weight_range(rows: Rows) -> Iterator[Problem]:
    if rows.weight is None or not rows.usable.any():
        return
    trouble = weight_range_trouble(rows.weight.values[rows.usable])
    if trouble:
        yield error(
            "weights",
            f"The weights {quoted(rows.mapping.weight)} must {trouble}. Leave the rows of the "
            "smallest weights out of the file, or use no weights.",
            replace(rows.mapping, weight=None),
            "Ignore the weights",
        )


def _dates(rows: Rows) -> Iterator[Problem]:
    """Problems of a time column: cells that are no dates, and dates in an unclear order."""
    times, mapping = rows.times, rows.mapping
    if times is None or not rows.usable.any():
        return
    cells, numbers = rows.frame[mapping.time], np.flatnonzero(rows.usable)
    if times.values is None:
        present = cells.iloc[numbers].dropna()
        example = quoted(present.iloc[0]) if len(present) else "an empty cell"
        yield unclear_dates(mapping, example) if times.unclear else not_times(mapping, example)
    if times.zoned:
        yield local_days(mapping)
    if len(times.unread):
        no_date_rows = numbers[times.unread]
        yield no_dates(
            mapping,
            len(no_date_rows),
            f"{quoted(cells.iloc[no_date_rows[0]])}: {rows.where(no_date_rows)}",
        )


def local_days(mapping: ColumnMapping) -> Problem:
    """Make the note that times with a zone count to their local day."""
    return note(
        "time-zone",
        f"The times of {quoted(mapping.time)} have a time zone. Each row counts to the day "
        "that was in this zone, not to that in UTC.",
    )


def connection_days(mapping: ColumnMapping, zone: str) -> Problem:
    """Make the note that times count to the day in the zone of a connection; "" is unknown."""
    name = f"{quoted(zone)}, " if zone else ""
    return note(
        "time-zone",
        f"The times of {quoted(mapping.time)} have a time zone. Each row counts to its day in "
        f"{name}the time zone of the connection.",
    )


def no_dates(mapping: ColumnMapping, count: int, example: str) -> Problem:
    """Make the warning that this number of cells of the time column are not dates."""
    verb = "is not a date" if count == 1 else "are not dates"
    return warning(
        "dates",
        f"{plural(count, 'cell')} of the time column {quoted(mapping.time)} {verb}, "
        f"such as {example}. These rows count as rows without a time. "
        "Write dates as 2024-12-31, or use no time column.",
        *ignoring(mapping, "time"),
    )


def not_times(mapping: ColumnMapping, example: str) -> Problem:
    """Make the problem that the cells of the time column are neither dates nor numbers."""
    return _unused_time(
        mapping,
        "not-times",
        f"The cells of the time column {quoted(mapping.time)} are not dates that can be read, such "
        f"as {example}, so their order in time is unknown",
        "Write dates as 2024-12-31, or slice by the column.",
    )


def unclear_dates(mapping: ColumnMapping, example: str) -> Problem:
    """Make the problem that day and month of the time column could be exchanged."""
    problem = _unused_time(
        mapping,
        "date-order",
        f"The dates of the time column {quoted(mapping.time)}, such as {example}, may be day and "
        "month or month and day",
        "Choose which.",
    )
    choices = (
        Choice("The day stands first", {"day_first": True}),
        Choice("The month stands first", {"day_first": False}),
    )
    return replace(problem, choices=choices)


def _unused_time(mapping: ColumnMapping, code: str, what: str, repair: str) -> Problem:
    """Make an error if a person named the column; a guessed column is only not used."""
    guessed = "time" in mapping.guessed
    unused = ". The column is not used as the time. " if guessed else ". "
    make = warning if guessed else error
    return make(code, what + unused + repair, *ignoring(mapping, "time"))


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
        missing_words = [cell for cell in texts if cell.strip().casefold() in WORDS]
        if missing_words:
            count = int(cells.isin(missing_words).sum())
            yield note(
                "missing-words",
                f"{listed(missing_words, 3)} in column "
                f"{quoted(column)} ({plural(count, 'row')}) counts as {meaning}: only empty "
                "cells count as missing. If these values are unknown, empty the cells in the "
                "file.",
            )


def _repeated(rows: Rows) -> Iterator[Problem]:
    repeats, mapping = rows.repeats, rows.mapping
    if (
        repeats.rows
        and mapping.group is None
        and are_copies(rows.of_usable(rows.outcome), rows.of_usable(rows.score))
    ):
        yield warning("copied-rows", copied_rows(repeats.rows, len(rows.frame)))
    elif repeats.rows:
        yield note("repeated-rows", repeated_rows(repeats.rows))
    if repeats.ids:
        together = replace(mapping, group=repeats.id_column) if mapping.group is None else None
        yield note(
            "repeated-ids",
            f"Column {quoted(repeats.id_column)}: {repeated_ids(repeats.ids)}",
            together,
            "Use it as the cluster ID" if together else "",
        )


def _split(rows: Rows) -> Iterator[Problem]:
    if rows.split is None:
        return
    if rows.test is None:
        yield no_test_value(rows.mapping, rows.split.names)
        return
    n_test, n_rows = int((rows.test & rows.usable).sum()), int(rows.usable.sum())
    if not 0 < n_test < n_rows:
        yield one_part(rows.mapping, test=n_test > 0)
    yield from split_values(rows.mapping, rows.split.names)


def no_test_value(mapping: ColumnMapping, names: Sequence[str]) -> Problem:
    """Make the error that no value of the split column marks test rows."""
    return error(
        "test-value",
        f"Choose the value of the split column {quoted(mapping.split)} that marks test rows, one "
        f"of {listed(names, MAX_SPLIT_VALUES)}; got {quoted(mapping.test_value)}.",
        *ignoring(mapping, "split"),
    )


def one_part(mapping: ColumnMapping, *, test: bool) -> Problem:
    """Make the error that all usable rows are test rows, or that no row is."""
    what = "Every usable row is" if test else "No usable row is"
    return error(
        "split-empty",
        f"{what} a test row by the split column {quoted(mapping.split)}. Calibration rows and "
        "test rows are both needed: choose another value, or no split.",
        *ignoring(mapping, "split"),
    )


def split_values(mapping: ColumnMapping, names: Sequence[str]) -> Iterator[Problem]:
    """Warn of several values besides that of test rows, and of training rows."""
    column, repair = quoted(mapping.split), ignoring(mapping, "split")
    if len(names) > 2:
        others = listed([n for n in names if n != mapping.test_value], MAX_SPLIT_VALUES)
        yield warning(
            "split-values",
            f"The split column {column} has {len(names):,} values. Rows of {others} all count as "
            f"calibration rows; {quoted(mapping.test_value)} rows are for the test.",
            *repair,
        )
    if any(name.casefold() in ("train", "training") for name in names):
        yield warning(
            "train-rows",
            f"The split column {column} marks training rows. Results on rows that the model was "
            "trained on are optimistic, and a calibrator fitted on them corrects too little.",
            *repair,
        )


def _folds(rows: Rows) -> Iterator[Problem]:
    if rows.fold is None:
        return
    usable = rows.fold.codes[rows.usable]
    count = np.bincount(usable, minlength=len(rows.fold))
    n_folds = int((count > 0).sum())
    if not 2 <= n_folds <= MAX_FOLDS:
        yield wrong_folds(rows.mapping, n_folds)
    elif rows.classes is None and (fold_code := _one_class_outside(rows, count)) is not None:
        fold = quoted(rows.fold.name(fold_code))
        wrong = f"leaves rows of one class only outside of fold {fold}; a calibrator needs both"
        yield wrong_folds(rows.mapping, n_folds, wrong)


def wrong_folds(mapping: ColumnMapping, n_folds: int, wrong: str = "") -> Problem:
    """Make the error about the fold column. By default it has too few or too many values."""
    wrong = wrong or (f"has {plural(n_folds, 'value')}; cross-fitting takes 2 to {MAX_FOLDS} folds")
    return error(
        "folds",
        f"The fold column {quoted(mapping.fold)} {wrong}. Choose another column, or none.",
        *ignoring(mapping, "fold"),
    )


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
        return {"the rows": rows.usable}
    return {
        "the calibration rows": rows.usable & ~rows.test,
        "the test rows": rows.usable & rows.test,
    }

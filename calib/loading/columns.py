"""One column read as numbers or as labels, and a short notation for many: "p_0 … p_99", "p_*"."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, chunks

MISSING_WORDS = {"", "na", "n/a", "#n/a", "nan", "null", "none", "-", "."}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?(inf|infinity)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
# Blanks, apostrophes and underscores only separate thousands; they are never decimal marks.
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}([ '’_\u00a0\u202f]\d{3})+([.,]\d+)?")
GROUP_MARK = re.compile(r"[ '’_\u00a0\u202f]")
# 1,234 means 1234 or 1.234, whereas 0,234 and 12,34 can only be fractions.
UNCLEAR = {mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}{mark}\d{{3}}") for mark in (",", r"\.")}
THOUSANDS = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column as numbers.

    `values` are NaN where a cell is missing or not a number. The others are rows: `text` with cells
    that are neither missing nor numbers (`cells` are the first of these), `rewritten` with a
    percent sign or a decimal comma, `unclear` with a comma or point that may separate thousands.
    An unclear mark is read as a decimal mark.
    """

    values: FloatArray
    text: IntArray
    cells: tuple[str, ...] = ()
    rewritten: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    unclear: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def as_numbers(column: pd.Series, decimal: str | None = None, *, commas: bool = False) -> Numbers:
    """Read a column as numbers; "12%" and "0,12" are understood.

    With a decimal mark, the other mark separates thousands. If other columns of the same table have
    numbers with commas, 1.234 is unclear.
    """
    none = np.empty(0, dtype=np.int64)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _numbers_of_categories(column, decimal, commas=commas)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column):
        # A damaged file may contain a signalling NaN, whose conversion would warn.
        with np.errstate(invalid="ignore"):
            return Numbers(column.to_numpy(dtype=np.float64, na_value=np.nan), none)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        values = np.full(len(column), np.nan)
        rows = np.flatnonzero(column.notna().to_numpy())
        return Numbers(values, rows, tuple(str(v) for v in column.iloc[rows[:3]]))
    return _from_cells(column, decimal, commas=commas)


def _numbers_of_categories(column: pd.Series, decimal: str | None, *, commas: bool) -> Numbers:
    """Read each distinct cell once."""
    codes, distinct = pd.factorize(column)
    cells = pd.Series(np.asarray(distinct))
    numbers = as_numbers(_plain(cells), decimal, commas=commas)

    def rows(categories: IntArray) -> IntArray:
        return np.flatnonzero(np.isin(codes, categories))

    text = rows(numbers.text)
    return Numbers(
        np.append(numbers.values, np.nan)[codes],
        text,
        tuple(str(cell) for cell in column.iloc[text[:3]]),
        rows(numbers.rewritten),
        rows(numbers.unclear),
    )


def _from_cells(column: pd.Series, decimal: str | None, *, commas: bool) -> Numbers:
    try:
        parsed = pd.to_numeric(column, errors="coerce")
    except (TypeError, ValueError, OverflowError):
        parsed = pd.to_numeric(column.map(str), errors="coerce")
    values = parsed.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    there = column.notna().to_numpy()
    # If a point may separate thousands, cells that pandas has read as numbers are read again.
    reread_all = decimal == "," or commas
    unread = np.flatnonzero((np.isnan(values) | reread_all) & there)
    # Text usually repeats, so each distinct cell is read once.
    codes, distinct = pd.factorize(column.iloc[unread].map(str))
    if not len(unread):
        return Numbers(values, unread)
    cells = [cell.strip() for cell in distinct]
    numbers = np.array([_read_cell(cell, decimal) for cell in cells], dtype=np.float64)
    missing = np.array([cell.casefold() in MISSING_WORDS for cell in cells], dtype=np.bool_)
    read = np.delete(values, unread)
    points = bool((read[np.isfinite(read)] % 1.0 != 0.0).any())
    unclear = np.array(_unclear(cells, decimal, commas, points=points), dtype=np.bool_)
    plain = np.array([NUMBER.fullmatch(cell) is not None for cell in cells], dtype=np.bool_)
    values[unread] = numbers[codes]
    text = unread[(np.isnan(numbers) & ~missing)[codes]]
    return Numbers(
        values,
        text,
        tuple(str(cell) for cell in column.iloc[text[:3]]),
        unread[(np.isfinite(numbers) & ~plain & ~unclear)[codes]],
        unread[unclear[codes]],
    )


def _unclear(cells: list[str], decimal: str | None, commas: bool, *, points: bool) -> list[bool]:
    """Which cells have a mark whose meaning no other cell of the column shows."""
    if decimal is not None:
        return [False] * len(cells)
    kinds = [mark_of(cell) for cell in cells]
    point = points or "." in kinds
    # A number that can only be a fraction shows the decimal mark of its column.
    doubtful = {"thousands"}
    if point or "," not in kinds:
        doubtful.add("comma")
    if commas and (not point or "," in kinds):
        doubtful.add("point")
    return [kind in doubtful for kind in kinds]


def mark_of(cell: str) -> str:
    """The decimal mark of a fraction, or the name of its unclear mark, or ""."""
    plain = cell.removesuffix("%").strip()
    if UNCLEAR[","].fullmatch(plain):
        return "comma"
    if UNCLEAR[r"\."].fullmatch(plain):
        return "point"
    if any(grouped.fullmatch(plain) for grouped in THOUSANDS.values()):
        return "thousands"
    if DECIMAL_COMMA.fullmatch(plain):
        return ","
    return "." if "." in plain and NUMBER.fullmatch(plain) else ""


def _read_cell(cell: str, decimal: str | None) -> float:
    """The number that a cell means; NaN if it means none."""
    if len(cell) > 40:
        return float("nan")
    divisor = 100.0 if cell.endswith("%") else 1.0
    plain = cell.removesuffix("%").strip()
    if GROUPED.fullmatch(plain):
        plain = GROUP_MARK.sub("", plain)
    if decimal is None:
        grouped = next((mark for mark in THOUSANDS if THOUSANDS[mark].fullmatch(plain)), None)
        # A single mark is read as a decimal mark unless a person states the opposite.
        if grouped and not any(pattern.fullmatch(plain) for pattern in UNCLEAR.values()):
            decimal = grouped
        else:
            decimal = "," if DECIMAL_COMMA.fullmatch(plain) else "."
    if THOUSANDS[decimal].fullmatch(plain):
        plain = plain.replace("." if decimal == "," else ",", "")
    if decimal == ",":
        plain = "" if "." in plain else plain.replace(",", ".")
    return float(plain) / divisor if NUMBER.fullmatch(plain) else float("nan")


def has_commas(frame: pd.DataFrame, max_rows: int | None = None) -> bool:
    """Whether a column of text holds numbers with a comma, in its first `max_rows` rows."""
    for i, dtype in enumerate(frame.dtypes):
        if pd.api.types.is_string_dtype(dtype):
            cells = frame.iloc[: max_rows or len(frame), i].astype("str")
            if cells.str.fullmatch(r"\s*[-+]?[0-9.]*,[0-9]+%?\s*", na=False).any():
                return True
    return False


# These labels mean that the outcome is unknown.
UNKNOWN_WORDS = (MISSING_WORDS - {""}) | {
    *("?", "??", "unknown", "unk", "undefined", "undetermined", "missing", "(missing)"),
    *("n.a.", "not available", "not known", "nil"),
}
# If a person names this label, it means the rows without a label.
EMPTY = "(empty)"
MAX_NAMES = 1_000
WIDEST_TYPES = {"i": np.int64, "u": np.uint64, "f": np.float64}
# Whole numbers look like this in a column of floats that was written as text.
WHOLE = re.compile(r"(-?[1-9]\d{0,14}|0)\.0+")
# A text that begins with 0 and another digit is a code, because numbers have no leading zeros.
CODE = re.compile(r"[-+]?0[0-9]")


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column as labels.

    `values` are the distinct values, in increasing order if they have an order. `codes` are their
    indices, and -1 where a cell is missing.
    """

    codes: IntArray
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def name(self, code: int) -> str:
        """A label as text: 1.0 is "1"."""
        return label_text(self.values[code])

    @property
    def names(self) -> tuple[str, ...]:
        """All labels as text, or the first 1,000 of a column with more values."""
        return tuple(label_text(value) for value in self.values[:MAX_NAMES])

    def find(self, name: str | None) -> int | None:
        """Code of a label given as text. Letter case matters only if two labels differ by it."""
        names = self.names
        if name is None:
            return None
        if name in names:
            return names.index(name)
        folded = [label.casefold() for label in names]
        if name.casefold() in folded:
            return folded.index(name.casefold())
        # A person may write 1 for the label 1.0, if no other label is the same number.
        same = [code for code, label in enumerate(names) if _same_number(name, label)]
        return same[0] if len(same) == 1 else None

    def counts(self) -> IntArray:
        """Number of rows of each label."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self)).astype(np.int64)


def _same_number(first: str, second: str) -> bool:
    are_numbers = all(NUMBER.fullmatch(text) and not CODE.match(text) for text in (first, second))
    return are_numbers and float(first) == float(second)


def label_text(value: object) -> str:
    """A label as text, without blanks around it; the number 1.0 is "1"."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def class_text(value: object) -> str:
    """A label of an outcome as text, the same for 1, 1.0, "1" and "1.0"."""
    text = label_text(value)
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


def as_labels(column: pd.Series) -> Labels:
    """Read a column as labels, as they are written: "1.1" is not "1.10", nor "true" "TRUE".

    Blank text is missing, and blanks around text do not count.
    """
    codes, distinct = _distinct(column)
    if distinct.dtype.kind not in "iufbM":
        codes, distinct = _merged(codes, [label_text(value) for value in distinct])
    return _ordered(codes, distinct)


def as_classes(column: pd.Series) -> Labels:
    """Read a column as the labels of an outcome: 1, 1.0 and "1.0" are one label."""
    codes, distinct = _distinct(column)
    # Categories of numbers or truth values are read like a column of them.
    if isinstance(column.dtype, pd.CategoricalDtype) and distinct.dtype.kind not in "iufbM":
        cells = pd.Series(distinct).map(label_text)
        plain = _plain(cells)
        # Texts such as 007 are codes, but 00 and 01 are the numbers 0 and 1.
        are_codes = cells.str.strip().str.match(CODE).any() and (plain.abs() > 1.0).any()
        if plain.dtype != cells.dtype and not are_codes:
            merged, distinct = pd.factorize(plain.to_numpy())
            codes = np.append(merged, -1).astype(np.int64)[codes]
    if distinct.dtype.kind not in "iufbM":
        codes, distinct = _merged(codes, [class_text(value) for value in distinct])
    return _ordered(codes, distinct)


def _distinct(column: pd.Series) -> tuple[IntArray, NDArray[Any]]:
    """A code for each row, or -1 if its cell is missing, and the value of each code."""
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        codes, values = pd.factorize(column.map(str))
    codes, distinct = codes.astype(np.int64, copy=False), np.asarray(values)
    if isinstance(column.dtype, pd.api.extensions.ExtensionDtype) and column.dtype.kind in "iuf":
        # Missing cells are not among the distinct values, so a plain dtype can hold these.
        distinct = distinct.astype(WIDEST_TYPES[column.dtype.kind])
    return codes, distinct


def _plain(cells: pd.Series) -> pd.Series:
    """Text as truth values or numbers, if all cells are; otherwise the cells are unchanged."""
    if not len(cells) or not all(isinstance(cell, str) for cell in cells):
        return cells
    texts = cells.str.strip()
    words = texts.str.casefold()
    if words.isin(("true", "false")).all():
        return words == "true"
    return texts.astype(np.float64) if texts.str.fullmatch(NUMBER).all() else cells


def _merged(codes: IntArray, names: list[str]) -> tuple[IntArray, NDArray[Any]]:
    """Join codes of equal names. The empty name is missing, with the code -1."""
    texts = pd.Series(names, dtype=object)
    merged, distinct = pd.factorize(texts.where(texts != ""))
    lookup = np.append(merged, -1).astype(np.int64)
    return lookup[codes], np.asarray(distinct, dtype=object)


def _ordered(codes: IntArray, values: NDArray[Any]) -> Labels:
    """Make labels in increasing order. The codes are changed in place."""
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    for part in chunks(len(codes)):
        codes[part] = rank[codes[part]]
    return Labels(codes, values[order])


def folded(labels: Labels) -> Labels:
    """Join labels that differ only in letter case, under their commonest spelling."""
    if labels.values.dtype.kind != "O":
        return labels
    merged, distinct = pd.factorize(np.array([str(v).casefold() for v in labels.values], object))
    if len(distinct) == len(labels):
        return labels
    spelled = np.zeros(len(distinct), dtype=np.int64)
    # The commonest spelling is assigned last, so it remains.
    for code in np.argsort(labels.counts(), kind="stable"):
        spelled[merged[code]] = code
    lookup = np.append(merged, -1).astype(np.int64)
    return _ordered(lookup[labels.codes], labels.values[spelled])


def as_outcome(column: pd.Series, wanted: Collection[str] = ()) -> tuple[Labels, BoolArray]:
    """The labels of an outcome with two classes, and whether each is a word for "unknown".

    A word that is `wanted` stays a label.
    """
    labels = folded(as_classes(column))
    kept = {name.casefold() for name in wanted}
    names = [name.casefold() for name in labels.names]
    words = np.array([name in UNKNOWN_WORDS and name not in kept for name in names], dtype=np.bool_)
    if labels.values.dtype.kind != "O" or not words.any():
        return labels, np.zeros(len(labels.codes), dtype=np.bool_)
    is_label = np.append(~words, np.ones(len(labels) - len(words), dtype=np.bool_))
    lookup = np.append(np.where(is_label, np.cumsum(is_label) - 1, -1), -1)
    unknown = (labels.codes >= 0) & (lookup[labels.codes] < 0)
    return Labels(lookup[labels.codes], labels.values[is_label]), unknown


TO = "…"


def as_ranges(columns: Sequence[str], names: Sequence[str]) -> str:
    """Columns of a table as ranges of neighbours: "b … d, f"."""
    place = {name: i for i, name in enumerate(names)}
    runs: list[list[str]] = []
    for column in columns:
        if runs and place.get(column) == place.get(runs[-1][-1], -2) + 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    return ", ".join(f"{run[0]} {TO} {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def from_ranges(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that a text means. A part that means none is kept, so that it is reported."""
    columns: dict[str, None] = {}
    for part in text.replace("...", TO).split(","):
        plain = part.strip()
        if plain:
            columns |= dict.fromkeys(_part(plain, names))
    return tuple(columns)


def _part(part: str, names: Sequence[str]) -> Sequence[str]:
    if part in names:
        return [part]
    first, to, last = (text.strip() for text in part.partition(TO))
    if to and first in names and last in names:
        start, end = sorted((names.index(first), names.index(last)))
        return names[start : end + 1]
    return [name for name in names if fnmatchcase(name, part)] or [part]

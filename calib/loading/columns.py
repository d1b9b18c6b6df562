"""One column read as numbers or as labels, with what could not be read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.numerics.arrays import FloatArray, IntArray

MISSING_WORDS = {"", "na", "n/a", "#n/a", "nan", "null", "none", "-", "."}
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+")
MOST_NAMES = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column as numbers.

    Attributes
    ----------
    values : ndarray of float, shape (n,)
        NaN where a cell is missing or not a number.
    text : ndarray of int
        Rows whose cell is neither missing nor a number.
    cells : tuple of str
        The first of those cells.
    rewritten : int
        Number of cells that were understood by their percent sign or decimal comma.
    """

    values: FloatArray
    text: IntArray
    cells: tuple[str, ...] = ()
    rewritten: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """A column as labels.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
        Index into `values`; -1 where a cell is missing.
    values : ndarray
        The distinct values, in increasing order where they have one.
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
        """All labels as text; of a column with very many values only the first ones."""
        return tuple(label_text(value) for value in self.values[:MOST_NAMES])

    def find(self, name: str | None) -> int | None:
        """Code of a label given as text; letter case decides only between two that fit."""
        names = self.names
        if name is None:
            return None
        if name in names:
            return names.index(name)
        folded = [known.casefold() for known in names]
        return folded.index(name.casefold()) if name.casefold() in folded else None

    def counts(self) -> IntArray:
        """Number of rows of each label."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self)).astype(np.int64)


def label_text(value: object) -> str:
    """A label as text, the same for 1, 1.0 and "1".

    Examples
    --------
    >>> label_text(1.0), label_text(0.5), label_text(True), label_text(" yes ")
    ('1', '0.5', 'True', 'yes')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def as_numbers(column: pd.Series) -> Numbers:
    """Read a column as numbers; "12%" and "0,12" are understood."""
    none = np.empty(0, dtype=np.int64)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column):
        # A signalling NaN of single precision, as damaged files have it, is a NaN.
        with np.errstate(invalid="ignore"):
            return Numbers(column.to_numpy(dtype=np.float64, na_value=np.nan), none)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        values = np.full(len(column), np.nan)
        rows = np.flatnonzero(column.notna().to_numpy())
        return Numbers(values, rows, tuple(str(v) for v in column.iloc[rows[:3]]))
    return _from_cells(column)


def _from_cells(column: pd.Series) -> Numbers:
    try:
        parsed = pd.to_numeric(column, errors="coerce")
    except (TypeError, ValueError, OverflowError):
        parsed = pd.to_numeric(column.map(str), errors="coerce")
    values = parsed.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    unread = np.flatnonzero(np.isnan(values) & column.notna().to_numpy())
    # Whole columns of text repeat few values or are hopeless: each distinct cell is read once.
    codes, distinct = pd.factorize(column.iloc[unread].map(str))
    read = [_read_cell(cell) for cell in distinct]
    numbers = np.array([np.nan if number is None else number for number in read], dtype=np.float64)
    bad = np.array([number is None for number in read], dtype=np.bool_)
    rewritten = 0
    if len(unread):
        values[unread] = numbers[codes]
        rewritten = int(np.isfinite(numbers[codes]).sum())
    text = unread[bad[codes]] if len(unread) else unread
    return Numbers(values, text, tuple(str(cell) for cell in column.iloc[text[:3]]), rewritten)


def _read_cell(cell: str) -> float | None:
    """The number that a cell means; NaN if it means "missing", None if it is no number."""
    plain = cell.strip()
    if plain.casefold() in MISSING_WORDS:
        return float("nan")
    if len(plain) > 40:
        return None
    divisor = 100.0 if plain.endswith("%") else 1.0
    plain = plain.removesuffix("%").strip()
    if DECIMAL_COMMA.fullmatch(plain):
        plain = plain.replace(",", ".")
    try:
        return float(plain) / divisor
    except ValueError:
        return None


def as_labels(column: pd.Series) -> Labels:
    """Read a column as labels; blank text is missing, and blanks around text do not count."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        codes, values = pd.factorize(column.map(str))
    codes, distinct = codes.astype(np.int64), np.asarray(values)
    if distinct.dtype.kind not in "iufbM":
        codes, distinct = _tidy(codes, distinct)
    return _ordered(codes, distinct)


def _tidy(codes: IntArray, values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    names = pd.Series([label_text(value) for value in values], dtype=object)
    merged, distinct = pd.factorize(names.where(names != ""))
    lookup = np.append(merged, -1).astype(np.int64)
    return lookup[codes], np.asarray(distinct, dtype=object)


def _ordered(codes: IntArray, values: NDArray[Any]) -> Labels:
    order = np.argsort(values, kind="stable")
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    rank[-1] = -1
    return Labels(rank[codes], values[order])

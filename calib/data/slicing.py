"""Slicing: the assignment of rows to slices, and the strata in which rows are counted."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.numerics.arrays import BoolArray, FloatArray, IntArray, Locked, arrays_of
from calib.text import quoted

# Strata without a split, a fold or a cluster have this code.
NO_SLICE = -1
CROSSED = " × "


def crossed_name(names: Iterable[str]) -> str:
    """The name of crossed columns, or of their values. A single name is returned unchanged."""
    return CROSSED.join(names)


def crossing_of(name: str, columns: Container[str]) -> tuple[str, str] | None:
    """The two of these columns that a column crosses, if it does.

    >>> crossing_of("region × plan", ["plan", "region"])
    ('region', 'plan')
    """
    words = name.split(CROSSED)
    pairs = ((CROSSED.join(words[:i]), CROSSED.join(words[i:])) for i in range(1, len(words)))
    return next((pair for pair in pairs if pair[0] in columns and pair[1] in columns), None)


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A part of the data that is counted: rows of a model, or rows with one value of a column.

    Attributes
    ----------
    model : str
        "" if there is only one model.
    column, value : str
        Slice or time column and its value; "" for all rows. Two crossed columns are the column
        "region × plan" with values such as "north × basic", beside each of the two.
    """

    model: str = ""
    column: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Strata(Locked):
    """Groups in which rows are counted separately.

    Attributes
    ----------
    part : ndarray of int, shape (s,)
        Position in `Aggregate.parts`.
    test : ndarray of int, shape (s,)
        1 for test rows, 0 for calibration rows, -1 without a split.
    fold, group : ndarray of int, shape (s,)
        Named fold and cluster, -1 if there is none.
    """

    part: IntArray
    test: IntArray
    fold: IntArray
    group: IntArray


def joined_strata(
    *counted: tuple[tuple[Part, ...], Strata],
) -> tuple[tuple[Part, ...], Strata, list[IntArray]]:
    """Parts and strata of aggregates as one list, and the positions of those of each."""
    parts = tuple(dict.fromkeys(part for parts_of_one, _ in counted for part in parts_of_one))
    place = {part: i for i, part in enumerate(parts)}
    rows = [
        np.column_stack([np.array([place[p] for p in parts_of_one])[part], *codes])
        for parts_of_one, strata in counted
        for part, *codes in [arrays_of(strata).values()]
    ]
    distinct, number = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    ends = np.cumsum([len(codes) for codes in rows])[:-1]
    return parts, Strata(*distinct.T.copy()), np.split(number.reshape(-1), ends)


# A column with more different numbers is cut into ranges.
MAX_NUMBERS = 12
MISSING = "(missing)"
# A column with more values identifies rows instead of slices.
MAX_VALUES = 1000


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Slicing(Locked):
    """The assignment of rows to slices.

    Attributes
    ----------
    columns : tuple of str
        The columns that were cut.
    names : tuple of str, length k
        Names of the slices, in the order of their values.
    codes : ndarray of int, shape (n,)
        Position in `names` of the slice of each row.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    codes: IntArray

    @classmethod
    def whole(cls, n_rows: int, name: str = "All rows") -> Slicing:
        """Make one slice of `n_rows` rows."""
        return cls((), (name,), np.zeros(n_rows, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.names)

    def rows(self, chosen: NDArray[Any]) -> Slicing:
        """The same slices for rows selected by a mask or by indices. Some can be empty."""
        return Slicing(self.columns, self.names, self.codes[chosen])

    def member(self, number: int) -> BoolArray:
        """Whether each row belongs to the slice at position `number`."""
        return np.asarray(self.codes == number)


def slice_by(
    columns: Mapping[str, NDArray[Any]], names: Sequence[str], *, n_ranges: int = 5
) -> Slicing:
    """Cut rows into slices by one column, or by two columns that are crossed.

    Each value of a text column is a slice. A column with more than 12 different numbers or dates is
    cut into right-closed ranges with about equal numbers of rows. Missing values are a separate
    slice.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,)
        Columns by name, for example `Predictions.columns`.
    names : sequence of str
        One or two names of columns.
    n_ranges : int
        Number of ranges into which a column with many numbers is cut, at least 2.

    Raises
    ------
    ValueError
        If a name is unknown or repeated, there are not one or two names, or `n_ranges` is below 2.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.arange(20.0, 60.0)
    >>> slice_by({"age": age}, ["age"], n_ranges=4).names
    ('up to 29.8', '29.8 to 39.5', '39.5 to 49.2', 'above 49.2')
    """
    _check(columns, names, n_ranges)
    parts = [_cut(columns[name], n_ranges) for name in names]
    return Slicing(tuple(names), *(parts[0] if len(parts) == 1 else crossed(*parts)))


def crossed(
    one: tuple[tuple[str, ...], IntArray], other: tuple[tuple[str, ...], IntArray]
) -> tuple[tuple[str, ...], IntArray]:
    """Names of the combinations of two columns' slices that have rows, and that of each row."""
    (first, codes), (second, second_codes) = one, other
    present, pair_codes = np.unique(codes * len(second) + second_codes, return_inverse=True)
    pairs = (divmod(code, len(second)) for code in present.tolist())
    names = tuple(crossed_name((first[i], second[j])) for i, j in pairs)
    return names, pair_codes.astype(np.int64)


def _check(columns: Mapping[str, NDArray[Any]], names: Sequence[str], n_ranges: int) -> None:
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
        raise ValueError(f"names must be one column, or two different ones, got {list(names)}.")
    unknown = [name for name in names if name not in columns]
    if unknown:
        listed = ", ".join(columns) or "none"
        raise ValueError(f"names must be among the slice columns ({listed}), got {unknown[0]!r}.")
    if n_ranges < 2:
        raise ValueError(f"n_ranges must be at least 2, got {n_ranges}.")


def _cut(values: NDArray[Any], n_ranges: int) -> tuple[tuple[str, ...], IntArray]:
    codes, distinct = _numbered(values)
    names, slices = cut_distinct(np.asarray(distinct), np.bincount(codes), n_ranges)
    return names, slices[codes]


def _numbered(values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    """The number of each row's value, and the values in the order of their first rows."""
    if values.dtype.kind != "U" or not len(values):
        return pd.factorize(values, use_na_sentinel=False)
    # Pandas would make a string of every row. One letter after the other distinguishes rows.
    letters = np.ascontiguousarray(values).view(np.uint32).reshape(len(values), -1)
    codes, first = np.zeros(len(values), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for letter in letters.T:
        if (letter != letter[first][codes]).any():
            codes, distinct = pd.factorize(codes << 32 | letter)
            if len(distinct) > MAX_VALUES:  # Such a column would be slow, letter by letter.
                return pd.factorize(values)
            first = np.empty(len(distinct), dtype=np.int64)
            first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, values[first]


def cut_distinct(
    values: NDArray[Any], counts: IntArray, n_ranges: int = 5
) -> tuple[tuple[str, ...], IntArray]:
    """Cut distinct values, of `counts` rows each, into the same slices as `slice_by`.

    The result is the names of the slices, and the position of the slice of each value.
    """
    missing = np.asarray(pd.isna(values))
    present = values[~missing]
    codes = np.empty(len(values), dtype=np.int64)
    if present.dtype.kind in "iufM" and len(present) > MAX_NUMBERS:
        names, codes[~missing] = _ranges(present, counts[~missing], n_ranges)
    else:
        order = in_order(present)
        names = [value_name(present[i]) for i in order]
        codes[~missing] = np.argsort(order)
    codes[missing] = len(names)
    # Slices without rows are left out.
    occupied = np.bincount(codes, minlength=len(names) + 1) > 0
    return tuple(compress([*names, MISSING], occupied)), (np.cumsum(occupied) - 1)[codes]


def in_order(values: NDArray[Any]) -> IntArray:
    """Order of distinct values. Numbers are ordered by size, also if they are stored as text."""
    if values.dtype.kind in "iufbM":
        return np.argsort(values, kind="stable").astype(np.int64)
    keys = [_key(str(value)) for value in values]
    return np.array(sorted(range(len(values)), key=keys.__getitem__), dtype=np.int64)


def _key(text: str) -> tuple[bool, float, str]:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    # NaN cannot be ordered, so "nan" counts as text.
    return (True, 0.0, text) if math.isnan(number) else (False, number, "")


def value_name(value: object) -> str:
    """The name of a slice with this value: 2015.0 is "2015"."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, np.datetime64):
        return str(value).removesuffix("T00:00:00.000000")
    return str(value)


def _ranges(values: NDArray[Any], counts: IntArray, n_ranges: int) -> tuple[list[str], IntArray]:
    dates = values.dtype.kind == "M"
    numbers = values.astype("datetime64[us]").astype(np.int64) if dates else values
    numbers = numbers.astype(np.float64)
    finite = np.isfinite(numbers)
    levels = range_levels(n_ranges)
    inner = np.unique(quantiles_of_counts(numbers[finite], counts[finite], levels))
    codes = np.searchsorted(inner, numbers, side="left").astype(np.int64)
    return range_names(inner, dates=dates), codes


def range_levels(n_ranges: int) -> FloatArray:
    """Levels of the quantiles between this number of ranges."""
    return np.linspace(0.0, 1.0, n_ranges + 1)[1:-1]


def quantiles_of_counts(
    values: FloatArray, counts: IntArray | FloatArray, levels: FloatArray
) -> FloatArray:
    """Quantiles of counted values, with the same rounding as `numpy.quantile` of the rows."""
    if not len(values):
        return np.empty(0)
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(counts[order])
    place = levels * (up_to[-1] - 1)
    below = np.floor(place)
    ends = (np.searchsorted(up_to, np.minimum(below + i, up_to[-1] - 1), "right") for i in (0, 1))
    low, high = (values[order][end] for end in ends)
    share = place - below
    step = high - low
    return np.where(share >= 0.5, high - step * (1.0 - share), low + step * share)


def range_names(inner: FloatArray, *, dates: bool = False) -> list[str]:
    """Names of the ranges between increasing edges."""
    texts = _dates(inner) if dates else edge_names(inner)
    if not texts:
        return ["all"]
    middle = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"up to {texts[0]}", *middle, f"above {texts[-1]}"]


def edge_names(edges: FloatArray) -> list[str]:
    """Edges with enough digits to be distinct."""
    texts: list[str] = []
    for digits in range(3, 18):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            break
    return texts


def _dates(edges: FloatArray) -> list[str]:
    times = edges.astype("datetime64[us]")
    days = np.datetime_as_string(times, "D").tolist()
    return days if len(set(days)) == len(days) else np.datetime_as_string(times, "s").tolist()


def singles_and_pairs(
    slices: Sequence[str | tuple[str, str]], time: str | None
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """All columns but time by which rows are counted, and the pairs to cross.

    Raises ValueError if one is neither a column nor a pair of two slices.
    """
    requested = [(column,) if isinstance(column, str) else tuple(column) for column in slices]
    for names in requested:
        if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
            raise ValueError(
                f"slices must hold columns, and pairs of two different columns, got {names!r}."
            )
        if len(names) == 2 and time in names:
            raise ValueError(
                f"The time column {quoted(str(time))} cannot be crossed with a slice. Cross two "
                "slices, or count without `time`."
            )
    columns = dict.fromkeys(name for names in requested for name in names)
    singles = tuple(name for name in columns if name != time)
    pairs = tuple(dict.fromkeys((names[0], names[1]) for names in requested if len(names) == 2))
    if twice := set(singles) & set(map(crossed_name, pairs)):
        raise ValueError(f"A column is called like a crossing: {min(twice)!r}. Rename it.")
    return singles, pairs


def too_many(names: Sequence[str], n: int) -> str:
    """The message that a column, or a crossing of two, has too many values for an aggregate."""
    if len(names) == 1:
        return (
            f"An aggregate counts by at most {MAX_VALUES:,} values of a column, got {n:,} of "
            f"{quoted(names[0])}. Name the slices to count by, without this column."
        )
    return (
        f"An aggregate counts by at most {MAX_VALUES:,} slices of two crossed columns, and "
        f"{quoted(names[0])} crossed with {quoted(names[1])} has {n:,}. Cross columns of fewer "
        "values."
    )


def days_or_values(values: NDArray[Any]) -> tuple[tuple[str, ...], IntArray]:
    """Days of dates, or the values themselves, in order of time, and the position of each row."""
    if values.dtype.kind == "M":
        values = values.astype("datetime64[D]")
    distinct, codes = np.unique(values, return_inverse=True)
    order = in_order(distinct)
    names = (MISSING if pd.isna(value) else value_name(value) for value in distinct[order])
    return tuple(names), np.argsort(order)[codes]

"""The expressions that an engine runs: cells of the grid, exact sums, hashes.

Sums of floating-point numbers depend on the order of the rows, which engines do not keep. So whole
numbers are summed: for a score its place within its cell, for a weight its first 62 bits.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from calib.data.file_options import ROW_TRANSFORMS, Columns, Transform
from calib.loading.checking.mapped_rows import DIVISORS
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.cells import KEYS_PER_CELL
from calib.numerics.score_grid import (
    EDGE_ROUNDING,
    GRID_STEPS,
    KEY_OF_ZERO,
    KEYS_PER_E_FOLD,
    MAX_INNER_KEY,
    MIN_INNER_KEY,
    PARTS_PER_CELL,
    TAIL_END,
)

# A place within a cell is rounded to 2^-32 of its width, so that the sum over 2^31 rows has at most
# 63 bits.
UNITS = 2.0**32
HIGH_WORD = 2.0**31
SCORE, KEY, LOG, PLACE = "calib_score", "calib_key", "calib_log", "calib_place"
WEIGHT = "calib_weight"
LIMBS = ("weight", "weight_sq", "weight_place")


def probability(mapping: Columns, *, rounded: bool = False) -> nw.Expr:
    """The score of a row as a probability, by the mapping's transform and swap.

    If `rounded`, scores that rounding has put outside of [0, 1] are brought into it.
    """
    score = nw.col(str(mapping.score)).cast(nw.Float64)
    if mapping.transform == "logit":
        # The exponential of a positive number can overflow.
        size = nw.when(score < 0.0).then(score).otherwise(-score).exp()
        score = nw.when(score < 0.0).then(size / (1.0 + size)).otherwise(1.0 / (1.0 + size))
    elif mapping.transform == "exp":
        score = score.exp()
    elif mapping.transform == "clip":
        score = nw.when(score.is_finite()).then(score.clip(0.0, 1.0)).otherwise(score)
    elif mapping.transform in DIVISORS:
        score = score / DIVISORS[mapping.transform]
    if rounded:
        score = score.clip(0.0, 1.0)
    return 1.0 - score if mapping.swap else score


def class_scores(
    rows: nw.LazyFrame[Any], names: Sequence[str], transform: Transform
) -> nw.LazyFrame[Any]:
    """The columns of these names, one per class, as probabilities by a transform."""
    if transform == "none":
        return rows
    scores = [nw.col(name) for name in names]
    if transform == "softmax":
        rows = rows.with_columns(nw.max_horizontal(*scores).alias("calib_most"))
        rows = rows.with_columns(*((score - nw.col("calib_most")).exp() for score in scores))
    if transform in ROW_TRANSFORMS:
        rows = rows.with_columns(
            total(scores).alias("calib_whole"), nw.min_horizontal(*scores).alias("calib_lowest")
        )
        whole = nw.col("calib_whole")
        # Shares of a row with a negative number are undefined. It is unchanged, and refused later.
        has_shares = (whole != 0.0) & (nw.col("calib_lowest") >= 0.0)
        shares = (nw.when(has_shares).then(score / whole).otherwise(score) for score in scores)
        return rows.with_columns(
            *(share.alias(name) for share, name in zip(shares, names, strict=True))
        )
    return rows.with_columns(
        *(probability(Columns(score=name, transform=transform)).alias(name) for name in names)
    )


def total(values: Sequence[nw.Expr]) -> nw.Expr:
    """Sum of columns in the order in which NumPy adds a row, so that both round equally."""
    n = len(values)
    if n < 8:
        return reduce(add, values)
    if n > 128:
        half = n // 2 - n // 2 % 8
        return total(values[:half]) + total(values[half:])
    whole = n - n % 8
    eight = [reduce(add, values[i:whole:8]) for i in range(8)]
    while len(eight) > 1:
        eight = [first + second for first, second in zip(eight[::2], eight[1::2], strict=True)]
    return reduce(add, values[whole:], eight[0])


def with_keys(
    rows: nw.LazyFrame[Any], *, exact: bool, cut: IntArray | None = None
) -> nw.LazyFrame[Any]:
    """Add the cell of each score and, on the grid, the score's place within it.

    `exact` says whether each cell is one score. With `cut`, the keys of some cells, only their rows
    are returned, with the keys of the 64 parts of each cell. Otherwise the keys are those of the
    grid, not yet multiplied by 65, because engines group faster by narrow numbers.
    """
    if exact:
        # Adding 0 turns -0.0 into 0.0, whose bits differ.
        return rows.with_columns((nw.col(SCORE) + 0.0).alias(KEY))
    score, down, key = nw.col(SCORE), nw.col("calib_down"), nw.col("calib_inner")
    steps, near = score * float(GRID_STEPS), nw.col("calib_near")
    rows = rows.with_columns(
        (steps + EDGE_ROUNDING).floor().alias("calib_down"),
        (steps - EDGE_ROUNDING).ceil().alias("calib_up"),
        nw.when(score > 0.5).then(1.0 - score).otherwise(score).alias("calib_near"),
    ).with_columns(
        (down + nw.col("calib_up")).alias("calib_inner"),
        # The logarithm of 0 is an error in some engines.
        nw.when((near > 0.0) & (near < TAIL_END))
        .then(near / TAIL_END)
        .otherwise(nw.lit(1.0))
        .alias("calib_ratio"),
    )
    outer = (key < float(MIN_INNER_KEY)) | (key > float(MAX_INNER_KEY))
    logs = nw.when(outer).then(nw.col("calib_ratio").log()).otherwise(nw.lit(0.0)).alias(LOG)
    rows = _computed_once(_computed_once(rows).with_columns(logs))
    rows = rows.with_columns(
        nw.when(outer).then(_outer_key()).otherwise(key).cast(nw.Int32).alias(KEY),
        nw.when(outer).then(_outer_place()).otherwise(steps - down).alias(PLACE),
    )
    rows = _computed_once(rows)
    if cut is None:
        return rows
    rows = _computed_once(rows.filter(nw.col(KEY).is_in((cut // KEYS_PER_CELL).tolist())))
    return rows.with_columns((nw.col(KEY) * KEYS_PER_CELL + 1 + _part()).alias(KEY))


def _computed_once(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """The same rows, as a subquery that PostgreSQL runs once.

    Otherwise it merges subqueries, and computes a column again for each column that uses it. A
    limit above any number of rows prevents this.
    """
    if rows.implementation is not nw.Implementation.IBIS:
        return rows
    backend = rows.to_native().get_backend().name
    return rows.head(2**62) if backend == "postgres" else rows


def _outer_key() -> nw.Expr:
    zero = nw.lit(float(KEY_OF_ZERO))
    key = (
        nw.when(nw.col("calib_near") > 0.0)
        .then(_e_fold() + float(MIN_INNER_KEY - 1))
        .otherwise(zero)
    )
    return nw.when(nw.col(SCORE) > 0.5).then(2.0 * GRID_STEPS - key).otherwise(key)


def _outer_place() -> nw.Expr:
    """Distance from the cell's upper end, as a share of the cell's width, within 0.1%."""
    # The difference of logarithms is small, so its exponential cannot overflow.
    shrunk = (1.0 - (nw.col(LOG) - _e_fold() / KEYS_PER_E_FOLD).exp()) * KEYS_PER_E_FOLD
    return nw.when(nw.col("calib_near") > 0.0).then(shrunk).otherwise(nw.lit(0.0))


def _e_fold() -> nw.Expr:
    """Number of the cell of equal ratio, 0 or negative."""
    return (nw.col(LOG) * KEYS_PER_E_FOLD).ceil()


def _part() -> nw.Expr:
    """Which of the 64 equal parts of its cell a score is in, as in `refined_keys`."""
    mirrored = nw.col(KEY) > MAX_INNER_KEY
    key = (
        nw.when(mirrored).then(2 * GRID_STEPS - nw.col(KEY)).otherwise(nw.col(KEY)).cast(nw.Float64)
    )
    outer = key < float(MIN_INNER_KEY)
    fold = nw.when(outer).then((key - (MIN_INNER_KEY - 1)) / KEYS_PER_E_FOLD).otherwise(nw.lit(0.0))
    low = (key / 2.0).floor() / GRID_STEPS
    high = ((key + 1.0) / 2.0).floor() / GRID_STEPS
    low = nw.when(outer).then((fold - 1.0 / KEYS_PER_E_FOLD).exp() * TAIL_END).otherwise(low)
    high = nw.when(outer).then(fold.exp() * TAIL_END).otherwise(high)
    start = nw.when(mirrored).then(1.0 - high).otherwise(low)
    width = high - low
    share = nw.when(width > 0.0).then((nw.col(SCORE) - start) / width).otherwise(nw.lit(0.0))
    part = (share * float(PARTS_PER_CELL)).floor()
    return part.clip(0.0, float(PARTS_PER_CELL - 1)).cast(nw.Int64)


def with_whole_numbers(
    rows: nw.LazyFrame[Any], *, exact: bool, largest: float | None
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Add columns of the whole numbers to sum, and return their names too.

    If `exact`, each cell is one score and places are not summed. `largest` is the largest weight,
    or None if rows have no weights.
    """
    if largest is None:
        if exact:
            return rows, []
        return rows.with_columns(_whole(nw.col(PLACE) * UNITS + 0.5).alias("place")), ["place"]
    share = nw.col(WEIGHT) / scale_of(largest)
    parts: Mapping[str, nw.Expr] = {"weight": share, "weight_sq": share * share}
    if not exact:
        parts = {**parts, "weight_place": share * nw.col(PLACE)}
    names = [f"{name}_{limb}" for name in parts for limb in (0, 1)]
    rows = _computed_once(rows).with_columns(
        *((value * HIGH_WORD).floor().alias(f"{name}_0") for name, value in parts.items()),
        *((value * HIGH_WORD).alias(f"{name}_1") for name, value in parts.items()),
    )
    rows = _computed_once(rows)
    rest = (
        _whole((nw.col(f"{n}_1") - nw.col(f"{n}_0")) * HIGH_WORD).alias(f"{n}_1") for n in parts
    )
    return rows.with_columns(*rest, *(_whole(nw.col(f"{n}_0")).alias(f"{n}_0") for n in parts)), (
        names
    )


def _whole(value: nw.Expr) -> nw.Expr:
    return value.floor().cast(nw.Int64)


def scale_of(largest: float) -> float:
    """The least power of two above the largest weight, by which weights are divided."""
    return math.ldexp(1.0, math.frexp(largest)[1])


def sums_of(
    columns: Mapping[str, NDArray[np.generic]], key: IntArray, *, exact: bool, largest: float | None
) -> dict[str, FloatArray]:
    """Convert sums of whole numbers to sums of weights and scores, as in `CellTable`.

    `columns` are counts, sums, least and largest scores. `key` has the key of each cell. The other
    arguments are those of `with_whole_numbers`.
    """
    rows = np.asarray(columns["rows"], dtype=np.float64)
    if largest is None:
        weight = weight_sq = rows
        place = None if exact else np.asarray(columns["place"], dtype=np.float64) / UNITS
    else:
        scale = scale_of(largest)
        parts = [_join_limbs(columns, name) for name in (LIMBS[:2] if exact else LIMBS)]
        weight, weight_sq = parts[0] * scale, parts[1] * scale * scale
        place = None if exact else parts[2] * scale
    low = np.asarray(columns["low"], dtype=np.float64)
    score_sum = low * weight
    if place is not None:
        one_score = low == columns["high"]
        score_sum = np.where(one_score, score_sum, _score_sums(key // KEYS_PER_CELL, weight, place))
    return {"weight": weight, "weight_sq": weight_sq, "score_sum": score_sum}


def _join_limbs(columns: Mapping[str, NDArray[np.generic]], name: str) -> FloatArray:
    high, low = (np.asarray(columns[f"{name}_{limb}"], dtype=np.float64) for limb in (0, 1))
    return high / HIGH_WORD + low / (HIGH_WORD * HIGH_WORD)


def _score_sums(key: IntArray, weight: FloatArray, place: FloatArray) -> FloatArray:
    inner = (np.floor(key / 2.0) * weight + place) / GRID_STEPS
    mirrored = key > MAX_INNER_KEY
    mirrored_key = np.where(mirrored, 2 * GRID_STEPS - key, key)
    end = TAIL_END * np.exp((mirrored_key - (MIN_INNER_KEY - 1)) / KEYS_PER_E_FOLD)
    near = end * (weight - place / KEYS_PER_E_FOLD)
    outer = np.where(mirrored, weight - near, near)
    return np.where((key < MIN_INNER_KEY) | mirrored, outer, inner)


def hashed(rows: nw.LazyFrame[Any], column: str, digits: int = 3) -> nw.LazyFrame[Any]:
    """The column replaced by the first hexadecimal digits of its MD5."""
    native: Any = rows.to_native()
    kind = rows.implementation
    if kind.is_duckdb():
        native = native.project(f"* REPLACE (substr(md5({column}), 1, {digits}) AS {column})")
    elif kind.is_pyspark() or kind.is_pyspark_connect():
        md5 = f"substr(md5({column}), 1, {digits}) AS {column}"
        native = native.selectExpr(f"* EXCEPT ({column})", md5)
    elif kind.is_ibis():
        native = native.mutate(**{column: _ibis_md5(native[column]).substr(0, digits)})
    elif kind.is_dask():
        hashes = native[column].map(partial(_digits, digits), meta=(column, "string"))
        native = native.assign(**{column: hashes})
    else:
        import polars as pl

        hashes = pl.col(column).map_elements(partial(_digits, digits), return_dtype=pl.String)
        native = native.with_columns(hashes)
    return nw.from_native(native).lazy()


def _ibis_md5(text: Any) -> Any:
    # Ibis has no MD5 for PostgreSQL, although PostgreSQL has one.
    if text.get_backend().name != "postgres":
        return text.hexdigest("md5")
    import ibis

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def md5(text: str) -> str: ...  # type: ignore[empty-body]

    return md5(text)


def _digits(digits: int, text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:digits]

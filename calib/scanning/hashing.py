"""Hash of a text. Every engine gives the same digits with its own functions."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import narwhals as nw


def hashed(rows: nw.LazyFrame[Any], column: str, digits: int = 3) -> nw.LazyFrame[Any]:
    """The column replaced by the first hexadecimal digits of its MD5."""
    native: Any = rows.to_native()
    kind = rows.implementation
    if kind.is_duckdb():
        native = native.project(f"* REPLACE (substr(md5({column}), 1, {digits}) AS {column})")
    elif kind.is_pyspark() or kind.is_pyspark_connect():
        made = f"substr(md5({column}), 1, {digits}) AS {column}"
        native = native.selectExpr(f"* EXCEPT ({column})", made)
    elif kind.is_ibis():
        native = native.mutate(**{column: _of_ibis(native[column]).substr(0, digits)})
    elif kind.is_dask():
        own = native[column].map(partial(_digits, digits), meta=(column, "string"))
        native = native.assign(**{column: own})
    else:
        import polars as pl

        own = pl.col(column).map_elements(partial(_digits, digits), return_dtype=pl.String)
        native = native.with_columns(own)
    return nw.from_native(native).lazy()


def _of_ibis(text: Any) -> Any:
    """MD5, which Ibis does not know of PostgreSQL by its own name."""
    if text.get_backend().name != "postgres":
        return text.hexdigest("md5")
    import ibis

    @ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
    def md5(text: str) -> str: ...  # type: ignore[empty-body]

    return md5(text)


def _digits(digits: int, text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:digits]

"""Frozen dataclasses to strict JSON values and back, by their type hints.

NaN has no place in JSON: it is written as null, and null is read as NaN where a number is due.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Result = TypeVar("Result")

# A drawn curve needs no more, and a full double would carry the fingerprint of a single row.
ARRAY_DIGITS = 9
LARGEST = 2**63 - 1
# Of a list: charts are drawn in single precision.
LARGEST_DRAWN = 1e37


class ReportError(ValueError):
    """A report that cannot be read; the message says why."""


def encode(value: Any) -> Any:
    """Turn a dataclass, and all that it holds, into values that strict JSON can write.

    Arrays of floats are rounded to nine significant digits.

    Examples
    --------
    >>> encode((1, float("nan"), np.array([0.1, 2 / 3])))
    [1, None, [0.1, 0.666666667]]
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [_item(item) for item in value.tolist()]
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, float):
        return _number(float(value))
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a report cannot hold a {type(value).__name__}, got {value!r}.")


def _item(value: float) -> float | None:
    return value if isinstance(value, int) else _number(float(f"{value:.{ARRAY_DIGITS}g}"))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def decode(kind: type[Result], data: Any, where: str = "the report") -> Result:
    """Rebuild a value of the given kind.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are dataclasses, arrays of numbers, mappings with string keys,
        tuples, literals, or plain values.
    data
        What `json.loads` returned.
    where : str
        Name of the place, for messages.

    Raises
    ------
    ReportError
        If a value is missing, unknown, or of another kind.

    Examples
    --------
    >>> decode(tuple[float, ...], [1.5, "x"], "metrics")
    Traceback (most recent call last):
    ...
    calib.reports.codec.ReportError: metrics[1] must be a number, got 'x'.
    """
    return _decode(kind, data, where)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _optional(kind, data, where)
    if origin is Literal:
        return _one_of(get_args(kind), data, where)
    if origin is np.ndarray:
        return _array(get_args(get_args(kind)[1])[0], data, where)
    if origin is tuple:
        return tuple(_items(get_args(kind)[0], data, where))
    if origin is Mapping or origin is dict:
        return _mapping(get_args(kind)[1], data, where)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, data, where)
    return _plain(kind, data, where)


def _optional(kind: Any, data: Any, where: str) -> Any:
    inner = [arg for arg in get_args(kind) if arg is not type(None)]
    return None if data is None else _decode(inner[0], data, where)


def _one_of(allowed: tuple[Any, ...], data: Any, where: str) -> Any:
    if data not in allowed:
        raise _unlike(f"one of {', '.join(map(str, allowed))}", data, where)
    return data


def _array(kind: type[np.generic], data: Any, where: str) -> Any:
    number = int if issubclass(kind, np.integer) else float
    values = [_plain(number, item, f"{where}[{i}]") for i, item in enumerate(_listed(data, where))]
    array = np.array(values, dtype=kind)
    # NaN is missing. What is larger overflows where it is drawn.
    if (np.abs(array) > LARGEST_DRAWN).any():
        raise ReportError(f"{where} must hold numbers up to {LARGEST_DRAWN:g}, got larger ones.")
    return array


def _items(kind: Any, data: Any, where: str) -> list[Any]:
    return [_decode(kind, item, f"{where}[{i}]") for i, item in enumerate(_listed(data, where))]


def _listed(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise _unlike("a list", data, where)
    return data


def _mapping(kind: Any, data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _unlike("an object", data, where)
    return {
        _plain(str, key, where): _decode(kind, item, f"{where}.{key:.60}")
        for key, item in data.items()
    }


def _dataclass(kind: Any, data: Any, where: str) -> Any:
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}
    if not isinstance(data, dict):
        raise _unlike("an object", data, where)
    missing = [name for name, f in fields.items() if name not in data and not _has_default(f)]
    unknown = [name for name in data if name not in fields]
    if missing:
        raise ReportError(f"{where} must have {missing[0]!r}, got none.")
    if unknown:
        raise ReportError(f"{where} must have only known entries, got {_short(unknown[0])}.")
    hints = get_type_hints(kind)
    values = {name: _decode(hints[name], item, f"{where}.{name}") for name, item in data.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise ReportError(f"{where} cannot be read: {error}") from error


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return (
        field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    )


def _plain(kind: Any, data: Any, where: str) -> Any:
    if kind is float:
        return _float(data, where)
    names = {int: "a whole number", str: "text", bool: "true or false"}
    if kind not in names:
        raise _unlike("null", data, where)
    # A bool is an int to Python, and not to a reader.
    if type(data) is not kind or (kind is int and abs(data) > LARGEST):
        raise _unlike(names[kind], data, where)
    # JSON can spell half of a character (a lone surrogate), which no file can hold.
    return data.encode("utf-8", "replace").decode() if kind is str else data


def _float(data: Any, where: str) -> float:
    if data is None:
        return math.nan
    # JSON's 1e999 is read as infinity, and its whole numbers have no bound.
    if type(data) not in (int, float) or not abs(data) <= sys.float_info.max:
        raise _unlike("a number", data, where)
    return float(data)


def _unlike(expected: str, data: Any, where: str) -> ReportError:
    return ReportError(f"{where} must be {expected}, got {_short(data)}.")


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."

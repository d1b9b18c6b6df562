"""Frozen dataclasses to strict JSON and back by their type hints, and the schema of report.json.

NaN has no place in JSON: it is written as null, and null is read as NaN where a number is due.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from calib.analysis.decisions import CertifiedSide
from calib.curves.functions import CalibrationFunction
from calib.data.aggregate import Aggregate
from calib.data.origin import ENTRIES, Origin
from calib.data.strict_json import Reader, is_written
from calib.numerics.arrays import arrays_of

Result = TypeVar("Result")

# A curve needs no more digits, and a full double could identify a single row.
DIGITS = "%.9g"
# These lists have lengths of their own.
OTHER_LENGTHS = ("knots", "degrees")
# A calibrator of several scores has no curve, and a certificate need not have a threshold.
MAY_BE_EMPTY = (CalibrationFunction, CertifiedSide)
# Charts draw lists in single precision, which larger numbers overflow.
MAX_DRAWN_NUMBER = 1e37


class ReportError(ValueError):
    """A report cannot be read. The message says why."""


def encode(value: Any) -> Any:
    """Turn a dataclass, and all that it holds, into values that strict JSON can write.

    Arrays of floats are rounded to nine significant digits.

    >>> encode((1, float("nan"), np.array([0.1, 2 / 3])))
    [1, None, [0.1, 0.666666667]]
    """
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        entries = ((entry, getattr(value, entry.name)) for entry in dataclasses.fields(value))
        return {entry.name: encode(item) for entry, item in entries if is_written(entry, item)}
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _list(value)
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return str(value)  # A report keeps the sentence of a remark without its code.
    if value is None or isinstance(value, bool | int):
        return value
    raise TypeError(f"a report cannot hold a {type(value).__name__}, got {value!r}.")


def _list(values: NDArray[Any]) -> list[Any]:
    if values.dtype.kind != "f":
        return list(values.tolist())
    rounded = [float(DIGITS % value) for value in values.tolist()]
    return rounded if np.isfinite(values).all() else list(map(_number, rounded))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def decode(kind: type[Result], data: Any, where: str = "the report") -> Result:
    """Rebuild a value of the given kind.

    `data` is what `json.loads` returned, and `where` the name of the place, for messages. Raises
    ReportError if a value is missing, unknown, or of another kind.

    >>> decode(tuple[float, ...], [1.5, "x"], "metrics")
    Traceback (most recent call last):
    ...
    calib.reports.contents.codec.ReportError: metrics[1] must be a number, got 'x'.
    """
    value: Result = _Reader().read(kind, data, where)
    return value


def _lengths(record: Any) -> dict[str, int]:
    """Lengths of the lists of a record by name: curves have one point, and tables one row, each."""
    arrays = arrays_of(record)
    if not arrays:
        return {}
    values = {name: getattr(record, name) for name in record.__dataclass_fields__}
    curves = (value for value in values.values() if isinstance(value, Mapping))
    for curve in curves:
        arrays |= {key: value for key, value in curve.items() if isinstance(value, np.ndarray)}
    names = {"names": len(values["names"])} if "names" in values else {}
    return names | {name: len(a) for name, a in arrays.items() if name not in OTHER_LENGTHS}


class _Reader(Reader):
    error = ReportError
    a_number = "a number"

    def read(self, kind: Any, data: Any, where: str) -> Any:
        if kind is Origin:
            return self._origin(data, where)
        if kind is date:
            return self._date(data, where)
        if kind is not Aggregate:
            return super().read(kind, data, where)
        counts = self.plain(dict, data, where)
        # A report is recomputed from its counts, so they are written to the last bit and not
        # rounded.
        try:
            return Aggregate.from_json(counts)
        except ValueError as error:
            raise ReportError(f"{where} cannot be read: {error}") from error

    def _date(self, data: Any, where: str) -> date:
        try:
            return date.fromisoformat(self.plain(str, data, where))
        except ValueError as error:
            raise ReportError(f"{where} must be a date, got {data!r:.60}.") from error

    def _origin(self, data: Any, where: str) -> Origin:
        entries = self.complete(ENTRIES, (), data, where)
        values = {n: self.read(ENTRIES[n], v, f"{where}.{n}") for n, v in entries.items()}
        try:
            return Origin.of_entries(values)
        except ValueError as error:
            raise ReportError(f"{where} cannot be read: {error}") from error

    def record(self, kind: Any, data: Any, where: str) -> Any:
        record = super().record(kind, data, where)
        lengths = _lengths(record)
        is_empty = len(lengths) > 1 and 0 in lengths.values() and kind not in MAY_BE_EMPTY
        if len(set(lengths.values())) > 1 or is_empty:
            sizes = ", ".join(f"{name} of {n}" for name, n in lengths.items())
            raise ReportError(f"{where} must hold lists of one length, got {sizes}.")
        return record

    def array(self, kind: type[np.generic], data: Any, where: str) -> Any:
        array = super().array(kind, data, where)
        # NaN means missing, so it is allowed.
        if (np.abs(array) > MAX_DRAWN_NUMBER).any():
            raise ReportError(
                f"{where} must hold numbers up to {MAX_DRAWN_NUMBER:g}, got larger ones."
            )
        return array

    def number(self, data: Any, where: str) -> float:
        return math.nan if data is None else super().number(data, where)


# The first step turns schema 1 into schema 2. A step that was released is never edited: a change is
# a new step.
Step: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
STEPS: tuple[Step, ...] = ()
SCHEMA_VERSION = len(STEPS) + 1


def upgraded(data: Any, steps: Sequence[Step] = STEPS) -> dict[str, Any]:
    """The same report in the schema after the last step, from what `json.loads` returned."""
    if not isinstance(data, dict) or "schema_version" not in data:
        raise ReportError("This is not a report: it has no schema_version.")
    version, last = data["schema_version"], len(steps) + 1
    if type(version) is not int or version < 1:
        raise ReportError(f"schema_version must be a whole number above 0, got {version!r:.60}.")
    if version > last:
        raise ReportError(
            f"This report was written by another version of calib (schema {version}; this one "
            f"reads up to {last}). Open it with that version, or update calib."
        )
    for number, step in enumerate(steps[version - 1 :], version + 1):
        data = step(data) | {"schema_version": number}
    return data

"""Exported calibrators as JSON and back, by the type hints of their dataclasses.

Every entry that is read is checked before it is used: a file may come from anywhere.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from calib.calibrators import forms
from calib.calibrators.forms import Form, RowsForm
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces

MAX_TEXT, MAX_NUMBERS = 10_000, 5_000_000
Json = dict[str, Any]
FORMS: tuple[type[Form], ...] = (
    *(forms.Identity, forms.Clipped, forms.OddsDivided, forms.SigmoidOfFeatures),
    *(forms.Piecewise, forms.BetweenTwo, forms.Drift),
)
ROWS_FORMS = (forms.RowsIdentity, forms.RowsClipped, forms.Softmax, forms.EachClass)
# The classes of a form by the name in a file.
KINDS: Mapping[type, Mapping[str, type]] = {
    Form: {form.kind: form for form in FORMS},
    RowsForm: {form.kind: form for form in ROWS_FORMS},
}


class ExportError(ValueError):
    """An exported calibrator is not valid. The message says what is wrong."""


def encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return dict(value)
    if not is_dataclass(value):
        return value
    kind: Json = {"kind": value.kind} if isinstance(value, Form | RowsForm) else {}
    return kind | {field.name: encode(getattr(value, field.name)) for field in fields(value)}


def decode(kind: Any, given: Any, place: str) -> Any:
    """A value of the kind that a type hint names.

    Raises ExportError if an entry is missing, unknown, of another type or out of its range.
    """
    origin, args = get_origin(kind), get_args(kind)
    # From NumPy 2.5 on, which needs Python 3.12, NDArray is an alias that must be looked through.
    if hasattr(origin, "__value__"):
        return decode(origin.__value__[args], given, place)
    if origin in (Union, types.UnionType):
        return None if given is None else decode(args[0], given, place)
    if origin is Annotated:
        return args[0](_number(given, place, *args[1:]))
    if origin is Literal:
        return _choice(given, place, args)
    if origin is tuple:
        return _items(args, given, place)
    if origin is np.ndarray:
        return _array(given, place)
    if origin is Mapping:
        return _plain_values(given, place)
    if kind in KINDS:
        return _form(kind, given, place)
    if is_dataclass(kind):
        return _record(kind, given, place)
    return _number(given, place) if kind is float else _plain(kind, given, place)


def _form(family: type, given: Any, place: str) -> Any:
    known = KINDS[family]
    kind: Any = given.get("kind") if isinstance(given, dict) else given
    _choice(kind, f"{place}.kind", tuple(known))
    return _record(known[kind], {k: v for k, v in given.items() if k != "kind"}, place)


def _record(kind: Any, given: Any, place: str) -> Any:
    kinds = kinds_of(kind)
    names_are(given, tuple(kinds), place)
    made = kind(**{n: decode(each, given[n], f"{place}.{n}") for n, each in kinds.items()})
    if wrong := next((words for sound, words in _rules(made) if not sound), ""):
        raise ExportError(f"{place}.{wrong}.")
    return made


@cache  # type hints are text, which is compiled each time
def kinds_of(kind: Any) -> Mapping[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _rules(made: Any) -> list[tuple[bool, str]]:
    """Whether the entries of a record fit each other, and what it is called if they do not."""
    if isinstance(made, forms.OddsDivided):
        return [(made.factor > 0.0, "factor must be above 0")]
    if isinstance(made, forms.SigmoidOfFeatures):
        alike = len(made.features) == len(made.coefficients)
        return [(alike, "features must name one feature per coefficient")]
    if isinstance(made, forms.Axis):
        inside = made.scale == "score" or 0.0 < made.low <= made.high < 1.0
        even = made.scale != "compact_logit" or (made.low < 0.5 and made.high == 1.0 - made.low)
        return [
            (inside, "low and high must fulfil 0 < low <= high < 1"),
            (even, "high must be 1 - low, and low below 0.5"),
        ]
    if isinstance(made, Pieces):
        flat = made.edges.ndim == 1 and not (np.diff(made.edges) < 0.0).any()
        n, powers = len(made.edges) + 1, made.coefficients.shape
        return [
            (flat, "edges must be a list that does not decrease"),
            (made.centers.shape == (n,), f"centers must be {n}, one more than edges"),
            (len(powers) == 2 and powers[0] == n, f"coefficients must be a list of {n} lists"),
            (powers[-1] <= 4, "coefficients must be at most cubic"),
        ]
    return []


def check_classes(form: RowsForm, n: int) -> None:
    """Refuse a form that is not of as many classes as the file names."""
    if isinstance(form, forms.EachClass) and len(form.classes) != n:
        raise ExportError(f"form.classes must be a list of {n} forms.")
    if isinstance(form, forms.Softmax) and {*form.weights.shape, *form.intercepts.shape} != {n}:
        raise ExportError(f"form.weights and form.intercepts must be of {n} classes.")


def names_are(given: Any, names: tuple[str, ...], place: str) -> Json:
    """The object, which has exactly these entries."""
    if not isinstance(given, dict) or set(given) != set(names):
        found = sorted(given) if isinstance(given, dict) else given
        named = ", ".join(names) or "nothing more"
        raise ExportError(f"{place} must hold {named}, got {_short(found)}.")
    return given


def _is_number(given: Any) -> bool:
    # JSON's whole numbers have no bound, and NaN is below none.
    return type(given) in (int, float) and abs(given) <= sys.float_info.max


def _number(given: Any, place: str, low: float = -np.inf, high: float = np.inf) -> float:
    if not (_is_number(given) and low <= given <= high):
        within = f" from {low:g} to {high:g}" if np.isfinite(low) else ""
        raise ExportError(f"{place} must be a finite number{within}, got {_short(given)}.")
    return float(given)


def _choice(given: Any, place: str, known: tuple[Any, ...]) -> Any:
    if given not in known:
        raise ExportError(f"{place} must be one of {', '.join(known)}, got {_short(given)}.")
    return given


def _plain(kind: Any, given: Any, place: str) -> Any:
    if type(given) is not kind or (kind is str and len(given) > MAX_TEXT):
        named = {str: "a text", bool: "true or false"}[kind]
        raise ExportError(f"{place} must be {named}, got {_short(given)}.")
    return given


def _plain_values(given: Any, place: str) -> Json:
    if not isinstance(given, dict) or any(isinstance(v, dict | list) for v in given.values()):
        raise ExportError(f"{place} must hold names and plain values.")
    return given


def _items(kinds: tuple[Any, ...], given: Any, place: str) -> tuple[Any, ...]:
    """The items of a list of any length, or of as many kinds."""
    whole = len(kinds) if kinds[-1] is not Ellipsis else None
    if not isinstance(given, list) or len(given) != (whole or len(given)):
        raise ExportError(f"{place} must be a list{f' of {whole}' if whole else ''}.")
    return tuple(decode(kinds[0], each, f"{place}[{i}]") for i, each in enumerate(given))


def _array(given: Any, place: str) -> FloatArray:
    """A list of numbers, or of lists of them that have one length."""
    if not (isinstance(given, list) and given and isinstance(given[0], list)):
        return _numbers(given, place)
    rows = [_numbers(row, f"{place}[{i}]") for i, row in enumerate(given)]
    if len({len(row) for row in rows}) != 1 or not len(rows[0]):
        raise ExportError(f"{place} must hold lists of one length.")
    return np.array(rows)


def _numbers(given: Any, place: str) -> FloatArray:
    flat = isinstance(given, list) and len(given) <= MAX_NUMBERS
    if not flat or not all(map(_is_number, given)):
        raise ExportError(f"{place} must be a list of finite numbers, got {_short(given)}.")
    return np.array(given, dtype=np.float64)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."

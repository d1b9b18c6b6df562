"""Dataclasses from JSON by their type hints. Every value is checked before it is used."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

LARGEST = 2**63 - 1
# The metadata of fields that were added after files without them were saved: the value that such
# a file stands for.
ADDED = "added"
NAMES = {
    list: "a list",
    dict: "an object",
    str: "text",
    int: "a whole number",
    bool: "true or false",
}


class Reader:
    """Reads what `json.loads` returned. A subclass has its own error, and values of its own.

    Kinds are dataclasses whose fields are dataclasses, arrays of numbers, mappings with string
    keys, tuples, literals, or plain values. `where` is the name of the place, for messages.
    """

    error: type[ValueError] = ValueError
    a_number = "a finite number"

    def read(self, kind: Any, data: Any, where: str) -> Any:
        """The value; an error if one is missing, unknown, or of another kind."""
        origin, args = get_origin(kind), get_args(kind)
        # Since NumPy 2.5 (Python 3.12), NDArray is a type alias, whose value is the array type.
        if hasattr(origin, "__value__"):
            return self.read(origin.__value__[args], data, where)
        if origin in (Union, types.UnionType):
            inner = next(arg for arg in args if arg is not type(None))
            return None if data is None else self.read(inner, data, where)
        if origin is Literal:
            return self.choice(args, data, where)
        if origin is np.ndarray:
            return self.array(get_args(args[1])[0], data, where)
        if origin is tuple:
            return self.items(args, data, where)
        if origin in (Mapping, dict):
            items = self.plain(dict, data, where).items()
            return {
                self.plain(str, k, where): self.read(args[1], v, f"{where}.{k:.60}")
                for k, v in items
            }
        if dataclasses.is_dataclass(kind):
            return self.record(kind, data, where)
        return self.number(data, where) if kind is float else self.plain(kind, data, where)

    def choice(self, choices: Sequence[Any], data: Any, where: str) -> Any:
        if data not in choices:
            raise self.unlike(f"one of {', '.join(map(str, choices))}", data, where)
        return data

    def items(self, kinds: Sequence[Any], data: Any, where: str) -> tuple[Any, ...]:
        """The items of a list of any length, or of as many as there are kinds."""
        items = self.plain(list, data, where)
        if kinds[-1] is not Ellipsis and len(items) != len(kinds):
            raise self.unlike(f"a list of {len(kinds)}", data, where)
        return tuple(self.read(kinds[0], item, f"{where}[{i}]") for i, item in enumerate(items))

    def array(self, kind: type[np.generic], data: Any, where: str) -> Any:
        number = int if issubclass(kind, np.integer) else float
        items = self.plain(list, data, where)
        if number is int or not all(type(item) is float and math.isfinite(item) for item in items):
            items = self.items((number, ...), items, where)
        return np.array(items, dtype=kind)

    def record(self, kind: Any, data: Any, where: str) -> Any:
        kinds, needed = entries_of(kind)
        data = self.complete(kinds, needed, data, where)
        before = {
            f.name: f.metadata[ADDED] for f in dataclasses.fields(kind) if ADDED in f.metadata
        }
        values = before | {
            name: self.read(kinds[name], v, f"{where}.{name}") for name, v in data.items()
        }
        try:
            return kind(**values)
        except ValueError as error:
            raise self.error(f"{where} cannot be read: {error}") from error

    def complete(self, allowed: Iterable[str], needed: Iterable[str], data: Any, where: str) -> Any:
        """An object whose entries are known, and that has those that are needed."""
        self.plain(dict, data, where)
        if missing := [name for name in needed if name not in data]:
            raise self.error(f"{where} must have {missing[0]!r}, got none.")
        if unknown := [name for name in data if name not in allowed]:
            raise self.error(f"{where} must have only known entries, got {short(unknown[0])}.")
        return data

    def plain(self, kind: Any, data: Any, where: str) -> Any:
        # Python accepts True as an int, but a file must not contain it in place of a number.
        if type(data) is not kind or (kind is int and abs(data) > LARGEST):
            raise self.unlike(NAMES.get(kind, "null"), data, where)
        # JSON can contain half of a character (a lone surrogate), which UTF-8 cannot encode.
        return data.encode("utf-8", "replace").decode() if kind is str else data

    def number(self, data: Any, where: str) -> float:
        # JSON's 1e999 is read as infinity, and its whole numbers have no bound.
        if type(data) not in (int, float) or not abs(data) <= sys.float_info.max:
            raise self.unlike(self.a_number, data, where)
        return float(data)

    def unlike(self, expected: str, data: Any, where: str) -> ValueError:
        return self.error(f"{where} must be {expected}, got {short(data)}.")


def added(default: Any, *, before: Any = dataclasses.MISSING, compare: bool = True) -> Any:
    """A field that earlier files lack. They stand for the value `before`, or for the default.

    It is not written while it has this value, so an earlier file that is read and written again
    has the same bytes, and its seal stays valid.
    """
    of_earlier_files = default if before is dataclasses.MISSING else before
    return dataclasses.field(default=default, metadata={ADDED: of_earlier_files}, compare=compare)


def is_written(entry: dataclasses.Field[Any], value: Any) -> bool:
    """Whether a field with this value is an entry of a file."""
    return entry.init and not (ADDED in entry.metadata and value == entry.metadata[ADDED])


# Type hints are text, which would be compiled at each call without the cache.
@cache
def entries_of(kind: Any) -> tuple[Mapping[str, Any], Sequence[str]]:
    """The kinds of a dataclass's entries by name, and the names of those that must be there."""
    entries = [f for f in dataclasses.fields(kind) if f.init]
    missing = dataclasses.MISSING
    needed = [f.name for f in entries if f.default is missing and f.default_factory is missing]
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: hints[f.name] for f in entries}, needed


def short(data: Any) -> str:
    """A value in a sentence."""
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


def loads(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it has NaN or infinity, or a name twice."""
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("it must name every entry once, got one twice")
    return entries

"""Kinds of arguments, from the annotations of a function."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

TRUTH = (bool, np.bool_)
KINDS: Mapping[type, tuple[tuple[type, ...], str]] = {
    bool: (TRUTH, "True or False"),
    int: ((Integral,), "a whole number"),
    float: ((Real,), "a number"),
    str: ((str,), "text"),
}


def check_kinds(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse numbers, texts and truth values of another kind than the function's annotations.

    Arguments with other annotations are not checked.

    >>> def bins(n_bins: int = 15, width: float | None = None): ...
    >>> check_kinds(bins, {"n_bins": 2.5})
    Traceback (most recent call last):
    ...
    TypeError: n_bins must be a whole number, got 2.5.
    """
    kinds = _kinds(function)
    for name, value in arguments.items():
        allowed = kinds.get(name)
        if allowed and not any(_is(kind, value) for kind in allowed):
            words = " or ".join(KINDS[kind][1] for kind in allowed if kind in KINDS)
            none = " or None" if type(None) in allowed else ""
            raise TypeError(f"{name} must be {words}{none}, got {value!r}.")


def _is(kind: type, value: Any) -> bool:
    if kind not in KINDS:
        return value is None
    # Python takes True for the number 1.
    return isinstance(value, KINDS[kind][0]) and (kind is bool or not isinstance(value, TRUTH))


# Annotations are text, which would be compiled at each call without the cache.
@cache
def _kinds(function: Callable[..., Any]) -> Mapping[str, tuple[type, ...]]:
    """The kinds of those parameters that have only kinds that are known."""
    is_estimator = inspect.isclass(function) and not is_dataclass(function)
    try:
        hints = get_type_hints(function.__init__ if is_estimator else function)
    except NameError:  # Only type checkers import what the annotations name.
        return {}
    kinds = {name: _alternatives(hint) for name, hint in hints.items() if name != "return"}
    checked = {*KINDS, type(None)}
    return {name: allowed for name, allowed in kinds.items() if checked.issuperset(allowed)}


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)

"""For the API page: functions as they are called, where a decorator declares their signature."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe

# `metric` gives a function of cells its arrays, `takes` the options of a dataclass.
DECLARING = ("metric(", "error_metric(", "error_test(", "takes(")


class Declared(griffe.Extension):
    """Reads signature and docstring of such functions from the imported module."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Take both from the function that a program would call."""
        if not any(str(each.value).startswith(DECLARING) for each in func.decorators):
            return
        called = getattr(import_module(func.module.path), func.name)
        func.docstring = griffe.Docstring(
            inspect.cleandoc(called.__doc__), parent=func, parser="numpy"
        )
        func.parameters = griffe.Parameters(
            *map(_parameter, inspect.signature(called).parameters.values())
        )


def _parameter(given: inspect.Parameter) -> griffe.Parameter:
    default = None if given.default is given.empty else repr(given.default)
    kind = griffe.ParameterKind[given.kind.name.lower()]
    return griffe.Parameter(given.name, kind=kind, default=default)

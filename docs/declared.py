"""For the API page: its list of metrics, and functions as they are called."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

from calib import metrics

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


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the text of each page."""
    return with_metrics(markdown) if page.file.src_uri == "api.md" else markdown


def with_metrics(markdown: str) -> str:
    """The text of the API page, with the functions of `calib.metrics` at its line METRICS."""
    functions = [name for name in dir(metrics) if name.islower()]
    listed = "\n\n".join(f"::: {_path(name)}" for name in functions)
    return re.sub("^METRICS$", listed, markdown, flags=re.MULTILINE)


def _path(name: str) -> str:
    # A metric that calib/metrics/__init__.py does not import is read in its own module.
    named = name in metrics.__all__
    return f"{'calib.metrics' if named else metrics.METRICS[name].compute.__module__}.{name}"

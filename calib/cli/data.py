"""From options to Predictions; errors name the option that repairs them."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from calib.comparison import Progress, quiet
from calib.loading import ColumnMapping, InputError, Problem, for_test_file, guess, load, read
from calib.predictions import Predictions

COLUMNS = (
    *("outcome", "weight", "group", "split", "test_value", "positive", "predicted", "slices"),
    *("time", "transform", "drop_missing", "swap"),
)


def predictions_of(given: argparse.Namespace) -> Predictions:
    """The rows that the options name.

    Raises
    ------
    InputError
        If they cannot be used; the message says which option repairs it.
    """
    named = {name: getattr(given, name) for name in COLUMNS} | {"score": _score(given)}
    try:
        return load(given.predictions, test=given.test, name=given.name, **named)
    except InputError as error:
        if not any(problem.repair for problem in error.problems):
            raise
        base = _mapping(given, named)
        told = " ".join(_with_options(problem, base) for problem in error.problems)
        raise InputError(error.problems, told) from None


def _score(given: argparse.Namespace) -> str | tuple[str, ...] | None:
    if given.score is None:
        return None
    return given.score[0] if len(given.score) == 1 else tuple(given.score)


def _mapping(given: argparse.Namespace, named: dict[str, Any]) -> ColumnMapping:
    """The mapping that `load` has used, of which a repair changes something."""
    known = ColumnMapping(**(named | {"slices": tuple(named["slices"])}))
    mapping = guess(read(given.predictions), known)
    return mapping if given.test is None else for_test_file(mapping, read(given.test), known)


def _with_options(problem: Problem, base: ColumnMapping) -> str:
    if problem.repair is None:
        return problem.sentence
    changed = problem.repair.changed(base)
    words = [_option(name, value) for name, value in changed.items()]
    # Some repairs take an option away, and a column may have a name that no shell likes.
    if not all(words) or not "".join(words).isprintable():
        return problem.sentence
    return f"{problem.sentence} On the command line: {' '.join(words)}."


def _option(name: str, value: object) -> str:
    option = f"--{name.replace('_', '-')}"
    if value is True:
        return option
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, tuple):
        return ""
    return " ".join(f"{option} {shlex.quote(each)}" for each in values)


def progress_of(given: argparse.Namespace) -> Progress:
    """Lines on standard error: for a person who waits, or on request."""
    if not (given.progress or sys.stderr.isatty()):
        return quiet

    def tell(share: float, text: str) -> None:
        print(f"{share:4.0%} {text}", file=sys.stderr, flush=True)

    return tell

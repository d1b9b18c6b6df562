"""From options to Predictions; errors name the option that repairs them."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace

from calib.core.aggregate import Aggregate
from calib.core.predictions import Predictions
from calib.crossfit.comparison import Progress, no_progress
from calib.loading import ColumnMapping, InputError, Problem, load
from calib.loading.examples import EXAMPLES
from calib.reports.command import OPTION

EXAMPLE = "example:"
UNSET: tuple[object, ...] = (None, False, [], "none")
COLUMNS = (
    *("outcome", "class_columns", "weight", "group", "split", "test_value", "positive"),
    *("fold", "predicted", "slices", "time", "transform", "drop_missing", "swap", "model"),
    *("model_value", "exact", "strict", "test", "name"),
    *("delimiter", "header", "encoding", "decimal"),
)


def predictions_of(given: argparse.Namespace) -> Predictions | Aggregate:
    """The rows that the options name, or the counts of a file that `Aggregate.save` wrote.

    Raises
    ------
    InputError
        If they cannot be used; the message says which option repairs it.
    """
    if given.predictions.startswith(EXAMPLE):
        return _example(given.predictions.removeprefix(EXAMPLE), given.model_value)
    if Aggregate.is_saved_at(given.predictions):
        return _counted(given)
    named = {name: getattr(given, name) for name in COLUMNS} | {"score": _score(given)}
    try:
        return load(given.predictions, **named)
    except InputError as error:
        told = " ".join(_with_options(problem, error.mapping) for problem in error.problems)
        raise InputError(error.problems, told) from None


def _counted(given: argparse.Namespace) -> Aggregate:
    named = [name for name in (*COLUMNS, "score") if getattr(given, name) not in UNSET]
    odd = [name for name in named if name != "name"]
    if odd:
        raise ValueError(
            f"{given.predictions} holds counts, whose columns were named when they were counted: "
            f"leave out {_option(odd[0], True)}."
        )
    found = Aggregate.load(given.predictions)
    return replace(found, name=given.name) if given.name else found


def _example(key: str, model: str | None) -> Predictions:
    if key not in EXAMPLES:
        raise ValueError(f"The example must be one of {', '.join(EXAMPLES)}, got {key!r}.")
    models = EXAMPLES[key].load_models()
    if model is not None and model not in models:
        raise ValueError(f"--model-value must be one of {', '.join(models)}, got {model!r}.")
    return EXAMPLES[key].load() if model is None else models[model]


def _score(given: argparse.Namespace) -> str | tuple[str, ...] | None:
    if given.score is None:
        return None
    return given.score[0] if len(given.score) == 1 else tuple(given.score)


def _with_options(problem: Problem, base: ColumnMapping | None) -> str:
    answers = [choice.arguments for choice in problem.choices]
    if problem.repair is not None and base is not None:
        answers.insert(0, problem.repair.changed(base))
    said = [[_option(name, value) for name, value in each.items()] for each in answers]
    told = " or ".join(map(" ".join, said))
    # Some repairs take an option away, and a column may have a name that no shell likes.
    if not told or not all(map(all, said)) or not told.isprintable():
        return problem.sentence
    return f"{problem.sentence} On the command line: {told}."


def _option(name: str, value: object) -> str:
    option = f"--{OPTION.get(name, name).replace('_', '-')}"
    if isinstance(value, bool):
        return option if value else option.replace("--", "--no-", 1)
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, tuple):
        return ""
    return " ".join(f"{option} {shlex.quote(each)}" for each in values)


def progress_of(given: argparse.Namespace) -> Progress:
    """Lines on standard error: for a person who waits, or on request."""
    if not (given.progress or sys.stderr.isatty()):
        return no_progress

    def tell(share: float, text: str) -> None:
        print(f"{share:4.0%} {text}", file=sys.stderr, flush=True)

    return tell

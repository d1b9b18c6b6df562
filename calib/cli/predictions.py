"""The predictions that the options of a command name: a file, an example, a sample or counts."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib.util import find_spec
from typing import Any

from calib.cli.options import Rows, SettingsOptions
from calib.cli.parameters import option_of
from calib.cli.streams import tell
from calib.crossfit.settings import Settings, default_settings
from calib.data.aggregate import Aggregate
from calib.data.aggregating import add_counts
from calib.data.base import Data, Progress, no_progress
from calib.data.origin import read_because
from calib.data.predictions import Predictions
from calib.loading import Columns, InputError, InputWarning, Problem, load, load_models
from calib.loading.examples import EXAMPLES
from calib.loading.problems import MAX_WRITTEN_LABELS
from calib.text import level

EXAMPLE = "example:"
# Counts have these arguments of `calib.load`, and the result of the query of `calib sql` others.
COUNTS_ARGUMENTS = ("name", "model_value")
QUERY_ARGUMENTS = ("name", "positive", "negative", "others_negative")


def predictions_of(given: Rows) -> Data:
    """The rows that the options name, or counts; an InputError names the option that repairs it.

    One line on standard error says what the columns were read as.
    """
    predictions = _predictions(given)
    tell(predictions.read_as + read_because(predictions.origin))
    return predictions


def _predictions(given: Rows) -> Data:
    arguments = given.load_arguments()
    if given.more_files:
        return _several(given, arguments)
    if (sampled := _sampled(given, arguments)) is not None:
        return sampled
    if given.predictions.startswith(EXAMPLE):
        return _example(given.predictions.removeprefix(EXAMPLE), arguments)
    if (counted := _counted(given.predictions, arguments)) is not None:
        return counted
    try:
        with doubts_printed():
            return load(given.predictions, **arguments)
    except InputError as error:
        raise with_options(error) from None


def _several(given: Rows, arguments: dict[str, Any]) -> Data:
    """Several evaluation logs, or counts that are added. Other files are not read together."""
    files = [given.predictions, *given.more_files]
    if given.sample is not None:
        raise ValueError(f"--sample draws rows of one file, got {len(files)}.")
    counts = {file: one for file in files if (one := _counted(file, arguments)) is not None}
    if counts:
        if others := [file for file in files if file not in counts]:
            raise ValueError(
                f"{next(iter(counts))} holds counts, and {others[0]} does not. Count its rows with "
                "calib scan, and give only counts."
            )
        if len(counts) < len(files):
            raise ValueError("A file of counts was given twice, so rows would count twice.")
        total = add_counts(counts)
        return replace(total, name=arguments.get("name", total.name))
    try:
        with doubts_printed():
            return load(files, **arguments)
    except InputError as error:
        raise with_options(error) from None


@contextmanager
def doubts_printed() -> Iterator[None]:
    """Print the doubts of `calib.load` on standard error, with the options that settle them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        yield
    for warning in caught:
        doubt = warning.message
        if isinstance(doubt, InputWarning):
            tell(f"warning: {_with_options(doubt.problem, doubt.mapping)}")
        else:
            warnings.warn_explicit(doubt, warning.category, warning.filename, warning.lineno)


def _sampled(given: Rows, arguments: dict[str, Any]) -> Predictions | None:
    if given.sample is None:
        for name in ("sample_key", "sample_seed", "sample_table"):
            if getattr(given, name) is not None:
                raise ValueError(f"{option_of(name)} needs --sample, the number of rows to draw.")
        return None
    if given.predictions.startswith(EXAMPLE):
        raise ValueError("Examples are small and are read whole: leave out --sample.")
    if find_spec("duckdb") is None:
        raise ValueError("--sample needs duckdb, which is not installed: pip install duckdb.")
    from calib.scanning import scan_sample

    drawn: dict[str, Any] = {
        "n": given.sample,
        "key": given.sample_key,
        "table": given.sample_table,
    }
    try:
        return scan_sample(given.predictions, seed=given.sample_seed or 0, **drawn, **arguments)
    except InputError as error:
        raise with_options(error) from None


def settings_of(given: SettingsOptions, predictions: Data, **fixed: Any) -> Settings:
    """The settings that the options name; the others are those that such data begin with."""
    stated = {field.name: getattr(given, field.name) for field in fields(Settings)}
    chosen = {name: value for name, value in stated.items() if value is not None}
    return replace(default_settings(predictions), **(chosen | fixed))


def progress_of(given: Rows) -> Progress:
    """Lines on standard error: for a person who waits, or on request."""
    if not (given.progress or sys.stderr.isatty()):
        return no_progress

    def progress(share: float, text: str) -> None:
        tell(f"{level(round(share, 2)):>4} {text}")

    return progress


def with_options(error: InputError) -> InputError:
    """The same error with the names of the options that repair it."""
    sentences = " ".join(_with_options(problem, error.mapping) for problem in error.problems)
    return InputError(error.problems, sentences)


def is_result_of_query(path: str) -> bool:
    """Whether the file is the result of the query of ``sql``."""
    if find_spec("duckdb") is None:
        return False
    from calib.scanning import is_result

    return is_result(path)


def _query_result(path: str, arguments: dict[str, Any]) -> Aggregate:
    from calib.scanning import scan

    _check_arguments(path, arguments, QUERY_ARGUMENTS, "in the query")
    return scan(path, **arguments)


def _check_arguments(path: str, names: Iterable[str], allowed: Iterable[str], when: str) -> None:
    """Refuse options that counts do not have."""
    if unusable := [name for name in names if name not in allowed]:
        raise ValueError(
            f"{path} holds counts, whose columns were named {when}: "
            f"leave out {option_of(unusable[0])}."
        )


def _counted(path: str, arguments: dict[str, Any]) -> Aggregate | None:
    """The counts that a file holds, or None if it holds something else."""
    if not Aggregate.is_saved_at(path):
        return _query_result(path, arguments) if is_result_of_query(path) else None
    _check_arguments(path, arguments, COUNTS_ARGUMENTS, "when they were counted")
    arguments = dict(arguments)
    counts, model = Aggregate.load(path), arguments.pop("model_value", None)
    if model is None and counts.models == ("",):
        return replace(counts, **arguments)
    if model not in counts.models:
        names = ", ".join(map(repr, counts.models))
        raise ValueError(f"{path} counts the models {names}: name one by --model-value.")
    return replace(counts.of_model(model), **arguments)


def models_of(given: Rows) -> Mapping[str, Data]:
    """All models of the file, if the options name one of them; otherwise none."""
    arguments = given.load_arguments()
    if arguments.pop("model_value", None) is None or given.sample or given.more_files:
        return {}
    if given.predictions.startswith(EXAMPLE):
        return EXAMPLES[given.predictions.removeprefix(EXAMPLE)].load_models()
    if Aggregate.is_saved_at(given.predictions):
        counts = Aggregate.load(given.predictions)
        return {name: replace(counts.of_model(name), **arguments) for name in counts.models}
    with warnings.catch_warnings():
        # The doubts were printed when the named model was read.
        warnings.simplefilter("ignore", InputWarning)
        try:
            return load_models(given.predictions, **arguments)
        except InputError:
            return {}  # Another model cannot be used, and the named one was read.


def _example(key: str, arguments: dict[str, Any]) -> Predictions:
    if key not in EXAMPLES:
        raise ValueError(f"The example must be one of {', '.join(EXAMPLES)}, got {key!r}.")
    models, model = EXAMPLES[key].load_models(), arguments.pop("model_value", None)
    # `exact` and `strict` change nothing here: an example's columns are not guessed, and it has no
    # bad rows.
    if unusable := [name for name in arguments if name not in ("exact", "strict")]:
        raise ValueError(f"An example has its own columns: leave out {option_of(unusable[0])}.")
    if model is not None and model not in models:
        raise ValueError(f"--model-value must be one of {', '.join(models)}, got {model!r}.")
    return EXAMPLES[key].load() if model is None else models[model]


def _with_options(problem: Problem, base: Columns | None) -> str:
    answers = [[_option(*item) for item in answer.items()] for answer in problem.answers(base)]
    text = " or ".join(map(" ".join, answers))
    # Some repairs remove an option, and a name with control characters cannot be typed in a shell.
    if not text or not all(map(all, answers)) or not text.isprintable():
        return problem.sentence
    return f"{problem.sentence} On the command line: {text}."


def _option(name: str, value: object) -> str:
    """An argument as options, or "" if it is not written on a command line."""
    if isinstance(value, bool):
        return option_of(name, negated=not value)
    if isinstance(value, float):
        return f"{option_of(name)} {value:g}"
    if name == "scale" and isinstance(value, tuple):
        return f"{option_of(name)} {' '.join(f'{end:g}' for end in value)}"
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, tuple) or (name == "classes" and len(values) > MAX_WRITTEN_LABELS):
        return ""
    return " ".join(f"{option_of(name)} {shlex.quote(str(value))}" for value in values)

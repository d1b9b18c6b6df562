"""Options that commands share, each declared once, and what they make: rows, settings, costs."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import UnionType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import shtab

from calib.analysis.decisions import Costs
from calib.analysis.periods import UNITS
from calib.cli.streams import piped, tell
from calib.crossfit.settings import Settings, default_settings
from calib.data.aggregate import Aggregate
from calib.data.base import Data
from calib.data.predictions import Predictions
from calib.data.progress import Progress, no_progress
from calib.loading import ColumnMapping, InputError, InputWarning, Problem, load
from calib.loading.examples import EXAMPLES
from calib.loading.loader import LoadOptions, ModelOptions
from calib.loading.problems import MAX_WRITTEN_LABELS
from calib.reports import Parts, Report, ReportError
from calib.text import level

# Option by the name of the argument, where the two differ.
OPTION = {
    "n_bins": "bins",
    "n_folds": "folds",
    "confidence_level": "level",
    "slices": "slice",
    "n_ranges": "ranges",
}
Declared = Mapping[str, Mapping[str, Any]]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
EXAMPLE = "example:"
# Each of these arguments names a file to read. If it is "-", that is standard input.
INPUTS = ("predictions", "test", "first", "second", "file", "sources")
STANDARD_INPUT = "standard-input"
WORDS = ("title", "author", "note")
# Some readers recognise a file by its suffix, which follows from the first bytes.
SUFFIXES = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\x1f\x8b": ".csv.gz", b"{": ".json"}


def _text(metavar: str, meaning: str, **more: Any) -> Mapping[str, Any]:
    return {"metavar": metavar, "help": meaning} | more


def _of_load(hint: Any, words: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds = (hint, *get_args(hint))
    choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), None)
    declared: dict[str, Any] = {
        "default": argparse.SUPPRESS,
        "help": words["meaning"].replace("%", "%%") + " May be repeated." * words["many"],
    }
    if bool in kinds:
        optional = type(None) in kinds
        declared["action"] = argparse.BooleanOptionalAction if optional else "store_true"
    elif choices:
        declared["choices"] = choices
    else:
        declared["metavar"] = words["metavar"]
        if words["many"]:
            declared["action"] = "append"
    return declared


def _declared(options: type[LoadOptions] | type[ModelOptions]) -> Declared:
    hints = get_type_hints(options)
    return {each.name: _of_load(hints[each.name], each.metadata) for each in fields(options)}


# The keys are the arguments of `calib.load`.
DATA = _declared(LoadOptions)
# The keys are the arguments of `calib.load_models` and of `calib.load`.
COLUMNS = {**_declared(ModelOptions), **DATA}
# These options say how `calib.scan_sample` draws rows.
SAMPLE: Declared = {
    "sample": _text("NUMBER", "draw so many rows at random, 100 to 1,000,000", type=int),
    "sample_key": _text("COLUMN", "column that identifies each row, by which rows are drawn"),
    "sample_seed": _text("NUMBER", "another seed draws other rows (default: 0)", type=int),
    "sample_table": _text("NAME", "table of a DuckDB database from which they are drawn"),
}
# Most keys are arguments of `parts_of` or of `Costs`.
PARTS: Declared = {
    "cross": {
        "nargs": 2,
        "metavar": "COLUMN",
        "action": "append",
        "default": [],
        "help": "two columns to slice by together; may be repeated",
    },
    "time_column": _text(
        "COLUMN",
        "column that defines the periods, one of the columns read (default: that of --time)",
    ),
    "n_ranges": _text(
        "NUMBER",
        "number of ranges that a numeric column is cut into (default: %(default)s)",
        type=int,
        default=Parts().n_ranges,
    ),
    "unit": {"choices": UNITS, "help": "length of a period"},
    "cost_fp": _text(
        "NUMBER", f"cost of a false positive (default: {Costs().false_positive:g})", type=float
    ),
    "cost_fn": _text(
        "NUMBER", f"cost of a false negative (default: {Costs().false_negative:g})", type=float
    ),
    "capacity": _text(
        "NUMBER", "share of rows that can be flagged, instead of a threshold by costs", type=float
    ),
}
MEANING = {
    "view": "binary view: class:k, top:r or within:r (default: class:1 for one score, top:1 for "
    "a matrix)",
    "methods": "calibrators to compare, as keys separated by commas",
    "metrics": "metrics to add to the table, as keys separated by commas",
    "strategy": "how the rows are binned: equal counts per bin, or equal widths",
    "n_bins": "number of bins",
    "epsilon": "epsilon of the compact logit; automatic if not given (Lucena 2018)",
    "n_folds": "number of cross-fitting folds, if neither test rows nor folds are given",
    "seed": "seed of folds and resamples",
    "confidence_level": "confidence level of intervals and bands",
    "band": "whether the consistency band has this level for each bin or for all bins together",
}


# Arguments that counts have, and those of the result of the query of `calib sql`.
OF_COUNTS = ("name", "model_value")
OF_QUERY = ("name", "positive", "negative", "others_negative")


def option_of(name: str, *, negated: bool = False) -> str:
    """The option of the command line that stands for an argument.

    >>> option_of("n_bins"), option_of("test_value"), option_of("header", negated=True)
    ('--bins', '--test-value', '--no-header')
    """
    return f"--{'no-' * negated}{OPTION.get(name, name).replace('_', '-')}"


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], **words: str
) -> argparse.ArgumentParser:
    """A command, what runs it, and its words; options are never abbreviated."""
    parser = commands.add_parser(
        name,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        **words,  # type: ignore[arg-type]
    )
    parser.set_defaults(run=run)
    return parser


def complete_files(parser: argparse.ArgumentParser) -> None:
    """Let a shell complete the names of files wherever one is meant."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                complete_files(command)
        elif action.metavar == "FILE" or action.dest in INPUTS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]


def _add(group: argparse._ArgumentGroup, declared: Declared) -> None:
    for name, options in declared.items():
        group.add_argument(option_of(name), dest=name, **options)


def add_columns(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """The options of `calib.load` and `load_models` with these names, and pairs of slices."""
    declared = {**COLUMNS, "cross": PARTS["cross"]}
    _add(parser.add_argument_group("columns"), {name: declared[name] for name in names})


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "predictions",
        help="CSV, TSV, Parquet, Arrow, or NumPy (.npz); or - for standard input; or a built-in "
        "example, as example:KEY",
    )
    note = "What is not named is guessed, as in calib.load."
    _add(parser.add_argument_group("data", note), DATA)
    large = "For rows that do not fit in memory: a file, folder, glob or DuckDB database. All "
    large += "results are those of the sample."
    _add(parser.add_argument_group("sample", large), SAMPLE)
    # At a terminal, progress is shown without this option.
    meaning = "report progress on standard error"
    parser.add_argument("--progress", action="store_true", help=meaning)


def add_settings(parser: argparse.ArgumentParser, leave_out: Iterable[str] = ()) -> None:
    group = parser.add_argument_group("settings")
    group.add_argument(
        "--settings",
        metavar="FILE",
        type=Path,
        help="settings.json of a report, or its report.json: columns and settings are those of "
        "this report; options beside it win",
    )
    hints, defaults = get_type_hints(Settings), Settings.defaults()
    for field in fields(Settings):
        if field.name not in leave_out:
            group.add_argument(
                option_of(field.name),
                dest=field.name,
                default=argparse.SUPPRESS,
                help=MEANING.get(field.name, "") + _default(defaults.get(field.name)),
                **_kind(hints[field.name]),
            )


def add_parts(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_argument_group(
        "slices, time and decisions",
        "The report includes every slice column and the time column. Decisions are included if "
        "costs or a capacity are given.",
    )
    _add(parts, PARTS)
    meaning = "leave out slices, time and decisions"
    parts.add_argument("--no-parts", action="store_false", dest="parts", help=meaning)


def _default(default: Any) -> str:
    if default is None or default in ("", ()):
        return ""
    return f" (default: {','.join(default) if isinstance(default, tuple) else default})"


def _kind(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    if isinstance(hint, UnionType):
        return _kind(get_args(hint)[0])
    if get_origin(hint) is tuple:
        return {"type": _listed, "metavar": "KEYS"}
    return {"type": hint, "metavar": "TEXT" if hint is str else "NUMBER"}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def add_output(
    group: argparse._ActionsContainer, formats: Iterable[str], note: str = "", **more: Any
) -> None:
    """Files to write, each in the format of its suffix, which is checked before the command."""
    group.set_defaults(formats=formats)
    meaning = f"file to write, ending in {', '.join(formats)}; may be repeated{note}"
    words: dict[str, Any] = {"required": True, "help": meaning} | more
    group.add_argument("-o", "--output", metavar="FILE", action="append", type=Path, **words)


def add_words(group: argparse._ActionsContainer) -> None:
    """What a person writes on a report, and the key to sign it with."""
    for name in WORDS:
        group.add_argument(f"--{name}", metavar="TEXT", default="", help=f"{name} of the report")
    group.add_argument(
        "--sign",
        metavar="KEY",
        type=Path,
        help="private Ed25519 key to sign with, a file in PEM or OpenSSH's form; needs the package "
        "cryptography",
    )


def words_of(given: argparse.Namespace) -> dict[str, str]:
    return {name: getattr(given, name) for name in WORDS}


def check_outputs(given: argparse.Namespace) -> None:
    """Refuse before the analysis what could not be written after it."""
    for path in getattr(given, "output", None) or ():
        suffix, formats = path.suffix.lower(), ", ".join(given.formats)
        if suffix not in given.formats:
            raise ValueError(f"--output must end in one of {formats}, got {path.name!r}.")
        if not path.parent.is_dir():
            raise ValueError(f"--output must lie in a folder that exists, got {str(path)!r}.")
        if suffix in (".html", ".md") and find_spec("plotly") is None:
            raise ValueError(
                "HTML and Markdown need plotly, which is not installed: pip install plotly, or "
                f"choose .json, got {path.name!r}."
            )


def open_report(path: Path) -> Report:
    """The report of a file; an error names the file."""
    try:
        return Report.open(path)
    except ReportError as error:
        raise ReportError(f"{path.name}: {error}") from error


def costs_of(given: argparse.Namespace) -> Costs | None:
    named = {
        "false_positive": given.cost_fp,
        "false_negative": given.cost_fn,
        "capacity": given.capacity,
    }
    chosen = {name: value for name, value in named.items() if value is not None}
    return Costs(**chosen) if chosen else None


def settings_of(given: argparse.Namespace, predictions: Data, **fixed: Any) -> Settings:
    """The settings that the options name; the others are those that such data begin with."""
    names = {field.name for field in fields(Settings)}
    named = {name: value for name, value in vars(given).items() if name in names}
    return replace(default_settings(predictions), **(named | fixed))


def predictions_of(given: argparse.Namespace) -> Data:
    """The rows that the options name, or counts; an InputError names the option that repairs it.

    One line on standard error says what the columns were read as.
    """
    predictions = _predictions(given)
    tell(predictions.read_as)
    return predictions


def _predictions(given: argparse.Namespace) -> Data:
    named = named_of(given)
    if (sampled := _sampled(given, named)) is not None:
        return sampled
    if given.predictions.startswith(EXAMPLE):
        return _example(given.predictions.removeprefix(EXAMPLE), named)
    if Aggregate.is_saved_at(given.predictions):
        return _counted(given.predictions, named)
    if is_result_of_query(given.predictions):
        return _query_result(given.predictions, named)
    try:
        with _doubts_printed():
            return load(given.predictions, **named)
    except InputError as error:
        raise with_options(error) from None


@contextmanager
def _doubts_printed() -> Iterator[None]:
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


def _sampled(given: argparse.Namespace, named: dict[str, Any]) -> Predictions | None:
    if given.sample is None:
        if given_name := next((name for name in SAMPLE if getattr(given, name) is not None), None):
            raise ValueError(f"{option_of(given_name)} needs --sample, the number of rows to draw.")
        return None
    if given.predictions.startswith(EXAMPLE):
        raise ValueError("Examples are small and are read whole: leave out --sample.")
    if find_spec("duckdb") is None:
        raise ValueError("--sample needs duckdb, which is not installed: pip install duckdb.")
    from calib.scanning import scan_sample

    drawn = {"n": given.sample, "key": given.sample_key, "table": given.sample_table}
    try:
        return scan_sample(given.predictions, seed=given.sample_seed or 0, **drawn, **named)
    except InputError as error:
        raise with_options(error) from None


def named_of(given: argparse.Namespace) -> dict[str, Any]:
    """What was given for the rows, as arguments of `calib.load`."""
    named = {name: value for name, value in vars(given).items() if name in DATA}
    # A single column is the score of a binary model, not a matrix of one class.
    if len(named.get("score", ())) == 1:
        (named["score"],) = named["score"]
    return named


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


def _query_result(path: str, named: dict[str, Any]) -> Aggregate:
    from calib.scanning import scan

    _check_named(path, named, OF_QUERY, "in the query")
    return scan(path, **named)


def _check_named(path: str, named: Iterable[str], allowed: Iterable[str], when: str) -> None:
    """Refuse options that counts do not have."""
    if unusable := [name for name in named if name not in allowed]:
        raise ValueError(
            f"{path} holds counts, whose columns were named {when}: "
            f"leave out {option_of(unusable[0])}."
        )


def _counted(path: str, named: dict[str, Any]) -> Aggregate:
    _check_named(path, named, OF_COUNTS, "when they were counted")
    counts, model = Aggregate.load(path), named.pop("model_value", None)
    if model is None and counts.models == ("",):
        return replace(counts, **named)
    if model not in counts.models:
        names = ", ".join(map(repr, counts.models))
        raise ValueError(f"{path} counts the models {names}: name one by --model-value.")
    return replace(counts.of_model(model), **named)


def _example(key: str, named: dict[str, Any]) -> Predictions:
    if key not in EXAMPLES:
        raise ValueError(f"The example must be one of {', '.join(EXAMPLES)}, got {key!r}.")
    models, model = EXAMPLES[key].load_models(), named.pop("model_value", None)
    # `exact` and `strict` change nothing here: an example's columns are not guessed, and it has no
    # bad rows.
    if unusable := [name for name in named if name not in ("exact", "strict")]:
        raise ValueError(f"An example has its own columns: leave out {option_of(unusable[0])}.")
    if model is not None and model not in models:
        raise ValueError(f"--model-value must be one of {', '.join(models)}, got {model!r}.")
    return EXAMPLES[key].load() if model is None else models[model]


def _with_options(problem: Problem, base: ColumnMapping | None) -> str:
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
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, tuple) or (name == "classes" and len(values) > MAX_WRITTEN_LABELS):
        return ""
    return " ".join(f"{option_of(name)} {shlex.quote(str(each))}" for each in values)


@contextmanager
def standard_input(given: argparse.Namespace) -> Iterator[None]:
    """Keep standard input, named ``-``, in a temporary file."""
    values = {name: getattr(given, name, "") for name in INPUTS}
    names = [name for name, value in values.items() if str(value) in ("-", "['-']")]
    if len(names) > 1:
        raise ValueError(f"Standard input can be read once, got - for {' and '.join(names)}.")
    with TemporaryDirectory(prefix="calib-") as folder:
        for name in names:
            value, path = values[name], Path(folder) / STANDARD_INPUT
            with path.open("wb") as file:
                shutil.copyfileobj(piped(), file)
            path = path.rename(path.with_suffix(_suffix(path, name)))
            setattr(given, name, [str(path)] if isinstance(value, list) else type(value)(path))
        yield


def _suffix(path: Path, name: str) -> str:
    with path.open("rb") as file:
        first = file.read(8)
    suffixes = (suffix for start, suffix in SUFFIXES.items() if first.startswith(start))
    # `sources` are read by an engine, which recognises text only by its suffix.
    return next(suffixes, ".csv" if name == "sources" else "")


def progress_of(given: argparse.Namespace) -> Progress:
    """Lines on standard error: for a person who waits, or on request."""
    if not (given.progress or sys.stderr.isatty()):
        return no_progress

    def progress(share: float, text: str) -> None:
        tell(f"{level(round(share, 2)):>4} {text}")

    return progress

"""Options that commands share, each declared once, and the settings and costs that they give."""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import UnionType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import shtab

from calib.analysis.decisions import Costs
from calib.analysis.limits import LIMITS, Limit
from calib.analysis.periods import UNITS
from calib.cli.streams import piped, tell
from calib.crossfit.settings import Settings, default_settings
from calib.data.base import Data
from calib.data.file_options import FileFormat
from calib.data.progress import Progress, no_progress
from calib.loading.loader import LoadOptions, ModelOptions
from calib.reports import Parts, Report, ReportError
from calib.text import level

# These options differ from the names of their arguments.
RENAMED_OPTIONS = {
    "n_bins": "bins",
    "n_folds": "folds",
    "confidence_level": "level",
    "slices": "slice",
    "n_ranges": "ranges",
}
Declared = Mapping[str, Mapping[str, Any]]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
# Each of these arguments names a file to read. If it is "-", that is standard input.
INPUTS = ("predictions", "test", "first", "second", "file", "sources", "judged", "gold")
STANDARD_INPUT = "standard-input"
TABLE = (
    "table of the query, with its schema, such as lake.scores; a part of the name that contains a "
    "dot is written in double quotes"
)
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
        if float in kinds:
            declared["type"] = float
        if words["many"]:
            declared["action"] = "append"
    return declared


def _declared(options: type[LoadOptions] | type[ModelOptions]) -> Declared:
    hints = get_type_hints(options)
    return {field.name: _of_load(hints[field.name], field.metadata) for field in fields(options)}


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
    "epsilon": "epsilon of the compact logit; automatic if not given",
    "n_folds": "number of cross-fitting folds, if neither test rows nor folds are given",
    "seed": "seed of folds and resamples",
    "confidence_level": "confidence level of intervals and bands",
    "band": "whether the consistency band has this level for each bin or for all bins together",
    "epsilon_rule": "rule of the automatic epsilon of spline and stack: symmetric, or as published "
    "(Lucena 2018)",
}


def option_of(name: str, *, negated: bool = False) -> str:
    """The option of the command line that stands for an argument.

    >>> option_of("n_bins"), option_of("test_value"), option_of("header", negated=True)
    ('--bins', '--test-value', '--no-header')
    """
    return f"--{'no-' * negated}{RENAMED_OPTIONS.get(name, name).replace('_', '-')}"


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


def add_file_format(parser: argparse.ArgumentParser) -> None:
    """The options of `calib.load` that say how a file is read."""
    declared = {one.name: DATA[one.name] for one in fields(FileFormat)}
    _add(parser.add_argument_group("file"), declared)


def file_format_of(given: argparse.Namespace) -> dict[str, Any]:
    """What was given of these options."""
    names = {one.name for one in fields(FileFormat)}
    return {name: value for name, value in vars(given).items() if name in names}


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "predictions",
        help="CSV, TSV, JSON Lines, Parquet, Arrow, NumPy (.npz), or an evaluation log; or - for "
        "standard input; or a built-in example, as example:KEY",
    )
    parser.add_argument(
        "more_files",
        nargs="*",
        metavar="FILE",
        help="further counts, which are added up; or further evaluation logs, which become slices "
        "by task and model",
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


def add_limits(group: argparse._ActionsContainer) -> None:
    for limit in LIMITS:
        group.add_argument(
            option_of(limit.argument),
            type=partial(_bound, limit),
            metavar="NUMBER",
            help=limit.meaning,
        )


def _bound(limit: Limit, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not limit.allows(value):
        raise argparse.ArgumentTypeError(f"must be a number of {limit.allowed}, got {text!r}.")
    return value


def limits_of(given: argparse.Namespace) -> dict[str, float]:
    """The limits that were set, by the names of their arguments."""
    bounds = {limit.argument: getattr(given, limit.argument) for limit in LIMITS}
    return {name: bound for name, bound in bounds.items() if bound is not None}


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
    values = {
        "false_positive": given.cost_fp,
        "false_negative": given.cost_fn,
        "capacity": given.capacity,
    }
    chosen = {name: value for name, value in values.items() if value is not None}
    return Costs(**chosen) if chosen else None


def settings_of(given: argparse.Namespace, predictions: Data, **fixed: Any) -> Settings:
    """The settings that the options name; the others are those that such data begin with."""
    names = {field.name for field in fields(Settings)}
    chosen = {name: value for name, value in vars(given).items() if name in names}
    return replace(default_settings(predictions), **(chosen | fixed))


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

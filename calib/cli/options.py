"""Options of both commands: the columns of `calib.load`, and every field of Settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import fields, replace
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from calib.analysis.decisions import Costs
from calib.analysis.periods import UNITS
from calib.core.aggregate import Aggregate
from calib.core.predictions import Predictions
from calib.loading.options import Decimal, Transform
from calib.matrices import default_settings
from calib.reports import Parts
from calib.reports.command import SHORT
from calib.settings import Settings

MEANING = {
    "view": "binary problem to look at: class:k, top:r or within:r (default: by the data, class:1 "
    "of one score, top:1 of a matrix)",
    "methods": "calibrators to compare, by key, with commas between them; a matrix has others",
    "strategy": "how the rows are binned",
    "n_bins": "number of bins",
    "epsilon": "epsilon of the compact logit; by the paper's rule if not given",
    "n_folds": "folds of the cross-fitting, where neither test rows nor folds are named",
    "seed": "seed of folds and resamples",
    "confidence_level": "level of intervals and bands",
    "band": "whether each dot of a calibrated model, or all together, lie in the consistency band "
    "with that level",
}


def add_data(parser: argparse.ArgumentParser) -> None:
    """Options that say which rows and which columns."""
    parser.add_argument(
        "predictions",
        help="CSV, TSV, Parquet, Arrow, or NumPy (.npz); or a built-in example, as example:KEY",
    )
    data = parser.add_argument_group("data", "What is not named is guessed, as in calib.load.")
    for option, metavar, meaning in (
        ("outcome", "COLUMN", "column of the labels"),
        ("test", "FILE", "test rows in a file of their own, with the same columns"),
        ("split", "COLUMN", "column that tells test rows from calibration rows"),
        ("test-value", "VALUE", "value of the split column that means test"),
        ("fold", "COLUMN", "column of cross-validation folds, to cross-fit in"),
        ("weight", "COLUMN", "column of row weights"),
        ("group", "COLUMN", "column of clusters, whose rows stay together"),
        ("time", "COLUMN", "column of time"),
        ("predicted", "COLUMN", "predicted labels: positive is where prediction and outcome agree"),
        ("model", "COLUMN", "column that names the model of each row"),
        ("model-value", "NAME", "of several models, the one whose rows are read"),
        ("name", "TEXT", "what the data are called; the file's name if not given"),
        ("delimiter", "CHARACTER", "character between two cells of a text"),
        ("encoding", "NAME", "encoding of a text, such as cp1252"),
    ):
        data.add_argument(f"--{option}", metavar=metavar, help=meaning)
    positive = "label that counts as positive; may be repeated"
    data.add_argument("--positive", metavar="LABEL", action="append", help=positive)
    header = "whether the first line of a text names the columns"
    data.add_argument("--header", action=argparse.BooleanOptionalAction, help=header)
    data.add_argument(
        "--decimal",
        choices=get_args(Decimal),
        help="decimal mark of numbers with commas; the other mark separates thousands",
    )
    score = "column of the scores; once a class for a matrix of scores"
    data.add_argument("--score", metavar="COLUMN", action="append", help=score)
    classes = "columns of all classes in few words: p_0 ... p_9, p_*, or names with commas"
    data.add_argument("--class-columns", metavar="TEXT", help=classes)
    slices = "column to slice by; may be repeated"
    data.add_argument(
        "--slice", metavar="COLUMN", action="append", dest="slices", default=[], help=slices
    )
    data.add_argument(
        "--transform",
        choices=get_args(Transform),
        default="none",
        help="what makes the scores probabilities (default: none)",
    )
    data.add_argument("--drop-missing", action="store_true", help="leave out incomplete rows")
    data.add_argument("--swap", action="store_true", help="use 1 - score")
    data.add_argument(
        "--exact", action="store_true", help="guess no columns: use those that are named"
    )
    strict = "refuse what would be guessed: columns, positive class, header, delimiter, encoding"
    data.add_argument("--strict", action="store_true", help=strict)


def add_settings(parser: argparse.ArgumentParser, leave_out: Iterable[str] = ()) -> None:
    """One option a field of Settings; what is not given has its default there."""
    group = parser.add_argument_group("settings")
    hints, defaults = get_type_hints(Settings), Settings.defaults()
    for field in fields(Settings):
        if field.name not in leave_out:
            group.add_argument(
                f"--{SHORT.get(field.name, field.name).replace('_', '-')}",
                dest=field.name,
                default=argparse.SUPPRESS,
                help=_meaning(field.name, defaults.get(field.name)),
                **_kind(hints[field.name]),
            )


def add_parts(parser: argparse.ArgumentParser) -> None:
    """Options of slices, periods and decisions."""
    parts = parser.add_argument_group(
        "slices, time and decisions",
        "Every column to slice by is in the report, and the column of time; decisions are where "
        "costs or a capacity are given.",
    )
    defaults = Costs()
    crossed = "two columns to slice by together; may be repeated"
    parts.add_argument(
        "--cross", nargs=2, metavar="COLUMN", action="append", default=[], help=crossed
    )
    column = "column of the periods, of those that are read (default: that of --time)"
    parts.add_argument("--time-column", metavar="COLUMN", help=column)
    ranges = "ranges of a column of many numbers (default: %(default)s)"
    parts.add_argument(
        "--ranges", type=int, metavar="NUMBER", default=Parts().n_ranges, help=ranges
    )
    none = "leave out slices, time and decisions"
    parts.add_argument("--no-parts", action="store_false", dest="parts", help=none)
    parts.add_argument("--unit", choices=UNITS, help="length of a period of dates")
    for option, meaning in (
        ("cost-fp", f"cost of a false positive (default: {defaults.false_positive:g})"),
        ("cost-fn", f"cost of a false negative (default: {defaults.false_negative:g})"),
        ("capacity", "share of rows that can be flagged, instead of a threshold by costs"),
    ):
        parts.add_argument(f"--{option}", type=float, metavar="NUMBER", help=meaning)


def costs_of(given: argparse.Namespace) -> Costs | None:
    """The costs that the options name; None where they name none."""
    named = {
        "false_positive": given.cost_fp,
        "false_negative": given.cost_fn,
        "capacity": given.capacity,
    }
    chosen = {name: value for name, value in named.items() if value is not None}
    return Costs(**chosen) if chosen else None


def add_progress(parser: argparse.ArgumentParser) -> None:
    """The option that a person does not need: at a terminal, progress is always shown."""
    told = "say on standard error what is done"
    parser.add_argument("--progress", action="store_true", help=told)


def _meaning(name: str, default: Any) -> str:
    if default is None or default == "":
        return MEANING.get(name, "")
    shown = ",".join(default) if isinstance(default, tuple) else default
    return f"{MEANING.get(name, '')} (default: {shown})"


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


def settings_of(
    given: argparse.Namespace, predictions: Predictions | Aggregate, **fixed: Any
) -> Settings:
    """The settings that the options name; the others are those that such data begin with."""
    names = {field.name for field in fields(Settings)}
    named = {name: value for name, value in vars(given).items() if name in names}
    return replace(default_settings(predictions), **(named | fixed))

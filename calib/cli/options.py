"""Options of both commands: the columns of `calib.load`, and every field of Settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import fields
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from calib.loading.mapping import Transform
from calib.settings import Settings

# Option by the field of Settings, where the field's own name would be long to type.
SHORT = {"n_bins": "bins", "n_folds": "folds", "confidence_level": "level"}
MEANING = {
    "view": "binary problem to look at: class:k, top:r or within:r",
    "methods": "calibrators to compare, by key, with commas between them",
    "strategy": "how the rows are binned",
    "n_bins": "number of bins",
    "epsilon": "epsilon of the compact logit; by the paper's rule if not given",
    "n_folds": "folds of the cross-fitting, where no test rows are named",
    "seed": "seed of folds and resamples",
    "confidence_level": "level of intervals and bands",
}


def add_data(parser: argparse.ArgumentParser) -> None:
    """Options that say which rows and which columns."""
    parser.add_argument("predictions", help="CSV, TSV, Parquet or Arrow, compressed or not")
    data = parser.add_argument_group("data", "What is not named is guessed, as in calib.load.")
    for option, metavar, meaning in (
        ("outcome", "COLUMN", "column of the labels"),
        ("test", "FILE", "test rows in a file of their own, with the same columns"),
        ("split", "COLUMN", "column that tells test rows from calibration rows"),
        ("test-value", "VALUE", "value of the split column that means test"),
        ("weight", "COLUMN", "column of row weights"),
        ("group", "COLUMN", "column of clusters, whose rows stay together"),
        ("time", "COLUMN", "column of time"),
        ("positive", "LABEL", "label that counts as positive"),
        ("predicted", "COLUMN", "predicted labels: positive is where prediction and outcome agree"),
        ("name", "TEXT", "what the data are called; the file's name if not given"),
    ):
        data.add_argument(f"--{option}", metavar=metavar, help=meaning)
    score = "column of the scores; once a class for a matrix of scores"
    data.add_argument("--score", metavar="COLUMN", action="append", help=score)
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


def add_progress(parser: argparse.ArgumentParser) -> None:
    """The option that a person does not need: at a terminal, progress is always shown."""
    told = "say on standard error what is done"
    parser.add_argument("--progress", action="store_true", help=told)


def _meaning(name: str, default: Any) -> str:
    if default is None:
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


def settings_of(given: argparse.Namespace, **fixed: Any) -> Settings:
    """The settings that the options name."""
    names = {field.name for field in fields(Settings)}
    named = {name: value for name, value in vars(given).items() if name in names}
    return Settings(**(named | fixed))

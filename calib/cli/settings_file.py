"""--settings: a report or its settings.json, whose values stand in for options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from calib.cli.options import PartsOptions
from calib.cli.predictions import (
    COUNTS_ARGUMENTS,
    EXAMPLE,
    QUERY_ARGUMENTS,
    is_result_of_query,
)
from calib.crossfit.settings import Settings
from calib.data.aggregate import Aggregate
from calib.reports import Report, ReportError
from calib.reports.contents.settings_file import SavedSettings
from calib.reports.report import read_json

# Besides its own argument, an option replaces these arguments of a settings file.
REPLACED_BY = {
    "outcome": ("positive", "negative", "others_negative"),
    "negative": ("others_negative",),
    "others_negative": ("negative",),
    "score": ("class_columns", "classes"),
    "class_columns": ("score", "classes"),
    "test": ("split", "test_value", "fold"),
    "split": ("test", "test_value", "fold"),
    "fold": ("test", "split", "test_value"),
    "slices": ("slice_columns",),
    "cross": ("slice_columns",),
    "time": ("slice_columns", "time_column"),
    "time_column": ("slice_columns",),
}


# Any of these options asks for slices, time and decisions.
PARTS = {one.name for one in fields(PartsOptions)} - {"parts", "slice_columns"}


def add_saved(given: dict[str, Any]) -> None:
    """Give the options the values of the settings file, except those that a person named."""
    saved = _saved_settings(given["settings"])
    options = _data_options(saved, given["predictions"]) | _other_options(saved)
    replaced = set(given).union(*(REPLACED_BY.get(name, ()) for name in given))
    if given.keys() & PARTS:
        replaced.add("parts")
    given |= {name: value for name, value in options.items() if name not in replaced}


def _saved_settings(path: Path) -> SavedSettings:
    try:
        data = read_json(path)
        if isinstance(data, dict) and "schema_version" in data:
            return SavedSettings.of(Report.open_json(data))
        return SavedSettings.from_json(data)
    except ReportError as error:
        raise ReportError(f"--settings {path.name}: {error}") from error


def _data_options(saved: SavedSettings, path: str) -> dict[str, Any]:
    """The arguments of `calib.load`, as far as rows or counts at this path can have them."""
    origin = saved.origin
    options = origin.arguments() | ({"exact": True} if saved.exact else {})
    options |= {"name": saved.name} if saved.name else {}
    if isinstance(options.get("score"), str):
        options["score"] = [options["score"]]
    if origin.test:
        # A file of another person must not choose a folder.
        options["test"] = str(Path(path).parent / Path(origin.test).name)
    if path.startswith(EXAMPLE):
        return _picked(options, ("model_value",))
    if Aggregate.is_saved_at(path):
        return _picked(options, COUNTS_ARGUMENTS)
    if is_result_of_query(path):
        return _picked(options, QUERY_ARGUMENTS)
    sample = {"sample": origin.sampled, "sample_key": origin.sample_key, "sample_seed": origin.seed}
    return options | (sample if origin.sampled else {})


def _picked(options: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}


def _other_options(saved: SavedSettings) -> dict[str, Any]:
    """Settings, texts, slices, time and costs."""
    options = {field.name: getattr(saved.settings, field.name) for field in fields(Settings)}
    options |= {name: getattr(saved, name) for name in ("title", "author", "note")}
    options |= {"held_out": saved.held_out_declared, "grade": saved.grade}
    parts = saved.parts
    if parts is None:
        return options | {"parts": False}
    options |= {"slice_columns": list(parts.slices), "n_ranges": parts.n_ranges}
    options |= {"time_column": parts.time, "unit": parts.unit}
    if parts.costs is not None:
        options |= {"cost_fp": parts.costs.false_positive, "cost_fn": parts.costs.false_negative}
        options |= {"capacity": parts.costs.capacity}
    if parts.error_limit is not None:
        limit = parts.error_limit
        options |= {"certify_error": limit.max_error, "certify_sides": limit.sides}
        options |= {"certify_confidence": limit.confidence}
    return options

"""How to make a report again: the call of the library, and the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from calib.data.origin import Origin
from calib.loading.examples import EXAMPLES
from calib.reports.contents.settings_file import (
    FILE_NAME,
    SavedSettings,
    is_recorded,
)
from calib.reports.contents.structure import Contents, JudgePart, Parts

MAX_LINE_LENGTH = 88


def library_call(report: Contents) -> str:
    """Python code that makes the report again."""
    if report.parts is not None and report.parts.judge is not None:
        return _judge_call(report, report.parts.judge)
    parts, saved = report.parts, SavedSettings.of(report)
    settings = {name: getattr(saved.settings, name) for name in report.settings_changed}
    made = []
    imported = ["Costs"] if parts and parts.decisions else []
    imported += ["ErrorLimit"] if parts and parts.certificate else []
    if parts:
        chosen = _part_arguments(saved.origin, parts)
        made = [_call("parts = parts_of", ("predictions", "analysis"), chosen)]
    given = ("analysis", "parts=parts") if parts else ("analysis",)
    return "\n".join(
        [
            "import calib",
            *([f"from calib.analysis.decisions import {', '.join(imported)}"] if imported else []),
            "from calib.reports import Report, parts_of",
            "",
            *_reading(report, saved),
            f"fingerprint = {report.analysis.data.fingerprint!r}",
            "assert predictions.fingerprint == fingerprint",
            _call("settings = calib.Settings", (), settings),
            "analysis = calib.analyze(predictions, settings)",
            *made,
            _call("report = Report.from_analysis", given, _words(saved) | _limits(report)),
            'report.save("report.html")',
        ]
    )


def _judge_call(report: Contents, part: JudgePart) -> str:
    numbers = part.numbers
    chosen: dict[str, Any] = dict(part.read_with)
    defaults = {"threshold": 0.5, "confidence_level": 0.95}
    chosen |= {
        name: getattr(numbers, name)
        for name, value in defaults.items()
        if getattr(numbers, name) != value
    }
    words = _words(SavedSettings.of(report))
    return "\n".join(
        [
            "import calib",
            "from calib.reports import Report",
            "",
            f'judged, gold = "...", "..."  # the judged rows called {numbers.name!r}, and labels',
            _call("result = calib.judge", ("judged", "gold"), chosen),
            _call("report = Report.from_judge", ("result",), words),
            'report.save("report.html")',
        ]
    )


def _reading(report: Contents, saved: SavedSettings) -> list[str]:
    data, origin = report.analysis.data, saved.origin
    if origin.example:
        made = f"calib.examples.EXAMPLES[{origin.example!r}]"
        model = origin.columns.model_value
        chosen = f".load_models()[{model!r}]" if model else ".load()"
        return [f"predictions = {made}{chosen}"]
    file = repr(list(origin.log_files) or origin.file)
    first = []
    if not origin.file:
        file, first = "file", [f'file = "..."  # the data called {data.name!r}']
    if not is_recorded(report):
        # The report does not record whether these were rows in memory or counts.
        first.append("# of counts: predictions = calib.Aggregate.load(file); add several by +")
    sample = {"n": origin.sampled, "key": origin.sample_key, "seed": origin.seed}
    arguments = {name: value for name, value in sample.items() if value and origin.sampled}
    arguments |= origin.arguments()
    arguments |= {"exact": True} if saved.exact else {}
    arguments |= {"name": saved.name} if saved.name else {}
    function = "calib.scan_sample" if origin.sampled else "calib.load"
    return [*first, _call(f"predictions = {function}", (file,), arguments)]


def _call(function: str, first: tuple[str, ...], keywords: Mapping[str, Any]) -> str:
    """A call on one line, or with one argument per line if it is long."""
    arguments = [*first, *(f"{name}={value!r}" for name, value in keywords.items())]
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= MAX_LINE_LENGTH:
        return line
    return "\n".join([f"{function}(", *(f"    {argument}," for argument in arguments), ")"])


def _words(saved: SavedSettings) -> dict[str, str]:
    declared = saved.held_out_declared
    words = {
        "title": saved.title,
        "author": saved.author,
        "note": saved.note,
        "held_out_declared": "" if declared == "unknown" else declared,
        "grade": "exact" if saved.grade == "exact" else "",
    }
    return {name: text for name, text in words.items() if text}


def _limits(report: Contents) -> dict[str, Any]:
    return {"limits": dict(report.limits)} if report.limits else {}


def _part_arguments(origin: Origin, parts: Parts) -> dict[str, Any]:
    """The arguments of `parts_of` that differ from its defaults."""
    time = origin.columns.time or ""
    columns = (*origin.columns.slices, *([time] if time else []))
    if origin.example in EXAMPLES:
        rows = EXAMPLES[origin.example].load()
        columns, time = tuple(rows.columns), rows.time_name
    slices = list(parts.slice_columns)
    arguments: dict[str, Any] = {}
    if slices != [(name,) for name in columns if name != parts.time]:
        arguments["slices"] = slices
    if parts.n_ranges != Parts().n_ranges:
        arguments["n_ranges"] = parts.n_ranges
    if parts.time != time:
        arguments["time"] = parts.time
    if parts.unit:
        arguments["unit"] = parts.unit
    if parts.decisions:
        arguments["costs"] = parts.decisions.table.costs
    if parts.certificate:
        arguments["error_limit"] = parts.certificate.limit
    return arguments


def command_line(report: Contents) -> str:
    """The command that makes the report again, with its settings in a file."""
    origin = SavedSettings.of(report).origin
    place = f"example:{origin.example}" if origin.example else "FILE"
    if origin.file and not origin.example:
        place = " ".join(map(_as_argument, origin.log_files or (origin.file,)))
    limits = "".join(
        f" --{name.replace('_', '-')} {bound!r}" for name, bound in report.limits.items()
    )
    return f"calib report {place} --settings {FILE_NAME}{limits} -o report.html"


def _as_argument(file: str) -> str:
    """The name of a file in a shell."""
    # Without ./, a dash at its beginning would make it an option, and a colon an example.
    is_plain = file[:1] != "-" and ":" not in file
    return shlex.quote(file if is_plain else f"./{file}")

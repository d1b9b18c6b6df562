"""How to make a report again: the call of the library, and the command line."""

from __future__ import annotations

import shlex
from typing import Any

from calib.examples import EXAMPLES
from calib.reports.contents import Contents
from calib.reports.parts import Parts

# Option by the field of Settings, where the field's own name would be long to type.
SHORT = {"n_bins": "bins", "n_folds": "folds", "confidence_level": "level"}


def library_call(report: Contents) -> str:
    """Lines of Python that make the same numbers."""
    data, parts = report.analysis.data, report.parts
    chosen = {name: getattr(report.analysis.settings, name) for name in report.settings_changed}
    columns = _loaded(parts) if parts else {}
    named = _columns(report) | columns
    lines = [
        "import calib",
        *(["from calib.decisions import Costs"] if parts and parts.decisions else []),
        "from calib.reports import Report, parts_of",
        "",
        *_reading(report, named),
        f"fingerprint = {data.fingerprint!r}",
        "assert predictions.fingerprint == fingerprint",
        f"settings = calib.Settings({_arguments(chosen)})",
        "analysis = calib.analyze(predictions, settings)",
    ]
    if parts is None:
        lines.append("report = Report.from_analysis(analysis)")
    else:
        taken = f", {_arguments(_taken(parts))}" if _taken(parts) else ""
        lines.append(f"parts = parts_of(predictions, analysis{taken})")
        lines.append("report = Report.from_analysis(analysis, parts=parts)")
    return "\n".join([*lines, 'report.save("report.html")'])


def _columns(report: Contents) -> dict[str, str]:
    """Outcome and score; a matrix has more score columns than its report names."""
    data = report.analysis.data
    score = {} if report.analysis.multiclass else {"score": data.score_name}
    return {"outcome": data.outcome_name} | score


def _reading(report: Contents, named: dict[str, Any]) -> list[str]:
    data = report.analysis.data
    if data.name in EXAMPLES and EXAMPLES[data.name].load().fingerprint == data.fingerprint:
        return [f"predictions = calib.examples.EXAMPLES[{data.name!r}].load()"]
    return [
        f'file = "..."  # the data called {data.name!r}',
        f"predictions = calib.load(file, {_arguments(named)})",
    ]


def _arguments(named: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in named.items())


def _loaded(parts: Parts) -> dict[str, Any]:
    """Columns that the data must be read with."""
    names = dict.fromkeys(name for columns in parts.slice_columns for name in columns)
    time = {"time": parts.periods.column} if parts.periods else {}
    return ({"slices": tuple(names)} if names else {}) | time


def _taken(parts: Parts) -> dict[str, Any]:
    """What was not taken along by rule."""
    crossed = any(len(columns) > 1 for columns in parts.slice_columns)
    taken: dict[str, Any] = {"slices": list(parts.slice_columns)} if crossed else {}
    taken |= {} if parts.n_ranges == Parts().n_ranges else {"n_ranges": parts.n_ranges}
    taken |= {"unit": parts.unit} if parts.unit else {}
    return taken | ({"costs": parts.decisions.table.costs} if parts.decisions else {})


def command_line(report: Contents) -> str:
    """The command that makes the same numbers, for a shell."""
    settings = report.analysis.settings
    words = ["python -m calib report FILE"]
    words += [_option(name, column) for name, column in _columns(report).items()]
    if report.parts is not None:
        words += _part_options(report.parts)
    for name in report.settings_changed:
        words.append(_option(SHORT.get(name, name), getattr(settings, name)))
    if report.held_out_declared != "unknown":
        words.append(_option("held_out", report.held_out_declared))
    return " \\\n    ".join([*words, "-o report.html"])


def _part_options(parts: Parts) -> list[str]:
    loaded = _loaded(parts)
    words = [_option("slice", name) for name in loaded.get("slices", ())]
    words += [
        f"--cross {' '.join(map(shlex.quote, columns))}"
        for columns in parts.slice_columns
        if len(columns) > 1
    ]
    words += [_option("time", loaded["time"])] if "time" in loaded else []
    words += [_option("ranges", parts.n_ranges)] if parts.n_ranges != Parts().n_ranges else []
    words += [_option("unit", parts.unit)] if parts.unit else []
    if parts.decisions is not None:
        costs = parts.decisions.table.costs
        words += [
            _option("cost_fp", costs.false_positive),
            _option("cost_fn", costs.false_negative),
        ]
        words += [_option("capacity", costs.capacity)] if costs.capacity is not None else []
    return words


def _option(name: str, value: Any) -> str:
    said = ",".join(value) if isinstance(value, tuple) else str(value)
    # With "=", a value that begins with a dash is no option.
    return f"--{name.replace('_', '-')}={shlex.quote(said)}"

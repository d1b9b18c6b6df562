"""How to make a report again: the call of the library, and the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from calib.data.origin import Origin
from calib.loading.examples import EXAMPLES
from calib.loading.reading.reader import stem
from calib.reports.contents.structure import Contents, Parts

# Option by the name of the argument, where the two differ.
OPTION = {
    "n_bins": "bins",
    "n_folds": "folds",
    "confidence_level": "level",
    "slices": "slice",
    "n_ranges": "ranges",
    "held_out_declared": "held_out",
}
LONGEST_LINE = 88


def origin_of(report: Contents) -> Origin:
    """How the rows were read, as far as the report contains it."""
    data, parts = report.analysis.data, report.parts
    kept = data.origin or Origin()
    if not kept.of_counts:
        return kept
    sliced = dict.fromkeys(name for each in parts.slice_columns for name in each) if parts else {}
    return Origin(
        outcome=data.outcome_name,
        # A matrix has more score columns than its name shows.
        score="" if report.analysis.multiclass else data.score_name,
        slices=tuple(sliced),
        time=parts.time if parts else "",
        transform=kept.transform,
        swap=kept.swap,
    )


def library_call(report: Contents) -> str:
    parts = report.parts
    settings = {name: getattr(report.analysis.settings, name) for name in report.settings_changed}
    costs, made = ["from calib.analysis.decisions import Costs"], []
    if parts:
        made = [_call("parts = parts_of", ("predictions", "analysis"), _taken(report, parts))]
    given = ("analysis", "parts=parts") if parts else ("analysis",)
    return "\n".join(
        [
            "import calib",
            *(costs if parts and parts.decisions else []),
            "from calib.reports import Report, parts_of",
            "",
            *_reading(report),
            f"fingerprint = {report.analysis.data.fingerprint!r}",
            "assert predictions.fingerprint == fingerprint",
            _call("settings = calib.Settings", (), settings),
            "analysis = calib.analyze(predictions, settings)",
            *made,
            _call("report = Report.from_analysis", given, _words(report)),
            'report.save("report.html")',
        ]
    )


def _reading(report: Contents) -> list[str]:
    data, origin = report.analysis.data, origin_of(report)
    if origin.example:
        made = f"calib.examples.EXAMPLES[{origin.example!r}]"
        chosen = f".load_models()[{origin.model_value!r}]" if origin.model_value else ".load()"
        return [f"predictions = {made}{chosen}"]
    file = repr(origin.file)
    first = []
    if not origin.file:
        file, first = "file", [f'file = "..."  # the data called {data.name!r}']
    known = not (data.origin or Origin()).of_counts
    if not known:
        # Whether these were rows in memory or counts is not known.
        first.append("# of counts: predictions = calib.Aggregate.load(file); add several by +")
    named = origin.arguments() | ({"exact": True} if known else {}) | _named(report)
    drawn = _drawn(origin)
    function = "calib.scan_sample" if drawn else "calib.load"
    return [*first, _call(f"predictions = {function}", (file,), drawn | named)]


def _drawn(origin: Origin) -> dict[str, Any]:
    """How rows were drawn, if they are a sample."""
    drawn = {"n": origin.sampled, "key": origin.sample_key, "seed": origin.seed}
    return {name: value for name, value in drawn.items() if value} if origin.sampled_of else {}


def _named(report: Contents) -> dict[str, str]:
    name, file = report.analysis.data.name, origin_of(report).file
    return {} if not file or name == stem(file) else {"name": name}


def _call(function: str, first: tuple[str, ...], named: Mapping[str, Any]) -> str:
    """A call on one line, or with one argument per line if it is long."""
    arguments = [*first, *(f"{name}={value!r}" for name, value in named.items())]
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= LONGEST_LINE:
        return line
    return "\n".join([f"{function}(", *(f"    {argument}," for argument in arguments), ")"])


def _words(report: Contents) -> dict[str, str]:
    words = {name: getattr(report, name) for name in ("title", "author", "note")}
    declared = report.held_out_declared
    words["held_out_declared"] = "" if declared == "unknown" else declared
    words["grade"] = "exact" if report.evidence.grade == "exact" else ""
    return {name: text for name, text in words.items() if text}


def _known_columns(report: Contents) -> tuple[tuple[str, ...], str]:
    """The slice and time columns that were read, and which of them is time."""
    origin = origin_of(report)
    if origin.example in EXAMPLES:
        rows = EXAMPLES[origin.example].load()
        return tuple(rows.columns), rows.time_name
    return (*origin.slices, *([origin.time] if origin.time else [])), origin.time


def by_rule(report: Contents) -> bool:
    """Whether the slices are all columns but time, and perhaps some that are crossed."""
    if report.parts is None:
        return True
    known, _ = _known_columns(report)
    single = [(name,) for name in known if name != report.parts.time]
    found = list(report.parts.slice_columns)
    return found[: len(single)] == single and all(len(each) > 1 for each in found[len(single) :])


def _taken(report: Contents, parts: Parts) -> dict[str, Any]:
    """What differs from the default parts, as arguments of `parts_of`."""
    crossed = any(len(columns) > 1 for columns in parts.slice_columns)
    chosen = crossed or not by_rule(report)
    taken: dict[str, Any] = {"slices": list(parts.slice_columns)} if chosen else {}
    taken |= {} if parts.n_ranges == Parts().n_ranges else {"n_ranges": parts.n_ranges}
    taken |= {} if parts.time == _known_columns(report)[1] else {"time": parts.time}
    taken |= {"unit": parts.unit} if parts.unit else {}
    return taken | ({"costs": parts.decisions.table.costs} if parts.decisions else {})


def command_line(report: Contents) -> str:
    origin, parts = origin_of(report), report.parts
    words = ["calib report", _place(origin)]
    for name, value in _drawn(origin).items():
        words += options_of("sample" if name == "n" else f"sample_{name}", value)
    for name, value in (origin.arguments() | _named(report)).items():
        words += options_of(name, value)
    words += options_of("exact", True) if origin == report.analysis.data.origin else []
    words += _part_options(report, parts) if parts else ["--no-parts"]
    for name, value in (_settings(report) | _words(report)).items():
        words += options_of(name, value)
    first, *others = [" ".join(words[:2]), *words[2:]]
    return " \\\n    ".join([first, *others, "-o report.html"])


def _place(origin: Origin) -> str:
    if origin.example:
        return f"example:{origin.example}"
    # A name that begins with a dash is no option, and one with a colon no example.
    plain = origin.file if origin.file[:1] != "-" and ":" not in origin.file else f"./{origin.file}"
    return shlex.quote(plain) if origin.file else "FILE"


def _settings(report: Contents) -> dict[str, Any]:
    """Settings that differ from the defaults; those of a matrix begin elsewhere."""
    names = [*report.settings_changed]
    if report.analysis.multiclass:
        names = list(dict.fromkeys(("view", "methods", *names)))
    return {name: getattr(report.analysis.settings, name) for name in names}


def _part_options(report: Contents, parts: Parts) -> list[str]:
    named = _taken(report, parts)
    costs = named.pop("costs", None)
    crossed = [each for each in named.pop("slices", ()) if len(each) > 1]
    words = [f"--cross {' '.join(map(shlex.quote, columns))}" for columns in crossed]
    if "time" in named:
        named["time_column"] = named.pop("time")
    if costs is not None:
        named |= {"cost_fp": costs.false_positive, "cost_fn": costs.false_negative}
        named |= {} if costs.capacity is None else {"capacity": costs.capacity}
    return [*words, *(word for name, value in named.items() for word in options_of(name, value))]


def option_of(name: str, *, negated: bool = False) -> str:
    """The option of the command line that stands for an argument.

    >>> option_of("n_bins"), option_of("test_value"), option_of("header", negated=True)
    ('--bins', '--test-value', '--no-header')
    """
    return f"--{'no-' * negated}{OPTION.get(name, name).replace('_', '-')}"


def options_of(name: str, value: Any, sign: str = "=") -> list[str]:
    """The options that give an argument a value. After "=", a value may begin with a dash."""
    if isinstance(value, bool):
        return [option_of(name, negated=not value)]
    if name == "methods":
        value = ",".join(value)
    values = value if isinstance(value, tuple) else (value,)
    return [f"{option_of(name)}{sign}{shlex.quote(str(each))}" for each in values]

"""Links: what a person chose, written into the address and read back, checked value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any
from urllib.parse import quote, unquote

from calib.analysis.periods import UNITS
from calib.core.predictions import parse_view
from calib.curves.rate import RATE_KINDS
from calib.figures.scales import AxisKind
from calib.loading.examples import EXAMPLES
from calib.methods import method_keys
from calib.settings import Settings
from calib.text import quoted
from calib.ui.report_browser import AGAINST, REPORT

VERSION = "1"
LEVELS = (0.8, 0.9, 0.95, 0.99)
AXES = ("linear", "logit")
EPSILON_RANGE = (1e-15, 0.32)
N_RANGES = (2, 20)
MAX_SLICES = 1_000_000
MAX_SEED = 2**31 - 1
COST_RANGE = (1e-6, 1e9)
CAPACITY_RANGE = (1e-6, 1.0)
FINGERPRINT_SHOWN = 12
LONGEST_NAME = 80
MAX_ROWS = 10**10


@dataclass(frozen=True, slots=True)
class Look:
    """Choices that change what a page draws and nothing that is computed.

    Parameters
    ----------
    axis : {"linear", "logit"}
        Axes of the reliability diagram and of the calibration functions.
    shown : tuple of str
        Methods in the reliability diagram, by key.
    cumulative : str
        Method whose four cumulative panels are drawn.
    classes : str
        Method whose classes are compared.
    knots : bool
        Whether the knots of the maps are marked.
    over_epsilon : tuple of str
        Methods whose log loss over epsilon is drawn, by key.
    lines : tuple of str
        Lines beside the bins: "corp", "smooth".
    bin_of : str
        Method of the bin that is looked into, by key.
    bin_at : float or None
        A score in that bin; None: none is looked into.
    auto_bins : bool
        Whether the data choose the number of bins.
    after : str
        Calibrator set against the uncalibrated scores on Slices and Decisions; "" is the
        recommended one.
    slice_by, cross : str
        Columns that are sliced by; "" is the first, and none.
    n_ranges : int
        Ranges of a column of many numbers.
    picked : tuple of int
        Slices laid over each other, by number; none are the two of the strongest evidence.
    apart : int
        Slice that is calibrated apart, by number; -1 is that of the strongest evidence.
    time, unit : str
        Time column, and length of a period; "" is the one that the data name, and automatic.
    cost_fp, cost_fn : float
        Cost of a false positive, and of a false negative.
    capacity : float or None
        Share of the rows that is flagged; None: the costs decide.
    count_from, count_to : float
        Range of scores over which positives are counted.
    models : tuple of str
        Models that stand side by side, by name; none are the first and the last.
    """

    axis: AxisKind = "linear"
    shown: tuple[str, ...] = ("uncalibrated",)
    cumulative: str = "uncalibrated"
    classes: str = "uncalibrated"
    knots: bool = False
    over_epsilon: tuple[str, ...] = ("spline",)
    lines: tuple[str, ...] = ()
    bin_of: str = "uncalibrated"
    bin_at: float | None = None
    auto_bins: bool = False
    after: str = ""
    slice_by: str = ""
    cross: str = ""
    n_ranges: int = 5
    picked: tuple[int, ...] = ()
    apart: int = -1
    time: str = ""
    unit: str = ""
    cost_fp: float = 1.0
    cost_fn: float = 1.0
    capacity: float | None = None
    count_from: float = 0.5
    count_to: float = 1.0
    models: tuple[str, ...] = ()

    def changed(self) -> dict[str, Any]:
        """The choices that differ from their defaults."""
        return _changed(self)


@dataclass(frozen=True, slots=True)
class Source:
    """A person's own data as a link names them; all of it is only what somebody wrote there.

    Parameters
    ----------
    fingerprint : str
        First characters of the data's own, "" while the file cannot be analysed.
    name : str
        Of the file.
    n_rows : int or None
    """

    fingerprint: str = ""
    name: str = ""
    n_rows: int | None = None

    def __bool__(self) -> bool:
        return bool(self.fingerprint or self.name)


@dataclass(frozen=True, slots=True)
class Link:
    """All that an address can say.

    Parameters
    ----------
    settings : Settings
    look : Look
    example : str or None
        Key of the built-in example; None for a person's own data.
    source : Source
        A person's own data; empty for an example.
    start : Settings
        Where the shown data begin: what equals it is not written.
    named : frozenset of str
        The settings that an address named.
    """

    settings: Settings = field(default_factory=Settings)
    look: Look = field(default_factory=Look)
    example: str | None = None
    source: Source = field(default_factory=Source)
    start: Settings = field(default_factory=Settings, compare=False)
    named: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A short name in the address: what it sets, and how a value is written and read."""

    attribute: str
    write: Callable[[Any], str]
    read: Callable[[str], Any]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("it must be a number") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("it must be a whole number") from None


def _between(kind: type[int] | type[float], low: float, high: float) -> Callable[[str], Any]:
    def read(text: str) -> float:
        value = _whole(text) if kind is int else _number(text)
        if not low <= value <= high:
            raise ValueError(f"it must be between {low:g} and {high:g}")
        return value

    return read


def _numbers(text: str) -> tuple[int, ...]:
    read = _between(int, 0, MAX_SLICES)
    return tuple(read(number) for number in text.split("."))


def _level(text: str) -> float:
    value = _number(text)
    if value not in LEVELS:
        raise ValueError(f"it must be one of {', '.join(map(str, LEVELS))}")
    return value


def _one_of(options: Callable[[], tuple[str, ...]]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in options():
            raise ValueError(f"it must be one of {', '.join(filter(None, options()))}")
        return text

    return read


def _several(text: str) -> tuple[str, ...]:
    return tuple(_method(key) for key in text.split("."))


def _lines(text: str) -> tuple[str, ...]:
    read = _one_of(lambda: RATE_KINDS)
    return tuple(read(kind) for kind in text.split("."))


def _write_names(names: tuple[str, ...]) -> str:
    return "~".join(quote(name, safe=" ").replace("~", "%7E") for name in names)


def _read_names(text: str) -> tuple[str, ...]:
    return tuple(unquote(name) for name in text.split("~"))


def _name(text: str) -> str:
    """A file's name in one short line."""
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_NAME])
    return " ".join(printable.split())[:LONGEST_NAME].strip()


def _fingerprint(text: str) -> str:
    return text[:FINGERPRINT_SHOWN]


def _flag(text: str) -> bool:
    return _one_of(lambda: ("0", "1"))(text) == "1"


def _view(text: str) -> str:
    try:
        parse_view(text)
    except ValueError:
        raise ValueError("it must look like class:1, top:1 or within:2") from None
    return text


_method = _one_of(method_keys)

# Short and never renamed: addresses that people saved must keep their meaning.
SETTING_NAMES: Mapping[str, Name] = {
    "view": Name("view", str, _view),
    "m": Name("methods", ".".join, _several),
    "by": Name("strategy", str, _one_of(lambda: ("quantile", "uniform"))),
    "bins": Name("n_bins", str, _whole),
    "eps": Name("epsilon", "{:.6g}".format, _between(float, *EPSILON_RANGE)),
    "folds": Name("n_folds", str, _whole),
    "seed": Name("seed", str, _between(int, 0, MAX_SEED)),
    "level": Name("confidence_level", str, _level),
    "band": Name("band", str, _one_of(lambda: ("per_bin", "simultaneous"))),
}
LOOK_NAMES: Mapping[str, Name] = {
    "axis": Name("axis", str, _one_of(lambda: AXES)),
    "show": Name("shown", ".".join, _several),
    "cum": Name("cumulative", str, _method),
    "cls": Name("classes", str, _method),
    "knots": Name("knots", lambda on: "1" if on else "0", _flag),
    "over": Name("over_epsilon", ".".join, _several),
    "line": Name("lines", ".".join, _lines),
    "of": Name("bin_of", str, _method),
    "at": Name("bin_at", repr, _between(float, 0.0, 1.0)),
    "auto": Name("auto_bins", lambda on: "1" if on else "0", _flag),
    "after": Name("after", str, _method),
    "slice": Name("slice_by", str, str),
    "cross": Name("cross", str, str),
    "ranges": Name("n_ranges", str, _between(int, *N_RANGES)),
    "pick": Name("picked", lambda found: ".".join(map(str, found)), _numbers),
    "apart": Name("apart", str, _between(int, 0, MAX_SLICES)),
    "time": Name("time", str, str),
    "unit": Name("unit", str, _one_of(lambda: UNITS)),
    "fp": Name("cost_fp", "{:.6g}".format, _between(float, *COST_RANGE)),
    "fn": Name("cost_fn", "{:.6g}".format, _between(float, *COST_RANGE)),
    "cap": Name("capacity", "{:.6g}".format, _between(float, *CAPACITY_RANGE)),
    "from": Name("count_from", "{:.6g}".format, _between(float, 0.0, 1.0)),
    "to": Name("count_to", "{:.6g}".format, _between(float, 0.0, 1.0)),
    "model": Name("models", _write_names, _read_names),
}
SOURCE_NAMES: Mapping[str, Name] = {
    "data": Name(
        "fingerprint", lambda text: text[:FINGERPRINT_SHOWN], lambda text: text[:FINGERPRINT_SHOWN]
    ),
    "file": Name("name", str, lambda text: _name(text)),
    "rows": Name("n_rows", str, _between(int, 0, MAX_ROWS)),
}


def encode(link: Link) -> dict[str, str]:
    """Names and values of an address; only what differs from the defaults.

    Examples
    --------
    >>> encode(Link(Settings(n_bins=20), Look(axis="logit")))
    {'v': '1', 'bins': '20', 'axis': 'logit'}
    """
    named = _encode(link.settings.changed(link.start), SETTING_NAMES)
    named |= _encode(link.look.changed(), LOOK_NAMES)
    if link.example is not None:
        named = {"ex": link.example, **named}
    named = _encode(_changed(link.source), SOURCE_NAMES) | named
    return {"v": VERSION, **named} if named else {}


def _encode(changed: Mapping[str, Any], names: Mapping[str, Name]) -> dict[str, str]:
    return {
        short: name.write(changed[name.attribute])
        for short, name in names.items()
        if name.attribute in changed
    }


def decode(named: Mapping[str, str]) -> tuple[Link, tuple[str, ...]]:
    """What an address says, and one sentence for every part of it that was refused.

    A refused part keeps its default.

    Examples
    --------
    >>> link, refused = decode({"bins": "7", "level": "2"})
    >>> link.settings.n_bins, refused
    (7, ('The link asks for `level=2`; it must be one of 0.8, 0.9, 0.95, 0.99. It keeps 0.95.',))
    """
    refused = []
    link = Link()
    version = named.get("v", VERSION)
    if version != VERSION:
        refused.append(
            f"This link was written by another version ({quoted(version)}; this one reads "
            f"{VERSION}). Check the settings."
        )
    for short, text in named.items():
        try:
            link = _with(link, short, text)
        except ValueError as error:
            refused.append(_refusal(short, text, str(error)))
    return link, tuple(refused)


def _with(link: Link, short: str, text: str) -> Link:
    if short in SETTING_NAMES:
        name = SETTING_NAMES[short]
        settings = replace(link.settings, **{name.attribute: name.read(text)})
        return replace(link, settings=settings, named=link.named | {name.attribute})
    if short in LOOK_NAMES:
        name = LOOK_NAMES[short]
        return replace(link, look=replace(link.look, **{name.attribute: name.read(text)}))
    if short == "ex":
        return replace(link, example=_one_of(lambda: tuple(EXAMPLES))(text))
    if short in SOURCE_NAMES:
        name = SOURCE_NAMES[short]
        return replace(link, source=replace(link.source, **{name.attribute: name.read(text)}))
    if short not in ("v", REPORT, AGAINST):
        raise ValueError("no setting has that name")
    return link


def _refusal(short: str, text: str, reason: str) -> str:
    asked = f"The link asks for {quoted(f'{short}={text}')}; {reason.rstrip('.')}."
    name = SETTING_NAMES.get(short)
    default = Settings.defaults()[name.attribute] if name else None
    kept = isinstance(default, (int, float, str))
    return f"{asked} It keeps {default}." if kept else asked


def _changed(choices: Look | Source) -> dict[str, Any]:
    return {
        f.name: getattr(choices, f.name)
        for f in fields(choices)
        if f.default is not MISSING and getattr(choices, f.name) != f.default
    }

"""Links: what a person chose, written into the address and read back, checked value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calib.crossfit.settings import Settings
from calib.loading.examples import EXAMPLES
from calib.text import plural, quoted
from calib.ui.session.choice import Choice, one_of, whole
from calib.ui.session.choices import LINK_NAMES, Chosen
from calib.ui.session.named_sources import names_in
from calib.ui.session.page_list import ROOM
from calib.ui.session.team_reports import COMPARED, NEW, REPORT

VERSION = "1"
FINGERPRINT_SHOWN = 12
MAX_NAME = 80
MAX_ROWS = 10**10
MAX_TABLE_NAME = 1_000
# Links of earlier versions said how a source was counted, and what it gave.
SEEN = "seen"
OLD_QUERY = (
    "This link is of an earlier version. Its query is not used: the columns of the table are "
    "guessed. Check **Columns and test rows** in the menu of the data."
)


@dataclass(frozen=True, slots=True)
class LinkedData:
    """A person's own data as a link names them. Nothing of it is trusted."""

    # The first characters of the fingerprint of the data; "" while the file cannot be analysed.
    fingerprint: str = ""
    name: str = ""  # The name of the file.
    n_rows: int | None = None
    # The names of the source and of its table, if the operator named them.
    source: str = field(default="", compare=False)
    table: str = field(default="", compare=False)

    @property
    def size(self) -> str:
        """The number of rows in brackets, as far as it is known."""
        return "" if self.n_rows is None else f" ({plural(self.n_rows, 'row')})"

    @property
    def key(self) -> tuple[str, str]:
        """What the data are recognised by."""
        return self.fingerprint, "" if self.fingerprint else self.name

    def __bool__(self) -> bool:
        return bool(self.fingerprint or self.name or self.source)


@dataclass(frozen=True, slots=True)
class Link:
    chosen: Chosen = field(default_factory=Chosen)
    example: str | None = None  # The key of a built-in example; None for a person's own data.
    # A person's own data; empty for an example.
    source: LinkedData = field(default_factory=LinkedData)
    # The settings with which the shown data begin. Values that equal them are not written.
    start: Settings = field(default_factory=Settings, compare=False)
    # The choices that the address names.
    explicit: frozenset[Choice[Any]] = field(default=frozenset(), compare=False)


def encode(link: Link) -> dict[str, str]:
    """Names and values of an address; only what differs from the defaults."""
    source = link.source
    address = {"data": source.fingerprint[:FINGERPRINT_SHOWN], "file": source.name}
    address["rows"] = "" if source.n_rows is None else str(source.n_rows)
    address |= {"source": source.source, "table": source.table}
    address["ex"] = link.example or ""
    address = {name: text for name, text in address.items() if text}
    for choice, value in link.chosen.changed(link.start).items():
        address[choice.link] = choice.values.write(value)
    return {"v": VERSION, **address} if address else {}


def decode(address: Mapping[str, str]) -> tuple[Link, tuple[str, ...]]:
    """The link of an address, and one sentence per refused part, which keeps its default."""
    refused = []
    link = Link()
    version = address.get("v", VERSION)
    if version != VERSION:
        refused.append(
            f"This link was written by another version ({quoted(version)}; this one reads "
            f"{VERSION}). Check the settings."
        )
    for name, text in address.items():
        if name == "query":
            source, table = names_in(text)
            link = replace(link, source=replace(link.source, source=source, table=table))
            refused.append(OLD_QUERY)
            continue
        try:
            link = _with(link, name, text)
        except ValueError as error:
            refused.append(_refusal(name, text, str(error)))
    return link, tuple(refused)


def _with(link: Link, name: str, text: str) -> Link:
    if name in LINK_NAMES:
        choice = LINK_NAMES[name]
        chosen = link.chosen.having(choice, choice.values.read(text))
        return replace(link, chosen=chosen, explicit=link.explicit | {choice})
    if name == "ex":
        return replace(link, example=one_of(*EXAMPLES).read(text))
    if name in LINKED_DATA_FIELDS:
        field_name, read = LINKED_DATA_FIELDS[name]
        changed: dict[str, Any] = {field_name: read(text)}
        return replace(link, source=replace(link.source, **changed))
    if name not in ("v", SEEN, REPORT, COMPARED, NEW, ROOM):
        raise ValueError("there is no such setting")
    return link


def _refusal(name: str, text: str, reason: str) -> str:
    asked = f"{quoted(f'{name}={text}')} in the link was ignored: {reason.rstrip('.')}."
    choice = LINK_NAMES.get(name)
    kept = (
        choice is not None and choice.is_setting and isinstance(choice.default, (int, float, str))
    )
    return f"{asked} The value is {choice.default}." if choice and kept else asked


def _one_line(text: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text[: 4 * MAX_NAME])
    return " ".join(printable.split())[:MAX_NAME].strip()


# By name in an address: the field of a source, and the function that reads it.
LINKED_DATA_FIELDS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "data": ("fingerprint", lambda text: text[:FINGERPRINT_SHOWN]),
    "file": ("name", _one_line),
    "rows": ("n_rows", whole(0, MAX_ROWS).read),
    "source": ("source", lambda text: text[:MAX_TABLE_NAME]),
    "table": ("table", lambda text: text[:MAX_TABLE_NAME]),
}

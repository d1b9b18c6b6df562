"""Registry: entries that decorated classes and functions add when their package is imported."""

import importlib
import os
import pkgutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")


def installed(group: str) -> Iterable[Any]:
    """The entry points that installed packages have in a group."""
    # To import importlib.metadata takes a sixth of the time of `calib --help`, and most people have
    # no such package.
    words = f"[{group}]".encode()
    for folder in filter(os.path.isdir, sys.path):
        for entry in os.listdir(folder):
            if entry.endswith((".dist-info", ".egg-info")):
                place = os.path.join(folder, entry, "entry_points.txt")
                with suppress(OSError), open(place, "rb") as file:
                    if words in file.read():
                        from importlib.metadata import entry_points

                        return entry_points(group=group)
    return ()


class Registry(Mapping[str, Entry], Generic[Entry]):
    """A mapping of entries by key, in the order of their registration, or in one that they declare.

    `kind` is the name of an entry in messages. The modules of `package` register the entries; they
    are imported when the registry is first read, and so are those that `more` names. Then the
    entries are sorted by `order`.
    Without it, their order is that in which their modules are imported. After them come the modules
    that other installed packages name as entry points of the group `package`.

    >>> tools = Registry[str]("tool")
    >>> tools.add("hammer", "bang")
    >>> tools["hammer"], list(tools)
    ('bang', ['hammer'])
    >>> tools["saw"]
    Traceback (most recent call last):
    ...
    KeyError: "tool must be one of 'hammer', got 'saw'."
    """

    def __init__(
        self,
        kind: str,
        package: str = "",
        order: Callable[[Entry], Any] | None = None,
        more: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._kind = kind
        self._package = package
        self._order = order
        self._more = more
        self._own: dict[str, Entry] = {}
        self._importing = threading.RLock()
        self._begun = self._complete = False

    def add(self, key: str, entry: Entry) -> None:
        """Add an entry under a new key."""
        if key in self._own:
            raise ValueError(f"{self._kind} {key!r} is registered twice.")
        self._own[key] = entry

    def change(self, key: str, **changes: Any) -> None:
        """Change attributes of an entry that is already registered, without importing anything."""
        entry: Any = self._own[key]
        self._own[key] = replace(entry, **changes)

    @property
    def _entries(self) -> dict[str, Entry]:
        if self._package and not self._complete:
            # Another thread waits for all entries; this one may read some while it imports.
            with self._importing:
                if not self._begun:
                    self._begun = True
                    package = importlib.import_module(self._package)
                    modules = pkgutil.iter_modules(package.__path__, f"{self._package}.")
                    for name in (*sorted(module.name for module in modules), *self._more()):
                        importlib.import_module(name)
                    self._add_installed()
                    if order := self._order:
                        self._own = dict(sorted(self._own.items(), key=lambda item: order(item[1])))
                    self._complete = True
        return self._own

    def _add_installed(self) -> None:
        attributes = vars(importlib.import_module(self._package))
        # Only such a package offers its entries as attributes.
        taken = attributes.keys() if "__getattr__" in attributes else set()
        for point in installed(self._package):
            before, problem = set(self._own), ""
            try:
                point.load()
            except (Exception, SystemExit) as error:
                # An error in an installed package must not make calib unusable.
                words = f"it calls sys.exit({error})" if isinstance(error, SystemExit) else error
                problem = f"could not add its {self._kind} {point.name!r}: {words}"
            if hidden := sorted((self._own.keys() - before) & taken):
                name = f"{self._package}.{hidden[0]}"
                problem = f"adds a {self._kind} that {name} does not give: the name is taken"
            if problem:
                package = point.dist.name if point.dist else point.value
                warnings.warn(f"The package {package} {problem}", RuntimeWarning, stacklevel=2)

    def __getitem__(self, key: str) -> Entry:
        try:
            return self._entries[key]
        except KeyError:
            keys = ", ".join(map(repr, self._entries))
            raise KeyError(f"{self._kind} must be one of {keys}, got {key!r}.") from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

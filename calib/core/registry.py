"""A registry: one decorated class or function is one entry, found by importing its package."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by key, in the order of their registration.

    Parameters
    ----------
    kind : str
        What an entry is called in messages, such as "calibrator".

    Examples
    --------
    >>> tools = Registry[str]("tool")
    >>> tools.add("hammer", "bang")
    >>> tools["hammer"], list(tools)
    ('bang', ['hammer'])
    >>> tools["saw"]
    Traceback (most recent call last):
    ...
    KeyError: "tool must be one of 'hammer', got 'saw'."
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, Entry] = {}

    def add(self, key: str, entry: Entry) -> None:
        """Add an entry under a new key."""
        if key in self._entries:
            raise ValueError(f"{self._kind} {key!r} is registered twice.")
        self._entries[key] = entry

    def __getitem__(self, key: str) -> Entry:
        try:
            return self._entries[key]
        except KeyError:
            known = ", ".join(map(repr, self._entries))
            raise KeyError(f"{self._kind} must be one of {known}, got {key!r}.") from None

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def import_all(package: str, path: list[str]) -> None:
    """Import every module of a package, so that each registers what it holds."""
    for module in sorted(pkgutil.iter_modules(path), key=lambda found: found.name):
        importlib.import_module(f"{package}.{module.name}")

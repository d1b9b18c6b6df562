"""A short notation for many columns, to be read and typed: "p_0 … p_99", "p_*", "cat, dog"."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

TO = "…"


def written(columns: Sequence[str], names: Sequence[str]) -> str:
    """Columns of a table as ranges of neighbours: "b … d, f"."""
    place = {name: i for i, name in enumerate(names)}
    runs: list[list[str]] = []
    for column in columns:
        if runs and place.get(column) == place.get(runs[-1][-1], -2) + 1:
            runs[-1].append(column)
        else:
            runs.append([column])
    return ", ".join(f"{run[0]} {TO} {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def read(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that a text means. A part that means none is kept, so that it is reported."""
    columns: dict[str, None] = {}
    for part in text.replace("...", TO).split(","):
        plain = part.strip()
        if plain:
            columns |= dict.fromkeys(_part(plain, names))
    return tuple(columns)


def _part(part: str, names: Sequence[str]) -> Sequence[str]:
    if part in names:
        return [part]
    first, to, last = (text.strip() for text in part.partition(TO))
    if to and first in names and last in names:
        start, end = sorted((names.index(first), names.index(last)))
        return names[start : end + 1]
    return [name for name in names if fnmatchcase(name, part)] or [part]

"""Tables in Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from benchmarks.reproduce.published import Published, Rows


def markdown(columns: Sequence[str], lines: Mapping[str, Sequence[str]]) -> str:
    """A table of numbers, a line each with its name in front.

    Examples
    --------
    >>> print(markdown(["a"], {"first": ["1"]}))
    | | a |
    | --- | ---: |
    | first | 1 |
    """
    head = [f"| | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    return "\n".join([*head, *(f"| {name} | {' | '.join(line)} |" for name, line in lines.items())])


def beside(row: Published) -> str:
    """Ours, and the published number in brackets where there is one."""
    ours = _number(row.ours, row)
    return ours if math.isnan(row.published) else f"{ours} ({printed(row)})"


def plain_table(rows: Rows) -> str:
    """One line per row; columns that would be empty are left out."""
    if all(math.isnan(row.published) for row in rows.values()):
        return markdown(["ours"], {row.name: [_number(row.ours, row)] for row in rows.values()})
    columns = ["published", "ours", "difference", "allowed"]
    noted = any(row.note for row in rows.values())
    lines = {row.name: _line(row)[: None if noted else -1] for row in rows.values()}
    return markdown([*columns, "note"] if noted else columns, lines)


def _line(row: Published) -> list[str]:
    published = "" if math.isnan(row.published) else printed(row)
    return [published, _number(row.ours, row), _difference(row), _allowed(row), row.note]


def _number(value: float, row: Published) -> str:
    return f"{value:.{row.digits}f}"


def printed(row: Published) -> str:
    """The published number as it was printed; a computed one has more digits than are shown."""
    return min(f"{row.published:.10g}", _number(row.published, row), key=len)


def _difference(row: Published) -> str:
    if math.isnan(row.difference):
        return ""
    rounded = f"{row.difference:+.{row.digits}f}"
    return "0" if float(rounded) == 0.0 else rounded


def _allowed(row: Published) -> str:
    if math.isnan(row.tolerance):
        return ""
    return f"{'≤ +' if row.at_most else '± '}{row.tolerance:g}"

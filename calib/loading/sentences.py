"""The sentence of every problem, in the table `sentences.txt` by key, written with its facts.

`{column}` writes a fact as its type says: text is quoted, a list is listed, a count has separators,
and a fraction four significant digits. `{labels:5}` lists at most five, `{count:row}` writes "3
rows", `{count:is/are}` chooses by number, and FORMS has the other forms. A part in angle brackets
is left out if one of its facts is missing, empty or 0. A key is the code of its problem, or the
code, a point, and what distinguishes the sentence from others of the same code. A key that begins
with _ is a part of several sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from string import Formatter
from typing import Any, TypeAlias

from calib.data.cells import REVERSED
from calib.text import joined, listed, number, percent, plural, quoted, significant

# Row numbers as in a spreadsheet, the first ones, and the number of all rows that are meant.
Places: TypeAlias = tuple[Sequence[str], int]
PART = re.compile(r"<([^<>]*)>")


def _at(places: Places) -> str:
    """Row numbers as text: "row 3", "rows 3, 5 and 9", "rows 3, 5, 9 and 7 more"."""
    numbers, total = places
    return f"{'row' if total == 1 else 'rows'} {joined(numbers, total)}"


FORMS: dict[str, Callable[[Any], str]] = {
    "raw": str,
    "repr": repr,
    "percent": percent,
    "2 digits": lambda value: number(value, 2),
    "3 digits": lambda value: number(value, 3),
    "at": _at,
    "or empty": lambda value: "an empty cell" if value is None else quoted(value),
    "by reason": lambda counts: joined([f"{why} ({n:,})" for why, n in counts]),
    "capital": lambda text: text[:1].upper() + text[1:],
    "or": "; or ".join,
    "and": joined,
    "MB": lambda size: f"{number(size / 2**20, 0)} MB",
    "GB": lambda size: f"{number(size / 2**30, 1)} GB",
    # The fact only decides whether its part of the sentence is written.
    "if": lambda _: "",
}


class _Writer(Formatter):
    def format_field(self, value: Any, form: str) -> str:
        if form in FORMS:
            return FORMS[form](value)
        if form.isdecimal():
            return listed(value, int(form))
        if "/" in form:
            return form.split("/")[value != 1]
        if form:
            return plural(value, form)
        if isinstance(value, Integral):
            return f"{value:,}"
        if isinstance(value, float):
            return significant(value, 4)
        if isinstance(value, list | tuple):
            numbers = all(isinstance(one, float) for one in value)
            return joined([significant(one, 4) for one in value]) if numbers else listed(value)
        return quoted(value)


WRITER = _Writer()


def _table(text: str) -> dict[str, str]:
    """The sentences by key. A line that begins with blanks continues a sentence."""
    lines = re.sub(r"\n +", " ", re.sub(r"(?m)^#.*\n", "", text)).split("\n")
    table = dict(line.split(": ", 1) for line in lines if line)
    parts = {f"{{{key}}}": part for key, part in table.items() if key.startswith("_")}
    # The sentence of a report's warning begins in the same way.
    parts["{_reversed}"] = REVERSED
    for key in table:
        for name, part in parts.items():
            table[key] = table[key].replace(name, part)
    return table


SENTENCES = _table(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))


def sentence(key: str, facts: Mapping[str, Any]) -> str:
    """The sentence of a problem. That of one of several models begins with its name."""

    def part(match: re.Match[str]) -> str:
        names = [name for _, name, _, _ in WRITER.parse(match[1]) if name]
        return match[1] if all(facts.get(name) for name in names) else ""

    # One sentence serves the guesses of all arguments: "guessed-score", "guessed-weight".
    text = SENTENCES[key if key in SENTENCES else f"{key.partition('-')[0]}-*"]
    if facts.get("of_model"):
        text = f"Model {{of_model}}< (and {{n_others:other}})>: {text}"
    return WRITER.vformat(PART.sub(part, text), (), facts)

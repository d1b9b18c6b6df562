"""Text: delimited files written from known rows in the ways of people and of programs."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.data.predictions import Predictions
from calib.loading import load
from tests.fuzz.cases import Case, plausible

# Spellings of the negative label come first. Several spellings count as the same label.
LABELS = {
    "0/1": (["0"], ["1"]),
    "floats": (["0.0"], ["1.0"]),
    "signs": (["-1"], ["1"]),
    "1/2": (["1"], ["2"]),
    "yes/no": (["no"], ["yes"]),
    "spellings": (["no", "No", "NO"], ["yes", "Yes", " YES"]),
    "true/false": (["false"], ["true"]),
    "True/False": (["False"], ["True"]),
    "words": (["benign"], ["malignant"]),
}
PLAIN_LABELS = ("0/1", "yes/no", "true/false", "True/False", "words", "signs")
OUTCOMES, SCORES = ("y", "y_true", "label", "outcome"), ("p", "prob", "score", "y_prob")
MISSING = ("", "NA", "nan", "NULL", "n/a", "None", "-")
# Words that stand for nothing in one program and for something in a column of words.
WORDS = ("north", "south", "NA", "None", "null", "café", "a b")
ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "cp1252",
    "latin-1",
)
TRANSFORMS = {
    "none": lambda p: p,
    "percent": lambda p: 100.0 * p,
    "logit": lambda p: math.log(p / (1.0 - p)),
}


@dataclass(slots=True)
class Style:
    """How a file is written; the defaults are those of a plain CSV file."""

    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    newline: str = "\n"
    encoding: str = "utf-8"
    quote: str = "needed"
    header: str = "names"
    labels: str = "0/1"
    sign: bool = False
    transform: str = "none"
    trailing: str = ""
    ragged: str = ""
    blank_lines: bool = False
    comment: str = ""
    padding: str = ""
    end: bool = True
    missing: str | None = None


CHOICES: dict[str, tuple[Any, ...]] = {
    "delimiter": (";", "\t", "|", " "),
    "decimal": (",",),
    "thousands": (",", ".", " ", "'", "_"),
    "newline": ("\r\n", "\r"),
    "encoding": ENCODINGS,
    "quote": ("all", "words", "header"),
    "header": ("none", "numeric", "numeric index", "index", "R"),
    "labels": tuple(LABELS),
    "sign": (True,),
    "transform": ("percent", "logit"),
    "trailing": ("rows", "all"),
    "ragged": ("short", "long", "first long"),
    "blank_lines": (True,),
    "comment": ("# written by a program", "# a,b;c", "sep=", "Report 7"),
    "padding": (" ", "  "),
    "end": (False,),
    "missing": MISSING,
}
# One of these alone leaves nothing to guess, and must be read.
PLAIN = {
    "delimiter": ("\t", ";", "|"),
    "newline": CHOICES["newline"],
    "encoding": ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"),
    "quote": CHOICES["quote"],
    "header": ("index",),
    "labels": PLAIN_LABELS,
    "sign": (True,),
    "blank_lines": (True,),
    "end": (False,),
}


def text_case(rng: random.Random) -> Case:
    """A file in a style of some oddities, and the rows that were written."""
    style = Style()
    odd = rng.sample(sorted(CHOICES), rng.choice([0, 1, 1, 2, 3, 4, 6]))
    for name in odd:
        setattr(style, name, rng.choice(CHOICES[name]))
    if style.thousands == style.decimal:
        style.thousands = ""
    if style.ragged == "short":
        style.trailing = ""
    words = style.comment.startswith("#") or style.delimiter in style.comment
    if style.header.startswith("numeric") and words:
        # Such a line may as well be the header of the numbers below it.
        style.comment = ""
    table = _Table(rng, style)
    plain = len(odd) <= 1 and all(getattr(style, each) in PLAIN.get(each, ()) for each in odd)
    return Case(table.data(), table.load, table.wrong, plain, f"{style}, {table.arguments}")


class _Table:
    """Known rows, and the file that is written of them."""

    def __init__(self, rng: random.Random, style: Style) -> None:
        self.rng, self.style = rng, style
        n = rng.randint(6, 40)
        outcome = [0, 1, 0, 1, *(rng.randint(0, 1) for _ in range(n - 4))]
        rng.shuffle(outcome)
        digits = rng.choice([2, 4, 6, 12])
        score = [round(rng.uniform(0.02, 0.98), digits) for _ in range(n)]
        self.columns: dict[str, list[Any]] = {"y": outcome, "p": score}
        self.named = style.header in ("names", "index", "R")
        self._extras(n)
        names = {"y": rng.choice(OUTCOMES), "p": rng.choice(SCORES)}
        order = rng.sample(list(self.columns), len(self.columns))
        if style.ragged == "short":
            order.sort(key="p".__eq__)
        self.order = [(key, names.get(key, key)) for key in order]
        self.missing = {rng.randrange(n)} if style.missing is not None else set()
        self.arguments = self._arguments(names)

    def _extras(self, n: int) -> None:
        rng = self.rng
        if rng.random() < 0.3 or self.style.thousands:
            digits = rng.choice([None, 1, 3])
            self.columns["weight"] = [round(rng.uniform(2, 5000), digits) for _ in range(n)]
        if self.named and rng.random() < 0.3:
            # Ids beyond the 53 bits of a double: neighbours are the same float.
            self.columns["group"] = [2**60 + rng.randrange(9) for _ in range(n)]
        if self.named and rng.random() < 0.3:
            self.columns["region"] = [rng.choice(WORDS) for _ in range(n)]

    def _arguments(self, names: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.named:
            chosen = {"weight": "weight", "group": "group"}
            found = {role: name for role, name in chosen.items() if role in self.columns}
            if "region" in self.columns:
                found["slices"] = ("region",)
            if self.rng.random() < 0.5:
                found |= {"outcome": names["y"], "score": names["p"]}
        if self.style.transform != "none":
            found["transform"] = self.style.transform
        if self.rng.random() < 0.5:
            found["drop_missing"] = True
        return found

    def data(self) -> bytes:
        style, rng = self.style, self.rng
        rows = self._rows()
        if style.ragged:
            self._make_ragged(rows)
        header = self._header()
        if style.trailing:
            rows = [[*row, ""] for row in rows]
            header += [""] * (bool(header) and style.trailing == "all")
        lines = [self._line(cells) for cells in (*([header] if header else []), *rows)]
        if style.blank_lines:
            lines.insert(rng.randrange(len(lines) + 1), "")
        if style.comment:
            hint = style.delimiter if style.comment == "sep=" else ""
            lines.insert(0, style.comment + hint)
        text = style.newline.join(lines) + (style.newline if style.end else "")
        return text.encode(style.encoding, "replace")

    def _header(self) -> list[str]:
        names = [f'"{name}"' if self.style.quote == "header" else name for _, name in self.order]
        numbers = [str(i) for i in range(len(names))]
        return {
            "names": names,
            "none": [],
            "numeric": numbers,
            "numeric index": ["", *numbers],
            "index": ["", *names],
            "R": names,
        }[self.style.header]

    def _rows(self) -> list[list[str]]:
        indexed = self.style.header in ("numeric index", "index", "R")
        n = len(self.columns["y"])
        columns = [[self._cell(key, row) for row in range(n)] for key, _ in self.order]
        return [
            [*([str(row + 1)] if indexed else []), *cells]
            for row, cells in enumerate(zip(*columns, strict=True))
        ]

    def _cell(self, key: str, row: int) -> str:
        style, value = self.style, self.columns[key][row]
        if key == "p":
            if row in self.missing:
                return str(style.missing)
            return self._score(row)
        if key == "weight":
            mark = style.thousands or ""
            return f"{value:,}".replace(".", "d").replace(",", mark).replace("d", style.decimal)
        if key == "y":
            return self.rng.choice(LABELS[style.labels][value])
        return str(value)

    def _score(self, row: int) -> str:
        """The score's text; the truth is what the text says."""
        style, p = self.style, self.columns["p"][row]
        shown = TRANSFORMS[style.transform](p)
        percent = style.sign and style.transform == "none"
        text = f"{100.0 * p:.4f}" if percent else repr(round(shown, 9))
        said = float(text)
        undone = {"percent": said / 100.0, "logit": 1.0 / (1.0 + math.exp(-said)), "none": said}
        self.columns["p"][row] = said / 100.0 if percent else undone[style.transform]
        return text.replace(".", style.decimal) + ("%" if percent else "")

    def _line(self, cells: list[str]) -> str:
        style = self.style
        return style.delimiter.join(
            style.padding * bool(i) + self._quoted(c) for i, c in enumerate(cells)
        )

    def _quoted(self, cell: str) -> str:
        style = self.style
        word = any(c.isalpha() for c in cell)
        needed = style.delimiter in cell or (style.delimiter == " " and not cell)
        if cell[:1] != '"' and (
            needed or style.quote == "all" or (style.quote == "words" and word)
        ):
            return f'"{cell}"'
        return cell

    def _make_ragged(self, rows: list[list[str]]) -> None:
        row = 0 if self.style.ragged == "first long" else self.rng.randrange(len(rows))
        if self.style.ragged == "short":
            self.missing.add(row)
            rows[row].pop()
        else:
            rows[row].append("1")

    def load(self, data: bytes) -> Predictions:
        return load(data, **self.arguments)

    def wrong(self, found: Predictions) -> str:
        n = len(self.columns["y"])
        keep = [row for row in range(n) if row not in self.missing]
        if len(keep) < n and not self.arguments.get("drop_missing"):
            return "a missing score was read without a word"
        for key, values in (("y", found.outcome), ("p", found.scores), ("weight", found.weight)):
            if key != "weight" or "weight" in self.arguments:
                trouble = _unlike(key, [self.columns[key][row] for row in keep], values)
                if trouble:
                    return trouble
        return self._wrong_words(found, keep) or plausible(found)

    def _wrong_words(self, found: Predictions, keep: list[int]) -> str:
        if "group" in self.arguments:
            ids = [self.columns["group"][row] for row in keep]
            if len(set(zip(ids, found.group.tolist(), strict=True))) != len(set(ids)):
                return "groups were merged or split"
        if "slices" in self.arguments:
            words = [self.columns["region"][row] for row in keep]
            read = found.columns["region"].tolist()
            if words != read:
                return next(
                    f"slice {b!r} for {a!r}" for a, b in zip(words, read, strict=True) if a != b
                )
        return ""


def _unlike(key: str, written: list[float], values: Any) -> str:
    if values is None or len(values) != len(written):
        return f"{key}: {0 if values is None else len(values)} rows for {len(written)}"
    far = np.flatnonzero(~np.isclose(values, written, rtol=1e-8, atol=1e-12))
    return f"{key}: {values[far[0]]} for {written[far[0]]} in row {far[0]}" if len(far) else ""

"""Foreign: tables as other programs export them in several countries, with the truth known."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np

from calib.data.predictions import Predictions
from calib.loading import InputWarning, load, load_models
from tests.fuzz.cases import Case
from tests.fuzz.programs import COUNTRIES, PROGRAMS, Writer

NAMES = {
    "outcome": ("y", "outcome", "label", "target", "Klasse", "resultado"),
    "score": ("p", "prob", "score", "y_prob", "Wahrscheinlichkeit", "risk"),
}
# Values of slices, groups and models that look like numbers, dates or missing words.
CODES = (
    ("007", "7", "08"),
    ("1.1", "1.10", "1.2"),
    ("1e1", "10", "2e1"),
    ("north", "south", "NA"),
    ("1", "2", "3"),
    ("0", "1", "10"),
    ("v1", "v2", "v10"),
    ("a b", "Ä", "c,d"),
    ("1-2", "3-4", "5+"),
)
LABELS = ("truth", "truth", "0/1", "0/1", "1/2", "-1/1", "pair", "pair", "0.0/1.0", "0{}00/1{}00")
# Cells without a value may have these words in a file of any program.
ODD = (
    "#REF!",
    "#DIV/0!",
    "#NV",
    "-1.#IND",
    "k. A.",
    "-9",
    "99",
    ".A",
    "n.d.",
    "<NA>",
    "unknown",
    "?",
)
FOOTERS = ("Total", "Summe;;", "Source: registry", "(2 rows)", "-- end --")
TITLES = ("Report 2024", "Table 1: scores", "# exported", "\ufeff")
PERIODS = ("{mon} {y}", "{mon}-{yy}", "{mm}/{y}", "{mm}.{y}", "{y}-{mm}", "Q{q} {y}", "{y}Q{q}")


@dataclass(slots=True)
class Found:
    """What was read, and what was said about it."""

    models: dict[str, Predictions]
    said: list[str] = field(default_factory=list)


def foreign_case(rng: random.Random) -> Case:
    """A table of some rows as a program exports it in a country."""
    writer = Writer(rng, rng.choice(list(PROGRAMS)), rng.choice(list(COUNTRIES)))
    table = _Table(writer)
    data = table.data()
    note = f"{writer.name}, {writer.place}: {table.arguments}"
    return Case(data, table.read, table.wrong, note=note, told=lambda found: bool(found.said))


class _Table:
    """Known rows, and the file that a program makes of them."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.rng = writer, writer.rng
        rng = self.rng
        self.n = rng.randint(30, 80)
        self.kind = rng.choice(["one", "one", "one", "models", "classes"])
        self.y = [0, 1, 2, 0, 1, 2] + [rng.randrange(3) for _ in range(self.n - 6)]
        if self.kind != "classes":
            self.y = [min(value, 1) for value in self.y]
        self.columns: dict[str, list[str]] = {}
        self.arguments: dict[str, Any] = {}
        self.missing: dict[str, int] = {}
        self.na = writer.choice("missing")
        self._outcome()
        self._scores()
        if rng.random() < 0.35:
            self._codes("slices", rng.choice(["site", "region", "version"]))
        if rng.random() < 0.3:
            self._codes("group", rng.choice(["patient", "group", "zip"]))
        if rng.random() < 0.4:
            self._times()
        if rng.random() < 0.5:
            self.arguments["drop_missing"] = True
        self._holes()

    def _outcome(self) -> None:
        writer, rng = self.writer, self.rng
        kind = rng.choice(LABELS)
        pair = rng.choice(writer.country.pairs)
        words = {"truth": writer.truth, "pair": pair}.get(kind, tuple(kind.split("/")))
        words = tuple(word.format(writer.decimal) for word in words)
        if self.kind == "classes":
            words = writer.country.classes
        self.labels = words
        self.outcome = rng.choice(NAMES["outcome"])
        self.columns[self.outcome] = [words[value] for value in self.y]
        self.arguments["outcome"] = self.outcome
        certain = kind in ("0/1", "-1/1", "0.0/1.0") or words == ("0", "1")
        if self.kind != "classes" and (not certain or rng.random() < 0.5):
            self.arguments["positive"] = words[1]
        if rng.random() < 0.3:
            # Without its name, the column is guessed.
            del self.arguments["outcome"]

    def _scores(self) -> None:
        rng, writer = self.rng, self.writer
        digits = rng.choice(writer.program.digits)
        self.percent = rng.choice(writer.program.percent)
        # SPSS and some spreadsheets write .5 for 0.5.
        self.bare = writer.name in ("SPSS", "SAS", "Excel") and rng.random() < 0.3
        name = rng.choice(NAMES["score"])
        if self.kind == "one":
            self.scores = {name: self._single(digits)}
            if rng.random() < 0.7:
                self.arguments["score"] = name
        elif self.kind == "models":
            self.scores = {f"prob_{model}": self._single(digits) for model in ("old", "new")}
        else:
            self.scores = self._matrix(digits)
        for column, values in self.scores.items():
            self.columns[column] = [self._number(value, digits) for value in values]

    def _single(self, digits: int) -> list[float]:
        rng = self.rng
        chances = (min(0.98, max(0.02, 0.25 + 0.5 * y + rng.gauss(0, 0.2))) for y in self.y)
        return [round(chance, digits) for chance in chances]

    def _matrix(self, digits: int) -> dict[str, list[float]]:
        rng, digits = self.rng, max(digits, 4)
        rows = []
        for y in self.y:
            parts = [rng.random() + 1.5 * (k == y) for k in range(3)]
            first, second = (round(part / sum(parts), digits) for part in parts[:2])
            rows.append((first, second, round(1.0 - first - second, digits)))
        names = (f"p_{name}" for name in self.writer.country.classes)
        return {
            name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)
        }

    def _number(self, value: float, digits: int) -> str:
        digits = max(digits, 4) if self.kind == "classes" else digits
        fixed = digits < 6
        shown = 100.0 * value if self.percent else value
        places = max(digits - 2, 0) if self.percent else digits
        text = f"{shown:.{places}f}" if fixed or self.percent else repr(value)
        if self.bare and text.startswith("0."):
            text = text[1:]
        return text.replace(".", self.writer.decimal) + self.percent

    def _codes(self, role: str, name: str) -> None:
        values = self.rng.choice(CODES)
        self.columns[name] = [self.rng.choice(values) for _ in range(self.n)]
        self.arguments[role] = [name] if role == "slices" else name

    def _times(self) -> None:
        rng, writer = self.rng, self.writer
        first, step = date(rng.randint(1999, 2024), rng.randint(1, 12), 1), rng.choice([1, 3, 17])
        self.days = [first + timedelta(days=step * rng.randrange(30)) for _ in range(self.n)]
        form = rng.choice(PERIODS) if rng.random() < 0.25 else writer.choice("days")
        if form in PERIODS:
            quarter = "{q}" in form
            months = (3 * ((day.month - 1) // 3) + 1 if quarter else day.month for day in self.days)
            self.days = [d.replace(day=1, month=m) for d, m in zip(self.days, months, strict=True)]
        self.columns["date"] = [writer.day(form, day) for day in self.days]
        self.arguments["time"] = "date"

    def _holes(self) -> None:
        """Leave out some cells of scores, outcomes, codes and dates."""
        rng = self.rng
        for column in self.columns:
            if rng.random() < 0.15:
                row = rng.randrange(self.n)
                odd = rng.random() < 0.25 and (column in self.scores or column == self.outcome)
                self.columns[column][row] = rng.choice(ODD) if odd else self.na
                self.missing[column] = row

    def _lost(self, model: str) -> set[int]:
        """Rows without an outcome or a score of the model."""
        own = [model] if model else list(self.scores)
        return {row for name, row in self.missing.items() if name in (self.outcome, *own)}

    def data(self) -> bytes:
        writer, rng = self.writer, self.rng
        delimiter = writer.choice("delimiter")
        if delimiter == writer.decimal == ",":
            delimiter = ";"
        self.delimiter, self.quoting = delimiter, rng.choice(writer.program.quoted)
        index = rng.choice(writer.program.index)
        order = rng.sample(list(self.columns), len(self.columns))
        header = [self._cell(name) for name in order]
        columns = [self.columns[name] for name in order]
        rows = [[self._cell(cell) for cell in row] for row in zip(*columns, strict=True)]
        if index:
            header = [*([self._cell("", word=True)] if index == "named" else []), *header]
            rows = [[self._cell(str(i), word=True), *row] for i, row in enumerate(rows, 1)]
        lines = [delimiter.join(cells) for cells in (header, *rows)]
        below, above = rng.choice(writer.program.below), rng.choice(writer.program.above)
        if below == "Total":
            lines.append(delimiter.join(["Total", *[""] * (len(header) - 1)]))
        elif below:
            lines.append(f"({self.n} rows)")
        if above:
            lines.insert(0, above + delimiter)
        if rng.random() < 0.04:
            lines.append(rng.choice(FOOTERS))
        if rng.random() < 0.03:
            lines.insert(0, rng.choice(TITLES))
        if rng.random() < 0.02:
            # Two files behind each other: the header comes again.
            lines.insert(len(lines) // 2, delimiter.join(header))
        text = writer.program.newline.join(lines) + writer.program.newline
        try:
            return text.encode(writer.choice("encodings"))
        except UnicodeEncodeError:
            return text.encode()

    def _cell(self, cell: str, *, word: bool = False) -> str:
        wordy = word or any(c.isalpha() for c in cell)
        empty = self.delimiter == " " and not cell.strip()
        mark = self.quoting == "all" or (self.quoting == "words" and wordy and cell != self.na)
        if (mark or self.delimiter in cell or empty) and not cell.startswith('"'):
            return f'"{cell}"'
        return cell

    def read(self, data: bytes) -> Found:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if self.kind == "models":
                named = {k: v for k, v in self.arguments.items() if k != "score"}
                models = load_models(data, **named, models=list(self.scores))
            else:
                models = {"": load(data, **self.arguments)}
        for one in caught:
            if not issubclass(one.category, InputWarning):
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return Found(models, [str(one.message) for one in caught])

    def wrong(self, found: Found) -> str:
        wanted = list(self.scores) if self.kind == "models" else [""]
        if list(found.models) != wanted:
            return f"models {list(found.models)} for {wanted}"
        for name, rows in found.models.items():
            lost = self._lost(name)
            if lost and not self.arguments.get("drop_missing"):
                return "missing cells were read without a word"
            keep = [row for row in range(self.n) if row not in lost]
            scores = [self.scores[name]] if name else list(self.scores.values())
            if trouble := self._unlike(rows, np.transpose(scores)[keep], keep):
                return trouble
        return ""

    def _unlike(self, found: Predictions, scores: Any, keep: list[int]) -> str:
        if len(found.outcome) != len(keep):
            return f"{len(found.outcome)} rows for {len(keep)}"
        if self.kind == "classes":
            names = np.array(found.class_names)[found.outcome].tolist()
            if names != [self.labels[self.y[row]] for row in keep]:
                return f"classes {names[:4]}"
            places = [found.class_names.index(label) for label in self.labels]
            own = found.scores[:, places]
        else:
            if found.outcome.tolist() != [self.y[row] for row in keep]:
                return f"outcomes {found.outcome[:6]}"
            own = found.scores[:, None]
        far = np.abs(own - scores).max()
        if far > 0.5 * 10.0 ** -min(4, *self.writer.program.digits) + 1e-9:
            return f"scores are {far} off"
        return self._codes_unlike(found, keep) or self._times_unlike(found, keep)

    def _codes_unlike(self, found: Predictions, keep: list[int]) -> str:
        for name in self.arguments.get("slices", ()):
            cells = [self.columns[name][row].strip() or "(missing)" for row in keep]
            cells = ["(missing)" if cell == '""' else cell for cell in cells]
            if found.columns[name].tolist() != cells:
                return f"slices {found.columns[name][:5]} for {cells[:5]}"
        if name := self.arguments.get("group"):
            ids = [self.columns[name][row].strip().strip('"') or f"row {row}" for row in keep]
            own = found.group.tolist()  # type: ignore[union-attr]
            if len(set(zip(ids, own, strict=True))) != len(set(ids)) or len(set(own)) != len(
                set(ids)
            ):
                return "groups were merged or split"
        return ""

    def _times_unlike(self, found: Predictions, keep: list[int]) -> str:
        if "time" not in self.arguments:
            return ""
        if "date" not in found.columns:
            return "the time was left out"
        own = found.columns["date"]
        cells = self.columns["date"]
        gap = self.missing.get("date", -1)
        known = [row for row in keep if row != gap]
        read = own[[row != gap for row in keep]]
        if read.dtype.kind != "M":
            return f"times {read[:3]} for {[cells[row] for row in known[:3]]}"
        days = read.astype("datetime64[D]").tolist()
        wanted = [self.days[row] for row in known]
        far = [(a, b) for a, b in zip(days, wanted, strict=True) if a != b]
        return f"times {far[0]}" if far else ""

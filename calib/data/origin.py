"""Origin: the file from which rows were read, how it was read, and remarks about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.data.file_options import Columns, FileFormat


class Remark(str):
    """A sentence and its code, such as "swapped". A sentence that a report keeps has no code.

    >>> remark = Remark("2 rows are repeated.", "repeated-rows")
    >>> remark, code_of(remark), code_of("2 rows are repeated.")
    ('2 rows are repeated.', 'repeated-rows', '')
    """

    code: str

    def __new__(cls, sentence: str, code: str = "") -> Remark:
        """Make a remark; a copy gets the code of the original from its attributes."""
        remark = super().__new__(cls, sentence)
        remark.code = code
        return remark


def code_of(sentence: str) -> str:
    """The code of a sentence, or "" if it has none."""
    return getattr(sentence, "code", "")


# These arguments say how cells are written or which rows are left out, not what a column means.
TEXT_ARGUMENTS = {
    *(one.name for one in fields(FileFormat)),
    *("class_columns", "day_first", "decimal", "drop_missing"),
}
# An outcome with one of these names says whether an answer is right.
CORRECT_NAMES = ("correct", "is_correct")
MAX_NAME_LENGTH = 40
# If chance alone would give at least 10 differing pairs and there are none, the rows are copies.
MIN_EXPECTED_PAIRS = 10.0
# If rows are not copies, the first ones mostly show it, so that the others need not be sorted.
N_FIRST_ROWS = 10_000
Names = tuple[str, ...]
# The entries of an origin in a file and their kinds. Other programs read files of version 0.1, so
# later ones have the same entries.
ENTRIES: Mapping[str, Any] = {
    **dict.fromkeys(("file", "test", "example", "outcome", "score", "class_columns"), str),
    **dict.fromkeys(("scores", "classes"), Names),
    **dict.fromkeys(("positive", "predicted", "weight", "group", "split", "test_value"), str),
    "fold": str,
    "slices": Names,
    "time": str,
    "day_first": bool | None,
    **dict.fromkeys(("model", "model_value", "transform"), str),
    **dict.fromkeys(("drop_missing", "swap"), bool),
    "positives": Names,
    "negative": str,
    "negatives": Names,
    "others_negative": bool,
    "delimiter": str,
    "header": bool | None,
    **dict.fromkeys(("encoding", "decimal", "sheet", "scorer", "filter"), str),
    "correct_from": float | None,
    "percent_above_1": bool,
    **dict.fromkeys(("log_files", "guesses", "guessed", "reasons"), Names),
    **dict.fromkeys(("sampled", "sampled_of"), int),
    "sample_key": str,
    **dict.fromkeys(("seed", "repeated_rows", "repeated_ids"), int),
}
# Files of version 0.1 lack these entries, which are written only if they are not empty.
ADDED_ENTRIES = {
    *("sheet", "scorer", "filter", "correct_from", "percent_above_1", "log_files", "reasons"),
}
# Several columns or labels have an entry of their own.
SEVERAL = {"score": "scores", "positive": "positives", "negative": "negatives"}
EMPTY: Mapping[Any, Any] = {str: "", Names: (), bool: False, int: 0}


@dataclass(frozen=True, slots=True)
class Origin:
    """What the columns of a file mean, how it is read, and what else gives the same rows again.

    >>> Origin(Columns(outcome="y", score="p", positive="1"), file="rows.csv").arguments()
    {'outcome': 'y', 'score': 'p', 'positive': '1'}
    """

    columns: Columns = field(default_factory=Columns)
    format: FileFormat = field(default_factory=FileFormat)
    # The names of files do not contain their folders.
    file: str = ""
    test: str = ""
    # Several evaluation logs are read together.
    log_files: Names = ()
    # The key of a built-in example is empty if the rows are from elsewhere.
    example: str = ""
    # The score columns of all classes, if a short form can describe their names.
    class_columns: str = ""
    # Guesses are arguments that were not given, with the values that were guessed.
    guesses: Names = field(default=(), compare=False)
    # Reports keep the names of guessed arguments, so that a reader sees what nobody stated.
    guessed: Names = field(default=(), compare=False)
    # Why it was guessed, such as "outcome: its name says so".
    reasons: Names = field(default=(), compare=False)
    # If rows were drawn: their number, the number of rows of the source, the seed, and the column
    # by which they were drawn ("" means all columns).
    sampled: int = 0
    sampled_of: int = 0
    sample_key: str = ""
    seed: int = 0
    # Rows can equal an earlier row in all columns, or have the id of an earlier row.
    repeated_rows: int = 0
    repeated_ids: int = 0

    def arguments(self) -> dict[str, Any]:
        """The arguments of `calib.load` other than the file."""
        others = {"class_columns": self.class_columns, "test": self.test}
        others = {name: value for name, value in others.items() if value}
        return self.columns.changed() | others | self.format.changed()

    def entries(self) -> dict[str, Any]:
        """The entries of a file that are not empty."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= values.pop("columns").changed() | values.pop("format").changed()
        of_file = {
            SEVERAL.get(name, name) if isinstance(value, tuple) else name: value
            for name, value in values.items()
        }
        given = {name: of_file.get(name, EMPTY.get(kind)) for name, kind in ENTRIES.items()}
        return {name: value for name, value in given.items() if value != EMPTY.get(ENTRIES[name])}

    def to_json(self) -> dict[str, Any]:
        """All entries of a file, for JSON."""
        given = self.entries()
        written = [name for name in ENTRIES if name in given or name not in ADDED_ENTRIES]
        values = {name: given.get(name, EMPTY.get(ENTRIES[name])) for name in written}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}

    @classmethod
    def of_entries(cls, entries: Mapping[str, Any]) -> Origin:
        """An origin from the entries of a file. Raises ValueError for unknown values."""
        names = {several: one for one, several in SEVERAL.items()}
        given = {
            names.get(name, name): value
            for name, value in entries.items()
            if value != EMPTY.get(ENTRIES[name])
        }
        of_origin = {one.name: given.pop(one.name) for one in fields(cls) if one.name in given}
        of_format = [one.name for one in fields(FileFormat) if one.name in given]
        text_format = FileFormat(**{name: given.pop(name) for name in of_format})
        return cls(Columns(**given), text_format, **of_origin)

    @property
    def of_counts(self) -> bool:
        """Whether it is the origin of counts, which keep only how their scores were converted."""
        columns = self.columns
        return self == Origin(Columns(transform=columns.transform, swap=columns.swap))

    def stated(self) -> Origin:
        """The same origin with every guessed argument stated; `guessed` still has its name."""
        return replace(self, guesses=(), reasons=())

    def remarks(self, n_rows: int, *, copied: bool = False) -> tuple[Remark, ...]:
        """Remarks about a file with this number of rows, which are copies of each other or not."""
        remarks = []
        if self.sampled_of:
            sentence = (
                f"These are {n_rows:,} of {self.sampled_of:,} rows, drawn at random (seed "
                f"{self.seed}). All numbers are of this sample."
            )
            remarks.append(Remark(sentence, "sampled"))
        # If most rows repeat others, columns are few and rounded, and repeats are chance.
        if copied:
            remarks.append(Remark(copied_rows(self.repeated_rows, n_rows), "copied-rows"))
        elif 0 < 2 * self.repeated_rows <= n_rows:
            remarks.append(Remark(repeated_rows(self.repeated_rows), "repeated-rows"))
        if self.repeated_ids:
            remarks.append(Remark(repeated_ids(self.repeated_ids), "repeated-ids"))
        return tuple(remarks)


def conversion_of(origin: Origin | None) -> dict[str, Any]:
    """The arguments `transform` and `swap` of `calib.load`.

    >>> conversion_of(Origin(Columns(transform="percent"))), conversion_of(None)
    ({'transform': 'percent', 'swap': False}, {'transform': 'none', 'swap': False})
    """
    columns = (origin or Origin()).columns
    return {"transform": columns.transform, "swap": columns.swap}


def read_as(origin: Origin | None, *, outcome: str, score: str, positive: str) -> str:
    """What the columns were read as, and which of it was guessed, as one line for people.

    >>> columns = Columns(outcome="sex", score="risk")
    >>> origin = Origin(columns, guessed=("outcome", "score"))
    >>> read_as(origin, outcome="sex", score="risk", positive="1")
    'outcome: sex, score: risk, positive: 1 (guessed)'
    >>> origin = Origin(Columns(weight="w"), guessed=("weight",))
    >>> read_as(origin, outcome="y", score="p", positive="1")
    'outcome: y, score: p, positive: 1, weight: w (guessed: weight)'
    """
    origin = origin or Origin()
    # Each class of a matrix has a column, so no class is the positive one.
    is_matrix = origin.class_columns or isinstance(origin.columns.score, tuple)
    positive = "" if is_matrix else positive
    shown = {"outcome": outcome, "score": score, "positive": positive}
    shown |= {k: v for k, v in origin.arguments().items() if k not in TEXT_ARGUMENTS | shown.keys()}
    shown = {name: value for name, value in shown.items() if value}
    line = ", ".join(f"{name}: {_written(value)}" for name, value in shown.items())
    # Rows that are left out are counted elsewhere.
    guessed = [name for name in origin.guessed if name != "drop_missing"]
    if not guessed:
        return line
    # The positive label of 0 and 1 is never stated, so it does not count as stated.
    if {*guessed, "positive"} == {*shown, "positive"}:
        return f"{line} (guessed)"
    return f"{line} (guessed: {', '.join(guessed)})"


def read_because(origin: Origin | None) -> str:
    """Why the guessed columns were read like this, to follow what they were read as.

    >>> read_because(Origin(reasons=("outcome: its name says so",)))
    ' · outcome: its name says so'
    """
    reasons = () if origin is None else origin.reasons
    return "".join(f" · {reason.replace('`', '')}" for reason in reasons)


def _written(value: object) -> str:
    """A value on one line, without characters that steer a terminal."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " and ".join(map(_written, value))
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"


def are_copies(outcome: NDArray[np.integer | np.bool_], score: NDArray[np.floating]) -> bool:
    """Whether rows with equal scores never differ in outcome, although by chance some would.

    The outcome is 1 for positive, or the class. Of a matrix of scores, rows with equal scores of
    the last class count as equal.

    >>> score = np.linspace(0.2, 0.8, 100)
    >>> outcome = np.arange(100) % 2
    >>> are_copies(np.tile(outcome, 2), np.tile(score, 2))
    True
    >>> are_copies(outcome, score.round(1))
    False
    """
    # Rounded scores differ in outcome among the first rows already.
    if (
        len(outcome) > N_FIRST_ROWS
        and _differing(outcome[:N_FIRST_ROWS], score[:N_FIRST_ROWS]) is None
    ):
        return False
    expected = _differing(outcome, score)
    return expected is not None and expected >= MIN_EXPECTED_PAIRS


def _differing(
    outcome: NDArray[np.integer | np.bool_], score: NDArray[np.floating]
) -> float | None:
    """Expected number of neighbours with equal scores that differ in outcome; None if one does."""
    last = score if score.ndim == 1 else score[:, -1]
    order = np.argsort(last, kind="stable")
    tied = np.flatnonzero(last[order[1:]] == last[order[:-1]])
    first, second = order[tied], order[tied + 1]
    if (outcome[first] != outcome[second]).any():
        return None
    # Scores that will be converted later can be of any size.
    shares = score[first] if score.ndim > 1 else np.stack([last[first], 1.0 - last[first]], axis=1)
    return float((1.0 - np.square(shares.clip(0.0, 1.0)).sum(axis=1)).sum())


def copied_rows(count: int, n_rows: int) -> str:
    """Remark that rows are copies of earlier rows."""
    return (
        f"{count:,} of {n_rows:,} rows are copies of an earlier row: rows with the same score "
        "always have the same outcome. With copies, held-out results are too good and intervals "
        "too narrow. Remove the copies, or choose a column that they share as the cluster ID."
    )


def repeated_rows(count: int) -> str:
    """Remark that rows equal earlier rows."""
    verb = "row equals" if count == 1 else "rows equal"
    return (
        f"{count:,} {verb} an earlier row in all columns. With few, rounded columns this happens "
        "by chance; otherwise check whether the file contains duplicates."
    )


def repeated_ids(count: int) -> str:
    """Remark that ids appear in several rows."""
    verb = "row has" if count == 1 else "rows have"
    return (
        f"{count:,} {verb} the id of an earlier row. Check whether the file contains duplicates, "
        "or use the ID column as the cluster ID."
    )

"""Origin: the file from which rows were read, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Transform = Literal["none", "percent", "tenths", "logit", "clip", "softmax", "normalize"]
# These read a whole row of class scores.
OF_ROWS = ("softmax", "normalize")
# What is no argument of `calib.load`, and what has another name there.
NOT_GIVEN = {
    *("file", "example", "guesses", "sampled", "sampled_of", "sample_key", "seed"),
    *("repeated_rows", "repeated_ids", "guessed"),
}
# Arguments that say how text is written or which rows are left out, and not what a column means.
NO_MEANING = {
    "class_columns",
    "delimiter",
    "header",
    "day_first",
    "encoding",
    "decimal",
    "drop_missing",
}
MAX_NAME_LENGTH = 40
# Where chance leaves so many pairs different on average, none is no chance.
CLEARLY_COPIED = 10.0
GLANCE = 10_000
SINGULAR = {"scores": "score", "positives": "positive", "negatives": "negative"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The arguments of `calib.load` that give the same rows again. Missing ones are empty.

    >>> Origin(file="rows.csv", outcome="y", score="p", positive="1").arguments()
    {'outcome': 'y', 'score': 'p', 'positive': '1'}
    """

    # Names of the files without their folders.
    file: str = ""
    test: str = ""
    # Key of the built-in example, if the rows are one.
    example: str = ""
    outcome: str = ""
    score: str = ""
    class_columns: str = ""
    # Class columns whose names `class_columns` cannot describe.
    scores: tuple[str, ...] = ()
    # The labels of the class columns, if the names of the columns do not say them.
    classes: tuple[str, ...] = ()
    positive: str = ""
    predicted: str = ""
    weight: str = ""
    group: str = ""
    split: str = ""
    test_value: str = ""
    fold: str = ""
    slices: tuple[str, ...] = ()
    time: str = ""
    day_first: bool | None = None
    model: str = ""
    model_value: str = ""
    transform: str = ""
    drop_missing: bool = False
    swap: bool = False
    # The labels that count as positive if there are several.
    positives: tuple[str, ...] = ()
    # The labels that count as negative if there are more than two, or whether all others do.
    negative: str = ""
    negatives: tuple[str, ...] = ()
    others_negative: bool = False
    # Format of the text, if a person stated it.
    delimiter: str = ""
    header: bool | None = None
    encoding: str = ""
    decimal: str = ""
    # Arguments that were not given, with the values that were guessed.
    guesses: tuple[str, ...] = field(default=(), compare=False)
    # Their names. Reports keep them, so that a reader sees what nobody stated.
    guessed: tuple[str, ...] = field(default=(), compare=False)
    # Number of rows that were drawn, of how many rows of the source, or 0; the column by which they
    # were drawn, or "" if by all columns; and the seed.
    sampled: int = 0
    sampled_of: int = 0
    sample_key: str = ""
    seed: int = 0
    # Rows that equal an earlier row in all columns, and rows that have the id of an earlier row.
    repeated_rows: int = 0
    repeated_ids: int = 0

    def arguments(self) -> dict[str, Any]:
        """The arguments of `calib.load` other than the file."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NOT_GIVEN}
        return {
            SINGULAR.get(name, name): value
            for name, value in named.items()
            if value or (name in ("header", "day_first") and value is not None)
        }

    @property
    def of_counts(self) -> bool:
        """Whether it is the origin of counts, which keep only how their scores were converted."""
        return self == Origin(transform=self.transform, swap=self.swap)

    def stated(self) -> Origin:
        """The same origin with every guessed argument stated; `guessed` still has its name."""
        return replace(self, guesses=())

    def remarks(self, n_rows: int, *, copied: bool = False) -> tuple[str, ...]:
        """Remarks about a file with this number of rows, which are copies of each other or not."""
        found = []
        if self.sampled_of:
            found.append(
                f"These are {n_rows:,} of {self.sampled_of:,} rows, drawn at random (seed "
                f"{self.seed}). All numbers are of this sample."
            )
        # Where most rows repeat others, their columns are few and rounded.
        if copied:
            found.append(copied_rows(self.repeated_rows, n_rows))
        elif 0 < 2 * self.repeated_rows <= n_rows:
            found.append(repeated_rows(self.repeated_rows))
        if self.repeated_ids:
            found.append(repeated_ids(self.repeated_ids))
        return tuple(found)


def conversion_of(origin: Origin | None) -> dict[str, Any]:
    """The arguments `transform` and `swap` of `calib.load`.

    >>> conversion_of(Origin(transform="percent")), conversion_of(None)
    ({'transform': 'percent', 'swap': False}, {'transform': 'none', 'swap': False})
    """
    origin = origin or Origin()
    return {"transform": origin.transform or "none", "swap": origin.swap}


def read_as(origin: Origin | None, *, outcome: str, score: str, positive: str) -> str:
    """What the columns were read as, and which of it was guessed, as one line for people.

    >>> origin = Origin(outcome="sex", score="risk", guessed=("outcome", "score"))
    >>> read_as(origin, outcome="sex", score="risk", positive="1")
    'outcome: sex, score: risk, positive: 1 (guessed)'
    >>> read_as(Origin(weight="w", guessed=("weight",)), outcome="y", score="p", positive="1")
    'outcome: y, score: p, positive: 1, weight: w (guessed: weight)'
    """
    origin = origin or Origin()
    # The classes of a matrix are its columns: none of them is positive.
    positive = "" if origin.class_columns or origin.scores else positive
    shown = {"outcome": outcome, "score": score, "positive": positive}
    shown |= {k: v for k, v in origin.arguments().items() if k not in NO_MEANING | shown.keys()}
    shown = {name: value for name, value in shown.items() if value}
    line = ", ".join(f"{name}: {_written(value)}" for name, value in shown.items())
    if not origin.guessed:
        return line
    # Nobody names the positive one of 0 and 1, so it does not count as stated.
    if {*origin.guessed, "positive"} == {*shown, "positive"}:
        return f"{line} (guessed)"
    return f"{line} (guessed: {', '.join(origin.guessed)})"


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
    # Of rounded scores the first rows show it, so a million need not be sorted.
    if len(outcome) > GLANCE and _differing(outcome[:GLANCE], score[:GLANCE]) is None:
        return False
    expected = _differing(outcome, score)
    return expected is not None and expected >= CLEARLY_COPIED


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
    # Scores that are still to be converted can be of any size.
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

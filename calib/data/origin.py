"""Origin: the file from which rows were read, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calib.data.strict_json import added

Transform = Literal[
    "none", "percent", "tenths", "thousandths", "logit", "exp", "clip", "softmax", "normalize"
]
# These conversions read a whole row of class scores.
ROW_TRANSFORMS = ("softmax", "normalize")
# These fields are no arguments of `calib.load`, or have another name there.
NO_ARGUMENTS = {
    *("file", "log_files", "example", "guesses", "sampled", "sampled_of", "sample_key", "seed"),
    *("repeated_rows", "repeated_ids", "guessed", "reasons"),
}
# These arguments say how text is written or which rows are left out, and not what a column means.
TEXT_ARGUMENTS = {
    "class_columns",
    "delimiter",
    "header",
    "day_first",
    "encoding",
    "sheet",
    "decimal",
    "drop_missing",
    "scorer",
    "filter",
    "correct_from",
    "percent_above_1",
}
# An outcome with one of these names says whether an answer is right.
CORRECT_NAMES = ("correct", "is_correct")
MAX_NAME_LENGTH = 40
# If chance alone would give at least 10 differing pairs and there are none, the rows are copies.
MIN_EXPECTED_PAIRS = 10.0
# If rows are not copies, the first ones mostly show it, so that the others need not be sorted.
N_FIRST_ROWS = 10_000
# These arguments are given even if their value is False or 0.
NOT_EMPTY = ("header", "day_first", "correct_from")
ARGUMENT_NAMES = {"scores": "score", "positives": "positive", "negatives": "negative"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The arguments of `calib.load` that give the same rows again. Missing ones are empty.

    >>> Origin(file="rows.csv", outcome="y", score="p", positive="1").arguments()
    {'outcome': 'y', 'score': 'p', 'positive': '1'}
    """

    # The names of files do not contain their folders.
    file: str = ""
    test: str = ""
    # The key of a built-in example is empty if the rows are from elsewhere.
    example: str = ""
    outcome: str = ""
    score: str = ""
    class_columns: str = ""
    # Class columns are listed if `class_columns` cannot describe their names.
    scores: tuple[str, ...] = ()
    # Labels of the class columns are listed if the names of the columns do not contain them.
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
    # Several labels can count as positive.
    positives: tuple[str, ...] = ()
    # If there are more than two labels, some are named as negative, or all others are negative.
    negative: str = ""
    negatives: tuple[str, ...] = ()
    others_negative: bool = False
    # The format of the text is empty unless a person stated it.
    delimiter: str = ""
    header: bool | None = None
    encoding: str = ""
    decimal: str = ""
    # A workbook can have several sheets.
    sheet: str = added("")
    # Evaluation logs have several scorers or filters, or scores and confidences of several scales.
    scorer: str = added("")
    filter: str = added("")
    correct_from: float | None = added(None)
    percent_above_1: bool = added(False)
    # Several evaluation logs are read together.
    log_files: tuple[str, ...] = added(())
    # Guesses are arguments that were not given, with the values that were guessed.
    guesses: tuple[str, ...] = field(default=(), compare=False)
    # Reports keep the names of guessed arguments, so that a reader sees what nobody stated.
    guessed: tuple[str, ...] = field(default=(), compare=False)
    # Why it was guessed, such as "outcome: its name says so".
    reasons: tuple[str, ...] = added((), compare=False)
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
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NO_ARGUMENTS}
        return {
            ARGUMENT_NAMES.get(name, name): value
            for name, value in values.items()
            if value or (name in NOT_EMPTY and value is not None)
        }

    @property
    def of_counts(self) -> bool:
        """Whether it is the origin of counts, which keep only how their scores were converted."""
        return self == Origin(transform=self.transform, swap=self.swap)

    def stated(self) -> Origin:
        """The same origin with every guessed argument stated; `guessed` still has its name."""
        return replace(self, guesses=(), reasons=())

    def remarks(self, n_rows: int, *, copied: bool = False) -> tuple[str, ...]:
        """Remarks about a file with this number of rows, which are copies of each other or not."""
        remarks = []
        if self.sampled_of:
            remarks.append(
                f"These are {n_rows:,} of {self.sampled_of:,} rows, drawn at random (seed "
                f"{self.seed}). All numbers are of this sample."
            )
        # If most rows repeat others, columns are few and rounded, and repeats are chance.
        if copied:
            remarks.append(copied_rows(self.repeated_rows, n_rows))
        elif 0 < 2 * self.repeated_rows <= n_rows:
            remarks.append(repeated_rows(self.repeated_rows))
        if self.repeated_ids:
            remarks.append(repeated_ids(self.repeated_ids))
        return tuple(remarks)


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
    # Each class of a matrix has a column, so no class is the positive one.
    positive = "" if origin.class_columns or origin.scores else positive
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

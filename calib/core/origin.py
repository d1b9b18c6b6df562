"""Origin: the file from which rows were read, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

# What is no argument of `calib.load`, and what has another name there.
NOT_GIVEN = {
    *("file", "example", "guesses", "sampled_of", "seed", "repeated_rows", "repeated_ids"),
}
SINGULAR = {"scores": "score", "positives": "positive"}


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
    positive: str = ""
    predicted: str = ""
    weight: str = ""
    group: str = ""
    split: str = ""
    test_value: str = ""
    fold: str = ""
    slices: tuple[str, ...] = ()
    time: str = ""
    model: str = ""
    model_value: str = ""
    transform: str = ""
    drop_missing: bool = False
    swap: bool = False
    # The labels that count as positive if there are several.
    positives: tuple[str, ...] = ()
    # Format of the text, if a person stated it.
    delimiter: str = ""
    header: bool | None = None
    encoding: str = ""
    decimal: str = ""
    # Arguments that were not given, with the values that were guessed.
    guesses: tuple[str, ...] = field(default=(), compare=False)
    # Number of rows of the source from which these were drawn with a seed, or 0.
    sampled_of: int = 0
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
            if value or (name == "header" and value is not None)
        }

    def stated(self) -> Origin:
        """The same origin with every guessed argument stated. The rows are the same."""
        return replace(self, guesses=())

    def remarks(self, n_rows: int) -> tuple[str, ...]:
        """Remarks about a file with this number of rows."""
        found = []
        if self.sampled_of:
            found.append(
                f"These are {n_rows:,} of {self.sampled_of:,} rows, drawn at random (seed "
                f"{self.seed}). All numbers are of this sample."
            )
        # Where most rows repeat others, their columns are few and rounded.
        if 0 < 2 * self.repeated_rows <= n_rows:
            found.append(repeated_rows(self.repeated_rows))
        if self.repeated_ids:
            found.append(repeated_ids(self.repeated_ids))
        return tuple(found)


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

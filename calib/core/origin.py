"""Origin: which file rows came from, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

# What is no argument of `calib.load`, and what has another name there.
NOT_GIVEN = {
    *("file", "example", "guesses", "repeated_rows", "repeated_ids"),
}
SINGULAR = {"scores": "score", "positives": "positive"}


@dataclass(frozen=True, slots=True)
class Origin:
    """The arguments of `calib.load` that give the same rows again; empty where there is none.

    Attributes
    ----------
    file, test : str
        Names of the files, without their folders; "" where the rows were in memory.
    example : str
        Key of the built-in example, which no file holds.
    outcome, score, class_columns, positive, predicted, weight, group, split, test_value, fold, \
time, model, model_value, transform : str
    scores, slices, positives : tuple of str
        `scores` are class columns whose names `class_columns` cannot say; `positives` are labels
        that count as positive, where there are several.
    drop_missing, swap : bool
    delimiter, encoding, decimal : str
        How the text is written, where a person stated it.
    header : bool or None
        Whether its first line names the columns, where a person stated it.
    guesses : tuple of str
        Arguments that were not given, and the values that were guessed for them.
    repeated_rows, repeated_ids : int
        Rows of the file that equal an earlier row in all columns, and that have the id of an
        earlier row.

    Examples
    --------
    >>> Origin(file="rows.csv", outcome="y", score="p", positive="1").arguments()
    {'outcome': 'y', 'score': 'p', 'positive': '1'}
    """

    file: str = ""
    test: str = ""
    example: str = ""
    outcome: str = ""
    score: str = ""
    class_columns: str = ""
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
    positives: tuple[str, ...] = ()
    delimiter: str = ""
    header: bool | None = None
    encoding: str = ""
    decimal: str = ""
    guesses: tuple[str, ...] = field(default=(), compare=False)
    repeated_rows: int = 0
    repeated_ids: int = 0

    def arguments(self) -> dict[str, Any]:
        """What `calib.load` is given beside the file."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NOT_GIVEN}
        return {
            SINGULAR.get(name, name): value
            for name, value in named.items()
            if value or (name == "header" and value is not None)
        }

    def stated(self) -> Origin:
        """The same as if all that was guessed had been named: the rows are the same."""
        return replace(self, guesses=())

    def remarks(self, n_rows: int) -> tuple[str, ...]:
        """What a reader should know of a file of so many rows."""
        found = []
        # Where most rows repeat others, their columns are few and rounded.
        if 0 < 2 * self.repeated_rows <= n_rows:
            found.append(repeated_rows(self.repeated_rows))
        if self.repeated_ids:
            found.append(repeated_ids(self.repeated_ids))
        return tuple(found)


def repeated_rows(count: int) -> str:
    """Say that rows equal others."""
    verb = "row equals" if count == 1 else "rows equal"
    return (
        f"{count:,} {verb} an earlier row in all columns. With few, rounded columns this happens "
        "by chance; otherwise check whether the file contains duplicates."
    )


def repeated_ids(count: int) -> str:
    """Say that ids stand in several rows."""
    verb = "row has" if count == 1 else "rows have"
    return (
        f"{count:,} {verb} the id of an earlier row. Check whether the file contains duplicates, "
        "or use the ID column as the cluster ID."
    )

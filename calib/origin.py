"""Origin: which file rows came from, and how it was read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Origin:
    """The arguments of `calib.load` that give the same rows again; empty where there is none.

    Attributes
    ----------
    file, test : str
        Names of the files, without their folders; "" where the rows were in memory.
    example : str
        Key of the built-in example, which no file holds.
    outcome, score, class_columns, positive, predicted, weight, group, split, test_value, time, \
model, model_value, transform : str
    scores, slices : tuple of str
        `scores` are class columns whose names `class_columns` cannot say.
    drop_missing, swap : bool

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
    slices: tuple[str, ...] = ()
    time: str = ""
    model: str = ""
    model_value: str = ""
    transform: str = ""
    drop_missing: bool = False
    swap: bool = False

    def arguments(self) -> dict[str, Any]:
        """What `calib.load` is given beside the file."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        given = {
            "score" if name == "scores" else name: value for name, value in named.items() if value
        }
        return {name: value for name, value in given.items() if name not in ("file", "example")}

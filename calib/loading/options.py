"""ColumnMapping and TextFormat: which column means what, and how a text is written."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

Decimal = Literal[".", ","]
Transform = Literal["none", "percent", "tenths", "logit", "clip", "softmax", "normalize"]
# These read a whole row of class scores.
OF_ROWS = ("softmax", "normalize")


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Which column means what, and which repairs were asked for. Hashable.

    Parameters
    ----------
    outcome : str or None
        Column of the labels.
    score : str, tuple of str or None
        Column of the scores of the positive class; a tuple names one column a class.
    positive : str, tuple of str or None
        Label (as text) that counts as positive, or several; all others are negative, but for words
        such as "unknown", whose rows are left out.
    predicted : str or None
        Column of predicted labels. Where it is given, a row is positive if prediction and outcome
        agree, and the score is the model's confidence in its prediction.
    weight, group, time : str or None
        Columns of row weights, clusters and time.
    split : str or None
        Column that tells calibration rows from test rows.
    fold : str or None
        Column of the cross-validation folds to cross-fit in.
    test_value : str or None
        Value (as text) of `split` that means test rows; all others are calibration rows.
    slices : tuple of str
        Columns to slice by.
    transform : {"none", "percent", "tenths", "logit", "clip", "softmax", "normalize"}
        What makes the scores probabilities: divide by 100, divide by 10 (ratings), apply the
        sigmoid, clip to [0, 1]; of one column a class: apply the softmax to each row, divide each
        row by its sum.
    drop_missing : bool
        Leave out rows whose outcome, score, weight, split or fold is missing or unreadable.
    swap : bool
        Use 1 - score: the scores are those of the other class.
    decimal : {".", ","} or None
        Decimal mark of numbers written as text; the other mark then separates thousands.
    guessed : tuple of str
        Which of these fields nobody chose; two mappings that differ in it alone are equal.
    models : tuple of str
        Columns of the scores of several models, one column a model; `score` is then not used.
    model : str or None
        Column that names the model of each row, where several models scored rows.

    Raises
    ------
    ValueError
        If `transform` or `decimal` is unknown.

    Examples
    --------
    >>> ColumnMapping(outcome="y", score="p").changed()
    {'outcome': 'y', 'score': 'p'}
    """

    outcome: str | None = None
    score: str | tuple[str, ...] | None = None
    positive: str | tuple[str, ...] | None = None
    predicted: str | None = None
    weight: str | None = None
    group: str | None = None
    split: str | None = None
    test_value: str | None = None
    slices: tuple[str, ...] = ()
    time: str | None = None
    transform: Transform = "none"
    drop_missing: bool = False
    swap: bool = False
    models: tuple[str, ...] = ()
    model: str | None = None
    decimal: Decimal | None = None
    fold: str | None = None
    guessed: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        known = get_args(Transform)
        if self.transform not in known:
            names = ", ".join(map(repr, known))
            raise ValueError(f"transform must be one of {names}, got {self.transform!r}.")
        if self.decimal not in (None, *get_args(Decimal)):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}.")

    @property
    def positives(self) -> tuple[str, ...]:
        """The labels that count as positive."""
        if self.positive is None:
            return ()
        return (self.positive,) if isinstance(self.positive, str) else self.positive

    def chosen(self, **choices: Any) -> ColumnMapping:
        """The same with what a person chose, which is then no guess."""
        known = tuple(name for name in self.guessed if name not in choices)
        return replace(self, **choices, guessed=known)

    @property
    def score_columns(self) -> tuple[str, ...]:
        """Names of the score columns: none, one, one a class, or one a model."""
        if self.models:
            return self.models
        if self.score is None:
            return ()
        return (self.score,) if isinstance(self.score, str) else self.score

    def changed(self, base: ColumnMapping | None = None) -> dict[str, Any]:
        """The fields that differ from another mapping (from the empty one by default)."""
        other = ColumnMapping() if base is None else base
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.compare and getattr(self, f.name) != getattr(other, f.name)
        }

    def columns(self) -> dict[str, str]:
        """Column -> what it is for, of every column that is named."""
        one = {
            "outcome": self.outcome,
            "model": self.model,
            "predicted label": self.predicted,
            "weight": self.weight,
            "group": self.group,
            "split": self.split,
            "fold": self.fold,
            "time": self.time,
        }
        return {
            **dict.fromkeys(self.slices, "slice"),
            **{column: role for role, column in one.items() if column is not None},
            **dict.fromkeys(self.score_columns, "score"),
        }


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How a delimited text is written; what is None is found in the text.

    Parameters
    ----------
    delimiter : str or None
        Character between two cells.
    header : bool or None
        Whether the first line names the columns.
    encoding : str or None
        Such as "utf-8" or "cp1252".

    Raises
    ------
    ValueError
        If the delimiter is not one character, or Python knows no such encoding.

    Examples
    --------
    >>> TextFormat(delimiter=";", header=False)
    TextFormat(delimiter=';', header=False, encoding=None)
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\r\n\0' or ord(self.delimiter) > 127
        ):
            raise ValueError(
                "delimiter must be one ASCII character that is neither a quotation mark nor a "
                f"line break, got {self.delimiter!r}."
            )
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except (LookupError, UnicodeError):
                raise ValueError(
                    f"encoding must be one that Python knows, got {self.encoding!r}."
                ) from None

"""What the columns of a file mean, and how the file is read."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, Union, get_args

if TYPE_CHECKING:
    import pandas as pd


class ArrowTable(Protocol):
    """A table of pyarrow, Polars or another library that can export its columns to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


# The command line imports this module, so pandas is not imported here.
Source: TypeAlias = Union[str, bytes, os.PathLike[str], "pd.DataFrame", ArrowTable]
Transform = Literal[
    "none", "percent", "tenths", "thousandths", "logit", "exp", "clip", "softmax", "normalize"
]
# These conversions read a whole row of class scores.
ROW_TRANSFORMS = ("softmax", "normalize")
Decimal = Literal[".", ","]
# A sentence calls these roles by another name than their field.
ROLE_NAMES = {"predicted": "predicted label", "row_id": "id", "arrived": "arrival"}


def option(default: Any, meaning: str, *, metavar: str = "COLUMN", many: bool = False) -> Any:
    """A field from which docstrings and the command line are made.

    `meaning` describes it in both, `metavar` is the kind of value on the command line, which
    accepts the option several times if `many`.
    """
    return field(default=default, metadata={"meaning": meaning, "metavar": metavar, "many": many})


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The meaning of columns as a person states it: options of `load` and of `scan`."""

    outcome: str | None = option(None, "Column of the labels.")
    score: str | Sequence[str] | None = option(
        None, "Column of the scores of the positive class, or one column per class.", many=True
    )
    classes: Sequence[object] = option(
        (),
        "With one score column per class: the label of each column, in the order of `score`. It is "
        "needed only if the names of the columns do not hold the labels.",
        metavar="LABEL",
        many=True,
    )
    positive: object = option(
        None,
        "The label, or several labels, of positive rows; letter case is ignored. Words such as "
        '"unknown" or "NA" are missing outcomes. The only other label is negative.',
        metavar="LABEL",
        many=True,
    )
    negative: object = option(
        None,
        "The label, or several labels, of negative rows. It is required if there are more than two "
        "labels. Rows with a label that is neither positive nor negative are refused, or left out "
        "by `drop_missing`.",
        metavar="LABEL",
        many=True,
    )
    others_negative: bool = option(
        False, "Count all labels that are not positive as negative (one against the rest)."
    )
    weight: str | None = option(None, "Column of row weights.")
    group: str | None = option(
        None,
        "Column of cluster IDs. Rows of one cluster are not independent: they stay together in "
        "folds and resamples.",
    )
    split: str | None = option(None, "Column that separates test rows from calibration rows.")
    test_value: object = option(None, "Value of the split column for test rows.", metavar="VALUE")
    fold: str | None = option(
        None,
        "Column of cross-validation folds, used for cross-fitting. It cannot be combined with "
        "test rows.",
    )
    slices: Sequence[str] = option((), "Slice columns.", many=True)
    time: str | None = option(None, "Time column.")
    day_first: bool | None = option(
        None,
        "Whether dates such as 05/06/2024 have the day first. It is required if all dates of the "
        "time column can be read in both ways.",
    )
    model: str | None = option(None, "Column that names the model of each row.")
    transform: Transform = option(
        "none",
        "How scores are converted to probabilities. percent: divide by 100; tenths: divide by 10 "
        "(ratings); thousandths: divide by 1,000; logit: apply the sigmoid; clip: clip to [0, 1]. "
        "With one column per class also softmax: apply the softmax to each row; normalize: divide "
        "each row by its sum.",
    )
    drop_missing: bool = option(
        False,
        "Leave out rows with a missing or unreadable outcome, score, weight, split or fold. They "
        "are counted in `Predictions.set_aside`.",
    )
    swap: bool = option(False, "Use 1 - score, because the scores are for the negative class.")


class Doubt(NamedTuple):
    """What a guess of a role leaves open: a `Problem` of `problems.py`, which knows this module."""

    role: str
    problem: Any


@dataclass(frozen=True, kw_only=True)
class Columns(ColumnOptions):
    """The meaning of the columns, and the conversions to apply. It is hashable.

    The fields are those of `ColumnOptions`, with labels as text and sequences as tuples, and
    others: `models` are score columns of several models, in place of `score`; `model_value` is the
    only model of the column `model` whose rows are read. If there is a column of `predicted`
    labels, a row is positive if its predicted label is correct. Judged rows have a `row_id`, and a
    `scale`, the lowest and the highest possible score; rows of a monitor have a column of the time
    when the outcome `arrived`. `guessed` are the names of fields that were guessed, `reasons` say
    why, and `doubts` what is still open. The last three do not matter when mappings are compared.

    >>> Columns(outcome="y", score="p").changed()
    {'outcome': 'y', 'score': 'p'}
    """

    score: str | tuple[str, ...] | None = None
    classes: tuple[str, ...] = ()
    positive: str | tuple[str, ...] | None = None
    negative: str | tuple[str, ...] | None = None
    test_value: str | None = None
    slices: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    model_value: str | None = None
    predicted: str | None = None
    decimal: Decimal | None = None
    row_id: str | None = None
    arrived: str | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    guessed: tuple[str, ...] = field(default=(), compare=False)
    reasons: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    doubts: tuple[Doubt, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        transforms = get_args(Transform)
        if self.transform not in transforms:
            names = ", ".join(map(repr, transforms))
            raise ValueError(f"transform must be one of {names}, got {self.transform!r}.")
        if self.decimal not in (None, *get_args(Decimal)):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}.")
        low, high = self.scale
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(f"scale must fulfil low < high and be finite, got {low} and {high}.")

    @property
    def positives(self) -> tuple[str, ...]:
        """The labels that count as positive."""
        return _as_tuple(self.positive)

    @property
    def negatives(self) -> tuple[str, ...]:
        """The labels that count as negative, if they are named."""
        return _as_tuple(self.negative)

    @property
    def score_columns(self) -> tuple[str, ...]:
        """Names of the score columns: none, one, one per class, or one per model."""
        return self.models or _as_tuple(self.score)

    @property
    def open_doubts(self) -> tuple[Any, ...]:
        """What the guesses leave open that no person has settled."""
        return tuple(doubt.problem for doubt in self.doubts if doubt.role in self.guessed)

    def chosen(self, **choices: Any) -> Columns:
        """The same mapping with fields that a person chose, which are then not guesses."""
        guessed = tuple(name for name in self.guessed if name not in choices)
        chosen = replace(self, **choices, guessed=guessed)
        if "slices" in choices:
            return chosen
        # A column that was taken for a slice can be chosen for another role.
        columns = replace(chosen, slices=()).columns()
        return replace(chosen, slices=tuple(name for name in self.slices if name not in columns))

    def changed(self, base: Columns | None = None) -> dict[str, Any]:
        """The fields that differ from another mapping (from the empty one by default)."""
        return _changed(self, base or Columns())

    def columns(self) -> dict[str, str]:
        """The role of each column that is named."""
        single = ("outcome", "model", "predicted", "weight", "group", "split", "fold", "time")
        single_roles = {
            getattr(self, role): ROLE_NAMES.get(role, role)
            for role in (*single, "row_id", "arrived")
        }
        roles = {
            **dict.fromkeys(self.slices, "slice"),
            **single_roles,
            **dict.fromkeys(self.score_columns, "score"),
        }
        return {column: role for column, role in roles.items() if column}


def _changed(record: Any, base: Any) -> dict[str, Any]:
    names = [f.name for f in fields(record) if f.compare]
    return {n: getattr(record, n) for n in names if getattr(record, n) != getattr(base, n)}


def _as_tuple(names: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names or ()


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How a text or an evaluation log is read. The format of a text is guessed if it is None.

    >>> FileFormat(delimiter=";", header=False)
    FileFormat(delimiter=';', header=False, encoding=None, sheet=None, scorer=None, filter=None, \
correct_from=None, percent_above_1=False)
    """

    delimiter: str | None = option(
        None, "Delimiter between the cells of a text; detected if not given.", metavar="CHARACTER"
    )
    header: bool | None = option(
        None, "Whether the first line of a text names the columns; detected if not given."
    )
    encoding: str | None = option(
        None, "Encoding of a text, such as cp1252; detected if not given.", metavar="NAME"
    )
    sheet: str | None = option(
        None,
        "Sheet of a workbook; the first one that has a table with numbers if not given.",
        metavar="NAME",
    )
    scorer: str | None = option(
        None,
        "Scorer or metric of an evaluation log that says whether an answer is right. It is "
        "required if there are several.",
        metavar="NAME",
    )
    filter: str | None = option(
        None,
        "Filter of a log of lm-evaluation-harness. It is required if there are several.",
        metavar="NAME",
    )
    correct_from: float | None = option(
        None,
        "Smallest score of an evaluation log that counts as right. It is required if scores are "
        "not only 0 and 1.",
        metavar="NUMBER",
    )
    percent_above_1: bool = option(
        False,
        "Divide confidences above 1 by 100 in evaluation logs of which some have percentages and "
        "others do not. If no confidence of a task and model is between 0 and 1, all of them are "
        "divided.",
    )

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

    def changed(self) -> dict[str, Any]:
        """What a person stated."""
        return _changed(self, FileFormat())


@dataclass(frozen=True, kw_only=True)
class FileOptions(FileFormat, ColumnOptions):
    """The options of both functions."""

    predicted: str | None = option(
        None,
        "Column of predicted labels. A row is then positive if its predicted label is correct.",
    )
    decimal: Decimal | None = option(
        None,
        "Decimal mark of numbers in text. The other mark separates thousands. It is required if "
        'cells such as "1,234" are ambiguous.',
    )
    test: Source | None = option(
        None,
        "Test rows, with the same columns. The other rows are then the calibration rows.",
        metavar="FILE",
    )
    strict: bool = option(
        False,
        "Raise an error instead of guessing columns that are not named, a positive class other "
        "than 1 or True, or an ambiguous header, delimiter or encoding. If it is False, "
        "`Predictions.origin.guesses` lists what was guessed.",
    )
    name: str | None = option(
        None, "Name of the data. Default: the name of the file.", metavar="TEXT"
    )

    def format(self) -> FileFormat:
        """How files are read."""
        return FileFormat(**{f.name: getattr(self, f.name) for f in fields(FileFormat)})


@dataclass(frozen=True, kw_only=True)
class LoadOptions(FileOptions):
    """All options of `load`, for its signature, its docstring and the command line."""

    class_columns: str | None = option(
        None,
        "The score columns of all classes in a short form, for example "
        '"p_0 … p_99" (or three dots), "p_*" or "cat, dog".',
        metavar="TEXT",
    )
    model_value: object = option(
        None, "Name of the model whose rows are read, if there are several.", metavar="NAME"
    )
    exact: bool = option(False, "Do not guess columns: columns that are not named are not used.")


@dataclass(frozen=True, kw_only=True)
class ModelOptions(FileOptions):
    """All options of `load_models`."""

    models: Sequence[str] = option((), "Score columns, one per model.", many=True)

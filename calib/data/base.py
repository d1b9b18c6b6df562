"""Data: what an analysis reads, whether it has the rows or only their counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from numpy.typing import NDArray

from calib.data.counted import CountedRows
from calib.data.origin import Origin, Remark, read_as
from calib.data.slicing import Slicing
from calib.data.views import BinaryView


def check_data(predictions: object) -> None:
    """Refuse what has neither rows nor counts of predictions, such as a frame."""
    if not isinstance(predictions, Data):
        raise TypeError(
            f"predictions must be Predictions or an Aggregate, got {type(predictions).__name__}. "
            "calib.load makes Predictions of a file or a frame."
        )


class Data(ABC):
    """Predictions of one model, as rows (`Predictions`) or as their counts (`Aggregate`).

    Both answer the questions below, so that nothing else needs to know which of the two it has.
    `calib.data.predictions.rows_of` gives the rows where they are needed.
    """

    __slots__ = ()
    has_rows: ClassVar[bool]
    name: str
    score_name: str
    outcome_name: str
    class_names: tuple[str, ...]
    set_aside: Mapping[str, int]
    time_name: str
    fold_names: tuple[str, ...]

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of the data."""

    @property
    @abstractmethod
    def sources(self) -> tuple[str, ...]:
        """Fingerprints of the rows from which the data were made."""

    @property
    @abstractmethod
    def identity(self) -> Hashable:
        """A small value that is equal only for equal data with equal names."""

    @property
    @abstractmethod
    def origin(self) -> Origin | None:
        """How the rows were read. None if they came from arrays."""

    @property
    @abstractmethod
    def remarks(self) -> tuple[Remark, ...]:
        """Remarks about the rows, one sentence each."""

    @property
    @abstractmethod
    def is_split(self) -> bool:
        """Whether there are calibration rows and test rows."""

    @property
    @abstractmethod
    def is_matrix(self) -> bool:
        """Whether there is one score per class instead of one score per row."""

    @property
    @abstractmethod
    def default_view(self) -> str:
        """The view that is analysed if the settings name none."""

    @property
    @abstractmethod
    def columns(self) -> Collection[str]:
        """Slice and time columns."""

    @property
    @abstractmethod
    def crossings(self) -> tuple[tuple[str, str], ...]:
        """Pairs of columns that were counted together. Rows can be cut by any pair."""

    @abstractmethod
    def check_view(self, view: str) -> None:
        """Raise a ValueError if the data do not have this view."""

    @abstractmethod
    def view_label(self, view: str) -> str:
        """Description of the positive rows of a view."""

    @abstractmethod
    def counted(self, view: str) -> CountedRows:
        """All rows of a view, counted. Raises ValueError if the view was not counted."""

    @abstractmethod
    def crossable_with(self, column: str) -> list[str]:
        """Columns with which this one can be crossed."""

    @abstractmethod
    def holds_dates(self, column: str) -> bool:
        """Whether the values of a column are dates."""

    @abstractmethod
    def sliced(
        self, columns: Sequence[str], view: str, n_ranges: int
    ) -> tuple[Slicing, BinaryView]:
        """The slices of one column, or of two that are crossed, and the rows or entries in them.

        Raises ValueError if a column is unknown, or the rows were not counted by these columns.
        """

    @abstractmethod
    def timed(self, column: str, view: str) -> tuple[NDArray[Any], BinaryView]:
        """The values of a time column, and the rows or entries that have them."""

    @property
    def n_classes(self) -> int:
        """Number of classes, 2 if there is one score per row."""
        return len(self.class_names)

    @property
    def read_as(self) -> str:
        """What the columns were read as, and which of it was guessed."""
        positive = "" if self.is_matrix else self.view_label(self.default_view)
        return read_as(
            self.origin, outcome=self.outcome_name, score=self.score_name, positive=positive
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.n_rows:,} rows, {self.read_as})"


Progress = Callable[[float, str], None]


def no_progress(_share: float, _text: str) -> None:
    """Report no progress."""

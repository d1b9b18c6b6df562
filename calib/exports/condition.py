"""The rows that a calibrator is for, if it is not for all: those of a slice, from a day on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from calib.exports.form_json import ExportError


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows from a day on, and of one value of a column if it is named. Others keep their score.

    Parameters
    ----------
    time : str
        Name of a column of dates.
    since : str
        The first day, such as "2026-05-01".
    column, value : str
        Name of a column of text, and its value.

    Raises
    ------
    ExportError
        If the day is not a date, or a name or the value has characters that code cannot hold.

    Examples
    --------
    >>> Condition("day", "2026-05-01", "plan", "prepaid").words
    'plan = prepaid, day from 2026-05-01 on'
    """

    time: str
    since: str
    column: str = ""
    value: str = ""

    def __post_init__(self) -> None:
        try:
            is_day = date.fromisoformat(self.since).isoformat() == self.since
        except ValueError:
            is_day = False
        if not is_day:
            raise ExportError(f"since must be a day such as 2026-05-01, got {self.since!r}.")
        for text in (self.time, self.column, self.value):
            if not text.isprintable():
                raise ExportError(
                    "The column and the value of a condition must be of printable characters, got "
                    f"{text!r}."
                )
        if not self.time or self.time == self.column:
            raise ExportError(
                "A condition needs a column of dates, and another one for the value, got "
                f"{self.time!r} and {self.column!r}."
            )

    @property
    def words(self) -> str:
        """The condition for a person."""
        of_slice = f"{self.column} = {self.value}, " if self.column else ""
        return f"{of_slice}{self.time} from {self.since} on"

    @property
    def example(self) -> dict[str, str]:
        """The columns of a row that fulfils it."""
        return {self.time: self.since} | ({self.column: self.value} if self.column else {})

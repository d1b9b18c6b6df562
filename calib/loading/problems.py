"""Problem and InputError: what is wrong with a file, where, and how to repair it.

Sentences are safe as Markdown: whatever comes from a file stands in backticks, shortened, without
backticks or control characters of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from calib.loading.options import ColumnMapping

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several answers to a question that the file leaves open.

    Attributes
    ----------
    label : str
        Text of its button.
    arguments : mapping
        What `calib.load` is given.
    """

    label: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Guess:
    """Something that a file does not say for certain, and how it was read.

    Attributes
    ----------
    argument : str
        The argument of `calib.load` that settles it; "" where only the file can.
    value : object
        What was guessed for it.
    sentence : str
        What was guessed, in words.
    """

    argument: str
    value: object
    sentence: str

    def __str__(self) -> str:
        return f"{self.argument}={self.value!r}" if self.argument else self.sentence


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or worth knowing.

    Attributes
    ----------
    code : str
        Short and stable, such as "percent".
    severity : {"error", "warning", "note"}
        Only errors stop the rows from being used.
    sentence : str
        What, where (row numbers as a spreadsheet shows them), and how to repair it.
    repair : ColumnMapping or None
        The mapping after the one-click repair.
    repair_label : str
        Text of the repair's button.
    choices : tuple of Choice
        The answers, where only a person can know which is right.
    """

    code: str
    severity: Severity
    sentence: str
    repair: ColumnMapping | None = None
    repair_label: str = ""
    choices: tuple[Choice, ...] = ()


class InputError(ValueError):
    """Data that cannot be used as they are; the message joins the sentences of all errors.

    Parameters
    ----------
    problems : iterable of Problem
    message : str, optional
        Instead of the problems' own sentences.
    mapping : ColumnMapping, optional
        What the columns were taken for.

    Attributes
    ----------
    problems : tuple of Problem
    mapping : ColumnMapping or None

    Examples
    --------
    >>> error = InputError([Problem("empty", "error", "The file is empty.")])
    >>> str(error), error.problems[0].code
    ('The file is empty.', 'empty')
    """

    def __init__(
        self,
        problems: Iterable[Problem],
        message: str | None = None,
        mapping: ColumnMapping | None = None,
    ) -> None:
        self.problems = tuple(problems)
        self.mapping = mapping
        joined = " ".join(problem.sentence for problem in self.problems)
        super().__init__(joined if message is None else message)


def error(
    code: str,
    sentence: str,
    repair: ColumnMapping | None = None,
    repair_label: str = "",
    choices: tuple[Choice, ...] = (),
) -> Problem:
    """A problem that stops the rows from being used."""
    return Problem(code, "error", sentence, repair, repair_label, choices)


def warning(
    code: str, sentence: str, repair: ColumnMapping | None = None, repair_label: str = ""
) -> Problem:
    """A problem that may make the numbers mislead."""
    return Problem(code, "warning", sentence, repair, repair_label)


def note(
    code: str, sentence: str, repair: ColumnMapping | None = None, repair_label: str = ""
) -> Problem:
    """Something worth knowing."""
    return Problem(code, "note", sentence, repair, repair_label)


def refuse(code: str, sentence: str) -> InputError:
    """An error about the whole file."""
    return InputError([error(code, sentence)])

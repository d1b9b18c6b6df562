"""Problem and InputError: what is wrong with a file, where, and how to repair it.

A problem is a code, facts and a repair. Its sentence is written from the facts (`sentences.py`),
and is safe as Markdown: text from a file is shortened, stripped of backticks and control
characters, and put in backticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from calib.data.file_options import Columns
from calib.loading import sentences

MAX_WRITTEN_LABELS = 8  # More labels are abbreviated in a sentence.
# A question is a doubt that only a person can settle: the rows can be used, but the results may be
# wrong.
Severity = Literal["error", "question", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several answers to a question that the file does not answer.

    `label` is the text of its button, and `arguments` are those of `calib.load` for this answer.
    """

    label: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Guess:
    """A value that was guessed about a file, and a sentence that says so.

    `argument` is the argument of `calib.load` that replaces the guess, or "" if there is none.
    """

    argument: str
    value: object
    sentence: str

    def __str__(self) -> str:
        return written_argument(self.argument, self.value) if self.argument else self.sentence


@dataclass(frozen=True, slots=True)
class Problem:
    """An error, question, warning or note about a file. Rows with an error cannot be used.

    `key` names the sentence in the table of `sentences.py`, and `facts` are written in it. `repair`
    is the mapping after the repair, and `repair_label` the text of its button. A repair that may be
    wrong, such as one that leaves out many rows, has no button. `choices` are the possible answers,
    if only a person can know which is right.
    """

    severity: Severity
    key: str
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    repair: Columns | None = None
    repair_label: str = ""
    choices: tuple[Choice, ...] = ()

    @property
    def code(self) -> str:
        """A short, stable name, such as "percent"."""
        return self.key.partition(".")[0]

    @property
    def sentence(self) -> str:
        """What is wrong, where (with row numbers as in a spreadsheet), and how to repair it."""
        return sentences.sentence(self.key, self.facts)

    def answers(self, mapping: Columns | None) -> list[Mapping[str, Any]]:
        """The arguments of `calib.load` to change in this mapping, for each possible repair."""
        answers = [choice.arguments for choice in self.choices]
        if mapping is not None and not mapping.models:
            # `load` reads one model.
            answers = [
                arguments
                for arguments in answers
                if "models" not in arguments
                and (arguments.get("model") in (None, mapping.model) or "model_value" in arguments)
            ]
        if self.repair is not None and mapping is not None:
            answers.insert(0, self.repair.changed(mapping))
        return answers


class InputError(ValueError):
    """The data cannot be used. The message joins the sentences of all errors.

    Parameters
    ----------
    problems : iterable of Problem
    message : str, optional
        Message in place of the sentences of the problems.
    mapping : Columns, optional
        How the columns were read.

    Attributes
    ----------
    problems : tuple of Problem
    mapping : Columns or None

    Examples
    --------
    >>> refusal = InputError([error("folds", column="k", n=1, most=20)])
    >>> refusal.problems[0].code, str(refusal)
    ('folds', 'The fold column `k` has 1 value; cross-fitting takes 2 to 20 folds. Choose another \
column, or none.')
    """

    def __init__(
        self,
        problems: Iterable[Problem],
        message: str | None = None,
        mapping: Columns | None = None,
    ) -> None:
        self.problems = tuple(problems)
        self.mapping = mapping
        joined = " ".join(problem.sentence for problem in self.problems)
        super().__init__(joined if message is None else message)


class InputWarning(UserWarning):
    """The data were read in one way of several, and the result may be that of another one.

    Attributes
    ----------
    problem : Problem
        The question, and the arguments of `calib.load` that answer it.
    mapping : Columns
        How the columns were read.
    """

    def __init__(self, problem: Problem, mapping: Columns, message: str) -> None:
        self.problem, self.mapping = problem, mapping
        super().__init__(message)


def problem(
    severity: Severity,
    key: str,
    *,
    repair: Any = None,
    label: Any = "",
    choices: Any = (),
    **facts: Any,
) -> Problem:
    """Make a problem of a key and its facts.

    It can have a `repair`, which is a Columns, with the `label` of its button, and `choices`.
    They are not typed, because facts of many types are given as one dictionary.
    """
    # A process that reads a file returns its problems as JSON, which has lists and no tuples.
    plain = {name: [*fact] if isinstance(fact, tuple) else fact for name, fact in facts.items()}
    return Problem(severity, key, plain, repair, label if repair else "", tuple(choices))


error = partial(problem, "error")
question = partial(problem, "question")
warning = partial(problem, "warning")
note = partial(problem, "note")


def ignoring(mapping: Columns, role: str) -> dict[str, Any]:
    """The repair that leaves out the column of a role, and the text of the button for it."""
    removed: dict[str, Any] = {role: None} | ({"test_value": None} if role == "split" else {})
    return {"repair": replace(mapping, **removed), "label": f"Ignore the {role} column"}


def written_argument(name: str, value: object) -> str:
    """An argument as in a call. Consecutive numbers are a range, and other long lists are cut."""
    if name == "classes" and isinstance(value, tuple) and len(value) > MAX_WRITTEN_LABELS:
        first = int(value[0]) if value[0].isdecimal() else 0
        numbers = range(first, first + len(value))
        if value == tuple(map(str, numbers)):
            return f"{name}={numbers!r}"
        shown = ", ".join(map(repr, value[:3]))
        return f"{name}=({shown}, ..., {value[-1]!r})"
    return f"{name}={value!r}"


def refuse(key: str, **facts: Any) -> InputError:
    """Make an error about the whole file."""
    return InputError([error(key, **facts)])

"""Problem and InputError: what is wrong with a file, where, and how to repair it.

A problem is a code, facts and a repair. Its sentence is written from the facts, and is safe as
Markdown: text from a file is shortened, stripped of backticks and control characters, and put in
backticks. The sentences are in the table `sentences.txt` by key.

`{column}` writes a fact as its type says: text is quoted, a list is listed, a count has separators,
and a fraction four significant digits. `{labels:5}` lists at most five, `{count:row}` writes "3
rows", `{count:is/are}` chooses by number, and FORMS has the other forms. A part in angle brackets
is left out if one of its facts is missing, empty or 0. A key is the code of its problem, or the
code, a point, and what distinguishes the sentence from others of the same code. A key that begins
with _ is a part of several sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from string import Formatter
from typing import Any, Literal, TypeAlias

from calib.data.cells import REVERSED
from calib.data.file_options import Columns
from calib.text import joined, listed, number, percent, plural, quoted, significant

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

    `key` names the sentence in the table `sentences.txt`, and `facts` are written in it. `repair`
    is the mapping after the repair, and `repair_label` the text of its button. A repair that may be
    wrong has no button. `choices` are the possible answers,
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
        return sentence(self.key, self.facts)

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
        of_all = " ".join(problem.sentence for problem in self.problems)
        super().__init__(of_all if message is None else message)


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


# Row numbers as in a spreadsheet, the first ones, and the number of all rows that are meant.
Places: TypeAlias = tuple[Sequence[str], int]
PART = re.compile(r"<([^<>]*)>")


FORMS: dict[str, Callable[[Any], str]] = {
    "raw": str,
    "repr": repr,
    "percent": percent,
    "2 digits": lambda value: number(value, 2),
    "3 digits": lambda value: number(value, 3),
    # Row numbers: "row 3", "rows 3, 5 and 9", "rows 3, 5, 9 and 7 more".
    "at": lambda places: f"{'row' if places[1] == 1 else 'rows'} {joined(*places)}",
    "or empty": lambda value: "an empty cell" if value is None else quoted(value),
    "by reason": lambda counts: joined([f"{why} ({n:,})" for why, n in counts]),
    "capital": lambda text: text[:1].upper() + text[1:],
    "or": "; or ".join,
    "and": joined,
    "MB": lambda size: f"{number(size / 2**20, 0)} MB",
    "GB": lambda size: f"{number(size / 2**30, 1)} GB",
    # The fact only decides whether its part of the sentence is written.
    "if": lambda _: "",
}


class _Writer(Formatter):
    def format_field(self, value: Any, form: str) -> str:
        if form in FORMS:
            return FORMS[form](value)
        if form.isdecimal():
            return listed(value, int(form))
        if "/" in form:
            return form.split("/")[value != 1]
        if form:
            return plural(value, form)
        if isinstance(value, Integral):
            return f"{value:,}"
        if isinstance(value, float):
            return significant(value, 4)
        if isinstance(value, list | tuple):
            numbers = all(isinstance(one, float) for one in value)
            return joined([significant(one, 4) for one in value]) if numbers else listed(value)
        return quoted(value)


WRITER = _Writer()


def _table(text: str) -> dict[str, str]:
    """The sentences by key. A line that begins with blanks continues a sentence."""
    lines = re.sub(r"\n +", " ", re.sub(r"(?m)^#.*\n", "", text)).split("\n")
    table = dict(line.split(": ", 1) for line in lines if line)
    parts = {f"{{{key}}}": part for key, part in table.items() if key.startswith("_")}
    # The sentence of a report's warning begins in the same way.
    parts["{_reversed}"] = REVERSED
    for key in table:
        for name, part in parts.items():
            table[key] = table[key].replace(name, part)
    return table


SENTENCES = _table(Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8"))


def sentence(key: str, facts: Mapping[str, Any]) -> str:
    """The sentence of a problem. That of one of several models begins with its name."""

    def part(match: re.Match[str]) -> str:
        names = [name for _, name, _, _ in WRITER.parse(match[1]) if name]
        return match[1] if all(facts.get(name) for name in names) else ""

    # One sentence serves the guesses of all arguments: "guessed-score", "guessed-weight".
    text = SENTENCES[key if key in SENTENCES else f"{key.partition('-')[0]}-*"]
    if facts.get("of_model"):
        text = f"Model {{of_model}}< (and {{n_others:other}})>: {text}"
    return WRITER.vformat(PART.sub(part, text), (), facts)

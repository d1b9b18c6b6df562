"""JSON texts decoded value by value, and the answers that a log contains as rows of a table.

A log never is in memory as a whole.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.file_options import FileFormat
from calib.loading.problems import Choice, InputError, Problem, note, refuse, warning
from calib.loading.table import Table
from calib.text import number

COLUMNS = (
    *("task", "model", "sample_id", "epoch", "confidence", "correct"),
    *("source", "answer", "explanation"),
)
RIGHT, WRONG = "right", "wrong"
# The sources of a confidence.
TOKEN, STATED, JUDGE, NO_SOURCE = "token probability", "stated", "judge's score", "none"
MAX_TEXT_LENGTH = 1_000
MAX_NAME_LENGTH = 200
MAX_CHOICES = 12
PARTLY_RIGHT = 0.5
GRADES_WITH_PARTLY_RIGHT = {0.0, PARTLY_RIGHT, 1.0}


class LogRow(NamedTuple):
    """One answer of a model, as one scorer and one filter of a log scored it.

    `grade` is 1 for right, 0 for wrong, and None if the answer was not scored. `confidence` is None
    if there is none, otherwise it is unchanged.
    """

    sample: str
    grade: float | None
    confidence: float | None = None
    source: str = NO_SOURCE
    epoch: int = 1
    scorer: str = ""
    filter: str = ""
    task: str = ""
    model: str = ""
    answer: str = ""
    explanation: str = ""


@dataclass(slots=True)
class Log:
    """What a reader of a format returns.

    Attributes
    ----------
    format : str
        Name of the format.
    rows : list of LogRow
    task, model : str
        Names for rows that have none.
    notes : list of Problem
    judged : bool
        Whether right and wrong only repeat the judge's score, so that they are no outcomes.
    """

    format: str
    rows: list[LogRow] = field(default_factory=list)
    task: str = ""
    model: str = ""
    notes: list[Problem] = field(default_factory=list)
    judged: bool = False


def text_of(value: Any, longest: int = MAX_TEXT_LENGTH) -> str:
    """A value of a log as text, at most so long that a person would read it."""
    if value is None:
        return ""
    if isinstance(value, list | dict):
        value = value[0] if isinstance(value, list) and len(value) == 1 else str(value)
    text = str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def name_of(value: Any) -> str:
    """A name of a task, a model or a sample as text."""
    if isinstance(value, int):
        return str(value)
    return sys.intern(text_of(value, MAX_NAME_LENGTH).strip())


def number_of(value: Any) -> float | None:
    """A number, also if it is written as text such as "0.85" or "85%"; otherwise None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or value is None:
        return None
    divisor = 1.0
    if isinstance(value, str):
        text = value.strip()
        if text.endswith("%"):
            text, divisor = text[:-1], 100.0
        try:
            value = float(text)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value / divisor


def probability_of_log(value: Any) -> float | None:
    """The probability of a log-probability, or None if it is not one."""
    logarithm = number_of(value)
    return None if logarithm is None or logarithm > 1e-6 else math.exp(min(logarithm, 0.0))


def of_each_scorer(log: Log) -> None:
    """Let answers without a score belong to each scorer, so that they are counted."""
    scorers = [name for name in dict.fromkeys(row.scorer for row in log.rows) if name]
    if not scorers:
        return
    log.rows = [
        row if row.scorer else row._replace(scorer=scorer)
        for row in log.rows
        for scorer in (scorers if not row.scorer else [row.scorer])
    ]


def errors_note(count: int) -> Problem:
    """The note about answers that ended with an error."""
    return note("errors", n=count)


def to_table(log: Log, name: str, given: FileFormat) -> Table:
    """The rows of a log, for one filter and one scorer.

    Raises InputError if the log has several and none is named, or if some answers are partly right.
    """
    if not log.rows:
        raise refuse("empty.log", format=log.format)
    rows = _of_one(log, "filter", given.filter)
    log.rows = []
    rows = _of_scorer(log, rows, given.scorer)
    rows = _of_one_source(log, rows)
    frame = _frame(log, rows, name, given)
    return Table(frame, name, notes=tuple(log.notes), log=log.format, judged=log.judged)


def _of_one(log: Log, kind: str, wanted: str | None) -> list[LogRow]:
    """The rows of one filter."""
    names = list(dict.fromkeys(getattr(row, kind) for row in log.rows))
    if len(names) == 1:
        if wanted not in (None, names[0]):
            log.notes.append(_not_there(kind, str(wanted), names))
        return log.rows
    if wanted not in names:
        raise _which(kind, names, wanted)
    return [row for row in log.rows if getattr(row, kind) == wanted]


def _not_there(kind: str, wanted: str, names: Sequence[str]) -> Problem:
    return warning(f"no-{kind}", wanted=wanted, name=names[0])


def _which(kind: str, names: Sequence[str], wanted: str | None) -> InputError:
    choices = tuple(
        Choice(f"{kind.capitalize()}: {name}"[:60], {kind: name}) for name in names[:MAX_CHOICES]
    )
    return refuse(f"which-{kind}", names=names, wanted=wanted, choices=choices)


def _of_scorer(log: Log, rows: list[LogRow], wanted: str | None) -> list[LogRow]:
    """The rows of one scorer. Scorers that agree on every answer are not asked about."""
    by_scorer: dict[str, list[LogRow]] = {}
    for row in rows:
        by_scorer.setdefault(row.scorer, []).append(row)
    if wanted in by_scorer:
        return by_scorer[str(wanted)]
    usable = {
        name: of_scorer
        for name, of_scorer in by_scorer.items()
        if any(row.grade is not None for row in of_scorer)
    }
    names = list(usable or by_scorer)
    first = by_scorer[names[0]]
    if len(names) > 1:
        answers = [
            [(row.sample, row.epoch, row.grade, row.confidence) for row in by_scorer[name]]
            for name in names
        ]
        if wanted is not None or any(other != answers[0] for other in answers):
            raise _which("scorer", names, wanted)
        log.notes.append(note("scorers", names=names, name=names[0]))
    elif wanted is not None:
        log.notes.append(_not_there("scorer", wanted, names))
    return first


def _of_one_source(log: Log, rows: list[LogRow]) -> list[LogRow]:
    """Confidences of one source, because those of several do not mean the same."""
    sources = [s for s in (STATED, TOKEN, JUDGE) if any(row.source == s for row in rows)]
    if len(sources) < 2:
        return rows
    others = sum(row.source in sources[1:] for row in rows)
    log.notes.append(warning("sources", used=sources[0], unused=sources[1], n=others))
    return [
        row._replace(confidence=None, source=NO_SOURCE) if row.source in sources[1:] else row
        for row in rows
    ]


def _frame(log: Log, rows: list[LogRow], name: str, given: FileFormat) -> pd.DataFrame:
    grades = np.array([math.nan if row.grade is None else row.grade for row in rows])
    confidence = np.array([math.nan if row.confidence is None else row.confidence for row in rows])
    if given.percent_above_1:
        confidence = _from_percent(rows, confidence)
    correct = _correct(grades, given, name)
    return pd.DataFrame(
        {
            "task": _names([row.task or log.task for row in rows]),
            "model": _names([row.model or log.model for row in rows]),
            "sample_id": pd.Series([row.sample for row in rows], dtype="str"),
            "epoch": np.array([row.epoch for row in rows], dtype=np.int64),
            "confidence": confidence,
            "correct": pd.Categorical.from_codes(correct, [WRONG, RIGHT]),
            "source": _names([row.source for row in rows]),
            "answer": pd.Series([row.answer for row in rows], dtype="str"),
            "explanation": pd.Series([row.explanation for row in rows], dtype="str"),
        }
    )


def _names(values: Iterable[str]) -> pd.Categorical:
    return pd.Categorical(list(values))


def _from_percent(rows: list[LogRow], confidence: NDArray[Any]) -> NDArray[Any]:
    """Divide percentages by 100: all of a task and model, or those above 1 if some are fractions.

    A task and model without a confidence above 1 is unchanged.
    """
    keys = pd.Series([f"{row.task}\0{row.model}" for row in rows])
    codes, _ = pd.factorize(keys)
    fraction = (confidence > 0.0) & (confidence < 1.0)
    has_fraction = np.bincount(codes, fraction) > 0.0
    has_percent = np.bincount(codes, confidence > 1.0) > 0.0
    whole = has_percent & ~has_fraction
    return np.where(whole[codes] | (confidence > 1.0), confidence / 100.0, confidence)


def _correct(grades: NDArray[Any], given: FileFormat, name: str) -> NDArray[Any]:
    """1 for right, 0 for wrong and -1 for answers that were not scored."""
    scored = ~np.isnan(grades)
    values = set(np.unique(grades[scored]).tolist())
    if values <= {0.0, 1.0}:
        right = grades == 1.0
    elif given.correct_from is not None:
        right = grades >= given.correct_from
    else:
        raise _partly(name, grades[scored], values)
    return np.where(scored, right.astype(np.int64), -1)


def _partly(name: str, grades: NDArray[Any], values: set[float]) -> InputError:
    low, high = float(grades.min()), float(grades.max())
    if values <= GRADES_WITH_PARTLY_RIGHT:
        count = int((grades == PARTLY_RIGHT).sum())
        choices = (
            Choice("Partly right counts as wrong", {"correct_from": 1.0}),
            Choice("Partly right counts as right", {"correct_from": PARTLY_RIGHT}),
        )
        return refuse("partly-right", n=count, name=name, score=PARTLY_RIGHT, choices=choices)
    middle = (low + high) / 2.0
    ends = dict.fromkeys((high, middle))
    answers = (Choice(f"Right from {number(end, 2)}", {"correct_from": end}) for end in ends)
    return refuse("graded", name=name, low=low, high=high, choices=tuple(answers))


WINDOW_BYTES = 2**22
# A value that ends this near to the end of a window may go on after it: 12 may be 12.5.
MARGIN = 16
# All keys of the first bytes are found. Later ones are looked for until a format is recognised.
LOOK_BYTES = 2**18
# A text with more distinct keys that are not deep, or more strings and brackets before the keys of
# a format, is no log. Looking at them takes some seconds.
MAX_DEPTH, MAX_PATHS, MAX_TOKENS = 4, 100_000, 5_000_000


class RepeatedKey(ValueError):
    """An object has a key twice. Programs differ in which of its values they read."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(max(keys, key=keys.count))
    return entries


DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique)
BLANKS = re.compile(r"[ \t\r\n]*")
# A string, perhaps with the colon that makes it a key, or a bracket, or a string that is cut. The
# quantifiers do not go back, because a string can have millions of characters.
JSON_PART = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s*:)?|[{}\[\]]|"', re.DOTALL)
BYTE_ORDER_MARK = codecs.BOM_UTF8
JSON_START = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*[\[{]|\{\s*\}|\[\s*\])')


class Document:
    """A JSON text, or several values one after the other, read from the first to the last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
        self._text, self._place = "", 0

    @property
    def _ended(self) -> bool:
        return self._next >= len(self._data)

    def _read_on(self, n_bytes: int) -> None:
        """Forget the decoded part of the window, and add bytes at its end."""
        end = self._next + n_bytes
        piece = self._data[self._next : end]
        text, used = codecs.utf_8_decode(piece, "strict", end >= len(self._data))
        self._next += used
        self._text, self._place = self._text[self._place :] + text, 0

    def peek(self) -> str:
        """The next character that is not blank, or "" at the end."""
        while True:
            blanks = BLANKS.match(self._text, self._place)
            assert blanks is not None
            self._place = blanks.end()
            if self._place < len(self._text):
                return self._text[self._place]
            if self._ended:
                return ""
            self._read_on(WINDOW_BYTES)

    def value(self) -> Any:
        """Decode the next value."""
        self.peek()
        n_bytes = WINDOW_BYTES
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                inside = error.pos < len(self._text) - MARGIN
                if self._ended or (inside and not error.msg.startswith("Unterminated")):
                    raise
            except RepeatedKey as error:
                raise self._repeated(str(error)) from None
            else:
                if self._ended or end < len(self._text) - MARGIN:
                    self._place = end
                    return value
            self._read_on(n_bytes)
            n_bytes *= 2

    def elements(self) -> Iterator[str]:
        """Stop before each element of a list. The caller must decode it before the next one."""
        return self._parts("[", "]", lambda: "")

    def members(self) -> Iterator[str]:
        """Keys of an object. The caller must decode the value of each before the next one."""
        keys = set[str]()

        def key() -> str:
            name = str(self.value())
            if name in keys:
                raise self._repeated(name)
            keys.add(name)
            self._expect(":")
            return name

        return self._parts("{", "}", key)

    def _parts(self, first: str, last: str, key: Callable[[], str]) -> Iterator[str]:
        self._expect(first)
        if self._takes(last):
            return
        while True:
            yield key()
            if self._takes(last):
                return
            self._expect(",")

    def end(self) -> None:
        """Refuse a text that goes on after its value, because the rest would be ignored."""
        if self.peek():
            raise refuse("several-values.logs")

    def _repeated(self, key: str) -> InputError:
        place = self._next - len(self._text[self._place :].encode())
        return refuse("repeated-key", name=key, line=self._data.count(b"\n", 0, place) + 1)

    def _takes(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._place += 1
        return True

    def _expect(self, character: str) -> None:
        if not self._takes(character):
            raise ValueError(f"{character} is missing")


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a list, or of JSON Lines. Raises InputError if the last one is cut."""
    document, number = Document(data), 0
    if document.peek() == "[":
        for _ in document.elements():
            yield as_object(document.value())
        document.end()
        return
    while document.peek():
        number += 1
        try:
            value = document.value()
        except json.JSONDecodeError:
            if number == 1 or data.rstrip().endswith(b"}"):
                raise
            raise refuse("cut-short.record", number=number) from None
        yield as_object(value)


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def key_paths(data: bytes, enough: Callable[[Set[str]], bool] = lambda _: False) -> Set[str]:
    """The paths of keys, for example "eval.task", in as much of a text as shows its format.

    An element of a list is "[]", but not one of the list that is the whole text. "*.judge_response"
    is a key of any value of the outermost object. Beyond the first bytes, the search ends with the
    record in which it is, or as soon as the paths are `enough`.

    >>> sorted(key_paths(b'{"eval": {"task": [{"id": 1}]}}'))
    ['*.task', '*.task.[].id', 'eval', 'eval.task', 'eval.task.[].id']
    """
    paths, keys = set[str](), list[str]()
    for token in islice(JSON_PART.finditer(data), MAX_TOKENS):
        mark, far = data[token.start()], token.start() >= LOOK_BYTES
        if mark in b"{[":
            keys.append("[]" if mark in b"[" else "")
        elif mark in b"}]":
            del keys[-1:]
            if far and keys in ([], ["[]"]):
                break
        elif token.end() - token.start() == 1:
            break  # The string is cut, so no key can follow.
        elif token[2] and keys and keys[-1] != "[]":
            keys[-1] = token[1].decode(errors="replace")
            n_paths = len(paths)
            _add_path(paths, keys)
            if len(paths) > n_paths and (len(paths) > MAX_PATHS or (far and enough(paths))):
                break
    return paths


def _add_path(paths: set[str], keys: list[str]) -> None:
    first = keys[0] == "[]"
    if len(keys) - first <= MAX_DEPTH:
        plain = keys[first:]
        paths.add(".".join(plain))
        if len(plain) > 1:
            paths.add(".".join(["*", *plain[1:]]))

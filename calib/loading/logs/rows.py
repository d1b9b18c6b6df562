"""LogRow: an answer that a log contains; to_table: the rows of a log as a Table."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
HALF = 0.5
PARTLY = {0.0, HALF, 1.0}


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
    if values <= PARTLY:
        count = int((grades == HALF).sum())
        choices = (
            Choice("Partly right counts as wrong", {"correct_from": 1.0}),
            Choice("Partly right counts as right", {"correct_from": HALF}),
        )
        return refuse("partly-right", n=count, name=name, score=HALF, choices=choices)
    middle = (low + high) / 2.0
    ends = dict.fromkeys((high, middle))
    answers = (Choice(f"Right from {number(end, 2)}", {"correct_from": end}) for end in ends)
    return refuse("graded", name=name, low=low, high=high, choices=tuple(answers))

"""Humanity's Last Exam: a judged file, in which a judge read the confidence from the answer."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from calib.loading.logs.json_values import Document, as_object
from calib.loading.logs.rows import NO_SOURCE, STATED, Log, LogRow, name_of, number_of, text_of
from calib.loading.problems import note, warning

NAME = "HLE"
VALUES = {"yes": 1.0, "no": 0.0}
FULL = 100.0


def recognises(paths: Set[str]) -> bool:
    """Whether these are keys of a judged file."""
    return "*.judge_response" in paths


def read(data: bytes) -> Log:
    """Read every judged question. Confidences are whole numbers from 0 to 100 in this format."""
    log, document = Log(NAME, task=NAME), Document(data)
    are_plain = list[bool]()
    for question in document.members():
        record = as_object(document.value())
        stated = as_object(record.get("judge_response")).get("confidence")
        are_plain.append(not str(stated).strip().endswith("%"))
        log.rows.append(_row(question, record, number_of(stated)))
    document.end()
    _scale(log, are_plain)
    return log


def _scale(log: Log, are_plain: list[bool]) -> None:
    """Divide confidences without a percent sign by 100, unless they are not percentages.

    If some are fractions and others are above 1, they stay as they are, so that a person is asked.
    """
    plain = [
        row.confidence
        for row, is_plain in zip(log.rows, are_plain, strict=True)
        if is_plain and row.confidence is not None
    ]
    fractions = any(0.0 < confidence < 1.0 for confidence in plain)
    if plain and max(plain) <= 1.0:
        log.notes.append(warning("at-most-1"))
    elif not fractions:
        log.rows = [
            row._replace(confidence=row.confidence / FULL)
            if is_plain and row.confidence is not None
            else row
            for row, is_plain in zip(log.rows, are_plain, strict=True)
        ]
        _note_full(log)


def _note_full(log: Log) -> None:
    n_full = sum(row.confidence == 1.0 for row in log.rows)
    if n_full:
        log.notes.append(note("full-confidence", n=n_full, total=len(log.rows)))


def _row(question: str, record: dict[str, Any], stated: float | None) -> LogRow:
    judged = as_object(record.get("judge_response"))
    return LogRow(
        sample=name_of(question),
        grade=VALUES.get(str(judged.get("correct", "")).casefold()),
        confidence=stated,
        source=NO_SOURCE if stated is None else STATED,
        model=name_of(record.get("model")),
        answer=text_of(judged.get("model_answer")),
        explanation=text_of(judged.get("reasoning")),
    )

"""Humanity's Last Exam: a judged file, in which a judge read the confidence from the answer."""

from __future__ import annotations

from typing import Any

from calib.loading.logs.json_values import Document, as_object
from calib.loading.logs.rows import NO_SOURCE, STATED, Log, LogRow, name_of, number_of, text_of
from calib.loading.problems import note
from calib.text import plural

NAME = "HLE"
VALUES = {"yes": 1.0, "no": 0.0}
FULL = 100.0


def recognises(paths: frozenset[str]) -> bool:
    """Whether these are keys of a judged file."""
    return "*.judge_response" in paths


def read(data: bytes) -> Log:
    """Read every judged question. Confidences are whole numbers from 0 to 100 in this format."""
    log, document = Log(NAME, task=NAME), Document(data)
    for question in document.members():
        log.rows.append(_row(question, as_object(document.value())))
    n_full = sum(row.confidence == 1.0 for row in log.rows)
    if n_full:
        text = (
            f"{plural(n_full, 'answer')} of {len(log.rows):,} have confidence 100%. The judge of "
            "this format also writes 100 if the model stated none."
        )
        log.notes.append(note("full-confidence", text))
    return log


def _row(question: str, record: dict[str, Any]) -> LogRow:
    judged = as_object(record.get("judge_response"))
    stated = number_of(judged.get("confidence"))
    return LogRow(
        sample=name_of(question),
        grade=VALUES.get(str(judged.get("correct", "")).casefold()),
        confidence=None if stated is None else stated / FULL,
        source=NO_SOURCE if stated is None else STATED,
        model=name_of(record.get("model")),
        answer=text_of(judged.get("model_answer")),
        explanation=text_of(judged.get("reasoning")),
    )

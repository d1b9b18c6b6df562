"""Every Eval Ever: JSON Lines of scored answers. The format has no confidence yet."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from calib.loading.logs.json_values import as_object, records
from calib.loading.logs.rows import Log, LogRow, name_of, number_of, text_of

NAME = "Every Eval Ever"


def recognises(paths: Set[str]) -> bool:
    """Whether these are keys of a scored answer."""
    scored = {"evaluation.is_correct", "evaluation.score"} & paths
    return "sample_id" in paths and bool(scored)


def read(data: bytes) -> Log:
    """Read whether every answer is right."""
    return Log(NAME, rows=[_row(record) for record in records(data)])


def _row(record: dict[str, Any]) -> LogRow:
    evaluation = as_object(record.get("evaluation"))
    correct = evaluation.get("is_correct")
    grade = float(correct) if isinstance(correct, bool) else number_of(evaluation.get("score"))
    return LogRow(
        sample=name_of(record.get("sample_id")),
        grade=grade,
        task=name_of(record.get("evaluation_name")),
        model=name_of(record.get("model_id")),
        answer=text_of(as_object(record.get("output")).get("raw", "")),
    )

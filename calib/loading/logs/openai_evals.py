"""OpenAI evals: JSON Lines of events, which are joined by sample."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from calib.loading.logs.json_values import as_object, records
from calib.loading.logs.rows import (
    NO_SOURCE,
    TOKEN,
    Log,
    LogRow,
    name_of,
    probability_of_log,
    text_of,
)
from calib.loading.problems import warning

NAME = "OpenAI evals"


def recognises(paths: Set[str]) -> bool:
    """Whether these are keys of the first lines of a log."""
    return "spec.eval_name" in paths or {"run_id", "event_id", "sample_id", "type"} <= paths


def read(data: bytes) -> Log:
    """Read the matches, and the log-probability of the answer if the log has it."""
    log, finished = Log(NAME), False
    matches = list[tuple[str, dict[str, Any]]]()
    logarithms = dict[str, list[dict[str, Any]]]()
    for event in records(data):
        if "spec" in event:
            spec = as_object(event["spec"])
            log.task = name_of(spec.get("eval_name"))
            log.model = name_of((spec.get("completion_fns") or [spec.get("model_name")])[0])
        finished = finished or "final_report" in event
        sample, about = name_of(event.get("sample_id")), as_object(event.get("data"))
        if event.get("type") == "match":
            matches.append((sample, about))
        elif event.get("type") == "cond_logp":
            logarithms.setdefault(sample, []).append(about)
    log.rows = [_row(sample, about, logarithms.get(sample, [])) for sample, about in matches]
    if not finished:
        log.notes.append(warning("unfinished.report", n=len(matches)))
    return log


def _row(sample: str, match: dict[str, Any], logarithms: list[dict[str, Any]]) -> LogRow:
    correct = match.get("correct")
    answer = match.get("picked") or match.get("sampled")
    probability = _probability(answer, logarithms)
    return LogRow(
        sample=sample,
        grade=float(correct) if isinstance(correct, bool | int) else None,
        confidence=probability,
        source=NO_SOURCE if probability is None else TOKEN,
        scorer="match",
        answer=text_of(answer),
    )


def _probability(answer: Any, logarithms: list[dict[str, Any]]) -> float | None:
    """The probability of the answer, if one of the completions is the answer."""
    wanted = text_of(answer).strip()
    for event in logarithms:
        if wanted and text_of(event.get("completion")).strip() == wanted:
            return probability_of_log(event.get("logp"))
    return None

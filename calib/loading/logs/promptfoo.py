"""promptfoo: an exported evaluation. Its rubrics are judged by a model, other checks are not."""

from __future__ import annotations

from typing import Any

from calib.loading.logs.json_values import Document, as_list, as_object
from calib.loading.logs.rows import JUDGE, NO_SOURCE, Log, LogRow, name_of, number_of, text_of

NAME = "promptfoo"
# The score of these checks comes from a model, so it is a judge's.
JUDGES = (
    *("llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval"),
    *("answer-relevance", "context-faithfulness", "context-relevance", "context-recall", "pi"),
)


def recognises(paths: frozenset[str]) -> bool:
    """Whether these are keys of an export."""
    return bool(
        {"results.results", "results.prompts"} & paths
        or {"evalId", "results"} <= paths
        or {"results.[].gradingResult", "results.[].success"} & paths
    )


def read(data: bytes) -> Log:
    """Read every result: a judge's score, and whether the checks without a judge passed."""
    log, document = Log(NAME), Document(data)
    for key in document.members():
        if key == "evalId":
            log.task = name_of(document.value())
        elif key == "results":
            _add_results(log, document)
        else:
            document.value()
    # Without a check of another kind, the outcome repeats the judge's score.
    judged = [row for row in log.rows if row.source == JUDGE]
    log.judged = bool(judged) and not any(row.filter for row in judged)
    log.rows = [row._replace(filter="") for row in log.rows]
    return log


def _add_results(log: Log, document: Document) -> None:
    if document.peek() == "[":
        for _ in document.elements():
            _add(log, as_object(document.value()))
        return
    for key in document.members():
        if key == "results" and document.peek() == "[":
            _add_results(log, document)
        else:
            document.value()


def _add(log: Log, result: dict[str, Any]) -> None:
    grading = as_object(result.get("gradingResult"))
    parts = [as_object(part) for part in as_list(grading.get("componentResults"))]
    kinds = [str(as_object(part.get("assertion")).get("type", "")) for part in parts]
    judges = [
        (kind, part)
        for kind, part in zip(kinds, parts, strict=True)
        if kind.removeprefix("not-") in JUDGES
    ]
    checks = [
        part
        for kind, part in zip(kinds, parts, strict=True)
        if kind.removeprefix("not-") not in JUDGES
    ]
    outcome = all(part.get("pass") for part in checks) if checks else result.get("success")
    provider = result.get("provider")
    model = provider.get("id") if isinstance(provider, dict) else provider
    about: dict[str, Any] = {
        "sample": name_of(result.get("testIdx", result.get("id"))),
        "epoch": 1,
        "model": name_of(model),
        "task": _prompt(result),
        "answer": text_of(as_object(result.get("response")).get("output")),
    }
    grade = float(outcome) if isinstance(outcome, bool) else None
    # The filter marks an outcome that does not depend on the judge.
    independent = "checks" if checks and judges else ""
    for kind, part in judges:
        name = name_of(as_object(part.get("assertion")).get("metric") or kind)
        log.rows.append(
            LogRow(
                **about,
                grade=grade,
                confidence=number_of(part.get("score")),
                source=JUDGE,
                scorer=name,
                filter=independent,
                explanation=text_of(part.get("reason")),
            )
        )
    if not judges:
        log.rows.append(LogRow(**about, grade=grade, source=NO_SOURCE))


def _prompt(result: dict[str, Any]) -> str:
    """The prompt of a result, which is its task."""
    prompt = as_object(result.get("prompt"))
    return name_of(prompt.get("label") or "")[:80] or f"prompt {result.get('promptIdx', 0)}"

"""promptfoo: an exported evaluation. Its rubrics are judged by a model, other checks are not."""

from __future__ import annotations

from typing import Any

from calib.loading.logs.json_values import Document, as_list, as_object
from calib.loading.logs.rows import (
    JUDGE,
    NO_SOURCE,
    Log,
    LogRow,
    errors_note,
    name_of,
    number_of,
    of_each_scorer,
    text_of,
)
from calib.loading.problems import note
from calib.loading.table import unused

NAME = "promptfoo"
# The score of these checks comes from a model, so it is a judge's.
JUDGES = (
    *("llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality", "g-eval"),
    *("answer-relevance", "context-faithfulness", "context-relevance", "context-recall", "pi"),
    *("search-rubric", "agent-rubric", "conversation-relevance", "trajectory:goal-success"),
)
RED_TEAM = "promptfoo:redteam:"
# A result with this reason has an error of the model's program, and no answer that was scored.
ERROR_REASON = 2
# This marks rows while they are read, because promptfoo has no filters.
ONLY_JUDGED = "only judged"


def read(data: bytes) -> Log:
    """Read every result: a judge's score, and whether the checks without a judge passed."""
    reader, document = _Reader(), Document(data)
    for key in document.members():
        if key == "evalId":
            reader.log.task = name_of(document.value())
        elif key == "results":
            _add_results(reader, document)
        else:
            document.value()
    document.end()
    return reader.finished()


def _add_results(reader: _Reader, document: Document) -> None:
    if document.peek() == "[":
        for _ in document.elements():
            reader.add(as_object(document.value()))
        return
    for key in document.members():
        if key == "results" and document.peek() == "[":
            _add_results(reader, document)
        else:
            document.value()


class _Reader:
    """Results one after the other, and those whose outcome is only the judge's verdict."""

    def __init__(self) -> None:
        self.log = Log(NAME)
        self.errors = self.only_judged = self.n_checked = 0

    def add(self, result: dict[str, Any]) -> None:
        """Add the rows of a result, one per judge."""
        about = _about(result)
        reason = result.get("failureReason")
        # A failed check has an error too, but it has a grading.
        failed = bool(result.get("error")) and not result.get("gradingResult")
        if reason == ERROR_REASON or (reason is None and failed):
            self.errors += 1
            self.log.rows.append(LogRow(**about, grade=None))
            return
        judges, checks = _judges_and_checks(result)
        outcome = all(part.get("pass") for part in checks) if checks else result.get("success")
        grade = float(outcome) if isinstance(outcome, bool) else None
        if not judges:
            self.log.rows.append(LogRow(**about, grade=grade, source=NO_SOURCE))
            return
        self.n_checked += bool(checks)
        self.only_judged += not checks
        for name, part in judges.items():
            self.log.rows.append(
                LogRow(
                    **about,
                    grade=grade,
                    confidence=number_of(part.get("score")),
                    source=JUDGE,
                    scorer=name,
                    filter="" if checks else ONLY_JUDGED,
                    explanation=text_of(part.get("reason")),
                )
            )

    def finished(self) -> Log:
        """The log, with answers that only a judge graded as not scored if there are others."""
        log = self.log
        # Without a check of another kind, the outcome repeats the judge's score.
        log.judged = self.only_judged > 0 and not self.n_checked
        left_out = ONLY_JUDGED if self.n_checked else None
        log.rows = [
            row._replace(filter="", grade=None if row.filter == left_out else row.grade)
            for row in log.rows
        ]
        if self.only_judged and self.n_checked:
            log.notes.append(note("only-judged", n=self.only_judged))
        if self.errors:
            log.notes.append(errors_note(self.errors))
        of_each_scorer(log)
        return log


def _about(result: dict[str, Any]) -> dict[str, Any]:
    provider = result.get("provider")
    model = provider.get("id") if isinstance(provider, dict) else provider
    prompt = as_object(result.get("prompt"))
    return {
        "sample": name_of(result.get("testIdx", result.get("id"))),
        "epoch": 1,
        "model": name_of(model),
        # The prompt of a result is its task.
        "task": name_of(prompt.get("label") or "")[:80] or f"prompt {result.get('promptIdx', 0)}",
        "answer": text_of(as_object(result.get("response")).get("output")),
    }


def _judges_and_checks(
    result: dict[str, Any],
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """The parts of a grading that a model judged, by name, and the checks without a model."""
    judges, checks = dict[str, dict[str, Any]](), list[dict[str, Any]]()
    grading = as_object(result.get("gradingResult"))
    for part in map(as_object, as_list(grading.get("componentResults"))):
        assertion = as_object(part.get("assertion"))
        kind = str(assertion.get("type") or "").removeprefix("not-")
        if kind in JUDGES or kind.startswith(RED_TEAM):
            # A rubric without a name is distinguished by its place.
            judges[unused(name_of(assertion.get("metric") or kind), judges)] = part
        # A part without a type is a set of others, and its outcome includes that of judges.
        elif kind and kind != "assert-set":
            checks.append(part)
    return judges, checks

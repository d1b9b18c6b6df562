"""deepeval: a test run, whose metrics are scores of a judge."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from calib.loading.logs.json_values import Document, as_list, as_object
from calib.loading.logs.rows import JUDGE, NO_SOURCE, Log, LogRow, name_of, number_of, text_of

NAME = "deepeval"


def recognises(paths: Set[str]) -> bool:
    """Whether these are keys of a test run."""
    return bool({"testCases", "test_cases"} & paths)


def read(data: bytes) -> Log:
    """Read the score of every metric. Its success says only whether the threshold was reached."""
    log, document = Log(NAME, judged=True), Document(data)
    header = dict[str, Any]()
    for key in document.members():
        if key in ("testCases", "test_cases") and document.peek() == "[":
            for number, _ in enumerate(document.elements()):
                _add(log, as_object(document.value()), number)
        else:
            header[key] = document.value()
    document.end()
    log.task = name_of(header.get("testFile") or header.get("identifier") or NAME)
    return log


def _add(log: Log, case: dict[str, Any], number: int) -> None:
    about: dict[str, Any] = {
        "sample": name_of(case.get("name") or number),
        "answer": text_of(case.get("actualOutput", case.get("actual_output"))),
    }
    metrics = as_list(case.get("metricsData", case.get("metrics_data")))
    for metric in map(as_object, metrics):
        success, score = metric.get("success"), number_of(metric.get("score"))
        log.rows.append(
            LogRow(
                **about,
                grade=float(success) if isinstance(success, bool) else None,
                confidence=score,
                source=NO_SOURCE if score is None else JUDGE,
                scorer=name_of(metric.get("name")),
                model=name_of(metric.get("evaluationModel")),
                explanation=text_of(metric.get("reason")),
            )
        )

"""lm-evaluation-harness: samples_<task>_<date>.jsonl, and results_<date>.json beside it."""

from __future__ import annotations

import math
import re
from typing import Any

from calib.loading.logs.json_values import Document, as_list, as_object, records
from calib.loading.logs.rows import NO_SOURCE, TOKEN, Log, LogRow, name_of, number_of, text_of
from calib.loading.problems import note, refuse

NAME = "lm-evaluation-harness"
RESULTS = "results of lm-evaluation-harness"
# The metrics that are 1 for a right answer and 0 for a wrong one, in most tasks.
METRICS = ("acc", "acc_norm", "acc_mutual_info", "exact_match")
FILE_NAME = re.compile(r"samples_(.+?)_\d{4}-\d{2}-\d{2}T.*")


def read(data: bytes, name: str) -> Log:
    """Read the samples of one task. The model is named by the results only."""
    match = FILE_NAME.fullmatch(name)
    log = Log(NAME, task=match[1] if match else name)
    no_choices = 0
    for record in records(data):
        logarithms = _logarithms(record)
        no_choices += not logarithms
        sample, answer = name_of(record.get("doc_id")), text_of(record.get("filtered_resps"))
        if logarithms:
            answer = f"choice {logarithms.index(max(logarithms)) + 1}"
        for metric, grade in _grades(record).items():
            confidence = _confidence(record, metric, logarithms)
            log.rows.append(
                LogRow(
                    sample=sample,
                    grade=grade,
                    confidence=confidence,
                    source=NO_SOURCE if confidence is None else TOKEN,
                    scorer=metric,
                    filter=name_of(record.get("filter", "none")),
                    task=name_of(record.get("task_name", "")),
                    answer=answer,
                )
            )
    if no_choices:
        log.notes.append(note("generated"))
    return log


def _grades(record: dict[str, Any]) -> dict[str, float | None]:
    """The score of each metric, those that are 1 for a right answer if there are any."""
    stated = as_list(record.get("metrics"))
    for metrics in (METRICS, map(str, stated)):
        grades: dict[str, float | None] = {}
        for metric in metrics:
            value = record.get(metric)
            if value is None:
                # Older files name the filter after the metric.
                value = record.get(f"{metric},none")
            grade = float(value) if isinstance(value, bool) else number_of(value)
            if grade is not None:
                grades[metric] = grade
        if grades:
            return grades
    return {"acc": None}


def _logarithms(record: dict[str, Any]) -> list[float]:
    """The log-likelihood of each choice, or an empty list if the answer was generated."""
    pairs = as_list(record.get("filtered_resps"))
    there = []
    for first in (pair[0] for pair in pairs if isinstance(pair, list) and len(pair) == 2):
        # The log-likelihood of a choice that is impossible is minus infinity.
        impossible = str(first).strip().casefold() in ("-inf", "-infinity")
        if (value := -math.inf if impossible else number_of(first)) is not None:
            there.append(value)
    return there if len(there) == len(pairs) and len(there) > 1 else []


def _confidence(record: dict[str, Any], metric: str, logarithms: list[float]) -> float | None:
    """The largest share of the likelihoods, each per character of its choice for acc_norm."""
    # Tasks with mutual information list the likelihoods without the question after the others.
    mutual = "acc_mutual_info" in record or "acc_mutual_info" in as_list(record.get("metrics"))
    n_choices = len(logarithms) // 2 if mutual else len(logarithms)
    if mutual and len(logarithms) % 2:
        sample = str(record.get("doc_id"))
        raise refuse("odd-likelihoods", sample=sample, n=len(logarithms))
    if n_choices < 2:
        return None
    values = logarithms[:n_choices]
    if metric == "acc_mutual_info":
        without = logarithms[n_choices : 2 * n_choices]
        values = [value - other for value, other in zip(values, without, strict=True)]
    elif metric == "acc_norm":
        lengths = _lengths(record, n_choices)
        if not lengths:
            return None
        values = [value / length for value, length in zip(values, lengths, strict=True)]
    largest = max(values)
    if not math.isfinite(largest):
        return None  # Every choice is impossible, or one has no likelihood to divide by.
    return 1.0 / sum(math.exp(value - largest) for value in values)


def _lengths(record: dict[str, Any], n_choices: int) -> list[int]:
    """Number of characters of each choice, or an empty list if the record lacks a choice."""
    arguments = record.get("arguments")
    calls = list(arguments.values()) if isinstance(arguments, dict) else as_list(arguments)
    texts = [
        call.get("arg_1") if isinstance(call, dict) else next(iter(as_list(call)[1:2]), None)
        for call in calls[:n_choices]
    ]
    if len(texts) < n_choices or not all(isinstance(text, str) and text.strip() for text in texts):
        return []
    return [len(str(text).removeprefix(" ")) for text in texts]


def read_results(data: bytes) -> Log:
    """The tasks of a file of results, as rows without an answer, and the model."""
    document, model, tasks = Document(data), "", list[str]()
    for key in document.members():
        value = document.value()
        if key == "model_name":
            model = name_of(value)
        elif key == "config" and not model:
            # An older file has the model among its arguments.
            config = as_object(value)
            match = re.search(r"(?:pretrained|model)=([^,]+)", str(config.get("model_args", "")))
            model = name_of(match[1] if match else config.get("model", ""))
        elif key == "results":
            tasks = [name_of(task) for task in as_object(value)]
    document.end()
    rows = [LogRow(sample="", grade=None, confidence=math.nan, task=task) for task in tasks]
    return Log(RESULTS, rows=rows, model=model)

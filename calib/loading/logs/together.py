"""Several evaluation logs as one table; lm-evaluation-harness, whose log is in two files."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib.data.file_options import Columns
from calib.loading.logs.rows import (
    NO_SOURCE,
    RIGHT,
    TOKEN,
    Document,
    Log,
    LogRow,
    as_list,
    as_object,
    name_of,
    number_of,
    records,
    text_of,
)
from calib.loading.logs.short_formats import HELM, HELM_RUN
from calib.loading.problems import Choice, Problem, error, note, refuse, warning
from calib.loading.table import Table, unused
from calib.numerics.intervals import wilson_interval
from calib.text import joined, level, percent, plural

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


# Files that name the model of another file, and the format of that file.
NAMES_FOR = {RESULTS: NAME, HELM_RUN: HELM}
NAMES_OF_TASK = ("task", "model")
MAX_BESIDE_BYTES, MAX_BESIDE_FILES = 2**25, 50
PATTERNS = {NAME: "*results*.json", HELM: "run_spec.json"}
NAMED_BY = {
    NAME: "the results_*.json of the same run",
    HELM: "the run_spec.json of the same run",
}
CONFIDENCE_LEVEL = 0.95


def combined(tables: Sequence[Table]) -> list[Table]:
    """The tables, with all evaluation logs as one. Files that name a model are used up.

    The table of logs has notes about what is missing; a note of severity "error" says why its rows
    cannot be analysed. Raises InputError if logs and other tables are mixed, or if there are only
    files that name a model.
    """
    logs = [table for table in tables if table.log and table.log not in NAMES_FOR]
    beside = [table for table in tables if table.log in NAMES_FOR]
    if not logs and not beside:
        return list(tables)
    if len(logs) + len(beside) < len(tables):
        raise refuse("logs-and-tables")
    if not logs:
        is_helm = beside[0].log == HELM_RUN
        samples = "per_instance_stats.json" if is_helm else "samples_*.jsonl (--log_samples)"
        raise refuse("names-only", file=beside[0].file or beside[0].name, samples=samples)
    for number, log in enumerate(logs):
        taken_names = {model for other in logs[:number] for model in other.frame["model"].unique()}
        logs[number] = _with_names(log, beside, taken_names)
    frame = pd.concat([log.frame.astype(_TYPES) for log in logs], ignore_index=True)
    tasks = frame["task"].nunique()
    if tasks > 1:
        frame["sample_id"] = frame["task"].str.cat(frame["sample_id"], sep="/")
    # Answers are stored in the order in which they were finished, which differs between models.
    frame = frame.sort_values(["model", "task", "sample_id", "epoch"], kind="stable")
    frame = frame.reset_index(drop=True)
    for column in ("task", "model", "source", "correct"):
        frame[column] = frame[column].astype("category")
    notes = [note for log in logs for note in log.notes]
    names = [log.file for log in logs]
    table = replace(
        logs[0],
        frame=frame,
        name=_short([log.name for log in logs]),
        file=_short([log.file or log.name for log in logs]),
        log=joined(list(dict.fromkeys(log.log for log in logs))),
        # Logs without the name of a file cannot be read again by their names.
        log_files=tuple(names) if len(names) > 1 and all(names) else (),
        judged=any(log.judged for log in logs),
    )
    return [replace(table, notes=(*notes, *_problems(table)))]


_TYPES = dict.fromkeys(("task", "model", "sample_id", "source", "correct"), "str")


def _short(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    return joined(names[:2], len(names))


def _with_names(log: Table, beside: Sequence[Table], taken_names: Container[str]) -> Table:
    """The log with the model, and perhaps the task, of the file that names them."""
    frame, task = log.frame, str(log.frame["task"].iloc[0])
    if (frame["model"] != "").all():
        return log
    fitting = [other for other in beside if NAMES_FOR[other.log] == log.log]
    # The names of the files of one run end in the same date.
    of_run = [other for other in fitting if _date(other.name) == _date(log.name)] or fitting
    naming = [other for other in of_run if task in set(other.frame["task"])] or of_run
    models = {str(other.frame["model"].iloc[0]) for other in naming} - {""}
    renamed = frame.assign(model=frame["model"].astype("str"), task=frame["task"].astype("str"))
    problems = []
    if len(models) == 1:
        (model,) = models
    else:
        model = unused(log.name, taken_names)
        facts = {"file": log.file or log.name, "model": model, "models": sorted(models)}
        wanted = NAMED_BY.get(log.log)
        problems.append(warning("no-model", **facts, wanted=wanted))
    renamed["model"] = renamed["model"].mask(renamed["model"] == "", model)
    if task == "":
        tasks = {str(other.frame["task"].iloc[0]) for other in naming} if len(naming) == 1 else ()
        renamed["task"] = next(iter(tasks), log.name)
    return replace(log, frame=renamed, notes=(*log.notes, *problems))


def _date(name: str) -> str:
    """The last part of the name of a file."""
    return name.rpartition("_")[2]


def named_by(log: Table, beside: Sequence[Table]) -> Table:
    """The log with the names of the files in its folder, if they leave no doubt."""
    with_model = _with_names(log, [other for other in beside if other.log in NAMES_FOR], ())
    return with_model if len(with_model.notes) == len(log.notes) else log


def paths_beside(path: Path, table: Table) -> list[Path]:
    """The files in the folder of a log that may name its model."""
    pattern = PATTERNS.get(table.log)
    if pattern is None or not (table.frame["model"] == "").any():
        return []
    paths = sorted(other for other in path.parent.glob(pattern) if other.is_file())
    small = [other for other in paths if other.stat().st_size <= MAX_BESIDE_BYTES]
    return small[:MAX_BESIDE_FILES]


def answers_by_task(frame: pd.DataFrame) -> pd.DataFrame:
    """What was read: one row per task and model.

    Columns: task, model, rows, scored, without confidence (of the scored rows), and the source of
    the confidence.

    >>> frame = pd.DataFrame({"task": ["t", "t"], "model": ["m", "m"], "sample_id": ["1", "2"]})
    >>> frame = frame.assign(confidence=[0.9, np.nan], correct=["right", "wrong"], source="stated")
    >>> answers_by_task(frame).to_dict("records")
    [{'task': 't', 'model': 'm', 'rows': 2, 'scored': 2, 'without confidence': 1, \
'source': 'stated'}]
    """
    frame = frame.astype({"task": "str", "model": "str", "source": "str"})
    scored = frame["correct"].notna()
    counted = frame.assign(
        rows=1,
        scored=scored.astype(np.int64),
        without=(scored & frame["confidence"].isna()).astype(np.int64),
        source=frame["source"].where(frame["source"] != NO_SOURCE),
    )
    grouped = counted.groupby(["task", "model"], sort=True)
    table = grouped.agg(
        rows=("rows", "sum"),
        scored=("scored", "sum"),
        without=("without", "sum"),
        source=("source", "first"),
    ).reset_index()
    table["source"] = table["source"].astype(object).where(table["source"].notna(), NO_SOURCE)
    return table.rename(columns={"without": "without confidence"})


def log_mapping(table: Table, given: Columns, *, models: bool) -> Columns:
    """The meaning of the columns of a log, which are not guessed. Columns that are given win."""
    frame = table.frame
    several = {name: frame[name].nunique() > 1 for name in NAMES_OF_TASK}
    by_model = models and several["model"]
    key = ["model", "sample_id"] if by_model else ["sample_id"]
    repeated = bool(frame.loc[frame["correct"].notna()].duplicated(key).any())
    slices = [name for name in NAMES_OF_TASK if several[name]]
    if by_model:
        slices.remove("model")
    meant = Columns(
        outcome="correct",
        positive=RIGHT,
        score="confidence",
        model="model" if by_model else None,
        group="sample_id" if repeated else None,
        slices=tuple(slices),
        drop_missing=True,
    )
    return replace(meant, **given.changed())


def _problems(table: Table) -> list[Problem]:
    """Why the rows cannot be analysed, or what is left out."""
    frame = table.frame
    scored = frame[frame["correct"].notna()]
    if scored.empty:
        return [error("no-scores", n=len(frame), file=table.file)]
    missing = int(scored["confidence"].isna().sum())
    if table.judged or missing == len(scored):
        key = "judged" if table.judged else "no-confidence"
        return [error(key, file=table.file, rate=_rate(scored))]
    problems = _mixed_scales(scored)
    left_out = len(frame) - len(scored)
    if left_out or missing:
        key = "left-out.both" if left_out and missing else "left-out.answers"
        facts = {"total": len(frame), "n_left_out": left_out, "n_missing": missing}
        problems.append(warning(key, **facts))
    return problems


def _rate(scored: pd.DataFrame) -> str:
    """The share of right answers, with an interval that counts samples and not repetitions."""
    right = (scored["correct"] == RIGHT).to_numpy()
    n_samples = scored["sample_id"].nunique()
    rate = float(right.mean())
    low, high = wilson_interval(np.array([rate]), np.array([float(n_samples)]), CONFIDENCE_LEVEL)
    return (
        f"{plural(len(scored), 'answer')}, {percent(rate)} right ({level(CONFIDENCE_LEVEL)} CI "
        f"{percent(float(low[0]))} to {percent(float(high[0]))})"
    )


def _mixed_scales(scored: pd.DataFrame) -> list[Problem]:
    """Ask if confidences of one task and model are percentages and others are not."""
    confidence = scored["confidence"]
    if not (confidence > 1.0).any() or (confidence > 100.0).any() or (confidence < 0.0).any():
        return []
    above = scored[confidence > 1.0]
    by_part = scored.groupby(["task", "model"], observed=True)["confidence"]
    n_above, n_parts = above.groupby(["task", "model"], observed=True).ngroups, by_part.ngroups
    fractions = int(((confidence > 0.0) & (confidence < 1.0)).sum())
    if n_above == n_parts and not fractions:
        return []  # The scale is the same everywhere, so the checks of scores ask about it.
    first = above.iloc[0]
    choice = Choice("Divide those above 1 by 100", {"percent_above_1": True})
    facts = {"n": len(above), "model": str(first["model"]), "task": str(first["task"])}
    facts |= {"highest": float(above["confidence"].max()), "n_fractions": fractions}
    return [error("mixed-scales.answers", **facts, choices=(choice,))]

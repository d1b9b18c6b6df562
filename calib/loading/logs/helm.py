"""HELM: per_instance_stats.json, and run_spec.json beside it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from calib.loading.logs.json_values import Document, as_list, as_object, records
from calib.loading.logs.rows import (
    NO_SOURCE,
    TOKEN,
    Log,
    LogRow,
    name_of,
    number_of,
    of_each_scorer,
)
from calib.loading.problems import note, refuse
from calib.text import quoted

NAME = "HELM"
RUN = "run of HELM"
SCORERS = ("exact_match", "quasi_exact_match")


def recognises(paths: Set[str]) -> bool:
    """Whether these are keys of the statistics per instance."""
    return {"instance_id", "stats"} <= paths


def recognises_run(paths: Set[str]) -> bool:
    """Whether these are keys of the description of a run, which names the model."""
    return {"adapter_spec", "scenario_spec"} <= paths


def recognises_others(paths: Set[str]) -> bool:
    """Whether these are keys of another file of a run, which has no scored answers."""
    return "request_states" in paths or {"name.name", "name.split", "count"} <= paths


def read(data: bytes) -> Log:
    """Read the statistics of each instance. The model is named by run_spec.json only."""
    log, splits, n_perturbed = Log(NAME), dict[str, int](), 0
    names = dict[str, None]()
    for record in records(data):
        if record.get("perturbation"):
            n_perturbed += 1
            continue
        values, split = _values(as_list(record.get("stats")))
        names |= dict.fromkeys(values)
        splits[split] = splits.get(split, 0) + 1
        confidence = number_of(values.get("max_prob"))
        # An instance without these statistics is counted, but was not scored.
        for scorer in [name for name in SCORERS if name in values] or [""][: len(values)]:
            log.rows.append(
                LogRow(
                    sample=name_of(record.get("instance_id")),
                    grade=number_of(values.get(scorer)),
                    confidence=confidence,
                    source=NO_SOURCE if confidence is None else TOKEN,
                    scorer=scorer,
                )
            )
    if names and not any(row.scorer for row in log.rows):
        raise refuse("no-exact-match", scorers=" or ".join(SCORERS), names=list(names))
    of_each_scorer(log)
    if n_perturbed:
        log.notes.append(note("perturbed", n=n_perturbed))
    if len(splits) > 1:
        counts = [f"{quoted(split)} ({n:,})" for split, n in splits.items()]
        log.notes.append(note("splits", splits=counts))
    return log


def _values(stats: list[Any]) -> tuple[dict[str, Any], str]:
    """The mean of each statistic of an instance, and its split."""
    values, split = dict[str, Any](), ""
    for stat in map(as_object, stats):
        about, count = as_object(stat.get("name")), number_of(stat.get("count"))
        total = number_of(stat.get("sum"))
        split = split or name_of(about.get("split"))
        if count and total is not None:
            values[name_of(about.get("name"))] = total / count
    return values, split


def read_run(data: bytes) -> Log:
    """The task and the model of a run."""
    document = Document(data)
    run = as_object(document.value())
    document.end()
    adapter = as_object(run.get("adapter_spec"))
    task = name_of(run.get("name")).split(",model=")[0]
    row = LogRow(sample="", grade=None, task=task)
    return Log(RUN, rows=[row], model=name_of(adapter.get("model")))

"""decisions_log: the answers of decision models and their labels, from files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from calib.data.file_options import FileFormat
from calib.features.automate.answers import YES, Answer
from calib.features.automate.collecting import collect
from calib.features.automate.logs import ID_KEYS, LABEL_KEYS, Label, Log, read
from calib.features.automate.questions import Questions
from calib.loading.logs.rows import JSON_START, name_of, records
from calib.loading.name_patterns import plain_name
from calib.loading.problems import InputError, refuse
from calib.loading.reading import apart
from calib.loading.reading.archives import unpack
from calib.loading.reading.budget import Budget, columns_of
from calib.loading.reading.reader import DEFAULT_BUDGET, stem
from calib.loading.reading.reader import read as read_table

File: TypeAlias = "str | Path"
QUESTION_NAMES, SCORE_NAMES = ("question", "name", "key"), ("probability", "p", "score", "noul")


def decisions_log(path: File | Sequence[File], labels: File | None = None) -> Questions:
    """Read the typed answers of decision models, with the labels of their questions.

    The answers may be in the shapes of TypeSafe and those that copy it, of OpenAI and of Google,
    one per line, with or without their requests; in the files of jev-eval, judge-audit and
    jev-trust; or in exports of Langfuse and LangSmith. Labels are beside the answers (`labels`,
    `gold`, an annotation or a correction), in a second file, or in the column of a table. Files are
    recognised by their content: JSON, JSON Lines and tables, also compressed.

    Only probabilities are read as probabilities. A `confidence` is used if there are none, and is
    then a score that ranks answers. A question in two wordings, or answered by two versions of a
    model, is two questions. Answers about the same state are one cluster.

    Parameters
    ----------
    path : path, or several paths
    labels : path, optional
        Labels by the id, request id or state of a record: objects with `labels`, or a table with a
        column per question, or with the columns question and label.

    Returns
    -------
    Questions
        A mapping from each question with labels to its `Predictions`. Its `details` have wordings,
        versions, and how many answers were refused, blocked or missing.

    Raises
    ------
    InputError
        If a file has no answers, or no label belongs to one of its records. It is a ValueError.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> answer = {"urgent": {"type": "noul", "noul": 0.91}}
    >>> line = {"model": "jev-1.13.0", "answers": answer, "labels": {"urgent": True}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answers.jsonl")
    ...     _ = file.write_text(json.dumps(line))
    ...     questions = decisions_log(file)
    >>> questions["urgent"].scores, questions.details["urgent"].version
    (array([0.91]), 'jev-1.13.0')
    """
    paths = [Path(one) for one in ([path] if isinstance(path, str | Path) else path)]
    log = Log()
    for one in paths:
        _read(log, _content(one), one.name)
    if labels is not None:
        log.labels_apart += _labels_of(_content(Path(labels)), Path(labels).name)
    return collect(log, stem(paths[0].name))


def dropped_log(
    data: bytes,
    name: str,
    *,
    given: FileFormat | None = None,  # noqa: ARG001
    budget: Budget = DEFAULT_BUDGET,
    others: Sequence[bytes] = (),
) -> Questions:
    """The questions of files that are read apart: answers and labels, in any order.

    A table of labels is one with an id and without a probability.
    """
    log = Log()
    for content in (data, *others):
        _read(log, content, name, budget)
    return collect(log, stem(name))


def serve_one() -> None:
    """Read one log in a separate process; see `calib.loading.reading.apart`."""
    apart.serve_one(dropped_log)


def read_back(path: Path) -> Questions:
    """The questions that the process wrote."""
    return Questions.from_arrow(columns_of(path))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(DEFAULT_BUDGET.size + 1)
    except OSError:
        raise refuse("no-file.readable", path=str(path)) from None
    DEFAULT_BUDGET.check_file(len(data))
    return data


def _read(log: Log, data: bytes, name: str, budget: Budget = DEFAULT_BUDGET) -> None:
    content = unpack(data, budget)
    if JSON_START.match(content):
        read(log, _lines(content))
        return
    frame = read_table(data, name, budget=budget).frame
    roles = _roles(frame)
    if "score" not in roles and "id" in roles:
        log.labels_apart += _labels_of_table(frame, roles)
    else:
        _read_table(log, frame, roles)


def _lines(content: bytes) -> Iterator[dict[str, Any]]:
    try:
        yield from records(content)
    except RecursionError:
        raise refuse("too-deep") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise refuse("damaged.json") from None


def _read_table(log: Log, frame: pd.DataFrame, roles: dict[str, str]) -> None:
    """Read a table with a probability per row into a log."""
    if "score" not in roles:
        raise refuse("no-decisions.columns", columns=[*frame.columns])
    for row in frame.to_dict("records"):
        ids = _ids(row, roles)
        record = log.record_of(f"id {ids[0]}", ids) if ids else log.add(())
        name = _cell(row, roles, "question") or roles["score"]
        answer = Answer("yes/no", (YES,), (row[roles["score"]],))
        log.answer(record, name, answer, version=_cell(row, roles, "model"))
        if "label" in roles:
            log.label(record, name, _plain(row[roles["label"]]))


def _roles(frame: pd.DataFrame) -> dict[str, str]:
    """The columns of a table by what they mean, by their names."""
    names_by_role = {
        "question": QUESTION_NAMES,
        "score": SCORE_NAMES,
        "label": LABEL_KEYS,
        "model": ("model", "version"),
        "id": ID_KEYS,
    }
    roles: dict[str, str] = {}
    for role, names in names_by_role.items():
        columns = [c for c in frame.columns if plain_name(c) in {plain_name(n) for n in names}]
        if columns:
            roles[role] = columns[0]
    return roles


def _cell(row: dict[str, Any], roles: dict[str, str], role: str) -> str:
    return name_of(row[roles[role]]) if role in roles else ""


def _ids(row: dict[str, Any], roles: dict[str, str]) -> tuple[str, ...]:
    one = _plain(row[roles["id"]]) if "id" in roles else None
    return () if one is None else (name_of(one),)


def _plain(value: Any) -> Any:
    """A cell as JSON would have it: no label if it is missing, a whole number if it is one."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _labels_of(data: bytes, name: str) -> list[Label]:
    """The labels of a second file, by the ids of their records."""
    content = unpack(data, DEFAULT_BUDGET)
    if JSON_START.match(content):
        return _labels_apart(content, name)
    frame = read_table(data, name).frame
    return _labels_of_table(frame, _roles(frame))


def _labels_of_table(frame: pd.DataFrame, roles: dict[str, str]) -> list[Label]:
    if "id" not in roles:
        raise refuse("labels-without-id", columns=[*frame.columns], ids=[*ID_KEYS])
    if "label" in roles:
        columns = {roles["label"]: None}
    else:
        columns = {column: column for column in frame.columns if column != roles["id"]}
    return [
        Label(_cell(row, roles, "question") or name, _plain(row[column]), _ids(row, roles))
        for row in frame.to_dict("records")
        for column, name in columns.items()
    ]


def _labels_apart(content: bytes, file: str) -> list[Label]:
    log = Log()
    read(log, _lines(content))
    beside = [
        Label(name, value, log.ids[record])
        for name, of_name in log.labels.items()
        for record, value in of_name.items()
    ]
    labels = [*log.labels_apart, *beside]
    if not labels:
        raise refuse("no-labels.log", file=file)
    if not any(label.ids for label in labels):
        raise refuse("labels-without-id", columns=[], ids=[*ID_KEYS])
    return labels


@cache
def decisions_example() -> Questions:
    """Simulated answers about 1,500 messages to a customer service, and their labels.

    Three questions are calibrated. Messages in French are more often urgent than stated, and
    whether a refund is wanted is often wrong, even of the most confident answers.

    Examples
    --------
    >>> log = decisions_example()
    >>> log.n_records, [*log]
    (1500, ['urgent', 'refund', 'spam', 'team', 'anger'])
    """
    rng, n = np.random.default_rng(47), 1_500
    language = rng.choice(["English", "German", "French"], n, p=[0.6, 0.25, 0.15])
    yes = {name: rng.beta(0.2, 0.2, n) for name in ("urgent", "refund", "spam")}
    label: dict[str, Any] = {name: rng.random(n) < p for name, p in yes.items()}
    label["urgent"] |= (language == "French") & (rng.random(n) < 0.2)
    label["refund"] ^= rng.random(n) < 0.08
    options = {
        "team": ("billing", "technical", "sales", "other"),
        "anger": ("calm", "cross", "furious"),
    }
    shares = {
        name: rng.dirichlet(np.full(len(of_name), 0.1), n) for name, of_name in options.items()
    }
    for name, p in shares.items():
        place = (rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
        label[name] = np.array(options[name])[place]
    refused = rng.random(n) < 0.02
    log = Log()
    for i in range(n):
        answers: dict[str, Any] = {
            name: {"type": "noul", "noul": round(float(p[i]), 3)} for name, p in yes.items()
        }
        for name, kind, keys in (("team", "choice", options["team"]), ("anger", "score", "012")):
            stated = dict(zip(keys, shares[name][i].tolist(), strict=True))
            answers[name] = {"type": kind, "probabilities": stated, "legend": [*options[name]]}
        if refused[i]:
            answers["anger"] = {"type": "refusal"}
        labels = {name: of_name[i].item() for name, of_name in label.items()}
        line = {"model": "model-1.2", "answers": answers, "labels": labels}
        read(log, [{**line, "meta": {"language": str(language[i])}}])
    return collect(log, "example")

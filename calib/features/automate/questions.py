"""Questions: the answers of a log, one set of predictions per question."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike

from calib.analysis.judge import rows_to_label
from calib.data.judged import JudgedRows
from calib.data.predictions import Predictions
from calib.features.automate.answers import FAILURES, Kind
from calib.loading.problems import Problem
from calib.loading.reading.budget import problem_of
from calib.numerics.arrays import FloatArray, IntArray, Locked

Scale: TypeAlias = Literal["probability", "confidence"]


@dataclass(frozen=True, slots=True, eq=False)
class Question(Locked):
    """One question in one wording, as one version of a model answered it.

    Attributes
    ----------
    name : str
        As the log names it.
    kind : {"yes/no", "choice", "score"} or None
        None if the question was never answered, and the log does not contain its wording.
    wording : str
        Digest of the question, or "" if the log does not contain its wording.
    model, version : str
        The model that was asked for, and the one that answered; "" if the log does not name it.
    scale : {"probability", "confidence"}
        What the scores are. A confidence ranks answers, and is no probability: vendors define it in
        different ways.
    predictions : Predictions or None
        The labelled answers: P(true) of yes/no, otherwise one column per option or level, the
        lowest level first. None without a label, or without probabilities.
    decisions : Predictions or None
        The same rows as decisions: whether the decided option is the label, and its probability (or
        confidence). A choice is decided as the answer states, a level by the largest probability.
    record : ndarray of int, shape (n,)
        The record of the log that each row is of, from 0. Several annotators of one record have
        several rows.
    answered : ndarray of int
        The records whose answer can be used, with or without a label.
    score : ndarray
        The probability (or confidence) of the decision of each of them.
    counts : mapping of str to int
        Of the records that asked the question: asked, answered, labelled, refused, blocked, error,
        missing, skipped (a type without probabilities), unusable (numbers that are no
        probabilities).
    notes : tuple of Problem
        What was assumed, rescaled or left out.
    """

    name: str
    kind: Kind | None
    wording: str
    model: str
    version: str
    scale: Scale
    predictions: Predictions | None
    decisions: Predictions | None
    record: IntArray
    answered: IntArray
    score: FloatArray
    counts: Mapping[str, int]
    notes: tuple[Problem, ...] = ()


COUNTS = ("asked", "answered", "labelled", *FAILURES, "unusable")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Questions(Mapping[str, Predictions]):
    """The questions of a log: a mapping from the name of a question to its labelled answers.

    Attributes
    ----------
    details : mapping of str to Question
        All questions. Those without a label are here, and not in the mapping. If a name has several
        wordings or versions, they follow it in brackets.
    n_records : int
        Records of the log, whether they have answers or not.
    unit : ndarray of int, shape (n_records,)
        Records with the same state have the same number; without states, those with the same id.
    ids : tuple of str
        The id of each record by which labels of a second file are matched, or "".
    skipped : mapping of str to int
        Answers of types that have no probabilities, by type.
    notes : tuple of Problem
        Notes about the whole log.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calib.features.automate.reading import decisions_log
    >>> line = '{"answers": {"spam": {"type": "noul", "noul": 0.2}}, "labels": {"spam": false}}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answers.jsonl")
    ...     _ = file.write_text(line)
    ...     questions = decisions_log(file)
    >>> [*questions], questions["spam"].outcome
    (['spam'], array([0]))
    >>> questions.frame()[["question", "kind", "asked", "labelled"]].to_dict("records")
    [{'question': 'spam', 'kind': 'yes/no', 'asked': 1, 'labelled': 1}]
    """

    details: Mapping[str, Question]
    n_records: int
    unit: IntArray
    ids: tuple[str, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()

    def __getitem__(self, name: str) -> Predictions:
        made = self.details[name].predictions
        if made is None:
            raise KeyError(name)
        return made

    def __iter__(self) -> Iterator[str]:
        return (name for name, one in self.details.items() if one.predictions is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def latest(self) -> dict[str, str]:
        """By the name of a question, the key of the last of its versions or wordings in the log."""
        return {one.name: key for key, one in self.details.items()}

    def frame(self) -> pd.DataFrame:
        """One row per question: kind, wording, model, version, scale and its counts."""
        rows = [
            {
                "question": name,
                "kind": one.kind,
                "wording": one.wording,
                "model": one.model,
                "version": one.version,
                "scale": one.scale,
                **{count: one.counts[count] for count in COUNTS},
            }
            for name, one in self.details.items()
        ]
        columns = ["question", "kind", "wording", "model", "version", "scale", *COUNTS]
        return pd.DataFrame(rows, columns=columns)

    def next_labels(self, n: int = 50, seed: int = 0) -> pd.DataFrame:
        """Answers to label next, so that the labels are spread over the scores as the answers are.

        Parameters
        ----------
        n : int
            Number of records per question. Fewer are returned if fewer have no label.
        seed : int
            Records within a range of scores are drawn at random, see `JudgeResult.next_rows`.

        Returns
        -------
        DataFrame
            Columns: `id`, `record` (its position, from 1), `question`, and `label`, which is empty
            and to be filled in. The answers are left out, so that they do not sway who labels.
        """
        parts = []
        for one in self.details.values():
            labelled = np.isin(one.answered, one.record)
            if labelled.all():
                continue
            ids = np.array([self.ids[record] for record in one.answered.tolist()])
            rows = JudgedRows.from_arrays(
                one.score,
                np.where(labelled, 1.0, np.nan),
                columns={"id": ids, "record": one.answered + 1},
            )
            chosen = np.sort(rows_to_label(rows, n, seed))
            columns = {name: values[chosen] for name, values in rows.columns.items()}
            parts.append(pd.DataFrame({**columns, "question": one.name, "label": ""}))
        if not parts:
            return pd.DataFrame(columns=["id", "record", "question", "label"])
        return pd.concat(parts, ignore_index=True)

    def to_arrow(self) -> pa.Table:
        """One row per question, from which `from_arrow` makes the same questions again."""
        about = {
            "n_records": self.n_records,
            "unit": self.unit.tolist(),
            "ids": self.ids,
            "skipped": self.skipped,
            "notes": [asdict(problem) for problem in self.notes],
        }
        rows = [_row(key, one) for key, one in self.details.items()]
        columns = {
            name: pa.array([row[name] for row in rows], pa.large_list(kind) if kind else None)
            for name, kind in COLUMNS.items()
        }
        return pa.table(columns).replace_schema_metadata({ABOUT: json.dumps(about).encode()})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Questions:
        """The questions of `to_arrow`. Raises ValueError if they contradict each other."""
        about = json.loads(table.schema.metadata[ABOUT])
        details = dict(_question(table, row) for row in range(len(table)))
        last = max((int(one.answered.max(initial=-1)) for one in details.values()), default=-1)
        if not last < about["n_records"] == len(about["unit"]) == len(about["ids"]):
            raise ValueError(f"n_records must be above {last}, got {about['n_records']}.")
        notes = tuple(map(problem_of, about["notes"]))
        unit = np.array(about["unit"], dtype=np.int64)
        return cls(details, about["n_records"], unit, tuple(about["ids"]), about["skipped"], notes)


ABOUT = b"questions"
COLUMNS: Mapping[str, pa.DataType | None] = {
    "about": None,
    **dict.fromkeys(("record", "answered", "group", "label", "right"), pa.int64()),
    **dict.fromkeys(("score", "scores", "decided"), pa.float64()),
}
FACTS = ("name", "kind", "wording", "model", "version", "scale", "counts")


def _row(key: str, one: Question) -> dict[str, Any]:
    made, decided = one.predictions, one.decisions
    about: dict[str, Any] = {"key": key, **{name: getattr(one, name) for name in FACTS}}
    about["notes"] = [asdict(problem) for problem in one.notes]
    if decided is not None:
        about |= {
            "classes": [] if made is None else made.class_names,
            "data": [decided.name, decided.outcome_name, decided.set_aside],
            "columns": {name: values.tolist() for name, values in decided.columns.items()},
        }
    return {
        "about": json.dumps(about),
        "record": one.record,
        "answered": one.answered,
        "score": one.score,
        "group": None if decided is None else decided.group,
        "label": None if made is None else made.outcome,
        "scores": None if made is None else made.scores.ravel(),
        "right": None if decided is None else decided.outcome,
        "decided": None if decided is None else decided.scores,
    }


def _question(table: pa.Table, row: int) -> tuple[str, Question]:
    cells = {name: table[name][row] for name in COLUMNS}
    about = json.loads(cells.pop("about").as_py())
    arrays = {name: cell.values.to_numpy() for name, cell in cells.items() if cell.is_valid}
    made: dict[str, Any] = {}
    if "right" in arrays:
        name, outcome_name, set_aside = about["data"]
        common = {"name": name, "outcome_name": outcome_name, "set_aside": set_aside}
        common |= {"group": arrays.get("group"), "columns": about["columns"]}
        made["decisions"] = decisions_of(
            arrays["right"], arrays["decided"], about["scale"], **common
        )
    if "label" in arrays:
        n_columns = 1 if about["kind"] == "yes/no" else len(about["classes"])
        scores = arrays["scores"].reshape(-1, n_columns) if n_columns > 1 else arrays["scores"]
        made["predictions"] = Predictions.from_arrays(
            arrays["label"], scores, class_names=about["classes"], **common
        )
    facts = {name: about[name] for name in FACTS} | {"notes": (*map(problem_of, about["notes"]),)}
    rows = {name: arrays[name] for name in ("record", "answered", "score")}
    made = {name: made.get(name) for name in ("predictions", "decisions")}
    return about["key"], Question(**facts, **made, **rows)


def decisions_of(right: ArrayLike, score: FloatArray, scale: Scale, **common: Any) -> Predictions:
    """Decisions, and whether each is right."""
    names = ("wrong", "right")
    return Predictions.from_arrays(right, score, class_names=names, score_name=scale, **common)

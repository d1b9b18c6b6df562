"""Questions: the answers of a log, one set of predictions per question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pandas as pd

from calib.data.predictions import Predictions
from calib.features.automate.answers import FAILURES, Kind
from calib.loading.problems import Problem
from calib.numerics.arrays import IntArray, Locked

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
    counts: Mapping[str, int]
    notes: tuple[Problem, ...] = ()


COUNTS = ("asked", "answered", "labelled", *FAILURES, "unusable")


@dataclass(frozen=True, slots=True, eq=False)
class Questions(Mapping[str, Predictions]):
    """The questions of a log: a mapping from the name of a question to its labelled answers.

    Attributes
    ----------
    details : mapping of str to Question
        All questions. Those without a label are here, and not in the mapping. If a name has several
        wordings or versions, they follow it in brackets.
    n_records : int
        Records of the log, whether they have answers or not.
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

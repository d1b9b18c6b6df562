"""desk: what a log of a decision model shows, per question and for all questions together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.analysis.decisions.certificate import Certificate, certify
from calib.analysis.method_results import row_tests
from calib.analysis.recommendation import gap_design_effect
from calib.analysis.slices.mix import slice_gaps
from calib.analysis.verdict import Verdict, adjusted, judge
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.slicing import slice_by
from calib.data.views import BinaryView
from calib.features.automate.answers import Kind
from calib.features.automate.questions import Question, Questions, Scale
from calib.metrics import expected_calibration_error
from calib.metrics.base import TestResult
from calib.numerics.arrays import IntArray
from calib.numerics.binning import bin_edges
from calib.numerics.intervals import Estimate, holm, mean_interval
from calib.text import level, percent, significant
from calib.uncertainty.replicates import Replicates, calibrated_ece, replicate_clusters
from calib.words.findings import ViewWords, view_words

MAX_ERRORS = (0.01, 0.02, 0.05, 0.1)
N_BINS = 15
CONFIDENCE_LEVEL = 0.95  # That of intervals; certificates have their own.


@dataclass(frozen=True, slots=True)
class Gate:
    """What may be decided without a person at one certified error.

    Attributes
    ----------
    share : float
        Share of the answers that were asked for, in [0, 1]: what the threshold decides, times the
        share of answers that can be used. Refusals and errors are never decided.
    labels_missing : int
        How many labels are missing until a certificate is possible at all; 0 if there are enough.
    certificate : Certificate
        Its threshold is None if none is certified. It is on the scale of the question.
    """

    share: float
    labels_missing: int
    certificate: Certificate

    @classmethod
    def of(cls, decisions: Predictions, usable: float, max_error: float, confidence: float) -> Gate:
        """Certify decisions, of which this share of all has an answer that can be used."""
        made = certify(decisions, max_error, confidence)
        return cls(made.share * usable, max(0, made.rows_needed - made.n_rows), made)


@dataclass(frozen=True, slots=True)
class Segment:
    """The slice whose mean score is farthest from its observed frequency, by its test.

    `gap` is observed minus predicted; `p_adjusted` is corrected for all slices of the question.
    """

    column: str
    name: str
    n_rows: int
    gap: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class DeskLine:
    """One question.

    Attributes
    ----------
    question, model : str
        The model is the version that answered, or else the one that was asked for.
    kind : {"yes/no", "choice", "score"} or None
    scale : {"probability", "confidence"}
        See `Question`. A confidence has thresholds, and neither a verdict nor an ECE.
    n_asked, n_labels : int
        Records that asked the question, and those with a label.
    accuracy : float
        Share of right decisions; NaN without a label.
    verdict : Verdict or None
        Of P(true) of yes/no, otherwise of the probability of the decision. Its p-values are
        corrected for the tests and for the number of questions. None without labels.
    ece, ece_noise_floor : float
        Of the same scores, with 15 bins of equal width, and its mean if they were calibrated.
    gates : mapping of float to Gate
        By the largest error; empty without a label.
    worst : Segment or None
        None without slices of at least 30 rows.
    fingerprint : str
        SHA-256 of the decisions that were tested; "" without a label.
    is_latest : bool
        False if another version or wording of the question follows in the log.
    """

    question: str
    kind: Kind | None
    model: str
    scale: Scale
    n_asked: int
    n_labels: int
    accuracy: float
    verdict: Verdict | None
    ece: float
    ece_noise_floor: float
    gates: Mapping[float, Gate]
    worst: Segment | None
    fingerprint: str
    is_latest: bool = True

    def sentence(self, max_error: float) -> str:
        """What may be decided alone at one of the errors, or why nothing may be."""
        if not self.gates:
            return "It has no labels."
        gate = self.gates[max_error]
        made = gate.certificate
        if made.threshold is None:
            return made.sentence
        share, errors = percent(gate.share, 0), significant(100.0 * max_error)
        return (
            f"{share} of the answers may be decided alone, from {made.threshold:.15g}, with at "
            f"most {errors}% errors ({level(made.confidence)} confidence)."
        )


@dataclass(frozen=True, slots=True)
class Joint:
    """One gate for records that need every question right.

    The score of a record is the smallest probability of its decisions, and an error is a record
    with any wrong decision.

    Attributes
    ----------
    questions : tuple of str
        Of several versions or wordings of a question, the last in the log.
    n_labels : int
        Records with a label for every question.
    accuracy : float
        Share of them with all decisions right.
    gates : mapping of float to Gate
        The share is of all records of the log (of the last version).
    fingerprint : str
    """

    questions: tuple[str, ...]
    n_labels: int
    accuracy: float
    gates: Mapping[float, Gate]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One question as two versions of a model answered it, on the records that both have.

    Attributes
    ----------
    question, before, after : str
        The name of the question, and the versions in the order of the log.
    n_records : int
        Labelled records of both.
    accuracy : float
        Of the version before.
    change : Estimate
        Accuracy after minus before, with its paired 95% interval.
    holds : mapping of float to bool or None
        By the largest error: whether the threshold of the version before is certified for the
        version after, too. None if there was none.
    """

    question: str
    before: str
    after: str
    n_records: int
    accuracy: float
    change: Estimate
    holds: Mapping[float, bool | None]


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Desk:
    """What may be decided without a person.

    Attributes
    ----------
    lines : tuple of DeskLine
        One per question, in the order of the log.
    joint : Joint or None
        None with fewer than two questions that have probabilities, or if no record has a label for
        each of them.
    confidence : float
        Probability that a certificate is right; each holds alone.
    versions : tuple of VersionChange
        Per question, each version of the model with the one before it in the log, if they have
        labelled records in common.
    """

    lines: tuple[DeskLine, ...]
    joint: Joint | None
    confidence: float
    versions: tuple[VersionChange, ...] = ()

    def frame(self) -> pd.DataFrame:
        """One row per question, with the share and the threshold at each error."""
        return pd.DataFrame([_row(line) for line in self.lines])

    @property
    def latest(self) -> Desk:
        """The same without the lines of earlier versions and wordings."""
        return replace(self, lines=tuple(line for line in self.lines if line.is_latest))

    def certified(self, max_error: float) -> tuple[DeskLine, ...]:
        """The questions that have a threshold at this error."""
        return tuple(
            line
            for line in self.lines
            if line.gates and line.gates[max_error].certificate.threshold is not None
        )

    def share(self, max_error: float) -> float:
        """Share of the answers to all questions that may be decided alone, in [0, 1]."""
        decided = (line.gates[max_error].share * line.n_asked for line in self.certified(max_error))
        return sum(decided) / max(1, sum(line.n_asked for line in self.lines))


def desk(
    questions: Questions,
    *,
    max_errors: Sequence[float] = MAX_ERRORS,
    confidence: float = 0.95,
) -> Desk:
    """Judge each question of a log, and certify what may be decided without a person.

    Parameters
    ----------
    questions : Questions
        What `calib.decisions_log` reads.
    max_errors : sequence of float
        Error rates to certify, each in (0, 1).
    confidence : float
        Probability that a certificate is right, in (0, 0.999999]. Each certificate holds alone: of
        twenty, one may be wrong.

    Returns
    -------
    Desk

    Raises
    ------
    ValueError
        If an error rate or the confidence is outside its range.

    References
    ----------
    Holm 1979, https://www.jstor.org/stable/4615733 (p-values over the questions); `certify` has
    those of thresholds.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from calib.features.automate.reading import decisions_log
    >>> rng = np.random.default_rng(0)
    >>> lines = [
    ...     {
    ...         "answers": {"spam": {"type": "noul", "noul": p}},
    ...         "labels": {"spam": bool(rng.random() < p)},
    ...     }
    ...     for p in rng.beta(0.5, 0.5, 1000).round(2).tolist()
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answers.jsonl")
    ...     _ = file.write_text("\\n".join(map(json.dumps, lines)))
    ...     made = desk(decisions_log(file), max_errors=[0.05])
    >>> made.frame()[["question", "labels", "answer"]].to_dict("records")
    [{'question': 'spam', 'labels': 1000, 'answer': 'no evidence'}]
    >>> 0.2 < made.lines[0].gates[0.05].share < 0.6
    True
    """
    tested = {name: made for name, one in questions.details.items() if (made := _Tested.of(one))}
    p_values = holm(np.array([one.p_value for one in tested.values()]))
    verdicts = {
        name: one.verdict(float(p)) for (name, one), p in zip(tested.items(), p_values, strict=True)
    }
    lines = tuple(
        replace(
            _line(name, one, tested.get(name), verdicts.get(name), max_errors, confidence),
            is_latest=questions.latest[one.name] == name,
        )
        for name, one in questions.details.items()
    )
    joint = _joint(questions, max_errors, confidence)
    return Desk(lines, joint, confidence, tuple(_versions(questions, lines)))


@dataclass(frozen=True, slots=True, eq=False)
class _Tested:
    """The scores of a question whose calibration is tested, and their tests."""

    rows: BinaryView
    cells: ScoreCells
    drawn: Replicates | None
    tests: Mapping[str, TestResult]
    words: ViewWords

    @classmethod
    def of(cls, question: Question) -> _Tested | None:
        """None without labels or without probabilities."""
        is_event = question.kind == "yes/no"
        data = question.predictions if is_event else question.decisions
        if data is None or question.scale == "confidence":
            return None
        rows = data.view()
        cells = rows.cells().bounded()
        drawn = replicate_clusters(rows, cells)
        tests = row_tests(rows, cells, None, drawn)
        return cls(rows, cells, drawn, tests, view_words("class:1", answers=not is_event))

    @property
    def p_value(self) -> float:
        """The smallest p-value of the tests, corrected for their number; NaN without a test."""
        return min((p for p in adjusted(self.tests).values() if p == p), default=float("nan"))

    def verdict(self, p_adjusted: float) -> Verdict:
        """The verdict if the smallest p-value is this one, corrected for the questions too."""
        factor = p_adjusted / self.p_value if self.p_value > 0.0 else 1.0
        tests = {
            key: replace(test, p_value=min(1.0, factor * test.p_value))
            if test.p_value == test.p_value
            else test
            for key, test in self.tests.items()
        }
        effect = gap_design_effect(self.rows)
        return judge(self.cells, tests, words=self.words, design_effect=effect)

    def ece(self) -> tuple[float, float]:
        """The ECE and its mean if the scores were calibrated."""
        edges = bin_edges(self.cells, N_BINS, "uniform")
        floor = (
            calibrated_ece(self.cells, edges)
            if self.drawn is None
            else self.drawn.ece(edges).noise_floor
        )
        return expected_calibration_error(self.cells, n_bins=N_BINS), floor

    def worst(self, question: Question) -> Segment | None:
        """The slice with the strongest evidence of a gap."""
        segments: list[Segment] = []
        columns = question.decisions.columns if question.decisions is not None else {}
        for column in columns:
            gaps = slice_gaps(self.rows, self.rows.score, slice_by(columns, [column]))
            parts = zip(gaps.names, gaps.rows, gaps.gap, gaps.p_value, gaps.few, strict=True)
            segments += [
                Segment(column, name, int(n), float(gap), float(p))
                for name, n, gap, p, few in parts
                if not few
            ]
        if not segments:
            return None
        p_values = holm(np.array([one.p_adjusted for one in segments]))
        strongest = int(np.argmin([one.p_adjusted for one in segments]))
        return replace(segments[strongest], p_adjusted=float(p_values[strongest]))


def _line(
    name: str,
    question: Question,
    tested: _Tested | None,
    verdict: Verdict | None,
    max_errors: Sequence[float],
    confidence: float,
) -> DeskLine:
    decisions = question.decisions
    usable = question.counts["answered"] / max(1, question.counts["asked"])
    ece, floor = (float("nan"), float("nan")) if tested is None else tested.ece()
    return DeskLine(
        question=name,
        kind=question.kind,
        model=question.version or question.model,
        scale=question.scale,
        n_asked=question.counts["asked"],
        n_labels=question.counts["labelled"],
        accuracy=float("nan") if decisions is None else float(decisions.outcome.mean()),
        verdict=verdict,
        ece=ece,
        ece_noise_floor=floor,
        gates=_gates(decisions, usable, max_errors, confidence),
        worst=None if tested is None else tested.worst(question),
        fingerprint="" if decisions is None else decisions.fingerprint,
    )


def _gates(
    decisions: Predictions | None, usable: float, max_errors: Sequence[float], confidence: float
) -> dict[float, Gate]:
    if decisions is None:
        return {}
    return {error: Gate.of(decisions, usable, error, confidence) for error in max_errors}


def _joint(questions: Questions, max_errors: Sequence[float], confidence: float) -> Joint | None:
    latest = questions.latest
    parts = {
        key: (one, one.decisions)
        for key, one in questions.details.items()
        if latest[one.name] == key and one.decisions is not None and one.scale == "probability"
    }
    if len(parts) < 2:
        return None
    n = questions.n_records
    score, right = np.ones(n), np.ones(n, dtype=np.bool_)
    labelled, answered = np.ones(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
    cluster = np.arange(n)
    for one, decisions in parts.values():
        # A record with several annotators is right if all of them agree with the decision.
        np.minimum.at(score, one.record, decisions.view().score)
        np.logical_and.at(right, one.record, decisions.outcome == 1)
        labelled &= _holds(one.record, n)
        answered &= _holds(one.answered, n)
        # Joined records are in every question, so the last one with clusters has those of all.
        if decisions.group is not None:
            cluster[one.record] = n + decisions.group
    at = np.flatnonzero(labelled)
    if not len(at):
        return None
    n_asked = n
    if len(latest) < len(questions.details):
        n_asked = max(one.counts["asked"] for one, _ in parts.values())
    alone = len(np.unique(cluster[at])) == len(at)
    made = Predictions.from_arrays(
        right[at],
        score[at],
        group=None if alone else cluster[at],
        class_names=("wrong", "right"),
        name="all questions",
    )
    return Joint(
        questions=tuple(parts),
        n_labels=len(at),
        accuracy=float(right[at].mean()),
        gates=_gates(made, answered.sum() / n_asked, max_errors, confidence),
        fingerprint=made.fingerprint,
    )


def _versions(questions: Questions, lines: Sequence[DeskLine]) -> Iterator[VersionChange]:
    """Each version of a question with the one before it."""
    latest: dict[tuple[str, str, Kind | None], tuple[Question, DeskLine]] = {}
    for one, line in zip(questions.details.values(), lines, strict=True):
        key = (one.name, one.wording, one.kind)
        if key in latest and (change := _change(*latest[key], one, line, questions.unit)):
            yield change
        latest[key] = one, line


def _change(
    old: Question, old_line: DeskLine, new: Question, new_line: DeskLine, unit: IntArray
) -> VersionChange | None:
    """None if they are not of two versions, or have no labelled records in common."""
    right = [_right(one, unit) for one in (old, new)]
    both = right[0].index.intersection(right[1].index)
    if old_line.model == new_line.model or both.empty:
        return None
    before, after = (one[both].to_numpy() for one in right)
    mean = float((after - before).mean())
    ends = mean_interval(mean, after - before - mean, len(both), CONFIDENCE_LEVEL)
    return VersionChange(
        question=old.name,
        before=old_line.model,
        after=new_line.model,
        n_records=len(both),
        accuracy=float(before.mean()),
        change=Estimate(mean, *ends),
        holds={
            error: _still(gate.certificate, new_line.gates[error].certificate)
            for error, gate in old_line.gates.items()
        },
    )


def _right(question: Question, unit: IntArray) -> pd.Series:
    """The share of right decisions of each unit with a label."""
    decisions = question.decisions
    outcome = np.zeros(0) if decisions is None else decisions.outcome
    return pd.Series(outcome, dtype=float).groupby(unit[question.record]).mean()


def _still(old: Certificate, new: Certificate) -> bool | None:
    """Whether the threshold of a version is among those that passed for the next version."""
    if old.threshold is None or new.threshold is None:
        return None if old.threshold is None else False
    side = new.above
    strictest = side.curve_threshold[side.curve_rows >= side.first_rows].max()
    return bool(new.threshold <= old.threshold <= strictest)


def _holds(record: IntArray, n: int) -> np.ndarray:
    return np.bincount(record, minlength=n) > 0


def _row(line: DeskLine) -> dict[str, object]:
    verdict, worst = line.verdict, line.worst
    row: dict[str, object] = {
        "question": line.question,
        "kind": line.kind,
        "model": line.model,
        "scale": line.scale,
        "labels": line.n_labels,
        "accuracy": line.accuracy,
        "answer": None if verdict is None else verdict.answer,
        "verdict": None if verdict is None else verdict.heading,
        "ece": line.ece,
        "ece_noise_floor": line.ece_noise_floor,
        "worst_segment": None if worst is None else f"{worst.column}: {worst.name}",
        "worst_gap": float("nan") if worst is None else worst.gap,
        "worst_p": float("nan") if worst is None else worst.p_adjusted,
    }
    for error, gate in line.gates.items():
        at = f"{significant(100.0 * error)}%"
        row[f"share at {at}"] = gate.share
        row[f"threshold at {at}"] = gate.certificate.threshold
        row[f"labels missing at {at}"] = gate.labels_missing
    return row

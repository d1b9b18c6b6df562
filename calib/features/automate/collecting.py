"""Predictions of each question, from the answers and labels of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.data.predictions import Predictions
from calib.features.automate.answers import FAILURES, NO, YES, Answer, Kind
from calib.features.automate.logs import Answers, Label, Log, Unanswered
from calib.features.automate.questions import COUNTS, Question, Questions, Scale, decisions_of
from calib.loading.problems import Problem, note, refuse, warning
from calib.numerics.arrays import BoolArray, FloatArray, IntArray

# Rounded probabilities of many options can miss 1 by half a step each.
MAX_MISSING, MAX_MISSING_PER_OPTION = 0.05, 1.0 / 200.0
EXACT_SUM_TOLERANCE = 1e-6
TIE_TOLERANCE = 0.005  # Half a step of two decimals.
WORDS = {"true": 1, "yes": 1, "1": 1, "1.0": 1, "false": 0, "no": 0, "0": 0, "0.0": 0}
MAX_SLICE_VALUES = 50
MAX_OPTIONS = 1_000  # Vendors allow 255.
MAX_ANNOTATORS = 1_000  # A larger number beside a label does not count annotators.


def collect(log: Log, name: str) -> Questions:
    """The questions of a log, whose predictions have this name.

    Raises InputError if the log has no answers, or if no label fits a record.
    """
    if not (log.answers or log.unanswered):
        raise refuse("no-details" if log.without_details else "no-decisions", n=len(log.ids))
    groups = _with_failures(log)
    names = _keys(groups)
    labels = _labels_by_record(log, {group.name for group in groups})
    details = {
        key: _question(group, log, labels.get(group.name, {}), f"{name}, {key}")
        for key, group in zip(names, groups, strict=True)
    }
    notes = [note("lines-without-answers", n=log.unread)] if log.unread else []
    if log.without_details:
        notes.append(warning("some-without-details", n=log.without_details))
    types = (one.type for one in log.unanswered if one.failure == "skipped")
    keys = [
        state or (f"id {ids[0]}" if ids else f"record {i}")
        for i, (state, ids) in enumerate(zip(log.states, log.ids, strict=True))
    ]
    unit = pd.factorize(np.array(keys, dtype=object))[0]
    ids = tuple(next(iter(of_record), "") for of_record in log.ids)
    return Questions(details, len(log.ids), unit, ids, dict(Counter(types)), tuple(notes))


def _with_failures(log: Log) -> list[Answers]:
    """The answers by question, with their failures. A question may have failures only."""
    by_name: dict[str, list[Answers]] = {}
    for group in log.answers.values():
        by_name.setdefault(group.name, []).append(group)
    for one in log.unanswered:
        for group in _fitting(one, by_name):
            group.failures[one.failure] += 1
    groups = [group for of_name in by_name.values() for group in of_name]
    for group in groups:
        group.failures.update(failure for _, failure in log.failed)
    return groups


def _fitting(one: Unanswered, by_name: dict[str, list[Answers]]) -> list[Answers]:
    """The groups that an unanswered question may be of; of several versions, all are."""
    of_name = by_name.setdefault(one.name, [])
    version = one.version or one.model
    fitting = [
        group
        for group in of_name
        if group.wording.digest == one.wording.digest
        and (not version or version in (group.version, group.model))
    ]
    if not of_name:
        of_name.append(Answers(one.name, one.wording.kind, one.wording, one.model, one.version))
    return fitting or of_name


def _keys(groups: Sequence[Answers]) -> list[str]:
    """A name for each group: that of the question, with what differs from others of this name."""
    keys = []
    for group in groups:
        others = [one for one in groups if one.name == group.name]
        differing = [
            value
            for value, all_of in (
                (group.version or group.model, {one.version or one.model for one in others}),
                (group.wording.digest[:6], {one.wording.digest for one in others}),
                (group.kind or "", {one.kind for one in others}),
            )
            if len(all_of) > 1 and value
        ]
        keys.append(f"{group.name} ({', '.join(differing)})" if differing else group.name)
    return keys


def _labels_by_record(log: Log, names: set[str]) -> dict[str, dict[int, Any]]:
    """The labels by question and record. Raises InputError if no label apart has a record."""
    labels = {name: {**of_name} for name, of_name in log.labels.items() if name is not None}
    unnamed = [([record], value) for record, value in log.labels.get(None, {}).items()]
    for label, places in _matched(log):
        if label.name is None:
            unnamed.append((places, label.value))
        elif label.value is not None:
            labels.setdefault(label.name, {}).update(dict.fromkeys(places, label.value))
    names_of: dict[int, set[str]] = {}
    for group in log.answers.values() if unnamed else ():
        for record in group.records:
            names_of.setdefault(record, set()).add(group.name)
    for places, value in unnamed:
        asked = names if len(names) == 1 else {n for at in places for n in names_of.get(at, ())}
        for name in asked if len(asked) == 1 else ():
            labels.setdefault(name, {}).update(dict.fromkeys(places, value))
    return labels


def _matched(log: Log) -> list[tuple[Label, list[int]]]:
    """The labels that were apart from the answers, with the records of their ids."""
    records: dict[str, list[int]] = {}
    for record, ids in enumerate(log.ids if log.labels_apart else ()):
        for one in ids:
            records.setdefault(one, []).append(record)
    matched = [
        (label, records[key])
        for label in log.labels_apart
        for key in [next((one for one in label.ids if one in records), None)]
        if key is not None
    ]
    if log.labels_apart and not matched:
        wanted = next((one for label in log.labels_apart for one in label.ids), None)
        n = len(log.labels_apart)
        raise refuse("unmatched-labels", n=n, id=wanted, other=next(iter(records), None))
    return matched


def _question(group: Answers, log: Log, labels: Mapping[int, Any], name: str) -> Question:
    """The predictions and decisions of one question."""
    notes = _notes_about_model(group)
    with_probabilities = [
        bool(a.probabilities) and a.probabilities[0] is not None for a in group.answers
    ]
    scale: Scale = "probability" if any(with_probabilities) or not group.answers else "confidence"
    if scale == "probability":
        kept = np.flatnonzero(with_probabilities)
        options, matrix, decided, usable = _matrix(group, kept, notes)
    else:
        kept = np.arange(len(group.answers))
        options, matrix, decided, usable = _confidences(group, notes)
    without = len(group.answers) - len(kept)
    if without:
        notes.append(warning("without-probabilities", n=without))
    of_question = tuple(map(str, group.wording.options))
    levels = next((answer.levels for answer in group.answers if answer.levels), of_question)
    rows = _labelled(group, kept[usable], labels, options, levels, notes)
    counts: Counter[str] = Counter({why: group.failures[why] for why in FAILURES})
    counts["answered"] = int(usable.sum())
    counts["unusable"] = len(group.answers) - counts["answered"]
    counts["asked"] = len(group.answers) + sum(group.failures.values())
    counts["labelled"] = len(set(rows.record.tolist()))
    predictions, decisions = None, None
    if len(rows.label):
        at = np.flatnonzero(usable)[rows.answer]
        right = decided[at] == rows.label
        aside = {why: counts[why] for why in (*FAILURES, "unusable") if counts[why]}
        unlabelled = counts["answered"] - counts["labelled"]
        common: dict[str, Any] = {
            "group": _clusters(rows.record, log),
            "columns": _slices(rows.record, log),
            "name": name,
            "outcome_name": "label",
            "set_aside": aside | ({"unlabelled": unlabelled} if unlabelled else {}),
        }
        of_decided = matrix[at, decided[at]]
        decisions = decisions_of(right, of_decided, scale, **common)
        if scale == "probability":
            scores = matrix[at, 1] if group.kind == "yes/no" else matrix[at]
            predictions = Predictions.from_arrays(
                rows.label, scores, class_names=_class_names(options, levels, group.kind), **common
            )
    return Question(
        group.name,
        group.kind,
        group.wording.digest,
        group.model,
        group.version,
        scale,
        predictions,
        decisions,
        rows.record,
        np.array(group.records, dtype=np.int64)[kept[usable]],
        matrix[np.flatnonzero(usable), decided[usable]],
        {count: counts[count] for count in COUNTS},
        tuple(notes),
    )


def _notes_about_model(group: Answers) -> list[Problem]:
    version = group.version
    if not version:
        return [note("no-version", model=group.model or None)]
    if version.startswith("~") or "latest" in version:
        return [warning("moving-version", version=version)]
    return []


def _numbers(values: Sequence[Any]) -> FloatArray:
    """Numbers, with NaN for what is none."""
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    # A list in place of a number makes another shape.
    return numbers if numbers.shape == (len(values),) else np.array([_number(v) for v in values])


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _matrix(
    group: Answers, kept: IntArray, notes: list[Problem]
) -> tuple[tuple[Hashable, ...], FloatArray, IntArray, BoolArray]:
    """Options, probabilities by option, the decided option, and which answers are usable."""
    answers = [group.answers[row] for row in kept]
    if not answers:
        return (), np.zeros((0, 1)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    if group.kind == "yes/no":
        p = _numbers([answer.probabilities[0] for answer in answers])
        usable = (p >= 0.0) & (p <= 1.0)
        _note_unusable(usable, notes)
        return (NO, YES), np.column_stack([1.0 - p, p]), (p >= 0.5).astype(np.int64), usable
    options = _options(group, answers)
    place = {option: column for column, option in enumerate(options)}
    matrix = np.zeros((len(answers), len(options)))
    rows_of: dict[tuple[Hashable, ...], list[int]] = {}
    for row, answer in enumerate(answers):
        rows_of.setdefault(answer.options, []).append(row)
    for of_answer, rows in rows_of.items():
        values = _numbers([value for row in rows for value in answers[row].probabilities])
        columns = [place[option] for option in of_answer]
        matrix[np.ix_(rows, columns)] = values.reshape(len(rows), len(columns))
    sums = matrix.sum(axis=1)
    allowed = max(MAX_MISSING, len(options) * MAX_MISSING_PER_OPTION) + EXACT_SUM_TOLERANCE
    within = ((matrix >= 0.0) & (matrix <= 1.0)).all(axis=1)
    usable = within & (np.abs(sums - 1.0) <= allowed)
    _note_unusable(usable, notes)
    rescaled = usable & (np.abs(sums - 1.0) > EXACT_SUM_TOLERANCE)
    if rescaled.any():
        off = float(np.abs(sums[rescaled] - 1.0).max())
        notes.append(note("rescaled", n=int(rescaled.sum()), most=off))
        matrix[rescaled] /= sums[rescaled, None]
    if len(rows_of) > 1:
        notes.append(note("other-options", n=len(rows_of)))
    decided = np.argmax(np.where(np.isnan(matrix), -1.0, matrix), axis=1)
    stated = np.array([place.get(answer.decided, -1) for answer in answers], dtype=np.int64)
    decided = np.where(stated >= 0, stated, decided)
    if len(decided):
        below = matrix.max(axis=1) - matrix[np.arange(len(matrix)), decided]
        odd = int((usable & (below > TIE_TOLERANCE + EXACT_SUM_TOLERANCE)).sum())
        if odd:
            notes.append(warning("other-choice", n=odd))
    return options, matrix, decided, usable


def _options(group: Answers, answers: Sequence[Answer]) -> tuple[Hashable, ...]:
    """All options, also those that only the question names; of a score, the numbers of levels.

    Raises InputError if there are too many, as if each answer had its own.
    """
    sets = dict.fromkeys(answer.options for answer in answers)
    stated = tuple(dict.fromkeys(option for one in sets for option in one))
    if group.kind == "choice":
        # Without any answer in common with the question, its options are not these.
        of_question = group.wording.options if {*stated} & {*group.wording.options} else ()
        stated = tuple(dict.fromkeys((*of_question, *stated)))
    elif all(_is_level(option) for option in stated):
        levels = max((len(answer.levels) for answer in answers), default=0)
        n_levels = max([levels, *(int(str(option)) + 1 for option in stated)])
        stated = tuple(map(str, range(n_levels)))
    if len(stated) > MAX_OPTIONS:
        raise refuse("too-many-options", question=group.name, n=len(stated), most=MAX_OPTIONS)
    return stated


def _is_level(option: Hashable) -> bool:
    text = str(option)
    return text.isascii() and text.isdecimal() and len(text) < 4


def _note_unusable(usable: BoolArray, notes: list[Problem]) -> None:
    if not usable.all():
        notes.append(warning("no-probabilities", n=int((~usable).sum()), total=len(usable)))


def _confidences(
    group: Answers, notes: list[Problem]
) -> tuple[tuple[Hashable, ...], FloatArray, IntArray, BoolArray]:
    """The same where answers have a confidence only, which stands in the column of the decision."""
    options = tuple(dict.fromkeys(a.decided for a in group.answers if a.decided is not None))
    place: dict[Any, int] = {option: column for column, option in enumerate(options)}
    confidence = _numbers([answer.confidence for answer in group.answers])
    decided = np.array([place.get(a.decided, -1) for a in group.answers], dtype=np.int64)
    usable = (confidence >= 0.0) & (confidence <= 1.0) & (decided >= 0)
    _note_unusable(usable, notes)
    if usable.any():
        notes.append(warning("only-confidence"))
    return options, np.repeat(confidence[:, None], len(options), axis=1), decided, usable


@dataclass(frozen=True, slots=True)
class _Rows:
    """Labelled rows: the usable answer, the record and the label of each."""

    answer: IntArray
    record: IntArray
    label: IntArray


def _labelled(
    group: Answers,
    kept: IntArray,
    labels: Mapping[int, Any],
    options: Sequence[Hashable],
    levels: Sequence[str],
    notes: list[Problem],
) -> _Rows:
    """One row per answer and annotator."""
    is_open = not any(answer.probabilities for answer in group.answers)
    codes: dict[tuple[type, Any], int] = {}
    answer, record, label = [], [], []
    unknown: Counter[str] = Counter()
    for position, row in enumerate(kept.tolist()):
        of_record = group.records[row]
        for value in _annotations(labels.get(of_record)):
            code = codes.get((type(value), value))
            if code is None:
                code = _code(value, group.kind, options, levels, is_open=is_open)
                codes[type(value), value] = code
            if code == UNKNOWN:
                unknown[str(value)] += 1
                continue
            answer.append(position)
            record.append(of_record)
            label.append(code)
    if unknown:
        notes.append(warning("unknown-labels", n=unknown.total(), labels=[*unknown]))
    return _Rows(*(np.array(values, dtype=np.int64) for values in (answer, record, label)))


# A log of confidences does not name all options, so any other label shows an error.
UNKNOWN, OTHER = -1, -2


def _annotations(value: Any) -> list[Any]:
    """The labels of one answer: one, or one per annotator, as a list or as counts by label."""
    if isinstance(value, dict):
        counts = value.values()
        if all(type(n) is int and 0 <= n <= MAX_ANNOTATORS for n in counts):
            return [label for label, n in value.items() for _ in range(n)]
        return [str(value)]
    if isinstance(value, list):
        return [one if isinstance(one, str | bool | int | float) else str(one) for one in value]
    return [] if value is None or value == "" else [value]


def _code(
    value: Any,
    kind: Kind | None,
    options: Sequence[Hashable],
    levels: Sequence[str],
    *,
    is_open: bool,
) -> int:
    """The position of a label among the options. Text and bool are two options."""
    text = str(value).strip()
    if kind == "yes/no" and not is_open:
        return WORDS.get(text.casefold(), UNKNOWN)
    if kind == "score":
        if text in levels:
            return _position(str([*levels].index(text)), options)
        number = text.removesuffix(".0")
        return _position(number, options)
    exact = [o for o in options if type(o) is type(value) and o == value]
    same = exact or [o for o in options if not isinstance(o, bool) and str(o) == text]
    same = same or [o for o in options if str(o).casefold() == text.casefold() in (YES, NO)]
    return [*options].index(same[0]) if same else OTHER if is_open else UNKNOWN


def _position(option: str, options: Sequence[Hashable]) -> int:
    texts = [str(one) for one in options]
    return texts.index(option) if option in texts else UNKNOWN


def _class_names(
    options: Sequence[Hashable], levels: Sequence[str], kind: Kind | None
) -> tuple[str, ...]:
    """The names of classes: the texts of levels, or options, of which a bool is marked."""
    if kind == "score" and len(set(levels)) == len(options):
        return tuple(levels)
    texts = {option for option in options if isinstance(option, str)}
    return tuple(
        f"{str(o).lower()} (boolean)"
        if isinstance(o, bool) and str(o).lower() in texts
        else str(o).lower()
        if isinstance(o, bool)
        else str(o)
        for o in options
    )


def _clusters(record: IntArray, log: Log) -> IntArray | None:
    """The cluster of each row: its state, or its record. None if every row is alone."""
    keys = [log.states[one] or f"record {one}" for one in record.tolist()]
    codes = pd.factorize(np.array(keys, dtype=object))[0]
    return codes if len(codes) and codes.max() + 1 < len(codes) else None


def _slices(record: IntArray, log: Log) -> dict[str, NDArray[Any]]:
    """What the log says of each record beside its state, as columns of few values."""
    meta = [log.meta[one] for one in record.tolist()]
    names = dict.fromkeys(name for one in {id(m): m for m in meta}.values() for name in one)
    columns = {}
    for name in names:
        values = np.array([str(one.get(name, "")) for one in meta])
        if 1 < len(np.unique(values)) <= MAX_SLICE_VALUES:
            columns[str(name)] = values
    return columns

"""Checks of one score column per class: the class of each column and label, ranges and sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.data.checks import ROW_SUM_TOLERANCE
from calib.data.class_names import Reading
from calib.data.file_options import Columns
from calib.loading.checking.mapped_rows import Rows
from calib.loading.checking.rows import ALL_ROWS, leave_out, parts
from calib.loading.checking.scores import OUTSIDE_TOLERANCE, converted, unfit_transform
from calib.loading.columns import Labels
from calib.loading.guessing.class_columns import Classes, rows_sum, shortened
from calib.loading.problems import Choice, Places, Problem, error, note, question, sentence, warning
from calib.numerics.arrays import IntArray
from calib.numerics.class_scores import LEAST_NORMAL_FLOAT
from calib.text import joined, percent, quoted

MAX_READINGS = 4
MAX_LISTED_PAIRS = 3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassFacts:
    """What the checks of classes ask, of rows in memory or in an engine.

    `counts` are the rows of each label, and `parts` the usable rows of each class by part.
    `outside` are labels that are none of the classes, and `rows` says where they are.
    """

    mapping: Columns
    classes: Classes
    labels: Labels
    counts: IntArray
    parts: Mapping[str, IntArray]
    n_rows: int
    outside: Sequence[str] = ()
    rows: Places | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SumFacts:
    """What the checks of class scores ask about the usable rows.

    `n_lost` logits are too far below the largest of their row, so their probabilities are rounded.
    `n_off` rows do not sum to 1: `least` is the lowest of their sums, `rows` says where they are,
    and `sums` are the first of their sums, or their lowest and highest. `near` says whether all
    rows sum nearly to 1, `hundreds` whether most sum to 100, and `whole` whether all scores are
    whole numbers. If all are 0 or 1, `n_right` is the number of rows whose class has the 1.
    """

    low: float
    high: float
    n_rows: int
    n_off: int
    near: bool
    hundreds: bool
    least: float = 1.0
    sums: tuple[float, ...] = ()
    rows: Places | None = None
    whole: bool = False
    n_right: int | None = None
    n_lost: int = 0


def problems_of_class_scores(rows: Rows) -> Iterator[Problem]:
    """Problems of the classes of the labels, of the scores' range and of the sums of rows."""
    classes, labels = rows.classes, rows.labels
    assert classes is not None
    n, outside = len(classes.names), (labels.codes >= 0) & (rows.outcome < 0)
    facts = ClassFacts(
        mapping=rows.mapping,
        classes=classes,
        labels=labels,
        counts=labels.counts(),
        parts={
            part: np.bincount(rows.outcome[chosen], minlength=n).astype(np.int64)
            for part, chosen in parts(rows).items()
        },
        n_rows=len(outside),
        outside=[labels.name(code) for code in pd.unique(labels.codes[outside][:1_000])],
        rows=rows.places(outside),
    )
    yield from class_problems(facts)
    if rows.usable.any():
        columns = list(rows.mapping.score_columns)
        if rows.mapping.transform == "softmax" and rows_sum(rows.frame[columns]):
            yield not_logits(rows.mapping)
        else:
            yield from sum_problems(rows.mapping, _sums(rows))


def class_problems(facts: ClassFacts) -> Iterator[Problem]:
    """Problems of labels that are none of the classes, or of several, and of absent classes."""
    mapping, classes, labels, counts = facts.mapping, facts.classes, facts.labels, facts.counts
    n_outside, names = int(counts[classes.index[:-1] < 0].sum()), classes.names
    if classes.doubtful:
        yield _class_question(mapping, classes, labels)
    if not classes.readings[0].complete and len(classes.readings) > 1:
        return
    if 2 * n_outside > counts.sum():
        yield error(
            "class-columns", labels=labels.names, n=len(names), names=names, last=len(names) - 1
        )
        return
    if n_outside and not mapping.drop_missing:
        yield error(
            "outside-classes",
            column=mapping.outcome,
            n=len(names),
            count=n_outside,
            labels=facts.outside,
            rows=facts.rows,
            first=names[0],
            last=names[-1],
            repair=replace(mapping, drop_missing=True),
            label=leave_out(n_outside, facts.n_rows),
        )
    for part, of_class in facts.parts.items():
        if of_class.any():
            yield from _absent_classes(names, of_class, part)
        elif part == ALL_ROWS:
            yield error("no-rows.left")


def _absent_classes(names: tuple[str, ...], counts: IntArray, part: str) -> Iterator[Problem]:
    absent = np.flatnonzero(counts == 0)
    if len(absent) == len(names) - 1:
        label, total = names[int(counts.argmax())], int(counts.sum())
        yield error("one-class.classes", part=part, total=total, outcome=label)
    elif len(absent):
        yield warning(
            "unseen-classes",
            count=len(absent),
            n=len(names),
            part=part,
            absent=[names[i] for i in absent],
        )


def not_logits(mapping: Columns) -> Problem:
    """Make the error that scores with the transform softmax are probabilities already."""
    none = replace(mapping, transform="none")
    columns = shortened(mapping.score_columns)
    return error("not-logits", columns=columns, repair=none, label="Undo the softmax")


def _sums(rows: Rows) -> SumFacts:
    matrix = rows.of_usable(rows.score)
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    lost = rows.mapping.transform == "softmax" and matrix.min() == LEAST_NORMAL_FLOAT
    # The first rows nearly always show that the scores are not all 0 and 1.
    certain = all((part.max(axis=1) == 1.0).all() for part in (matrix[:1_000], matrix))
    return SumFacts(
        low=float(matrix.min()),
        high=float(matrix.max()),
        n_rows=len(sums),
        n_off=int(off.sum()),
        near=bool(np.abs(sums - 1.0).max() <= OUTSIDE_TOLERANCE),
        hundreds=float(np.mean(np.abs(sums - 100.0) < 1.0)) > 0.5,
        least=float(sums[off].min()) if off.any() else 1.0,
        sums=tuple(sums[off][:3].tolist()),
        rows=rows.places(np.flatnonzero(rows.usable)[off]),
        whole=not bool((matrix[:1_000] % 1.0).any() or (matrix % 1.0).any()),
        n_right=int((matrix.argmax(axis=1) == rows.of_usable(rows.outcome)).sum())
        if certain
        else None,
        n_lost=int(np.count_nonzero(matrix == LEAST_NORMAL_FLOAT)) if lost else 0,
    )


def sum_problems(mapping: Columns, facts: SumFacts) -> Iterator[Problem]:
    """Problems of class scores outside [0, 1], of rows that do not sum to 1, and of labels."""
    columns = shortened(mapping.score_columns)
    if facts.n_lost:
        yield note("lost-logits", n=facts.n_lost, columns=columns)
    if facts.low < 0.0 or facts.high > 1.0:
        yield _outside(mapping, facts, {"columns": columns, "low": facts.low, "high": facts.high})
    elif facts.n_off:
        # Most rows of one-vs-rest scores do not sum to 1; a few that do not are wrong.
        most = 2 * facts.n_off > facts.n_rows
        divide = most and mapping.transform == "none" and facts.least > 0.0
        yield error(
            "row-sums.most" if divide else "row-sums",
            count=facts.n_off,
            total=facts.n_rows,
            tolerance=ROW_SUM_TOLERANCE,
            rows=facts.rows,
            sums=facts.sums,
            ends=() if facts.rows else facts.sums,
            repair=replace(mapping, transform="normalize") if divide else None,
            label="Divide each row by its sum",
        )
    elif facts.n_right is not None:
        right, total = facts.n_right, facts.n_rows
        share = right / total
        yield error("labels-only.classes", columns=columns, right=right, total=total, share=share)


def _outside(mapping: Columns, facts: SumFacts, given: Mapping[str, Any]) -> Problem:
    """The error about class scores outside [0, 1], and the conversion that repairs them."""
    low, high = facts.low, facts.high
    if mapping.transform != "none" or mapping.swap:
        return unfit_transform("outside.classes", mapping, **given)
    if facts.near and low >= -OUTSIDE_TOLERANCE and high <= 1.0 + OUTSIDE_TOLERANCE:
        return converted("slightly-outside.classes", mapping, **given)
    if low >= 0.0 and facts.whole and not facts.hundreds:
        return error("labels-only.ranks", **given)
    if low >= 0.0 and facts.hundreds:
        return converted("percent.classes", mapping, **given)
    return converted("logits.logarithms" if high <= 0.0 else "logits", mapping, **given)


def _class_question(mapping: Columns, classes: Classes, labels: Labels) -> Problem:
    """Ask which label each score column belongs to.

    It is an error if some labels have no column in the first reading, since another reading may
    then be meant.
    """
    shares = classes.accuracies or (None,) * len(classes.readings)
    readings = [
        (reading, "" if share is None else f" (right in {percent(share)} of rows)")
        for reading, share in zip(classes.readings, shares, strict=True)
        if max(reading.places) >= 0
    ][:MAX_READINGS]
    return (question if classes.readings[0].complete else error)(
        f"class-order.{_doubt(classes)}",
        absent=_absent(classes, labels),
        readings=[_pairs(mapping, reading, labels, quoted) + right for reading, right in readings],
        several=len(readings) > 1,
        single=len(readings) == 1,
        choices=[
            Choice(
                _pairs(mapping, reading, labels, lambda name: repr(name[:30])) + right,
                {"classes": reading.labels}
                | ({} if reading.complete or mapping.drop_missing else {"drop_missing": True}),
            )
            for reading, right in readings
        ],
    )


def _doubt(classes: Classes) -> str:
    """Why the labels of the columns are in doubt."""
    if not classes.readings[0].complete:
        return "absent"
    by_name = any(reading.match == "name" for reading in classes.readings)
    return "several" if by_name else "unnamed"


def _absent(classes: Classes, labels: Labels) -> list[str]:
    """The labels that have no column in the first reading."""
    return [labels.name(code) for code, place in enumerate(classes.readings[0].places) if place < 0]


def why_doubtful(classes: Classes, labels: Labels) -> str:
    """A sentence that says why the labels of the columns are in doubt."""
    return sentence(f"class-doubt.{_doubt(classes)}", {"absent": _absent(classes, labels)})


def _pairs(mapping: Columns, reading: Reading, labels: Labels, shown: Callable[[str], str]) -> str:
    """Labels and their columns: "`1` is `p_0`, `2` is `p_1`"."""
    places = list(zip(labels.names, reading.places, strict=True))
    columns = mapping.score_columns
    pairs = [f"{shown(label)} is {shown(columns[i])}" for label, i in places if i >= 0]
    left = [shown(label) for label, i in places if i < 0]
    more = (
        f", and rows of {joined(left[:MAX_LISTED_PAIRS], len(left))} are left out" if left else ""
    )
    return joined(pairs[:MAX_LISTED_PAIRS], len(pairs)) + more

"""Checks of one score column a class: are the rows probabilities, and do labels mean classes?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calib.core.predictions import ROW_SUM_TOLERANCE
from calib.loading.class_columns import shortened
from calib.loading.problems import Problem, joined, plural, quoted
from calib.loading.row_checks import LEAVE_OUT, parts
from calib.loading.rows import Rows
from calib.numerics.arrays import BoolArray, FloatArray

# So far outside [0, 1] a score may lie and still be meant as a probability.
LITTLE = 0.05
MAX_NAMED = 5


def matrix_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of the classes of the labels, of the scores' range and of the sums of rows."""
    yield from _labels(rows)
    if rows.usable.any():
        yield from _scores(rows)


def _labels(rows: Rows) -> Iterator[Problem]:
    classes, labels = rows.classes, rows.labels
    assert classes is not None
    outside = (labels.codes >= 0) & (rows.outcome < 0)
    if 2 * outside.sum() > (labels.codes >= 0).sum():
        yield _other_classes(rows)
        return
    if outside.any() and not rows.mapping.drop_missing:
        yield _outside_classes(rows, outside)
    if classes.match == "order":
        yield Problem(
            "class-order",
            "warning",
            f"The labels do not tell which score column is which class. They were taken in sorted "
            f"order: {quoted(classes.names[0])} is {quoted(rows.mapping.score_columns[0])}, "
            f"{quoted(classes.names[-1])} is {quoted(rows.mapping.score_columns[-1])}. Name each "
            "column after its label if that is wrong.",
        )
    yield from _seen(rows)


def _other_classes(rows: Rows) -> Problem:
    assert rows.classes is not None
    names, labels = rows.classes.names, rows.labels
    return Problem(
        "class-columns",
        "error",
        f"The labels {joined([quoted(name) for name in labels.names[:MAX_NAMED]], len(labels))} "
        f"are not the {plural(len(names), 'class')} of the score columns "
        f"({joined([quoted(name) for name in names[:MAX_NAMED]], len(names))}), nor numbers "
        f"0 to {len(names) - 1:,}. Name each column after its label, or choose another outcome.",
    )


def _outside_classes(rows: Rows, outside: BoolArray) -> Problem:
    assert rows.classes is not None
    codes = dict.fromkeys(rows.labels.codes[outside][:1_000].tolist())
    shown = joined([quoted(rows.labels.name(code)) for code in list(codes)[:MAX_NAMED]])
    names = rows.classes.names
    return Problem(
        "outside-classes",
        "error",
        f"The outcome {quoted(rows.mapping.outcome)} is none of the {len(names):,} classes in "
        f"{plural(int(outside.sum()), 'row')}, such as {shown} in {rows.where(outside)}; they go "
        f"from {quoted(names[0])} to {quoted(names[-1])}. Leave these rows out, or choose the "
        "columns of all classes.",
        replace(rows.mapping, drop_missing=True),
        LEAVE_OUT,
    )


def _seen(rows: Rows) -> Iterator[Problem]:
    assert rows.classes is not None
    names = rows.classes.names
    for part, chosen in parts(rows).items():
        counts = np.bincount(rows.outcome[chosen], minlength=len(names))
        absent = np.flatnonzero(counts == 0)
        if len(absent) == len(names):
            if rows.test is None:
                yield Problem("no-rows", "error", "No row is left that can be used.")
        elif len(absent) == len(names) - 1:
            yield Problem(
                "one-class",
                "error",
                f"All of {part} ({int(counts.sum()):,}) have the label "
                f"{quoted(names[int(counts.argmax())])}. Calibration compares classes: upload "
                "rows of others as well, or choose another outcome column.",
            )
        elif len(absent):
            shown = [quoted(names[i]) for i in absent[:MAX_NAMED]]
            verb = "has" if len(absent) == 1 else "have"
            yield Problem(
                "unseen-classes",
                "warning",
                f"{plural(len(absent), 'class')} of {len(names):,} {verb} no row among {part}: "
                f"{joined(shown, len(absent))}. Nothing can be said or learnt about "
                f"{'its' if len(absent) == 1 else 'their'} scores there.",
            )


def _scores(rows: Rows) -> Iterator[Problem]:
    matrix = rows.score if rows.usable.all() else rows.score[rows.usable]
    low, high = float(matrix.min()), float(matrix.max())
    with np.errstate(over="ignore"):
        sums = matrix.sum(axis=1, dtype=np.float64)
    if low < 0.0 or high > 1.0:
        yield _outside(rows, low, high, sums)
        return
    off = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if off.any():
        yield _row_sums(rows, off, sums)
    elif _all_certain(matrix):
        yield Problem(
            "labels-only",
            "warning",
            f"The class scores {quoted(shortened(rows.mapping.score_columns))} hold only 0 and 1: "
            "predicted labels, not probabilities. Choose the columns of probabilities "
            "(predict_proba in scikit-learn).",
        )


def _all_certain(matrix: NDArray[np.floating]) -> bool:
    return bool((matrix[:1_000].max(axis=1) == 1.0).all() and (matrix.max(axis=1) == 1.0).all())


def _outside(rows: Rows, low: float, high: float, sums: FloatArray) -> Problem:
    mapping = rows.mapping
    lead = (
        f"The class scores {quoted(shortened(mapping.score_columns))} go from {low:.4g} to "
        f"{high:.4g}, so they are not probabilities. "
    )
    if mapping.transform != "none" or mapping.swap:
        none = replace(mapping, transform="none", swap=False)
        text = lead + f"The transform {mapping.transform!r} does not fit these scores."
        return Problem("outside", "error", text, none, "Undo the transform")
    if low >= -LITTLE and high <= 1.0 + LITTLE and np.abs(sums - 1.0).max() <= LITTLE:
        text = lead + "They miss the range by little: clip them, or look for the cause."
        clip = replace(mapping, transform="clip")
        return Problem("slightly-outside", "error", text, clip, "Clip to [0, 1]")
    if low >= 0.0 and float(np.mean(np.abs(sums - 100.0) < 1.0)) > 0.5:
        text = lead + "Their rows sum to 100, as percentages do: divide them by 100."
        percent = replace(mapping, transform="percent")
        return Problem("percent", "error", text, percent, "Divide by 100")
    look = "logarithms of probabilities" if high <= 0.0 else "logits, a network's last layer"
    text = lead + f"They look like {look}: the softmax makes probabilities of them."
    softmax = replace(mapping, transform="softmax")
    return Problem("logits", "error", text, softmax, "Apply the softmax")


def _row_sums(rows: Rows, off: BoolArray, sums: FloatArray) -> Problem:
    found = np.flatnonzero(rows.usable)[off]
    examples = joined([f"{total:.4g}" for total in sums[off][:3]])
    lead = (
        f"The class scores of {plural(len(found), 'row')} of {len(sums):,} do not sum to 1 within "
        f"{ROW_SUM_TOLERANCE}, first in {rows.where(found)} (sums {examples}). "
    )
    untouched = rows.mapping.transform == "none"
    if 2 * len(found) <= len(sums) or not untouched or float(sums[off].min()) <= 0.0:
        text = lead + "Name the columns of all classes, or repair these rows in the file."
        return Problem("row-sums", "error", text)
    text = lead + (
        "Name the columns of all classes; or, if each is a class against the rest, divide each row "
        "by its sum."
    )
    divided = replace(rows.mapping, transform="normalize")
    return Problem("row-sums", "error", text, divided, "Divide each row by its sum")

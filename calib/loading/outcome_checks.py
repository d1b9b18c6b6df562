"""Checks of the outcome column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from calib.loading.columns import label_text
from calib.loading.guessing import higher_label, telling_label
from calib.loading.problems import Problem, joined, plural, quoted
from calib.loading.row_checks import parts
from calib.loading.rows import Rows

FEW = 100
MOST_LABELS = 50


def outcome_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of labels: none, too many, none positive, one class only, too few rows."""
    if not len(rows.labels):
        yield Problem(
            "no-labels",
            "error",
            f"The outcome column {quoted(rows.mapping.outcome)} is empty. Choose another column.",
        )
    elif rows.mapping.predicted is not None:
        yield from _classes(rows)
    elif len(rows.labels) > MOST_LABELS:
        yield _not_labels(rows)
    elif rows.labels.find(rows.mapping.positive) is None and not _one_known_class(rows):
        yield _no_positive(rows)
    else:
        yield from _one_against_rest(rows)
        yield from _classes(rows)


def _one_known_class(rows: Rows) -> bool:
    """Whether the only label is the negative one of a pair that everybody knows."""
    return len(rows.labels) == 1 and rows.mapping.positive is not None


def _not_labels(rows: Rows) -> Problem:
    mapping = rows.mapping
    (score,) = mapping.score_columns
    values = np.unique(rows.raw[score].values[np.isfinite(rows.raw[score].values)])
    swap = len(values) == 2 and rows.labels.values.dtype.kind == "f"
    positive = label_text(values[1]) if swap else None
    exchanged = replace(mapping, outcome=score, score=mapping.outcome, positive=positive)
    hint = "They look exchanged." if swap else "Choose a column of two labels."
    return Problem(
        "many-labels",
        "error",
        f"The outcome column {quoted(mapping.outcome)} holds {len(rows.labels):,} different "
        f"values, so it is not a label. {hint}",
        exchanged if swap else None,
        "Exchange outcome and score" if swap else "",
    )


def _no_positive(rows: Rows) -> Problem:
    mapping, labels = rows.mapping, rows.labels
    best = telling_label(labels) or higher_label(rows.frame, mapping, labels)
    shown = joined([quoted(name) for name in labels.names[:5]], len(labels))
    got = "" if mapping.positive is None else f" {quoted(mapping.positive)} is not among them."
    others = "all others as negative" if len(labels) > 2 else "the other as negative"
    return Problem(
        "no-positive",
        "error",
        f"The outcome column {quoted(mapping.outcome)} has {plural(len(labels), 'label')}: {shown}."
        f"{got} Choose the one that counts as positive, or another column.",
        replace(mapping, positive=best),
        f"Count {best[:30]!r} as positive, {others}",
    )


def _one_against_rest(rows: Rows) -> Iterator[Problem]:
    labels, mapping = rows.labels, rows.mapping
    if len(labels) > 2:
        yield Problem(
            "one-against-rest",
            "note",
            f"The outcome column {quoted(mapping.outcome)} has {len(labels)} labels: "
            f"{quoted(mapping.positive)} counts as positive, the {len(labels) - 1} others as "
            "negative.",
        )


def _classes(rows: Rows) -> Iterator[Problem]:
    for part, chosen in parts(rows).items():
        outcome = rows.outcome[chosen]
        total = len(outcome)
        n_positive = int((outcome == 1).sum())
        rarer = min(n_positive, total - n_positive)
        if not total:
            # An empty part of a split is told by the split's own sentence.
            if rows.test is None:
                yield Problem("no-rows", "error", "No row is left that can be used.")
        elif rarer == 0:
            yield _one_class(rows, part, total, n_positive)
        elif rarer < 2:
            yield Problem(
                "too-few",
                "error",
                f"Among {part} ({total:,}) one class has a single row. At least 2 rows of either "
                f"class are needed, and {FEW} for a verdict. Upload more rows.",
            )
        elif rarer < FEW:
            yield Problem(
                "few",
                "warning",
                f"Among {part} ({total:,}) the rarer class has {rarer} rows. Below {FEW} most "
                "questions stay open: intervals are wide.",
            )


def _one_class(rows: Rows, part: str, total: int, n_positive: int) -> Problem:
    which = "positive" if n_positive else "negative"
    label = f" ({quoted(rows.labels.name(0))})" if len(rows.labels) == 1 else ""
    return Problem(
        "one-class",
        "error",
        f"All of {part} ({total:,}) have a {which} outcome{label}. Calibration compares "
        "both: upload rows of both classes, or choose another outcome column.",
    )

"""Checks of the outcome column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from calib.loading.checking.mapped_rows import Rows
from calib.loading.checking.rows import parts
from calib.loading.columns import Labels, label_text
from calib.loading.guessing.roles import higher_label, is_plain_pair, telling_labels
from calib.loading.options import ColumnMapping
from calib.loading.problems import Choice, Problem, error, note, warning
from calib.text import joined, percent, plural, quoted

FEW = 100
MAX_LABELS = 50
# A positive rate and a mean score that differ by more raise the question which class is positive.
FACTOR = 2.0


def outcome_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of labels: none, too many, none positive, one class only, too few rows."""
    if not len(rows.labels):
        yield error(
            "no-labels",
            f"The outcome column {quoted(rows.mapping.outcome)} is empty. Choose another column.",
        )
    elif rows.mapping.predicted is not None:
        yield from _classes(rows)
    elif len(rows.labels) > MAX_LABELS:
        yield _not_labels(rows)
    elif not _all_found(rows) and not _one_known_class(rows):
        yield _no_positive(rows)
    else:
        yield from _one_against_rest(rows)
        yield from _classes(rows)


def _all_found(rows: Rows) -> bool:
    """Whether labels count as positive, and all that do are there."""
    positives = rows.mapping.positives
    return bool(positives) and all(rows.labels.find(name) is not None for name in positives)


def _one_known_class(rows: Rows) -> bool:
    """Whether the only label is the negative one of a common pair."""
    return len(rows.labels) == 1 and rows.mapping.positive is not None


def _not_labels(rows: Rows) -> Problem:
    mapping = rows.mapping
    (score,) = mapping.score_columns
    values = np.unique(rows.raw[score].values[np.isfinite(rows.raw[score].values)])
    swap = len(values) == 2 and rows.labels.values.dtype.kind == "f"
    positive = label_text(values[1]) if swap else None
    exchanged = replace(mapping, outcome=score, score=mapping.outcome, positive=positive)
    hint = "They look swapped." if swap else "Choose a column of two labels."
    return error(
        "many-labels",
        f"The outcome column {quoted(mapping.outcome)} holds {len(rows.labels):,} different "
        f"values, so it is not a label. {hint}",
        exchanged if swap else None,
        "Swap outcome and score" if swap else "",
    )


def _no_positive(rows: Rows) -> Problem:
    mapping, labels = rows.mapping, rows.labels
    telling = telling_labels(labels)
    best = telling or (higher_label(rows.frame, mapping, labels),)
    shown = joined([quoted(name) for name in labels.names[:5]], len(labels))
    got = "" if mapping.positive is None else f" {_named(mapping.positives)} is not among them."
    unknown = rows.unusable.get("outcome unknown")
    left_out = "" if unknown is None else " Rows without a known outcome are left out."
    repaired = replace(mapping, positive=best if len(best) > 1 else best[0])
    if unknown is not None:
        repaired = replace(repaired, drop_missing=True)
    return error(
        "no-positive",
        f"The outcome column {quoted(mapping.outcome)} has {plural(len(labels), 'label')}: {shown}."
        f"{got}{left_out} Choose those that count as positive, or another column.",
        repaired,
        count_as_positive(labels, best),
        () if telling else other_positive(labels, best[0]),
    )


def other_positive(labels: Labels, first: str) -> tuple[Choice, ...]:
    """The other one of two labels, as a second answer to which is positive."""
    others = [name for name in labels.names if name != first] if len(labels) == 2 else []
    return tuple(Choice(count_as_positive(labels, [name]), {"positive": name}) for name in others)


def _named(names: Sequence[str]) -> str:
    return joined([quoted(name) for name in names])


def count_as_positive(labels: Labels, positives: Sequence[str]) -> str:
    """Text of a button, with the positive rate that it leads to."""
    counts = labels.counts()
    share = sum(int(counts[labels.find(name) or 0]) for name in positives) / int(counts.sum())
    shown = joined([repr(name[:30]) for name in positives[:3]], len(positives))
    others = "all others as negative" if len(labels) > 2 else "the other as negative"
    return f"Count {shown} as positive, {others}: {percent(share)} positive"


def _one_against_rest(rows: Rows) -> Iterator[Problem]:
    labels, mapping = rows.labels, rows.mapping
    if len(labels) > 2:
        chosen = _codes(rows)
        others = [labels.name(code) for code in range(len(labels)) if code not in chosen]
        verb = "counts" if len(chosen) == 1 else "count"
        yield note(
            "one-against-rest",
            f"The outcome column {quoted(mapping.outcome)} has {len(labels)} labels: "
            f"{_named(mapping.positives)} {verb} as positive, the {plural(len(others), 'other')} "
            f"({joined([quoted(name) for name in others[:5]], len(others))}) as negative.",
        )


def positive_question(rows: Rows, mean_score: float) -> Iterator[Problem]:
    """Ask whether the positive class is right, if the scores suggest another one."""
    mapping, labels = rows.mapping, rows.labels
    repaired = mapping.transform != "none" or mapping.swap or mapping.drop_missing
    if mapping.predicted is not None or not _all_found(rows):
        return
    if not repaired and is_plain_pair(labels):
        return
    rate = float(rows.of_usable(rows.outcome).mean())
    others = [name for name in labels.names if labels.find(name) not in _codes(rows)]
    swap = len(others) == 1
    for question in other_rate(mapping, rate, mean_score):
        yield replace(
            question,
            repair=replace(mapping, positive=others[0]) if swap else None,
            repair_label=count_as_positive(labels, others) if swap else "",
        )


def other_rate(mapping: ColumnMapping, rate: float, mean_score: float) -> Iterator[Problem]:
    """Ask whether the positive class is right, if rate and mean score are far apart."""
    if 0.0 < rate < 1.0 and not rate / FACTOR <= mean_score <= rate * FACTOR:
        yield warning(
            "positive-class",
            f"{percent(rate)} of the rows are positive, but the mean score is "
            f"{percent(mean_score)}. Is {_named(mapping.positives)} the positive class? If not, "
            "choose another.",
        )


def _codes(rows: Rows) -> set[int | None]:
    return {rows.labels.find(name) for name in rows.mapping.positives}


def _classes(rows: Rows) -> Iterator[Problem]:
    for part, chosen in parts(rows).items():
        total = int(np.count_nonzero(chosen))
        n_positive = int(np.count_nonzero(chosen & (rows.outcome == 1)))
        rarer = min(n_positive, total - n_positive)
        if not total:
            # An empty part of a split has its own sentence.
            if rows.test is None:
                yield error("no-rows", "No row is left that can be used.")
        elif rarer == 0:
            yield _one_class(rows, part, total, n_positive)
        else:
            yield from few_rows(part, total, rarer)


def few_rows(part: str, total: int, rarer: int) -> Iterator[Problem]:
    """Warn if one class is rare.

    `part` says which rows these are, such as "the rows".
    """
    if rarer < 2:
        yield error(
            "too-few",
            f"One class has a single row among {part} ({total:,}). At least 2 rows per class "
            f"are needed, and {FEW} for a verdict. Upload more rows.",
        )
    elif rarer < FEW:
        yield warning(
            "few",
            f"The rarer class has only {rarer} rows among {part} ({total:,}). With fewer "
            f"than {FEW}, intervals are wide and most results are inconclusive.",
        )


def _one_class(rows: Rows, part: str, total: int, n_positive: int) -> Problem:
    which = "positive" if n_positive else "negative"
    label = f" ({quoted(rows.labels.name(0))})" if len(rows.labels) == 1 else ""
    return error(
        "one-class",
        f"All of {part} ({total:,}) have a {which} outcome{label}. Calibration needs both "
        "outcomes: upload rows of both classes, or choose another outcome column.",
    )

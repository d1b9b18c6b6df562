"""Checks of the outcome column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from calib.loading.checking.mapped_rows import Rows
from calib.loading.checking.rows import parts
from calib.loading.columns import EMPTY, Labels, label_text
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.labels import higher_label, is_plain_pair, telling_labels
from calib.loading.name_patterns import PLAIN_PAIRS
from calib.loading.problems import Choice, Problem, error, note, warning
from calib.text import joined, listed, percent, plural, quoted

MIN_CLASS_ROWS = 100  # With fewer rows of a class, most results are inconclusive.
MAX_LABELS, MAX_LEVELS, MAX_OFFERED_LEVELS = 50, 10, 4
# If the positive rate and the mean score differ by more, the other class may be the positive one.
MAX_RATE_RATIO = 2.0


def outcome_problems(rows: Rows) -> Iterator[Problem]:
    """Problems of labels: none, too many, none positive, one class only, too few rows."""
    if not len(rows.labels):
        yield no_labels(rows.mapping)
    elif _are_shares(rows.labels) and not rows.mapping.positives and not _exchanged(rows):
        yield shares(rows.mapping)
    elif _are_levels(rows.labels) and not rows.mapping.positives and not rows.mapping.predicted:
        yield levels(rows.mapping, rows.labels)
    elif rows.mapping.predicted is not None:
        yield from _classes(rows)
    elif len(rows.labels) > MAX_LABELS:
        yield _not_labels(rows)
    # If there is one label and it is not positive, the check of the classes reports it.
    elif not _positives_exist(rows) and (len(rows.labels) > 1 or rows.mapping.positive is None):
        yield _no_positive(rows)
    else:
        yield from other_labels(rows.mapping, rows.labels)
        yield from _classes(rows)


def _positives_exist(rows: Rows) -> bool:
    """Whether labels count as positive, and all of them exist."""
    positives = rows.mapping.positives
    return bool(positives) and all(rows.labels.find(name) is not None for name in positives)


def _not_labels(rows: Rows) -> Problem:
    return many_labels(rows.mapping, len(rows.labels), _exchanged(rows))


def _exchanged(rows: Rows) -> ColumnMapping | None:
    """The mapping with outcome and score exchanged, if the score has the two labels."""
    mapping = rows.mapping
    (score,) = mapping.score_columns
    values = np.unique(rows.raw[score].values[np.isfinite(rows.raw[score].values)])
    if len(values) != 2 or rows.labels.values.dtype.kind != "f":
        return None
    positive = label_text(values[1])
    return replace(mapping, outcome=score, score=mapping.outcome, positive=positive)


def _are_shares(labels: Labels) -> bool:
    """Whether there are more than three numbers from 0 to 1, of which most are fractions."""
    values = labels.values
    if values.dtype.kind != "f" or len(values) < 4:
        return False
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def shares(mapping: ColumnMapping) -> Problem:
    """Make the error that outcomes are shares, and say how they are written as rows."""
    return error(
        "shares",
        f"The outcome column {quoted(mapping.outcome)} has fractions between 0 and 1, such as "
        "shares of annotators. An outcome is one of two labels. Write a row with the share k of m "
        "as two rows with the same score: outcome 1 with the weight k, and outcome 0 with the "
        "weight m - k, and name the column of weights. Leave out a row whose weight is 0.",
    )


def _are_levels(labels: Labels) -> bool:
    """Whether the labels are 3 to 10 successive whole numbers from 0 or 1."""
    values = labels.values
    if values.dtype.kind not in "iuf" or not 3 <= len(values) <= MAX_LEVELS:
        return False
    return values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def levels(mapping: ColumnMapping, labels: Labels) -> Problem:
    """Ask from which of several ordered levels on rows are positive."""
    starts = range(len(labels) - 1, 0, -1)
    choices = [
        Choice(
            _count_as_positive(labels, names),
            {"positive": names if len(names) > 1 else names[0], "others_negative": True},
        )
        for names in (labels.names[start:] for start in starts)
    ][:MAX_OFFERED_LEVELS]
    return error(
        "no-positive",
        f"The outcome column {quoted(mapping.outcome)} has {len(labels)} labels, "
        f"{listed(labels.names, MAX_LEVELS)}. One score is compared with two classes: choose "
        "which labels count as positive. Classes without an order need one score column each.",
        choices=tuple(choices),
    )


def no_labels(mapping: ColumnMapping) -> Problem:
    """The outcome column has no labels."""
    column = quoted(mapping.outcome)
    return error("no-labels", f"The outcome column {column} is empty. Choose another column.")


def many_labels(
    mapping: ColumnMapping, count: int, exchanged: ColumnMapping | None = None
) -> Problem:
    """The outcome column has too many values for labels; perhaps it is the score."""
    hint = "They look swapped." if exchanged else "Choose a column of two labels."
    return error(
        "many-labels",
        f"The outcome column {quoted(mapping.outcome)} holds {count:,} different values, so it is "
        f"not a label. {hint}",
        exchanged,
        "Swap outcome and score" if exchanged else "",
    )


def _no_positive(rows: Rows) -> Problem:
    unknown = "outcome unknown" in rows.unusable
    single = rows.raw.get(str(rows.mapping.score))
    highest = higher_label(rows.labels, None if single is None else single.values)
    return no_positive(rows.mapping, rows.labels, highest, unknown=unknown)


def no_positive(
    mapping: ColumnMapping, labels: Labels, likeliest: str, *, unknown: bool = False
) -> Problem:
    """Make the error that no label counts as positive. `unknown`: some outcomes are unknown."""
    by_word = telling_labels(labels)
    best = by_word or (likeliest,)
    others = [name for name in labels.names if name != likeliest]
    got = "" if mapping.positive is None else f" {listed(mapping.positives)} is not among them."
    left_out = " Rows without a known outcome are left out." if unknown else ""
    positive = best if len(best) > 1 else best[0]
    partner = _partner(labels, best) if len(labels) > 2 else None
    repaired = replace(
        mapping,
        positive=positive,
        negative=partner,
        others_negative=len(labels) > 2 and partner is None,
        drop_missing=mapping.drop_missing or unknown or partner is not None,
    )
    return error(
        "no-positive",
        f"The outcome column {quoted(mapping.outcome)} has {plural(len(labels), 'label')}: "
        f"{listed(labels.names, 5)}.{got}{left_out} Choose those that count as positive, or "
        "another column.",
        repaired,
        _count_as_positive(labels, best) if partner is None else _count_both(positive, partner),
        tuple(Choice(_count_as_positive(labels, [name]), {"positive": name}) for name in others)
        if len(labels) == 2 and not by_word
        else (),
    )


def _partner(labels: Labels, positives: Sequence[str]) -> str | None:
    """The label that is negative by convention, if one of a common pair is positive: 0 for 1."""
    by_folded_name = {name.casefold(): name for name in labels.names}
    pairs = [pair for pair in PLAIN_PAIRS if {name.casefold() for name in positives} < pair]
    others = (next(iter(pair - {positives[0].casefold()})) for pair in pairs)
    return next((by_folded_name[other] for other in others if other in by_folded_name), None)


def _count_both(positive: object, negative: str) -> str:
    return f"Positive class: {positive}, negative class: {negative[:30]}, leave out the others"


def _count_as_positive(labels: Labels, positives: Sequence[str]) -> str:
    """Text of a button, with the positive rate that it leads to."""
    counts = labels.counts()
    share = sum(int(counts[labels.find(name) or 0]) for name in positives) / int(counts.sum())
    shown = joined([name[:30] for name in positives[:3]], len(positives))
    others = ", all others negative" if len(labels) > 2 else ""
    return f"Positive class: {shown} ({percent(share)} of rows){others}"


def other_labels(mapping: ColumnMapping, labels: Labels) -> Iterator[Problem]:
    """Problems of several labels that are not positive: are they all negative?"""
    exists = [name == EMPTY or labels.find(name) is not None for name in mapping.negatives]
    if len(labels) > 1 and exists and not any(exists):
        yield error(
            "no-negative",
            f"The outcome column {quoted(mapping.outcome)} has the labels "
            f"{listed(labels.names, 5)}. {listed(mapping.negatives)}, named as negative, is not "
            "among them. Name another label.",
        )
        return
    chosen = {labels.find(name) for name in mapping.positives}
    others = [name for code, name in enumerate(labels.names) if code not in chosen]
    if len(others) < 2 or mapping.negatives:
        return
    verb = "counts" if len(chosen) == 1 else "count"
    lead = (
        f"The outcome column {quoted(mapping.outcome)} has {len(labels)} labels: "
        f"{listed(mapping.positives)} {verb} as positive"
    )
    if mapping.others_negative:
        yield note(
            "one-against-rest",
            f"{lead}, the {len(others)} others ({listed(others, 5)}) as negative.",
        )
    else:
        yield _several_others(mapping, labels, others, lead)


def _several_others(
    mapping: ColumnMapping, labels: Labels, others: Sequence[str], lead: str
) -> Problem:
    """Several labels may be negative: ask which, or whether all are."""
    counts = labels.counts()
    commonest = max(others, key=lambda name: int(counts[labels.find(name) or 0]))
    likeliest = _partner(labels, mapping.positives) or commonest
    negative = Choice(
        _count_both(mapping.positive, likeliest),
        {"negative": likeliest, "drop_missing": True},
    )
    return error(
        "other-labels",
        f"{lead}, and it is not known whether the {len(others)} others ({listed(others, 5)}) are "
        "all negative. Name the negative label, or count all others as negative.",
        choices=(
            negative,
            Choice(_count_as_positive(labels, mapping.positives), {"others_negative": True}),
        ),
    )


def positive_question(rows: Rows, mean_score: float) -> Iterator[Problem]:
    """Ask whether the positive class is right, if the scores suggest another one."""
    mapping, labels = rows.mapping, rows.labels
    repaired = mapping.transform != "none" or mapping.swap or mapping.drop_missing
    if mapping.predicted is not None or not _positives_exist(rows):
        return
    if not repaired and is_plain_pair(labels):
        return
    rate = float(rows.of_usable(rows.outcome).mean())
    other = other_label(rows)
    for question in other_rate(mapping, rate, mean_score):
        yield replace(
            question,
            repair=exchanged(mapping, other) if other else None,
            repair_label=_count_as_positive(labels, [other]) if other else "",
        )


def other_label(rows: Rows) -> str:
    """The only label that counts as negative, or "" if there are several."""
    labels, positives = rows.labels, {rows.labels.find(name) for name in rows.mapping.positives}
    others = [name for name in labels.names if labels.find(name) not in positives]
    others = list(rows.mapping.negatives) or others
    return others[0] if len(others) == 1 else ""


def exchanged(mapping: ColumnMapping, other: str) -> ColumnMapping:
    """The same mapping with the other label as the positive one."""
    negative = mapping.positive if mapping.negatives else None
    return replace(mapping, positive=other, negative=negative)


def other_rate(mapping: ColumnMapping, rate: float, mean_score: float) -> Iterator[Problem]:
    """Ask whether the positive class is right, if rate and mean score are far apart."""
    if 0.0 < rate < 1.0 and not rate / MAX_RATE_RATIO <= mean_score <= rate * MAX_RATE_RATIO:
        yield warning(
            "positive-class",
            f"{percent(rate)} of the rows are positive, but the mean score is "
            f"{percent(mean_score)}. Is {listed(mapping.positives)} the positive class? If not, "
            "choose another.",
        )


def _classes(rows: Rows) -> Iterator[Problem]:
    for part, chosen in parts(rows).items():
        total = int(np.count_nonzero(chosen))
        n_positive = int(np.count_nonzero(chosen & (rows.outcome == 1)))
        rarer = min(n_positive, total - n_positive)
        if not total:
            # An empty part of a split is reported by the check of the split.
            if rows.test is None:
                yield error("no-rows", "No row is left that can be used.")
        elif rarer == 0 and not asks_for_empty(rows):
            yield _one_class(rows, part, total, n_positive)
        elif rarer:
            yield from few_rows(part, total, rarer)


def asks_for_empty(rows: Rows) -> bool:
    """Whether all labels are equal and other cells are empty, which may mean the other label."""
    return len(rows.labels) == 1 and "outcome missing" in rows.unusable


def few_rows(part: str, total: int, rarer: int) -> Iterator[Problem]:
    """Warn if one class is rare in `part`, such as "the rows"."""
    if rarer < 2:
        yield error(
            "too-few",
            f"One class has a single row among {part} ({total:,}). At least 2 rows per class "
            f"are needed, and {MIN_CLASS_ROWS} for a verdict. Upload more rows.",
        )
    elif rarer < MIN_CLASS_ROWS:
        yield warning(
            "few",
            f"The rarer class has only {rarer} rows among {part} ({total:,}). With fewer "
            f"than {MIN_CLASS_ROWS}, intervals are wide and most results are inconclusive.",
        )


def _one_class(rows: Rows, part: str, total: int, n_positive: int) -> Problem:
    which = "positive" if n_positive else "negative"
    label = f" ({quoted(rows.labels.name(0))})" if len(rows.labels) == 1 else ""
    return error(
        "one-class",
        f"All of {part} ({total:,}) have a {which} outcome{label}. Calibration needs both "
        "outcomes: upload rows of both classes, or choose another outcome column.",
    )

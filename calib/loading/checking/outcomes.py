"""Checks of the outcome column: its labels, and how many rows each class has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calib.data.file_options import Columns
from calib.loading.checking.mapped_rows import Rows
from calib.loading.checking.rows import ALL_ROWS, FEW, parts
from calib.loading.columns import EMPTY, Labels, label_text
from calib.loading.guessing.class_columns import higher_label, is_plain_pair, telling_labels
from calib.loading.name_patterns import PLAIN_PAIRS
from calib.loading.problems import Choice, Problem, error, note, warning
from calib.numerics.arrays import IntArray
from calib.text import joined, percent

MIN_CLASS_ROWS = 100  # With fewer rows of a class, most results are inconclusive.
MAX_LABELS, MAX_LEVELS, MAX_OFFERED_LEVELS = 50, 10, 4
MAX_LABEL_LENGTH = 30  # Longer labels are cut in the text of a button.
# If the positive rate and the mean score differ by more, the other class may be the positive one.
MAX_RATE_RATIO = 2.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OutcomeFacts:
    """What the checks of an outcome with two classes ask, of rows in memory or in an engine.

    `counts` are the rows of each label, and `unusable` the reasons for which some rows cannot be
    used. `likeliest` is the label with the highest mean score, as far as that is known, and
    `of_score` the positive label of the score column if that has two values. If the rows are only
    `partly` labelled, nothing is checked that needs all outcomes.
    """

    mapping: Columns
    labels: Labels
    counts: IntArray
    unusable: frozenset[str]
    likeliest: str = ""
    of_score: str = ""
    partly: bool = False

    @property
    def has_positives(self) -> bool:
        """Whether labels count as positive, and all of them exist."""
        positives = self.mapping.positives
        return bool(positives) and all(self.labels.find(name) is not None for name in positives)

    @property
    def others(self) -> Sequence[str]:
        """The labels that do not count as positive."""
        chosen = {self.labels.find(name) for name in self.mapping.positives}
        return [name for code, name in enumerate(self.labels.names) if code not in chosen]

    @property
    def other_label(self) -> str:
        """The only label that counts as negative, or "" if there are several."""
        others = self.mapping.negatives or self.others
        return others[0] if len(others) == 1 else ""


def outcome_facts(rows: Rows) -> OutcomeFacts:
    """The facts of rows in memory."""
    single = rows.raw.get(str(rows.mapping.score))
    likeliest = of_score = ""
    if len(rows.labels):
        likeliest = higher_label(rows.labels, None if single is None else single.values)
    if rows.labels.values.dtype.kind == "f":
        (score,) = rows.mapping.score_columns
        values = np.unique(rows.raw[score].values[np.isfinite(rows.raw[score].values)])
        of_score = label_text(values[1]) if len(values) == 2 else ""
    return OutcomeFacts(
        mapping=rows.mapping,
        labels=rows.labels,
        counts=rows.labels.counts(),
        unusable=frozenset(rows.unusable),
        likeliest=likeliest,
        of_score=of_score,
        partly=rows.partly,
    )


def part_counts(rows: Rows) -> dict[str, tuple[int, int]]:
    """The usable rows of each part, and how many of them are positive."""
    return {
        part: (int(chosen.sum()), int(np.count_nonzero(chosen & (rows.outcome == 1))))
        for part, chosen in parts(rows).items()
    }


def outcome_problems(
    facts: OutcomeFacts, part_counts: Mapping[str, tuple[int, int]]
) -> Iterator[Problem]:
    """Problems of labels: none, too many, none positive, one class only, too few rows."""
    mapping, labels = facts.mapping, facts.labels
    column = mapping.outcome
    if not len(labels):
        # The outcomes of a day may all be missing, if it is known what they will be.
        if not (facts.partly and mapping.positives and mapping.negatives):
            yield error("no-labels", column=column)
    elif _are_shares(labels) and not mapping.positives and not facts.of_score:
        yield error("shares", column=column)
    elif _are_levels(labels) and not mapping.positives and not mapping.predicted:
        yield _levels(facts)
    elif mapping.predicted is not None:
        yield from class_problems(facts, part_counts)
    elif len(labels) > MAX_LABELS:
        yield _many_labels(facts)
    # If there is one label and it is not positive, the check of the classes reports it.
    elif not facts.has_positives and (len(labels) > 1 or mapping.positive is None):
        yield _no_positive(facts)
    else:
        yield from _other_labels(facts)
        yield from class_problems(facts, part_counts)


def _are_shares(labels: Labels) -> bool:
    """Whether there are more than three numbers from 0 to 1, of which most are fractions."""
    values = labels.values
    if values.dtype.kind != "f" or len(values) < 4:
        return False
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def _are_levels(labels: Labels) -> bool:
    """Whether the labels are 3 to 10 successive whole numbers from 0 or 1."""
    values = labels.values
    if values.dtype.kind not in "iuf" or not 3 <= len(values) <= MAX_LEVELS:
        return False
    return values[0] in (0, 1) and bool((np.diff(values) == 1).all())


def _levels(facts: OutcomeFacts) -> Problem:
    """Ask from which of several ordered levels on rows are positive."""
    labels = facts.labels
    starts = range(len(labels) - 1, 0, -1)[:MAX_OFFERED_LEVELS]
    choices = [
        Choice(
            _count_as_positive(facts, names),
            {"positive": names if len(names) > 1 else names[0], "others_negative": True},
        )
        for names in (labels.names[start:] for start in starts)
    ]
    return error(
        "no-positive.levels",
        column=facts.mapping.outcome,
        n=len(labels),
        labels=labels.names,
        choices=choices,
    )


def _many_labels(facts: OutcomeFacts) -> Problem:
    mapping = facts.mapping
    given = {"column": mapping.outcome, "n": len(facts.labels)}
    if not facts.of_score:
        return error("many-labels", **given)
    (score,) = mapping.score_columns
    exchanged = replace(mapping, outcome=score, score=mapping.outcome, positive=facts.of_score)
    label = "Swap outcome and score"
    return error("many-labels.swapped", repair=exchanged, label=label, **given)


def _no_positive(facts: OutcomeFacts) -> Problem:
    """Make the error that no label counts as positive."""
    mapping, labels = facts.mapping, facts.labels
    by_word = telling_labels(labels)
    best = by_word or (facts.likeliest or labels.names[-1],)
    others = [name for name in labels.names if name != best[0]]
    unknown = "outcome unknown" in facts.unusable
    partner = _partner(labels, best) if len(labels) > 2 else None
    label = _count_as_positive(facts, best)
    if partner is not None:
        kept = [int(facts.counts[labels.find(name) or 0]) for name in (*best, partner)]
        # No button counts two labels and leaves out many rows that have others.
        few = sum(kept) > (1.0 - FEW) * int(facts.counts.sum())
        label = _count_both(best, partner) if few else ""
    repaired = replace(
        mapping,
        positive=best if len(best) > 1 else best[0],
        negative=partner,
        others_negative=len(labels) > 2 and partner is None,
        drop_missing=mapping.drop_missing or unknown or partner is not None,
    )
    return error(
        "no-positive",
        column=mapping.outcome,
        n=len(labels),
        labels=labels.names,
        wanted=mapping.positives,
        unknown=unknown,
        repair=repaired,
        label=label,
        choices=[Choice(_count_as_positive(facts, [name]), {"positive": name}) for name in others]
        if len(labels) == 2 and not by_word
        else (),
    )


def _partner(labels: Labels, positives: Sequence[str]) -> str | None:
    """The label that is negative by convention, if one of a common pair is positive: 0 for 1."""
    by_folded_name = {name.casefold(): name for name in labels.names}
    pairs = [pair for pair in PLAIN_PAIRS if {name.casefold() for name in positives} < pair]
    others = (next(iter(pair - {positives[0].casefold()})) for pair in pairs)
    return next((by_folded_name[other] for other in others if other in by_folded_name), None)


def _count_both(positives: Sequence[str], negative: str) -> str:
    shown = f"Positive class: {joined(positives)}, negative class: {negative[:MAX_LABEL_LENGTH]}"
    return f"{shown}, leave out the others"


def _count_as_positive(facts: OutcomeFacts, positives: Sequence[str]) -> str:
    """Text of a button, with the positive rate that it leads to."""
    labels, counts = facts.labels, facts.counts
    share = sum(int(counts[labels.find(name) or 0]) for name in positives) / int(counts.sum())
    shown = joined([name[:MAX_LABEL_LENGTH] for name in positives[:3]], len(positives))
    others = ", all others negative" if len(labels) > 2 else ""
    return f"Positive class: {shown} ({percent(share)} of rows){others}"


def _other_labels(facts: OutcomeFacts) -> Iterator[Problem]:
    """Problems of several labels that are not positive: are they all negative?"""
    mapping, labels, others = facts.mapping, facts.labels, facts.others
    exists = [name == EMPTY or labels.find(name) is not None for name in mapping.negatives]
    if len(labels) > 1 and exists and not any(exists):
        yield error(
            "no-negative", column=mapping.outcome, labels=labels.names, named=mapping.negatives
        )
        return
    if len(others) < 2 or mapping.negatives:
        return
    given = {
        "column": mapping.outcome,
        "n_labels": len(labels),
        "positives": mapping.positives,
        "n_positives": len(labels) - len(others),
        "n": len(others),
        "others": others,
    }
    if mapping.others_negative:
        yield note("one-against-rest", **given)
        return
    commonest = max(others, key=lambda name: int(facts.counts[labels.find(name) or 0]))
    likeliest = _partner(labels, mapping.positives) or commonest
    choices = (
        Choice(
            _count_both(mapping.positives, likeliest), {"negative": likeliest, "drop_missing": True}
        ),
        Choice(_count_as_positive(facts, mapping.positives), {"others_negative": True}),
    )
    yield error("other-labels", choices=choices, **given)


def class_problems(
    facts: OutcomeFacts, part_counts: Mapping[str, tuple[int, int]]
) -> Iterator[Problem]:
    """Problems of a class without rows, or with few, in each part of the rows."""
    if facts.partly:
        return
    # If all labels are equal, it is asked whether empty cells mean another label.
    asked = "outcome missing" in facts.unusable and not facts.mapping.drop_missing
    asked = asked and len(facts.labels) == 1
    for part, (total, n_positive) in part_counts.items():
        rarer = min(n_positive, total - n_positive)
        if not total:
            # An empty part of a split is reported by the check of the split.
            if part == ALL_ROWS:
                yield error("no-rows.left")
        elif rarer == 0 and not asked:
            key = "one-class.positive" if n_positive else "one-class.negative"
            label = facts.labels.name(0) if len(facts.labels) == 1 else ""
            yield error(key, part=part, total=total, outcome=label)
        elif rarer == 1:
            yield error("too-few", part=part, total=total, least=MIN_CLASS_ROWS)
        elif 0 < rarer < MIN_CLASS_ROWS:
            yield warning("few", part=part, total=total, rarer=rarer, least=MIN_CLASS_ROWS)


def positive_question(facts: OutcomeFacts, rate: float, mean_score: float) -> Iterator[Problem]:
    """Ask whether the positive class is right, if rate and mean score are far apart."""
    mapping, other = facts.mapping, facts.other_label
    repaired = mapping.transform != "none" or mapping.swap or mapping.drop_missing
    # The labels alone can show which class is positive.
    is_sure = not repaired and is_plain_pair(facts.labels)
    if mapping.predicted is not None or not facts.has_positives or is_sure:
        return
    if 0.0 < rate < 1.0 and not rate / MAX_RATE_RATIO <= mean_score <= rate * MAX_RATE_RATIO:
        negative = mapping.positive if mapping.negatives else None
        exchanged = replace(mapping, positive=other, negative=negative) if other else None
        yield warning(
            "positive-class",
            rate=rate,
            mean=mean_score,
            positives=mapping.positives,
            repair=exchanged,
            label=_count_as_positive(facts, [other]) if other else "",
        )

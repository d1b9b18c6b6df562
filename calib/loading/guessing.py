"""guess: which column means what, by names first and by contents second."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calib.loading.class_columns import find_class_columns, rows_sum
from calib.loading.columns import Labels, as_labels, as_numbers
from calib.loading.mapping import ColumnMapping
from calib.loading.names import (
    CALIBRATION_WORDS,
    GROUP_NAMES,
    MODEL_NAMES,
    MODEL_SCORE,
    OUTCOME_NAMES,
    POSITIVE_WORDS,
    PREDICTED_NAMES,
    SCORE_NAMES,
    SLICE_NAMES,
    SPLIT_NAMES,
    TEST_WORDS,
    TIME_NAMES,
    WEIGHT_NAMES,
    plain_name,
)
from calib.loading.table import Table

MOST_LOOKED_AT = 200
MOST_SLICES = 8
MOST_SLICE_VALUES = 20
LOOK_ROWS = 10_000
MOST_CLASSES = 1_000
MOST_MODELS = 50


@dataclass(frozen=True, slots=True)
class _Look:
    """What a few thousand cells of a column show."""

    distinct: int
    numeric: bool
    unit: bool
    fractional: bool
    missing: float


def guess(
    table: Table, known: ColumnMapping | None = None, *, models: bool = False
) -> ColumnMapping:
    """Guess what the columns mean.

    Parameters
    ----------
    table : Table
    known : ColumnMapping, optional
        What is decided already; only its empty fields are guessed.
    models : bool
        Whether to look for several models: a column of their names, or one score column each.

    Returns
    -------
    ColumnMapping
        Fields without a fitting column stay None.

    Examples
    --------
    >>> from calib.loading.reading import read
    >>> mapping = guess(read("id,label,proba\\n7,yes,0.8\\n8,no,0.3\\n9,no,0.45\\n"))
    >>> mapping.outcome, mapping.score, mapping.positive
    ('label', 'proba', 'yes')
    """
    mapping = known or ColumnMapping()
    guesser = _Guesser(table.frame, set(mapping.columns()))
    if models:
        mapping = _with_models(guesser, mapping)
    mapping = _with_outcome_and_score(guesser, mapping)
    mapping = _with_roles(guesser, mapping)
    binary = not isinstance(mapping.score, tuple)
    if binary and mapping.predicted is None and mapping.positive is None:
        mapping = replace(mapping, positive=_positive(table.frame, mapping))
    return mapping


class _Guesser:
    """Looks at columns once, and hands each out once."""

    def __init__(self, frame: pd.DataFrame, taken: set[str]) -> None:
        self.frame = frame
        self.taken = taken
        self._looks: dict[str, _Look] = {}

    def look(self, column: str) -> _Look:
        if column not in self._looks:
            self._looks[column] = _look_at(self.frame[column])
        return self._looks[column]

    def free(self) -> list[str]:
        return [column for column in self.frame.columns if column not in self.taken]

    def named(self, patterns: Iterable[str], fits: Callable[[_Look], bool]) -> str | None:
        """The free column that the earliest pattern names and whose content fits."""
        plain = {column: plain_name(column) for column in self.free()}
        for pattern in patterns:
            for column, name in plain.items():
                if re.fullmatch(pattern, name) and fits(self.look(column)):
                    return column
        return None

    def first(self, *tests: Callable[[_Look], bool]) -> str | None:
        """The first free column whose content fits the earliest test."""
        columns = self.free()[:MOST_LOOKED_AT]
        for fits in tests:
            for column in columns:
                if fits(self.look(column)):
                    return column
        return None

    def take(self, column: str | None) -> str | None:
        if column is not None:
            self.taken.add(column)
        return column


def _look_at(column: pd.Series) -> _Look:
    head = column.head(LOOK_ROWS)
    missing = float(head.isna().mean())
    numbers = as_numbers(head)
    values = numbers.values[np.isfinite(numbers.values)]
    numeric = len(values) > 0 and len(numbers.text) * 2 < len(values)
    return _Look(
        distinct=len(as_labels(head)),
        numeric=numeric,
        unit=numeric and bool(values.min() >= 0.0 and values.max() <= 1.0),
        fractional=numeric and bool((values % 1.0 != 0.0).any()),
        missing=missing,
    )


def _probability(look: _Look) -> bool:
    return look.unit and look.fractional


def _two(look: _Look) -> bool:
    return look.distinct == 2


def _outcome_like(look: _Look) -> bool:
    # Outcomes 0, 1/2 and 1 (a draw) are labels still.
    return 1 <= look.distinct <= 50 and (not look.fractional or look.distinct <= 5)


def _with_outcome_and_score(guesser: _Guesser, mapping: ColumnMapping) -> ColumnMapping:
    outcome, score = mapping.outcome, mapping.score
    if score is None and not mapping.models:
        score = _class_columns(guesser, outcome)
    if isinstance(score, tuple):
        if outcome is None:
            outcome = guesser.take(_class_outcome(guesser, len(score)))
        return replace(mapping, outcome=outcome, score=score)
    if outcome is None:
        outcome = guesser.take(guesser.named(OUTCOME_NAMES, _two))
    if score is None and not mapping.models:
        score = guesser.take(_score(guesser))
    if outcome is None:
        outcome = guesser.take(
            guesser.named(OUTCOME_NAMES, _outcome_like) or guesser.first(_two, _outcome_like)
        )
    return replace(mapping, outcome=outcome, score=score)


def _with_models(guesser: _Guesser, mapping: ColumnMapping) -> ColumnMapping:
    """Look for a column that names models; else for score columns of like names."""
    if mapping.model or mapping.models or mapping.score:
        return mapping
    n_rows = len(guesser.frame)
    sure, perhaps = MODEL_NAMES
    found = guesser.named(
        (sure,), lambda look: 2 <= look.distinct <= MOST_MODELS and 10 * look.distinct <= n_rows
    )
    if found is None:
        # Words of many meanings: only where every model has scored the same number of rows.
        found = guesser.named((perhaps,), lambda look: 2 <= look.distinct <= MOST_MODELS)
        if found is not None and len(set(as_labels(guesser.frame[found]).counts().tolist())) > 1:
            found = None
    if found is not None:
        return replace(mapping, model=guesser.take(found))
    if _class_columns(_Guesser(guesser.frame, set(guesser.taken)), mapping.outcome):
        return mapping
    return replace(mapping, models=_score_columns(guesser))


def _score_columns(guesser: _Guesser) -> tuple[str, ...]:
    """Score columns of several models: a score word, then a name; none if there is only one."""
    named: dict[str, list[str]] = {}
    for column in guesser.free()[:MOST_LOOKED_AT]:
        found = re.fullmatch(MODEL_SCORE, plain_name(column))
        if found and _probability(guesser.look(column)):
            named.setdefault(found["word"], []).append(column)
    several = max(named.values(), key=len, default=[])
    if len(several) < 2 or rows_sum(guesser.frame[several]):
        return ()
    guesser.taken.update(several)
    return tuple(several)


def _class_columns(guesser: _Guesser, outcome: str | None) -> tuple[str, ...] | None:
    """The columns of one score a class, if there are any."""
    known = outcome or guesser.named(OUTCOME_NAMES, _class_like(MOST_CLASSES))
    labels = as_labels(guesser.frame[known]) if known in guesser.frame else None
    taken = guesser.taken if known is None else guesser.taken | {known}
    found = find_class_columns(guesser.frame, taken, labels)
    guesser.taken.update(found)
    return tuple(found) or None


def _class_outcome(guesser: _Guesser, n_classes: int) -> str | None:
    # A label that is none of the classes makes one more: it is told, and not taken for a slice.
    fits, nearly = _class_like(n_classes), _class_like(MOST_CLASSES)
    return guesser.named(OUTCOME_NAMES, nearly) or guesser.first(fits, nearly)


def _class_like(most: int) -> Callable[[_Look], bool]:
    return lambda look: 1 <= look.distinct <= most and not look.fractional


def _score(guesser: _Guesser) -> str | None:
    return (
        guesser.named(SCORE_NAMES, _probability)
        or guesser.first(lambda look: _probability(look) and not look.missing, _probability)
        or guesser.named(SCORE_NAMES, lambda look: look.numeric)
        # Among many nameless numbers none is likelier to be the score than another.
        or (guesser.first(lambda look: look.fractional) if len(guesser.frame.columns) < 5 else None)
        or guesser.named(SCORE_NAMES, lambda look: look.distinct > 0)
    )


def _with_roles(guesser: _Guesser, mapping: ColumnMapping) -> ColumnMapping:
    # A name that is not in the table is kept: `inspect` tells it.
    there = mapping.outcome if mapping.outcome in guesser.frame else None
    binary = not isinstance(mapping.score, tuple)
    many = binary and there is not None and guesser.look(there).distinct > 2
    predicted, weight, group = mapping.predicted, mapping.weight, mapping.group
    if predicted is None and many and mapping.positive is None:
        predicted = guesser.take(guesser.named(PREDICTED_NAMES, _outcome_like))
    if weight is None:
        weight = guesser.take(guesser.named(WEIGHT_NAMES, lambda look: look.numeric))
    if group is None:
        group = guesser.take(guesser.named(GROUP_NAMES, lambda look: look.distinct > 2))
    split, test_value = _split(guesser, mapping)
    time = mapping.time or guesser.take(
        guesser.named(TIME_NAMES, lambda look: look.distinct > 1 and not look.fractional)
    )
    return replace(
        mapping,
        predicted=predicted,
        weight=weight,
        group=group,
        split=split,
        test_value=test_value,
        time=time,
        slices=mapping.slices or _slices(guesser),
    )


def _split(guesser: _Guesser, mapping: ColumnMapping) -> tuple[str | None, str | None]:
    if mapping.split is not None:
        known = mapping.test_value or mapping.split not in guesser.frame
        guessed = None if known else _test_value(as_labels(guesser.frame[mapping.split]))
        return mapping.split, mapping.test_value or guessed
    column = guesser.named(SPLIT_NAMES, lambda look: 2 <= look.distinct <= 5)
    if column is None:
        return None, None
    labels = as_labels(guesser.frame[column])
    words = {name.casefold() for name in labels.names}
    # A column of folds or of sets 1 and 2 does not say which rows are test rows.
    if not (words & set(TEST_WORDS) and words & set(CALIBRATION_WORDS)):
        return None, None
    return guesser.take(column), _test_value(labels)


def _test_value(labels: Labels) -> str | None:
    by_word = {name.casefold(): name for name in labels.names}
    return next((by_word[word] for word in TEST_WORDS if word in by_word), None)


def _slices(guesser: _Guesser) -> tuple[str, ...]:
    columns = guesser.free()[:MOST_LOOKED_AT]
    fit = [column for column in columns if _slice_like(column, guesser.look(column))]
    return tuple(fit[:MOST_SLICES])


def _slice_like(column: str, look: _Look) -> bool:
    if not 2 <= look.distinct <= MOST_SLICE_VALUES:
        return False
    named = any(re.fullmatch(pattern, plain_name(column)) for pattern in SLICE_NAMES)
    return named or not look.numeric


def _positive(frame: pd.DataFrame, mapping: ColumnMapping) -> str | None:
    """The label that counts as positive: a telling word, else the one with the higher scores."""
    if mapping.outcome not in frame.columns:
        return None
    labels = as_labels(frame[mapping.outcome])
    if not 1 <= len(labels) <= 2:
        return None
    telling = telling_label(labels)
    if telling is not None:
        return telling
    # The only label of a column that holds one class: 0 and -1 are negative.
    if len(labels) == 1:
        return "1" if labels.name(0) in ("0", "-1") else labels.name(0)
    if labels.values.dtype.kind in "iuf":
        return labels.name(1)
    return higher_label(frame, mapping, labels)


def telling_label(labels: Labels) -> str | None:
    """The label that says "positive" by its name."""
    folded = {name.casefold(): name for name in labels.names}
    return next((folded[word] for word in POSITIVE_WORDS if word in folded), None)


def higher_label(frame: pd.DataFrame, mapping: ColumnMapping, labels: Labels) -> str:
    """The label whose rows have the highest mean score."""
    if not isinstance(mapping.score, str) or mapping.score not in frame.columns:
        return labels.name(len(labels) - 1)
    scores = as_numbers(frame[mapping.score]).values
    known = np.isfinite(scores) & (labels.codes >= 0)
    codes = labels.codes[known]
    total = np.bincount(codes, scores[known], minlength=len(labels))
    count = np.bincount(codes, minlength=len(labels))
    mean = np.divide(total, count, out=np.full(len(labels), -np.inf), where=count > 0)
    return labels.name(int(np.argmax(mean)))

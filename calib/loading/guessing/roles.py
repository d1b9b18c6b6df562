"""guess: which column means what, by names first and by contents second."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.loading import name_patterns as names
from calib.loading.columns import Labels, as_classes, as_labels, as_numbers, as_outcome
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import (
    MAX_PROFILED,
    ColumnProfile,
    Guesser,
    find_class_columns,
    outcome_like,
    probability,
    rows_sum,
    two,
)
from calib.loading.guessing.two_classes import choose, pair_of
from calib.loading.name_patterns import plain_name
from calib.loading.table import Table

MAX_SLICES = 8
MAX_SLICE_VALUES = 20
MAX_GUESSED_FOLDS = 20
# In some fields 1 is yes and 2 is no, in others 2 is the event: a person must choose.
ONE_AND_TWO = {"1", "2"}


def guess(
    table: Table, known: ColumnMapping | None = None, *, models: bool = False
) -> ColumnMapping:
    """Guess what the columns mean. Fields without a fitting column stay None.

    Only the empty fields of what is `known` are guessed. `models` says to look for several models:
    a column of their names, or one score column each.
    """
    known = known or ColumnMapping()
    mapping, guesser = known, Guesser(table.frame, set(known.columns()))
    guesser.hide_bounds()
    if models:
        mapping = with_models(guesser, mapping)
    mapping = _with_outcome_and_score(guesser, mapping)
    if known.score is None or isinstance(known.score, tuple):
        mapping, known = _of_two_classes(guesser, mapping, known)
    mapping = _with_roles(guesser, mapping)
    binary = not isinstance(mapping.score, tuple)
    labels = None
    if mapping.outcome in table.columns:
        labels, _ = as_outcome(table.frame[mapping.outcome])
    if binary and labels and mapping.predicted is None and mapping.positive is None:
        mapping = replace(mapping, positive=_positive(table.frame, mapping, labels))
    return replace(mapping, guessed=_guessed(mapping, known, labels))


def _guessed(
    mapping: ColumnMapping, known: ColumnMapping, labels: Labels | None
) -> tuple[str, ...]:
    """What was guessed, except the positive one of two common labels."""
    found = dict.fromkeys((*known.guessed, *mapping.changed(known)))
    if labels is not None and is_plain_pair(labels):
        found.pop("positive", None)
    return tuple(found)


def _with_outcome_and_score(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    outcome, score = mapping.outcome, mapping.score
    if score is None and not mapping.models:
        score = class_columns(guesser, outcome)
    if isinstance(score, tuple):
        if outcome is None:
            # A label that is not a class is reported; the column is still not a slice column.
            fits, nearly = _class_like(len(score)), _class_like(MAX_CLASSES)
            named = guesser.named(names.OUTCOME_NAMES, nearly)
            outcome = guesser.take(named or guesser.first(fits, nearly))
        return replace(mapping, outcome=outcome, score=score)
    if outcome is None:
        outcome = guesser.taken_by_name(names.OUTCOME_NAMES, two)
    if score is None and not mapping.models:
        score = guesser.take(_score(guesser))
    if outcome is None:
        outcome = guesser.take(
            guesser.named(names.OUTCOME_NAMES, outcome_like) or guesser.first(two, outcome_like)
        )
    return replace(mapping, outcome=outcome, score=score)


def _of_two_classes(
    guesser: Guesser, mapping: ColumnMapping, known: ColumnMapping
) -> tuple[ColumnMapping, ColumnMapping]:
    """The score of the positive class, where columns hold those of both classes.

    Two score columns that a person named, or the guessed one and another, are such columns if their
    rows add up to 1. In what is known, one column stands for two whose names leave no doubt.
    """
    frame, score = guesser.frame, mapping.score
    columns = pair_of(guesser, score) if isinstance(score, str) else score
    there = columns is not None and {mapping.outcome, *columns} <= set(frame.columns)
    if columns is None or len(columns) != 2 or not there or mapping.transform == "softmax":
        return mapping, known
    labels, _ = as_outcome(frame[mapping.outcome], mapping.positives)
    if len(labels) > 2 or not rows_sum(frame[list(columns)]):
        return mapping, known
    pair = choose(mapping, columns, labels)
    guesser.taken.update(columns)
    one: dict[str, Any] = {"score": pair.score, "classes": ()}
    if known.score is not None and pair.sure:
        known = replace(known, **one)
    return replace(mapping, **one, positive=mapping.positive or pair.positive), known


def _score(guesser: Guesser) -> str | None:
    return (
        guesser.named(names.SCORE_NAMES, probability)
        or guesser.first(lambda profile: probability(profile) and not profile.missing, probability)
        or guesser.named(names.SCORE_NAMES, lambda profile: profile.numeric)
        or _only_fraction(guesser)
        or guesser.named(names.SCORE_NAMES, lambda profile: profile.distinct > 0)
    )


def _only_fraction(guesser: Guesser) -> str | None:
    """The single column of fractions: of several none is likelier to be the score than another."""
    columns = guesser.free()[:MAX_PROFILED]
    found = [column for column in columns if guesser.profile(column).fractional]
    return found[0] if len(found) == 1 else None


def _with_roles(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    # A name that is not in the table is kept: `examine` reports it.
    there = mapping.outcome if mapping.outcome in guesser.frame else None
    binary = not isinstance(mapping.score, tuple)
    many = binary and there is not None and guesser.profile(there).distinct > 2
    predicted = mapping.predicted
    if predicted is None and many and mapping.positive is None:
        predicted = guesser.taken_by_name(names.PREDICTED_NAMES, outcome_like)
    weight = mapping.weight or guesser.taken_by_name(names.WEIGHT_NAMES, lambda p: p.numeric)
    group = mapping.group or guesser.taken_by_name(names.GROUP_NAMES, lambda p: p.distinct > 2)
    split, test_value = _split(guesser, mapping)
    no_fold = mapping.fold is not None or split is not None
    return replace(
        mapping,
        predicted=predicted,
        weight=weight,
        group=group,
        split=split,
        test_value=test_value,
        fold=mapping.fold if no_fold else _fold(guesser),
        time=mapping.time or guesser.taken_by_name(names.TIME_NAMES, _time_like),
        slices=mapping.slices or _slices(guesser),
    )


def _time_like(profile: ColumnProfile) -> bool:
    return profile.distinct > 1 and not profile.fractional


def _split(guesser: Guesser, mapping: ColumnMapping) -> tuple[str | None, str | None]:
    if mapping.split is not None:
        known = mapping.test_value or mapping.split not in guesser.frame
        guessed = None if known else _test_value(as_labels(guesser.frame[mapping.split]))
        return mapping.split, mapping.test_value or guessed
    column = guesser.named(names.SPLIT_NAMES, lambda profile: 2 <= profile.distinct <= 5)
    # Test rows and folds do not go together.
    if column is None or mapping.fold is not None:
        return None, None
    labels = as_labels(guesser.frame[column])
    words = {name.casefold() for name in labels.names}
    # A column of folds, or of sets 1 and 2, does not identify test rows.
    if not (words & set(names.TEST_WORDS) and words & set(names.CALIBRATION_WORDS)):
        return None, None
    return guesser.take(column), _test_value(labels)


def _fold(guesser: Guesser) -> str | None:
    column = guesser.named(names.FOLD_NAMES, lambda profile: profile.distinct <= MAX_GUESSED_FOLDS)
    if column is None:
        return None
    # All rows: those of a file that is sorted by fold begin with one fold.
    labels = as_labels(guesser.frame[column])
    fits = 2 <= len(labels) <= MAX_GUESSED_FOLDS and labels.codes.min() >= 0
    return guesser.take(column) if fits else None


def _test_value(labels: Labels) -> str | None:
    by_word = {name.casefold(): name for name in labels.names}
    return next((by_word[word] for word in names.TEST_WORDS if word in by_word), None)


def _slices(guesser: Guesser) -> tuple[str, ...]:
    columns = guesser.free()[:MAX_PROFILED]
    fit = [column for column in columns if _slice_like(column, guesser.profile(column))]
    return tuple(fit[:MAX_SLICES])


def _slice_like(column: str, profile: ColumnProfile) -> bool:
    if not 2 <= profile.distinct <= MAX_SLICE_VALUES:
        return False
    named = any(re.fullmatch(pattern, plain_name(column)) for pattern in names.SLICE_NAMES)
    return named or not profile.numeric


def _positive(frame: pd.DataFrame, mapping: ColumnMapping, labels: Labels) -> str | None:
    """The label that counts as positive: a telling word, else the one with the higher scores."""
    if not 1 <= len(labels) <= 2:
        return None
    if telling := telling_labels(labels):
        return telling[0]
    if set(labels.names) == ONE_AND_TWO:
        return None
    # The only label of a column that holds one class: 0 and -1 are negative.
    if len(labels) == 1:
        return "1" if labels.name(0) in ("0", "-1") else labels.name(0)
    if labels.values.dtype.kind in "iuf":
        return labels.name(1)
    return higher_label(frame, mapping, labels)


def is_plain_pair(labels: Labels) -> bool:
    """Whether these are 0 and 1, -1 and 1, or false and true."""
    found = {name.casefold() for name in labels.names}
    return any(found <= pair for pair in names.PLAIN_PAIRS)


def telling_labels(labels: Labels) -> tuple[str, ...]:
    """All labels whose names mean "positive", unless all labels do."""
    if set(labels.names) == ONE_AND_TWO:
        return ()
    found = tuple(name for name in labels.names if name.casefold() in names.POSITIVE_WORDS)
    return found if len(found) < len(labels) else ()


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


MAX_CLASSES = 1_000
MAX_MODELS = 50


def with_models(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    """Look for a column that names models; else for score columns of like names."""
    if mapping.model or mapping.models or mapping.score:
        return mapping
    n_rows = len(guesser.frame)
    sure, perhaps = names.MODEL_NAMES
    found = guesser.named(
        (sure,),
        lambda profile: 2 <= profile.distinct <= MAX_MODELS and 10 * profile.distinct <= n_rows,
    )
    if found is None:
        # Words of many meanings: only where every model has scored the same number of rows.
        found = guesser.named((perhaps,), lambda profile: 2 <= profile.distinct <= MAX_MODELS)
        if found is not None and len(set(as_labels(guesser.frame[found]).counts().tolist())) > 1:
            found = None
    if found is not None:
        return replace(mapping, model=guesser.take(found))
    if class_columns(Guesser(guesser.frame, set(guesser.taken)), mapping.outcome):
        return mapping
    return replace(mapping, models=_score_columns(guesser))


def _score_columns(guesser: Guesser) -> tuple[str, ...]:
    """Score columns of several models: a score word, then a name; none if there is only one."""
    named: dict[str, list[str]] = {}
    for column in guesser.free()[:MAX_PROFILED]:
        found = re.fullmatch(names.MODEL_SCORE, plain_name(column))
        if found and probability(guesser.profile(column)):
            named.setdefault(found["word"], []).append(column)
    several = max(named.values(), key=len, default=[])
    if len(several) < 2 or rows_sum(guesser.frame[several]):
        return ()
    guesser.taken.update(several)
    return tuple(several)


def class_columns(guesser: Guesser, outcome: str | None) -> tuple[str, ...] | None:
    """The columns of one score per class, if there are any."""
    known = outcome or guesser.named(names.OUTCOME_NAMES, _class_like(MAX_CLASSES))
    labels = as_classes(guesser.frame[known]) if known in guesser.frame else None
    taken = guesser.taken if known is None else guesser.taken | {known}
    found = find_class_columns(guesser.frame, taken, labels)
    guesser.taken.update(found)
    return tuple(found) or None


def _class_like(most: int) -> Callable[[ColumnProfile], bool]:
    return lambda profile: 1 <= profile.distinct <= most and not profile.fractional

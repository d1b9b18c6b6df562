"""Guessing several score columns: one a class, or one a model, or a column that names models."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from calib.loading.class_columns import find_class_columns, rows_sum
from calib.loading.columns import as_labels
from calib.loading.looking import MAX_LOOKED_AT, Guesser, Look, probability
from calib.loading.mapping import ColumnMapping
from calib.loading.names import MODEL_NAMES, MODEL_SCORE, OUTCOME_NAMES, plain_name

MAX_CLASSES = 1_000
MAX_MODELS = 50


def with_models(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    """Look for a column that names models; else for score columns of like names."""
    if mapping.model or mapping.models or mapping.score:
        return mapping
    n_rows = len(guesser.frame)
    sure, perhaps = MODEL_NAMES
    found = guesser.named(
        (sure,), lambda look: 2 <= look.distinct <= MAX_MODELS and 10 * look.distinct <= n_rows
    )
    if found is None:
        # Words of many meanings: only where every model has scored the same number of rows.
        found = guesser.named((perhaps,), lambda look: 2 <= look.distinct <= MAX_MODELS)
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
    for column in guesser.free()[:MAX_LOOKED_AT]:
        found = re.fullmatch(MODEL_SCORE, plain_name(column))
        if found and probability(guesser.look(column)):
            named.setdefault(found["word"], []).append(column)
    several = max(named.values(), key=len, default=[])
    if len(several) < 2 or rows_sum(guesser.frame[several]):
        return ()
    guesser.taken.update(several)
    return tuple(several)


def class_columns(guesser: Guesser, outcome: str | None) -> tuple[str, ...] | None:
    """The columns of one score a class, if there are any."""
    known = outcome or guesser.named(OUTCOME_NAMES, _class_like(MAX_CLASSES))
    labels = as_labels(guesser.frame[known]) if known in guesser.frame else None
    taken = guesser.taken if known is None else guesser.taken | {known}
    found = find_class_columns(guesser.frame, taken, labels)
    guesser.taken.update(found)
    return tuple(found) or None


def class_outcome(guesser: Guesser, n_classes: int) -> str | None:
    """The column of the labels of so many classes."""
    # A label that is none of the classes makes one more: it is told, and not taken for a slice.
    fits, nearly = _class_like(n_classes), _class_like(MAX_CLASSES)
    return guesser.named(OUTCOME_NAMES, nearly) or guesser.first(fits, nearly)


def _class_like(most: int) -> Callable[[Look], bool]:
    return lambda look: 1 <= look.distinct <= most and not look.fractional

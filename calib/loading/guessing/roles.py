"""guess: find the meaning of each column, first by its name and then by its content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calib.data.origin import CORRECT_NAMES
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
from calib.loading.logs import log_mapping
from calib.loading.name_patterns import plain_name
from calib.loading.table import Table

MAX_SLICES = 8
MAX_SLICE_VALUES = 20
MAX_GUESSED_FOLDS = 20
# In some fields 1 is yes and 2 is no, in others 2 is the event, so a person must choose.
ONE_AND_TWO = {"1", "2"}


def guess(
    table: Table, given: ColumnMapping | None = None, *, models: bool = False
) -> ColumnMapping:
    """Guess the meaning of the columns. Fields without a fitting column stay None.

    Only the empty fields of `given` are guessed, and none for the columns of evaluation logs. With
    `models`, also look for several models: a column of their names, or a score column for each.
    """
    given = given or ColumnMapping()
    if table.log:
        return log_mapping(table, given, models=models)
    mapping, guesser = given, Guesser(table.frame, set(given.columns()))
    guesser.hide_bounds()
    if models:
        mapping = with_models(guesser, mapping)
    mapping = _with_outcome_and_score(guesser, mapping)
    if given.score is None or isinstance(given.score, tuple):
        mapping, given = _with_one_of_two_scores(guesser, mapping, given)
    mapping = _with_roles(guesser, mapping)
    binary = not isinstance(mapping.score, tuple)
    labels = None
    if mapping.outcome in table.columns:
        labels, _ = as_outcome(table.frame[mapping.outcome])
    if binary and labels and mapping.predicted is None and mapping.positive is None:
        mapping = replace(mapping, positive=_positive(table.frame, mapping, labels))
    return replace(mapping, guessed=_guessed(mapping, given, labels))


def _guessed(
    mapping: ColumnMapping, given: ColumnMapping, labels: Labels | None
) -> tuple[str, ...]:
    """Names of the guessed fields. The positive label of a common pair such as 0 and 1 is sure."""
    names_of_fields = dict.fromkeys((*given.guessed, *mapping.changed(given)))
    if labels is not None and is_plain_pair(labels):
        names_of_fields.pop("positive", None)
    return tuple(names_of_fields)


def _with_outcome_and_score(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    outcome, score = mapping.outcome, mapping.score
    if score is None and not mapping.models:
        score = class_columns(guesser, outcome)
    if isinstance(score, tuple):
        if outcome is None:
            # A column with more labels than classes is still the outcome: the checks then report
            # the labels that are not classes.
            fits, nearly_fits = _class_like(len(score)), _class_like(MAX_CLASSES)
            by_name = guesser.find_by_name(names.OUTCOME_NAMES, nearly_fits)
            outcome = guesser.take(by_name or guesser.first_that_fits(fits, nearly_fits))
        return replace(mapping, outcome=outcome, score=score)
    if outcome is None:
        outcome = guesser.take_by_name(names.OUTCOME_NAMES, two)
    if score is None and not mapping.models:
        score = guesser.take(_score(guesser))
    if outcome is None:
        outcome = guesser.take(
            guesser.find_by_name(names.OUTCOME_NAMES, outcome_like)
            or guesser.first_that_fits(two, outcome_like)
        )
    return replace(mapping, outcome=outcome, score=score)


def _with_one_of_two_scores(
    guesser: Guesser, mapping: ColumnMapping, given: ColumnMapping
) -> tuple[ColumnMapping, ColumnMapping]:
    """Use the score of the positive class, if two columns hold the scores of both classes.

    Two score columns that a person named, or the guessed one and another, are such columns if their
    rows add up to 1. If their names leave no doubt, the one that is used also replaces both in
    `given`, so that it does not count as a guess.
    """
    frame, score = guesser.frame, mapping.score
    columns = pair_of(guesser, score) if isinstance(score, str) else score
    exist = columns is not None and {mapping.outcome, *columns} <= set(frame.columns)
    if columns is None or len(columns) != 2 or not exist or mapping.transform == "softmax":
        return mapping, given
    labels, _ = as_outcome(frame[mapping.outcome], mapping.positives)
    if len(labels) > 2 or not rows_sum(frame[list(columns)]):
        return mapping, given
    pair = choose(mapping, columns, labels)
    guesser.taken.update(columns)
    single: dict[str, Any] = {"score": pair.score, "classes": ()}
    if given.score is not None and pair.sure:
        given = replace(given, **single)
    return replace(mapping, **single, positive=mapping.positive or pair.positive), given


def _score(guesser: Guesser) -> str | None:
    return (
        guesser.find_by_name(names.SCORE_NAMES, probability)
        or guesser.first_that_fits(
            lambda profile: probability(profile) and not profile.missing, probability
        )
        or guesser.find_by_name(names.SCORE_NAMES, lambda profile: profile.numeric)
        or _only_fraction(guesser)
        or guesser.find_by_name(names.SCORE_NAMES, lambda profile: profile.distinct > 0)
    )


def _only_fraction(guesser: Guesser) -> str | None:
    """The only column of fractions. If there are several, any of them may be the score."""
    columns = guesser.free()[:MAX_PROFILED]
    fractions = [column for column in columns if guesser.profile(column).fractional]
    return fractions[0] if len(fractions) == 1 else None


def _with_roles(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    # An outcome that is not in the table is kept, because `examine` reports it.
    outcome = mapping.outcome if mapping.outcome in guesser.frame else None
    binary = not isinstance(mapping.score, tuple)
    many = binary and outcome is not None and guesser.profile(outcome).distinct > 2
    predicted = mapping.predicted
    if predicted is None and many and mapping.positive is None:
        predicted = guesser.take_by_name(names.PREDICTED_NAMES, outcome_like)
    weight = mapping.weight or guesser.take_by_name(names.WEIGHT_NAMES, lambda p: p.numeric)
    group = mapping.group or guesser.take_by_name(names.GROUP_NAMES, lambda p: p.distinct > 2)
    group = group or _repeated_questions(guesser, mapping)
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
        time=mapping.time
        or guesser.take_by_name(names.TIME_NAMES, lambda p: p.distinct > 1 and not p.fractional),
        slices=mapping.slices or _slices(guesser),
    )


def _repeated_questions(guesser: Guesser, mapping: ColumnMapping) -> str | None:
    """The ids of questions that one model answered several times, as in evaluation logs."""
    if str(mapping.outcome).casefold() not in CORRECT_NAMES:
        return None
    column = guesser.find_by_name(names.QUESTION_IDS, lambda profile: profile.distinct > 2)
    if column is None:
        return None
    codes = {"id": as_labels(guesser.frame[column]).codes}
    if mapping.model in guesser.frame:
        codes["model"] = as_labels(guesser.frame[mapping.model]).codes
    repeated = bool(pd.DataFrame(codes)[codes["id"] >= 0].duplicated().any())
    return guesser.take(column) if repeated else None


def _split(guesser: Guesser, mapping: ColumnMapping) -> tuple[str | None, str | None]:
    if mapping.split is not None:
        if mapping.test_value or mapping.split not in guesser.frame:
            return mapping.split, mapping.test_value or None
        return mapping.split, _test_value(as_labels(guesser.frame[mapping.split]))
    column = guesser.find_by_name(names.SPLIT_NAMES, lambda profile: 2 <= profile.distinct <= 5)
    # Cross-fitting by folds is not used with test rows.
    if column is None or mapping.fold is not None:
        return None, None
    labels = as_labels(guesser.frame[column])
    words = {name.casefold() for name in labels.names}
    # Only words identify test rows; the numbers 1 and 2 of sets or folds do not.
    if not (words & set(names.TEST_WORDS) and words & set(names.CALIBRATION_WORDS)):
        return None, None
    return guesser.take(column), _test_value(labels)


def _fold(guesser: Guesser) -> str | None:
    column = guesser.find_by_name(
        names.FOLD_NAMES, lambda profile: profile.distinct <= MAX_GUESSED_FOLDS
    )
    if column is None:
        return None
    # All rows are read, because a file that is sorted by fold begins with a single fold.
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
    by_name = any(re.fullmatch(pattern, plain_name(column)) for pattern in names.SLICE_NAMES)
    return by_name or not profile.numeric


def _positive(frame: pd.DataFrame, mapping: ColumnMapping, labels: Labels) -> str | None:
    """The label that counts as positive: a word such as "yes", or the one with higher scores."""
    if not 1 <= len(labels) <= 2:
        return None
    if telling := telling_labels(labels):
        return telling[0]
    if set(labels.names) == ONE_AND_TWO:
        return None
    # If a column has a single label, 0 and -1 are negative, and any other is positive.
    if len(labels) == 1:
        return "1" if labels.name(0) in ("0", "-1") else labels.name(0)
    if labels.values.dtype.kind in "iuf":
        return labels.name(1)
    return higher_label(frame, mapping, labels)


def is_plain_pair(labels: Labels) -> bool:
    """Whether these are 0 and 1, -1 and 1, or false and true."""
    words = {name.casefold() for name in labels.names}
    return any(words <= pair for pair in names.PLAIN_PAIRS)


def telling_labels(labels: Labels) -> tuple[str, ...]:
    """All labels whose names mean "positive", unless all labels do."""
    if set(labels.names) == ONE_AND_TWO:
        return ()
    positives = tuple(name for name in labels.names if name.casefold() in names.POSITIVE_WORDS)
    return positives if len(positives) < len(labels) else ()


def higher_label(frame: pd.DataFrame, mapping: ColumnMapping, labels: Labels) -> str:
    """The label whose rows have the highest mean score."""
    if not isinstance(mapping.score, str) or mapping.score not in frame.columns:
        return labels.name(len(labels) - 1)
    scores = as_numbers(frame[mapping.score]).values
    usable = np.isfinite(scores) & (labels.codes >= 0)
    codes = labels.codes[usable]
    total = np.bincount(codes, scores[usable], minlength=len(labels))
    count = np.bincount(codes, minlength=len(labels))
    mean = np.divide(total, count, out=np.full(len(labels), -np.inf), where=count > 0)
    return labels.name(int(np.argmax(mean)))


MAX_CLASSES = 1_000
MAX_MODELS = 50


def with_models(guesser: Guesser, mapping: ColumnMapping) -> ColumnMapping:
    """Look for a column that names models, or for score columns with similar names."""
    if mapping.model or mapping.models or mapping.score:
        return mapping
    n_rows = len(guesser.frame)
    certain, possible = names.MODEL_NAMES
    column = guesser.find_by_name(
        (certain,),
        lambda profile: 2 <= profile.distinct <= MAX_MODELS and 10 * profile.distinct <= n_rows,
    )
    if column is None:
        # These names have other meanings too, so all models must have equally many rows.
        column = guesser.find_by_name(
            (possible,), lambda profile: 2 <= profile.distinct <= MAX_MODELS
        )
        if column is not None and len(set(as_labels(guesser.frame[column]).counts().tolist())) > 1:
            column = None
    if column is not None:
        return replace(mapping, model=guesser.take(column))
    if class_columns(Guesser(guesser.frame, set(guesser.taken)), mapping.outcome):
        return mapping
    return replace(mapping, models=_score_columns(guesser))


def _score_columns(guesser: Guesser) -> tuple[str, ...]:
    """Score columns of several models, named by a score word and a model; none if there is one."""
    by_word: dict[str, list[str]] = {}
    for column in guesser.free()[:MAX_PROFILED]:
        match = re.fullmatch(names.MODEL_SCORE, plain_name(column))
        if match and probability(guesser.profile(column)):
            by_word.setdefault(match["word"], []).append(column)
    columns = max(by_word.values(), key=len, default=[])
    if len(columns) < 2 or rows_sum(guesser.frame[columns]):
        return ()
    guesser.taken.update(columns)
    return tuple(columns)


def class_columns(guesser: Guesser, outcome: str | None) -> tuple[str, ...] | None:
    """The columns of one score per class, if there are any."""
    label_column = outcome or guesser.find_by_name(names.OUTCOME_NAMES, _class_like(MAX_CLASSES))
    labels = as_classes(guesser.frame[label_column]) if label_column in guesser.frame else None
    taken = guesser.taken if label_column is None else guesser.taken | {label_column}
    columns = find_class_columns(guesser.frame, taken, labels)
    guesser.taken.update(columns)
    return tuple(columns) or None


def _class_like(max_labels: int) -> Callable[[ColumnProfile], bool]:
    return lambda profile: 1 <= profile.distinct <= max_labels and not profile.fractional

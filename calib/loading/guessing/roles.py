"""guess: find the meaning of each column, by its values, by evidence and by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from calib.data.file_options import Columns, Doubt
from calib.data.origin import CORRECT_NAMES
from calib.loading import name_patterns as names
from calib.loading.columns import Labels, as_classes, as_labels, as_numbers, as_outcome
from calib.loading.guessing.class_columns import (
    choose,
    find_class_columns,
    is_plain_pair,
    positive_of,
    rows_sum,
)
from calib.loading.guessing.decision import (
    NO_OUTCOME,
    OTHER_ROLES,
    decide,
    no_outcomes,
    perhaps_predicted,
    which_predicted,
)
from calib.loading.guessing.evidence import (
    LOOK_ROWS,
    REASONS,
    UNNAMED,
    ColumnFacts,
    Facts,
    add_up,
    is_highest,
    name_rank,
)
from calib.loading.logs import log_mapping
from calib.loading.name_patterns import plain_name
from calib.loading.problems import Choice, Problem, question
from calib.loading.table import Table
from calib.text import numbers_of, quoted

MAX_SLICES = 8
MAX_SLICE_VALUES = 20
MAX_GUESSED_FOLDS = 20
MAX_FIRST_IDS = 200
MOST = 0.9  # Some ids can lack a version.


def guess(table: Table, given: Columns | None = None, *, models: bool = False) -> Columns:
    """Guess the meaning of the columns. Fields without a fitting column stay None.

    Only the empty fields of `given` are guessed, and none for the columns of evaluation logs. With
    `models`, also look for several models: a column of their names, or a score column for each.
    """
    given = given or Columns()
    if table.log:
        return log_mapping(table, given, models=models)
    mapping, facts = replace(given, doubts=(), reasons=()), Facts(table.frame, {*given.columns()})
    facts.hide()
    if models:
        mapping = with_models(facts, mapping)
    if mapping.score is None and not mapping.models:
        mapping = replace(mapping, score=class_columns(facts, mapping.outcome))
    if isinstance(given.score, tuple):
        mapping, given = _with_one_of_two_scores(facts, mapping, given)
    if isinstance(mapping.score, tuple):
        mapping = _with_class_outcome(facts, mapping)
    else:
        mapping = decide(facts, mapping)
    mapping = _with_roles(facts, mapping, given)
    labels = None
    if mapping.outcome in table.columns:
        labels, _ = as_outcome(table.frame[mapping.outcome])
    # If only some rows were looked at, they may lack a label.
    is_open = given.positive is None and mapping.negative is None and mapping.predicted is None
    some_rows = len(table) > LOOK_ROWS and mapping.score in table.columns
    if labels is not None and is_open and some_rows:
        scores = as_numbers(table.frame[mapping.score]).values
        mapping = replace(mapping, positive=positive_of(labels, scores))
    if labels is not None and any(note.code == "weka" for note in table.notes):
        # Weka also predicts rows whose label is not known.
        mapping = replace(
            mapping, drop_missing=mapping.drop_missing or bool((labels.codes < 0).any())
        )
    doubted = (doubt.role for doubt in mapping.doubts)
    guessed = dict.fromkeys((*given.guessed, *mapping.changed(given), *doubted))
    if labels is not None and is_plain_pair(labels):
        # The positive label of a common pair such as 0 and 1 is sure.
        guessed.pop("positive", None)
    return replace(mapping, guessed=tuple(guessed))


def _with_class_outcome(facts: Facts, mapping: Columns) -> Columns:
    """The mapping of one score column per class, with its outcome."""
    if mapping.outcome is not None:
        return mapping
    columns = [name for name in mapping.score or () if name in facts.frame]
    matrix = facts.matrix(columns)
    labels = [c for c in facts.looked_at() if _class_like(MAX_CLASSES)(facts[c])]
    predicted = [c for c in labels if name_rank(c, names.PREDICTED_NAMES) < UNNAMED]
    highest = [
        c
        for c in labels
        if name_rank(c, names.OUTCOME_NAMES) != 0 and is_highest(facts[c].labels, matrix)
    ]
    facts.predicted |= {*predicted, *highest}
    free = [c for c in labels if c not in facts.predicted]
    # A column with more labels than classes is still the outcome: the checks then report the
    # labels that are not classes.
    other_roles = [c for c in free if name_rank(c, OTHER_ROLES) < UNNAMED]
    fits = [c for c in free if facts[c].distinct <= len(columns) and c not in other_roles]
    by_name = [c for c in free if name_rank(c, names.OUTCOME_NAMES) < UNNAMED]
    by_name.sort(key=lambda c: name_rank(c, names.OUTCOME_NAMES))
    # The labels of a model that is right in all rows look like predicted ones.
    possible = [*by_name, *fits, *(c for c in highest if c not in predicted), *free]
    if possible:
        column = possible[0]
        if column in highest:
            why = REASONS["highest"].format(quoted(column))
            doubt = Doubt("outcome", perhaps_predicted(column, why))
            mapping = replace(mapping, doubts=(*mapping.doubts, doubt))
        return replace(mapping, outcome=facts.take(column))
    problem = no_outcomes(predicted[0], "predicted-name") if predicted else NO_OUTCOME
    return replace(mapping, doubts=(*mapping.doubts, Doubt("outcome", problem)))


def _with_one_of_two_scores(
    facts: Facts, mapping: Columns, given: Columns
) -> tuple[Columns, Columns]:
    """Use the score of the positive class, if two named columns hold the scores of both classes.

    If their names leave no doubt, the one that is used also replaces both in `given`, so that it
    does not count as a guess.
    """
    frame, columns = facts.frame, mapping.score
    assert isinstance(columns, tuple)
    if len(columns) != 2 or not set(columns) <= set(frame.columns):
        return mapping, given
    if mapping.transform == "softmax" or not add_up([facts[name].values for name in columns]):
        return mapping, given
    outcome = mapping.outcome
    if outcome is None:
        outcome = decide(Facts(frame, set(facts.taken)), replace(mapping, score=columns[1])).outcome
    if outcome not in frame:
        return mapping, given
    labels, _ = as_outcome(frame[outcome], mapping.positives)
    if len(labels) > 2:
        return mapping, given
    pair = choose(replace(mapping, outcome=outcome), columns, labels)
    single: dict[str, Any] = {"score": pair.score, "classes": ()}
    if pair.sure:
        given = replace(given, **single)
    return replace(mapping, **single, positive=mapping.positive or pair.positive), given


def _with_roles(facts: Facts, mapping: Columns, given: Columns) -> Columns:
    # An outcome that is not in the table is kept, because `examine` reports it.
    outcome = mapping.outcome if mapping.outcome in facts.frame else None
    binary = not isinstance(mapping.score, tuple)
    many = binary and outcome is not None and len(facts[outcome].labels) > 2
    if many and mapping.predicted is None and mapping.positive is None:
        mapping = _with_predicted(facts, mapping)
    mapping = _with_weight(facts, mapping, given)
    mapping = _with_repeats(facts, mapping, given)
    group = mapping.group or facts.take_by_name(names.GROUP_NAMES, lambda p: p.distinct > 2)
    group = group or _repeated_questions(facts, mapping)
    split, test_value = _split(facts, mapping)
    no_fold = mapping.fold is not None or split is not None
    return replace(
        mapping,
        group=group,
        split=split,
        test_value=test_value,
        fold=mapping.fold if no_fold else _fold(facts),
        time=mapping.time
        or facts.take_by_name(names.TIME_NAMES, lambda p: p.distinct > 1 and not p.fractional),
        slices=mapping.slices or _slices(facts),
    )


def _with_predicted(facts: Facts, mapping: Columns) -> Columns:
    """The mapping with the predicted labels of several classes, or the question which they are."""
    columns = [
        name
        for name in facts.free()
        if name_rank(name, names.PREDICTED_NAMES) < UNNAMED and facts[name].few
    ]
    if len(columns) > 1 and mapping.score in facts.frame:
        doubt = Doubt("predicted", which_predicted(facts, mapping, columns))
        return replace(mapping, doubts=(*mapping.doubts, doubt))
    return replace(mapping, predicted=facts.take(next(iter(columns), None)))


def _with_weight(facts: Facts, mapping: Columns, given: Columns) -> Columns:
    """The mapping with row weights, or with the question whether a column has them.

    A person who names outcome and score knows the columns, and would name the weights too.
    """
    if mapping.weight is not None or (given.outcome and given.score_columns):
        return mapping

    def varies(column_facts: ColumnFacts) -> bool:
        return column_facts.numeric and column_facts.distinct > 1

    weight = facts.take_by_name(names.WEIGHT_NAMES, varies)
    if weight is not None:
        reasons = (*mapping.reasons, ("weight", REASONS["name"]))
        return replace(mapping, weight=weight, reasons=reasons)
    column = facts.find_by_name(names.PERHAPS_WEIGHT_NAMES, varies)
    if column is None:
        return mapping
    by_name = {"outcome": mapping.outcome, "score": mapping.score}
    by_name = {role: name for role, name in by_name.items() if name and not mapping.models}
    choices = (
        Choice("No, each row counts once", {**by_name, "weight": None}),
        Choice(f"Yes, use {column[:30]!r} as row weights", {"weight": column}),
    )
    doubt = Doubt("weight", question("perhaps-weight", column=column, choices=choices))
    return replace(mapping, doubts=(*mapping.doubts, doubt))


def _with_repeats(facts: Facts, mapping: Columns, given: Columns) -> Columns:
    """The mapping, or the question what rows with the same id and another version are."""
    is_named = given.group or (given.outcome and given.score_columns) or mapping.model
    column = facts.find_by_name((names.ID_NAMES,), lambda one: not one.few)
    if is_named or column is None or mapping.outcome not in facts.frame:
        return mapping
    # A few ids show in a tenth of the time whether most ids have several rows.
    cells = facts.frame[column]
    some = cells.iloc[:: max(len(cells) // MAX_FIRST_IDS, 1)].unique()
    if int(cells.isin(some).sum()) < 2 * len(some):
        return mapping
    ids = as_labels(facts.frame[column])
    rows = pd.DataFrame({"id": ids.codes, "outcome": as_labels(facts.frame[mapping.outcome]).codes})
    by_id = rows.groupby("id")["outcome"]
    # All rows of an id must have the same outcome, and nearly all ids several rows.
    same_outcomes = bool((by_id.nunique() == 1).all() and (by_id.size() > 1).mean() > MOST)
    if rows["id"].min() < 0 or 2 * len(ids) > len(rows) or not same_outcomes:
        return mapping
    for version in facts.looked_at():
        if version == column or not 2 <= facts[version].distinct <= MAX_MODELS:
            continue
        labels = as_labels(facts.frame[version])
        rows["version"] = labels.codes
        if len(labels) <= MAX_MODELS and not rows.duplicated(["id", "version"]).any():
            doubt = Doubt("model", _which_rows(column, version, labels))
            return replace(mapping, doubts=(*mapping.doubts, doubt))
    return mapping


def _which_rows(column: str, version: str, labels: Labels) -> Problem:
    numbers = numbers_of(labels.names) or range(len(labels))
    last = max(zip(numbers, labels.names, strict=True))[1]
    choices = (
        Choice(f"Only the last one, {last[:30]!r}", {"model": version, "model_value": last}),
        Choice("Compare them as models", {"model": version}),
        Choice(
            f"One model: the same {column[:30]!r} is one cluster", {"model": None, "group": column}
        ),
    )
    facts = {"column": column, "version": version, "n": len(labels)}
    return question("repeated-versions", **facts, choices=choices)


def _repeated_questions(facts: Facts, mapping: Columns) -> str | None:
    """The ids of questions that one model answered several times, as in evaluation logs."""
    if str(mapping.outcome).casefold() not in CORRECT_NAMES:
        return None
    column = facts.find_by_name(names.QUESTION_IDS, lambda column_facts: column_facts.distinct > 2)
    if column is None:
        return None
    codes = {"id": as_labels(facts.frame[column]).codes}
    if mapping.model in facts.frame:
        codes["model"] = as_labels(facts.frame[mapping.model]).codes
    repeated = bool(pd.DataFrame(codes)[codes["id"] >= 0].duplicated().any())
    return facts.take(column) if repeated else None


def _split(facts: Facts, mapping: Columns) -> tuple[str | None, str | None]:
    if mapping.split is not None:
        if mapping.test_value or mapping.split not in facts.frame:
            return mapping.split, mapping.test_value or None
        return mapping.split, _test_value(as_labels(facts.frame[mapping.split]))
    column = facts.find_by_name(
        names.SPLIT_NAMES, lambda column_facts: 2 <= column_facts.distinct <= 5
    )
    # Cross-fitting by folds is not used with test rows.
    if column is None or mapping.fold is not None:
        return None, None
    labels = as_labels(facts.frame[column])
    words = {name.casefold() for name in labels.names}
    # Only words identify test rows; the numbers 1 and 2 of sets or folds do not.
    if not (words & set(names.TEST_WORDS) and words & set(names.CALIBRATION_WORDS)):
        return None, None
    return facts.take(column), _test_value(labels)


def _fold(facts: Facts) -> str | None:
    column = facts.find_by_name(
        names.FOLD_NAMES, lambda column_facts: column_facts.distinct <= MAX_GUESSED_FOLDS
    )
    if column is None:
        return None
    # All rows are read, because a file that is sorted by fold begins with a single fold.
    labels = as_labels(facts.frame[column])
    fits = 2 <= len(labels) <= MAX_GUESSED_FOLDS and labels.codes.min() >= 0
    return facts.take(column) if fits else None


def _test_value(labels: Labels) -> str | None:
    by_word = {name.casefold(): name for name in labels.names}
    return next((by_word[word] for word in names.TEST_WORDS if word in by_word), None)


def _slices(facts: Facts) -> tuple[str, ...]:
    fit = [
        column
        for column in facts.looked_at()
        if column not in facts.predicted
        and 2 <= facts[column].distinct <= MAX_SLICE_VALUES
        and (name_rank(column, names.SLICE_NAMES) < UNNAMED or not facts[column].numeric)
    ]
    return tuple(fit[:MAX_SLICES])


MAX_CLASSES = 1_000
MAX_MODELS = 50


def with_models(facts: Facts, mapping: Columns) -> Columns:
    """Look for a column that names models, or for score columns with similar names."""
    if mapping.model or mapping.models or mapping.score:
        return mapping
    n_rows = len(facts.frame)
    certain, possible = names.MODEL_NAMES
    column = facts.find_by_name(
        (certain,),
        lambda column_facts: (
            2 <= column_facts.distinct <= MAX_MODELS and 10 * column_facts.distinct <= n_rows
        ),
    )
    if column is None:
        # These names have other meanings too, so all models must have equally many rows.
        column = facts.find_by_name(
            (possible,), lambda column_facts: 2 <= column_facts.distinct <= MAX_MODELS
        )
        if column is not None and len(set(as_labels(facts.frame[column]).counts().tolist())) > 1:
            column = None
    if column is not None:
        return replace(mapping, model=facts.take(column))
    if class_columns(Facts(facts.frame, set(facts.taken)), mapping.outcome):
        return mapping
    return replace(mapping, models=_score_columns(facts))


def _score_columns(facts: Facts) -> tuple[str, ...]:
    """Score columns of several models, named by a score word and a model; none if there is one."""
    by_word: dict[str, list[str]] = {}
    for column in facts.looked_at():
        match = re.fullmatch(names.MODEL_SCORE, plain_name(column))
        if match and facts[column].probability:
            by_word.setdefault(match["word"], []).append(column)
    columns = max(by_word.values(), key=len, default=[])
    if len(columns) < 2 or rows_sum(facts.frame[columns]):
        return ()
    facts.taken.update(columns)
    return tuple(columns)


def class_columns(facts: Facts, outcome: str | None) -> tuple[str, ...] | None:
    """The columns of one score per class, if there are any."""
    label_column = outcome or facts.find_by_name(names.OUTCOME_NAMES, _class_like(MAX_CLASSES))
    labels = as_classes(facts.frame[label_column]) if label_column in facts.frame else None
    taken = facts.taken if label_column is None else facts.taken | {label_column}
    columns = find_class_columns(facts.frame, taken, labels)
    facts.taken.update(columns)
    return tuple(columns) or None


def _class_like(max_labels: int) -> Callable[[ColumnFacts], bool]:
    return lambda column_facts: (
        1 <= column_facts.distinct <= max_labels and not column_facts.fractional
    )

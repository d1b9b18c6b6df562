"""Several models in one table or in several: one problem per model, and what is wrong in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import pandas as pd

from calib.data.predictions import Predictions
from calib.loading.building.from_rows import column_guess, from_rows, guesses_of, refused_guess
from calib.loading.checking.inspection import by_severity, checklist_of, examine
from calib.loading.checking.mapped_rows import Rows, map_rows
from calib.loading.checking.other_scores import other_scores
from calib.loading.columns import Labels, as_labels
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.roles import guess
from calib.loading.problems import Choice, InputError, Problem, error, ignoring, refuse, warning
from calib.loading.table import Table, unused
from calib.text import joined, numbers_of, plural, quoted

MAX_MODELS = 100
Source = TypeVar("Source")
# Where the rows of one model are, and the mapping of this model alone.
ModelRows: TypeAlias = tuple[Table, ColumnMapping]
# Repairs that do not change rows without an error.
HARMLESS = {"drop_missing"}


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """What came of a table and a mapping."""

    problems: tuple[Problem, ...]  # errors first
    # One entry a model; the only one of a single model has the name of the data. Empty while a
    # problem is an error.
    models: Mapping[str, Predictions]
    checklist: tuple[str, ...]  # short sentences of what is fine


def assess(
    tables: Sequence[Table],
    mapping: ColumnMapping,
    *,
    name: str | None = None,
    strict: bool = False,
) -> Assessment:
    """Check tables under a mapping, and make the predictions of every model.

    Several tables are one model each. The mapping is that of the first table; for other tables
    without its columns it is guessed. If `strict`, what is guessed is refused.
    """
    called = name or tables[0].name
    refused = list(_structure(tables, mapping))
    if strict and "models" in mapping.guessed:
        refused.append(refused_guess(column_guess("models", mapping.models)))
    if refused:
        return Assessment(tuple(refused), {}, ())
    sources = _sources(tables, mapping)
    found: dict[str, tuple[Problem, ...]] = {}
    models: dict[str, Predictions] = {}
    checklist: tuple[str, ...] = ()
    for model, source in sources.items():
        problems, rows = examine(*source)
        if rows is not None and rows.classes is None and not mapping.models:
            problems = by_severity([*problems, *other_scores(rows)])
        if strict:
            problems = tuple(map(_refused_question, problems))
        checklist = checklist or checklist_of(rows)
        if rows is not None and not _wrong(problems):
            own = called if len(sources) == 1 else f"{called}: {model}"
            problems = (*problems, *_made(rows, model, own, models, strict=strict))
        found[model] = problems
    problems = (*_together(found, mapping, sources), *_equal(models))
    if _wrong(problems):
        models = {}
    single = {called: next(iter(models.values()))} if len(sources) == 1 and models else models
    return Assessment(problems, single, (*_counted(models), *checklist))


def _refused_question(problem: Problem) -> Problem:
    return replace(problem, severity="error") if problem.severity == "question" else problem


def _equal(models: Mapping[str, Predictions]) -> Iterator[Problem]:
    """Warn of the first two models whose rows and scores are equal."""
    names: dict[str, str] = {}
    for name, rows in models.items():
        first = names.setdefault(rows.fingerprint, name)
        if first != name:
            yield warning(
                "equal-models",
                f"The models {quoted(first)} and {quoted(name)} have the same rows and the same "
                "scores. Was a file read twice?",
            )
            return


def _wrong(problems: Iterable[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _made(
    rows: Rows, model: str, name: str, models: dict[str, Predictions], *, strict: bool
) -> tuple[Problem, ...]:
    if strict and (guesses := guesses_of(rows)):
        return tuple(map(refused_guess, guesses))
    try:
        models[model] = from_rows(rows, name)
    except InputError as refused:
        return refused.problems
    return ()


def _structure(tables: Sequence[Table], mapping: ColumnMapping) -> Iterable[Problem]:
    """What stands in the way of telling models apart."""
    if len(tables) > 1 and any(table.tests is not None for table in tables):
        yield error(
            "files-and-test",
            f"A separate test file needs exactly one data file, got {len(tables)}. Remove the "
            "test file, and mark the test rows in a column.",
        )
    if mapping.model is None:
        return
    for table in tables:
        if mapping.model not in table.columns:
            sentence = f"The model column {quoted(mapping.model)} is not in {quoted(table.name)}."
        elif len(labels := as_labels(table.frame[mapping.model])) > MAX_MODELS:
            sentence = (
                f"The model column {quoted(mapping.model)} names {len(labels):,} models; at most "
                f"{MAX_MODELS} can be compared."
            )
        elif not len(labels):
            sentence = f"The model column {quoted(mapping.model)} is empty."
        else:
            continue
        text = f"{sentence} Choose another column, or none."
        yield error("model-column", text, *ignoring(mapping, "model"))


def _sources(tables: Sequence[Table], mapping: ColumnMapping) -> dict[str, ModelRows]:
    """Every model's own rows, by its name in order; a single one has the table's name."""
    if len(tables) == 1:
        return in_order(_of_table(tables[0], mapping))
    found: dict[str, ModelRows] = {}
    for table in tables:
        own = _of_table(table, _fitting(table, mapping))
        for model, source in own.items():
            name = table.name if len(own) == 1 else f"{table.name}: {model}"
            found[unused(name, found)] = source
    return in_order(found)


def _fitting(table: Table, mapping: ColumnMapping) -> ColumnMapping:
    """The mapping if the table has all its columns, otherwise a guess with the same repairs."""
    if all(column in table.columns for column in mapping.columns()):
        return mapping
    kept = ColumnMapping(
        positive=mapping.positive,
        negative=mapping.negative,
        others_negative=mapping.others_negative,
        transform=mapping.transform,
        drop_missing=mapping.drop_missing,
        decimal=mapping.decimal,
        guessed=tuple(name for name in mapping.guessed if name == "positive"),
    )
    return guess(table, kept)


def _of_table(table: Table, mapping: ColumnMapping) -> dict[str, ModelRows]:
    if mapping.models:
        return {column: (table, _of_column(mapping, column)) for column in mapping.models}
    if mapping.model is None:
        return {table.name: (table, mapping)}
    labels = as_labels(table.frame[mapping.model])
    alone = replace(mapping, model=None)
    return {
        model: (of_model(table, mapping.model, model, labels), alone)
        # As the file first has them.
        for model in map(labels.name, pd.unique(labels.codes[labels.codes >= 0]).tolist())
    }


def _of_column(mapping: ColumnMapping, column: str) -> ColumnMapping:
    """The mapping of one of several models. Its score was guessed if the models were guessed."""
    guessed = tuple("score" if name == "models" else name for name in mapping.guessed)
    return replace(mapping, score=column, models=(), guessed=guessed)


def in_order(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Numbers, as checkpoints have them, in increasing order; other names as they stand."""
    numbers = numbers_of(list(sources))
    if numbers is None:
        return dict(sources)
    order = sorted(zip(numbers, sources, strict=True))
    return {name: sources[name] for _, name in order}


def _together(
    found: Mapping[str, tuple[Problem, ...]],
    mapping: ColumnMapping,
    sources: Mapping[str, ModelRows],
) -> tuple[Problem, ...]:
    """The problems of all models, each kind told once."""
    if len(found) == 1 and not mapping.models and mapping.model is None:
        return next(iter(found.values()))
    first: dict[str, tuple[str, Problem]] = {}
    sentences: dict[str, list[str]] = {}
    for model, problems in found.items():
        for problem in problems:
            first.setdefault(problem.code, (model, problem))
            sentences.setdefault(problem.code, []).append(problem.sentence)
    merged = []
    for code, (model, problem) in first.items():
        sentences_of_code = sentences[code]
        everywhere = len(sentences_of_code) >= len(found)
        repair = _lifted(problem, sources[model][1], mapping, everywhere=everywhere)
        sentence = problem.sentence
        if not (everywhere and len(set(sentences_of_code)) == 1):
            others = len(sentences_of_code) - 1
            more = f" (and {plural(others, 'other')})" if others else ""
            sentence = f"Model {quoted(model)}{more}: {sentence}"
        label = problem.repair_label if repair else ""
        severity, choices = problem.severity, problem.choices
        if severity == "question":
            # One answer holds for all models, so it can be given only where all are in doubt.
            severity = "question" if everywhere else "warning"
            choices = _of_all(choices, mapping) if everywhere else ()
        merged.append(Problem(severity, code, sentence, repair, label, choices))
    return by_severity(merged)


def _of_all(choices: Sequence[Choice], mapping: ColumnMapping) -> tuple[Choice, ...]:
    """The answers for one model as answers for all: their score columns are those of models."""
    if not mapping.models:
        return tuple(choices)
    found = []
    for choice in choices:
        arguments = dict(choice.arguments)
        if arguments.pop("score", None) is not None:
            arguments["models"] = mapping.models
        found.append(replace(choice, arguments=arguments))
    return tuple(found)


def _lifted(
    problem: Problem, own: ColumnMapping, mapping: ColumnMapping, *, everywhere: bool
) -> ColumnMapping | None:
    """The repair for one model as a repair for all, or None if it would harm another model."""
    if problem.repair is None:
        return None
    changed = problem.repair.changed(own)
    if "score" in changed or not (everywhere or set(changed) <= HARMLESS):
        return None
    return mapping.chosen(**changed)


def _counted(models: Mapping[str, Predictions]) -> tuple[str, ...]:
    if len(models) < 2:
        return ()
    names = [quoted(model) for model in list(models)[:5]]
    rows = {len(predictions) for predictions in models.values()}
    each = f"{plural(rows.pop(), 'row')} each" if len(rows) == 1 else "different numbers of rows"
    summary = f"{len(models)} models, {joined(names, len(models))}, of {each}"
    distinct = Counter(predictions.outcome.tobytes() for predictions in models.values())
    same = ", with the same outcomes in the same order" if len(distinct) == 1 else ""
    return (f"{summary}{same}. For the first one:",)


def of_model(table: Table, column: str, model: str, labels: Labels | None = None) -> Table:
    """The rows of one model, or all rows if there is no column or label for the model."""
    if column not in table.columns:
        return table
    labels = labels or as_labels(table.frame[column])
    code = labels.find(model)
    if code is None:
        return table
    chosen = table.chosen(np.flatnonzero(labels.codes == code))
    tests = table.tests and of_model(table.tests, column, model)
    return replace(chosen, model=(column, labels.name(code)), tests=tests)


def one_model(column: str, model: str | None, table: Table) -> Table:
    """The rows of one model, which must be there."""
    if column not in table.columns:
        raise refuse("model-column", f"The model column {quoted(column)} is not in the table.")
    labels = as_labels(table.frame[column])
    if model is None or labels.find(model) is None:
        known = joined([quoted(name) for name in labels.names[:5]], len(labels)) or "no model"
        raise refuse(
            "model-value",
            f"model_value must be a value of the column {quoted(column)} ({known}), got "
            f"{quoted(model)}.",
        )
    return of_model(table, column, model, labels)


def rows_of_models(tables: Sequence[Table], mapping: ColumnMapping) -> dict[str, Rows]:
    """The mapped rows of each model, those that `assess` sets aside among them; by model."""
    return {model: map_rows(*source) for model, source in _sources(tables, mapping).items()}

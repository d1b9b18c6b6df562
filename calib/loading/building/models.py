"""Assess tables: make the predictions of every model, report problems, add calibrated scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from calib.data.checks import ROW_SUM_TOLERANCE
from calib.data.file_options import Columns
from calib.data.predictions import Predictions
from calib.loading.building.from_rows import column_guess, from_rows, guesses_of, refused_guess
from calib.loading.checking.inspection import by_severity, checklist_of, examine
from calib.loading.checking.mapped_rows import Rows, map_rows, read_scores, transformed
from calib.loading.checking.rows import Unusable, unusable_problems
from calib.loading.columns import Labels, as_labels
from calib.loading.guessing.roles import guess
from calib.loading.problems import Choice, InputError, Problem, error, ignoring, refuse, warning
from calib.loading.table import Table, unique_names, unused
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import joined, numbers_of, plural, quoted

MAX_MODELS = 100
Source = TypeVar("Source")
# These are the rows of one model, and the mapping of this model.
ModelRows: TypeAlias = tuple[Table, Columns]
# A table that lacks the columns of the first one keeps these fields of its mapping.
KEPT_REPAIRS = ("positive", "negative", "others_negative", "transform", "drop_missing", "decimal")
# These repairs do not change models that have no error.
HARMLESS_REPAIRS = {"drop_missing"}


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """The problems of tables under a mapping, and the predictions if there is no error.

    `problems` are in order of severity. `models` has the predictions of each model by its name; a
    single model has the name of the data. It is empty if there is an error. `checklist` has short
    sentences about what is correct.
    """

    problems: tuple[Problem, ...]
    models: Mapping[str, Predictions]
    checklist: tuple[str, ...]


def assess(
    tables: Sequence[Table],
    mapping: Columns,
    *,
    name: str | None = None,
    strict: bool = False,
) -> Assessment:
    """Check tables under a mapping, and make the predictions of every model.

    Each of several tables is one model. The mapping is that of the first table; it is guessed for
    other tables that lack its columns. If `strict`, guesses are refused.
    """
    data_name = name or tables[0].name
    structure = list(structure_problems(tables, mapping))
    if strict and "models" in mapping.guessed:
        structure.append(refused_guess(column_guess("models", mapping.models)))
    if _has_errors(structure):
        return Assessment(by_severity(structure), {}, ())
    sources = _sources(tables, mapping)
    by_model: dict[str, tuple[Problem, ...]] = {}
    models: dict[str, Predictions] = {}
    checklist: tuple[str, ...] = ()
    for model, source in sources.items():
        problems, rows = examine(*source)
        if strict:
            problems = tuple(
                replace(problem, severity="error") if problem.severity == "question" else problem
                for problem in problems
            )
        checklist = checklist or checklist_of(rows)
        if rows is not None and not _has_errors(problems):
            full_name = data_name if len(sources) == 1 else f"{data_name}: {model}"
            problems = (*problems, *_add_model(models, model, rows, full_name, strict=strict))
        by_model[model] = problems
    merged = _merged(by_model, mapping, sources)
    problems = by_severity((*structure, *merged, *_equal_models(models)))
    if _has_errors(problems):
        models = {}
    single = {data_name: next(iter(models.values()))} if len(sources) == 1 and models else models
    return Assessment(problems, single, (*_summary(models), *checklist))


def _equal_models(models: Mapping[str, Predictions]) -> Iterator[Problem]:
    """Warn of the first two models whose rows and scores are equal."""
    names: dict[str, str] = {}
    for name, rows in models.items():
        first = names.setdefault(rows.fingerprint, name)
        if first != name:
            yield warning("equal-models", first=first, second=name)
            return


def _has_errors(problems: Iterable[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)


def _add_model(
    models: dict[str, Predictions], model: str, rows: Rows, name: str, *, strict: bool
) -> tuple[Problem, ...]:
    """Add the predictions of a model, or return why they cannot be made."""
    if strict and (guesses := guesses_of(rows)):
        return tuple(map(refused_guess, guesses))
    try:
        models[model] = from_rows(rows, name)
    except InputError as refused:
        return refused.problems
    return ()


def structure_problems(tables: Sequence[Table], mapping: Columns) -> Iterator[Problem]:
    """Problems of the files and of the model column. With an error, the models are not known."""
    for table in tables:
        yield from (note for note in table.notes if note.severity == "error")
    if len(tables) > 1 and any(table.tests is not None for table in tables):
        yield error("files-and-test", n=len(tables))
    if mapping.model is None:
        return
    for table in tables:
        if mapping.model not in table.columns:
            facts = {"column": mapping.model, "table": table.name}
            yield error("model-column", **facts, **ignoring(mapping, "model"))
            continue
        labels = as_labels(table.frame[mapping.model])
        rows = np.flatnonzero(labels.codes < 0)
        places = [f"{table.number(int(row)):,}" for row in rows[:3]], len(rows)
        unnamed = Unusable(count=len(rows), rows=places)
        yield from problems_of_names(mapping, len(labels), unnamed, len(table), "file")


def problems_of_names(
    mapping: Columns, n_models: int, unnamed: Unusable, total: int, place: Literal["file", "source"]
) -> Iterator[Problem]:
    """Problems of a column that names models: no name, too many names, and rows without one."""
    if not 1 <= n_models <= MAX_MODELS:
        key = "model-column.many" if n_models else "model-column.empty"
        yield error(key, column=mapping.model, most=MAX_MODELS, **ignoring(mapping, "model"))
    # Whoever names one model has chosen its rows.
    elif unnamed.count and mapping.model_value is None:
        yield from unusable_problems(mapping, {"model missing": unnamed}, total, None, place)


def _sources(tables: Sequence[Table], mapping: Columns) -> dict[str, ModelRows]:
    """The rows of each model by its name, in order. A single model has the name of the table."""
    if len(tables) == 1:
        return in_order(_models_in(tables[0], mapping))
    sources: dict[str, ModelRows] = {}
    for table in tables:
        in_table = _models_in(table, _mapping_for(table, mapping))
        for model, source in in_table.items():
            name = table.name if len(in_table) == 1 else f"{table.name}: {model}"
            sources[unused(name, sources)] = source
    return in_order(sources)


def _mapping_for(table: Table, mapping: Columns) -> Columns:
    """The mapping if the table has all its columns, otherwise a guess with the same repairs."""
    if all(column in table.columns for column in mapping.columns()):
        return mapping
    kept = {name: getattr(mapping, name) for name in KEPT_REPAIRS}
    guessed = tuple(name for name in mapping.guessed if name == "positive")
    return guess(table, Columns(**kept, guessed=guessed))


def _models_in(table: Table, mapping: Columns) -> dict[str, ModelRows]:
    """The rows of each model of one table. Models of a column are in their order in the file."""
    if mapping.models:
        # The score of a model was guessed if the models were guessed.
        guessed = tuple("score" if name == "models" else name for name in mapping.guessed)
        of_one_model = replace(mapping, models=(), guessed=guessed)
        return {name: (table, replace(of_one_model, score=name)) for name in mapping.models}
    if mapping.model is None:
        return {table.name: (table, mapping)}
    labels = as_labels(table.frame[mapping.model])
    of_one_model = replace(mapping, model=None, model_value=None)
    codes = pd.unique(labels.codes[labels.codes >= 0]).tolist()
    chosen = labels.find(mapping.model_value)
    return {
        labels.name(code): (of_model(table, mapping.model, labels.name(code), labels), of_one_model)
        for code in (codes if chosen is None else [chosen])
    }


def in_order(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Sort names that are all numbers, such as those of checkpoints, in increasing order."""
    numbers = numbers_of(list(sources))
    if numbers is None:
        return dict(sources)
    order = sorted(zip(numbers, sources, strict=True))
    return {name: sources[name] for _, name in order}


def _merged(
    by_model: Mapping[str, tuple[Problem, ...]],
    mapping: Columns,
    sources: Mapping[str, ModelRows],
) -> tuple[Problem, ...]:
    """The problems of all models, with one sentence per kind of problem."""
    if len(by_model) == 1 and not mapping.models and mapping.model is None:
        return next(iter(by_model.values()))
    by_code: dict[str, list[tuple[str, Problem]]] = {}
    for model, problems in by_model.items():
        for problem in problems:
            by_code.setdefault(problem.code, []).append((model, problem))
    merged: list[Problem] = []
    for of_code in by_code.values():
        model, problem = of_code[0]
        in_all = len(of_code) >= len(by_model)
        facts = problem.facts
        if not in_all or any(one.facts != facts or one.key != problem.key for _, one in of_code):
            facts = {**facts, "of_model": model, "n_others": len(of_code) - 1}
        repair = _repair_of_all(problem, sources[model][1], mapping, in_all=in_all)
        label = problem.repair_label if repair else ""
        severity, choices = problem.severity, problem.choices
        if severity == "question":
            # An answer applies to all models, so it is offered only if all have the question.
            severity = "question" if in_all else "warning"
            choices = _choices_of_all(choices, mapping) if in_all else ()
        merged.append(Problem(severity, problem.key, facts, repair, label, choices))
    return tuple(merged)


def _choices_of_all(choices: Sequence[Choice], mapping: Columns) -> tuple[Choice, ...]:
    """The answers for one model as answers for all: the score columns are then `models`."""
    if not mapping.models:
        return tuple(choices)
    choices_of_all = []
    for choice in choices:
        arguments = dict(choice.arguments)
        if arguments.pop("score", None) is not None:
            arguments["models"] = mapping.models
        choices_of_all.append(replace(choice, arguments=arguments))
    return tuple(choices_of_all)


def _repair_of_all(
    problem: Problem, of_one_model: Columns, mapping: Columns, *, in_all: bool
) -> Columns | None:
    """The repair for one model as a repair for all, or None if it would harm another model."""
    if problem.repair is None:
        return None
    changed = problem.repair.changed(of_one_model)
    if "score" in changed or not (in_all or set(changed) <= HARMLESS_REPAIRS):
        return None
    return mapping.chosen(**changed)


def _summary(models: Mapping[str, Predictions]) -> tuple[str, ...]:
    if len(models) < 2:
        return ()
    names = [quoted(model) for model in list(models)[:5]]
    rows = {len(predictions) for predictions in models.values()}
    sizes = f"{plural(rows.pop(), 'row')} each" if len(rows) == 1 else "different numbers of rows"
    summary = f"{len(models)} models, {joined(names, len(models))}, of {sizes}"
    distinct = Counter(predictions.outcome.tobytes() for predictions in models.values())
    same = ", with the same outcomes in the same order" if len(distinct) == 1 else ""
    return (f"{summary}{same}. For the first one:",)


def of_model(table: Table, column: str, model: str, labels: Labels | None = None) -> Table:
    """The rows of one model, or all rows if there is no such column or model."""
    if column not in table.columns:
        return table
    labels = labels or as_labels(table.frame[column])
    code = labels.find(model)
    if code is None:
        return table
    selected = table.chosen(np.flatnonzero(labels.codes == code))
    tests = table.tests and of_model(table.tests, column, model)
    return replace(selected, model=(column, labels.name(code)), tests=tests)


def one_model(column: str, model: str | None, table: Table) -> Table:
    """The rows of one model. Raises InputError if the table has no such column or model."""
    if column not in table.columns:
        raise refuse("model-column.table", column=column)
    labels = as_labels(table.frame[column])
    if model is None or labels.find(model) is None:
        raise refuse("model-value", column=column, models=labels.names, value=str(model))
    return of_model(table, column, model, labels)


def rows_of_models(tables: Sequence[Table], mapping: Columns) -> dict[str, Rows]:
    """The mapped rows of each model by its name, with those that `assess` sets aside."""
    return {model: map_rows(*source) for model, source in _sources(tables, mapping).items()}


SET_ASIDE = "set aside"
CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True, eq=False)
class CalibratedTable:
    """A table with new columns, and the number of rows without a calibrated score by reason."""

    frame: pd.DataFrame
    set_aside: Mapping[str, int]


def with_calibrated(
    tables: Sequence[Table],
    mapping: Columns,
    calibrated: pd.DataFrame,
    model: int = 0,
) -> CalibratedTable:
    """Add calibrated scores to all rows of the table from which predictions were made.

    Tables and mapping are those of `calib.loading.assess`, and `model` is the number of the model
    in their order. `calibrated` is the result of `calib.calibrated_scores` for the usable rows. The
    column `calibrated_by` marks rows that were left out.
    """
    rows = list(rows_of_models(tables, mapping).values())[model]
    frames = [table.frame for table in rows.table.files]
    frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    places = np.arange(len(frame))[rows.kept]
    all_rows = calibrated.set_axis(places).reindex(range(len(frame)))
    by = all_rows["calibrated_by"].cat.add_categories(SET_ASIDE).fillna(SET_ASIDE)
    counts = {reason: int(unusable.sum()) for reason, unusable in rows.unusable.items()}
    return _side_by_side(frame, all_rows.assign(calibrated_by=by), counts)


def calibrate_table(
    table: Table,
    mapping: Columns,
    predict: Callable[..., FloatArray],
    class_names: Sequence[str] = (),
) -> CalibratedTable:
    """Add calibrated scores to a table of new scores, which needs no outcomes.

    `predict` is that of the fitted calibrator. A calibrator of a matrix has class names. Raises
    InputError if the table lacks a score column.
    """
    absent = [name for name in mapping.score_columns if name not in table.columns]
    if absent:
        raise refuse("score-column", table=table.name, absent=absent)
    _, raw = read_scores(table.frame, mapping, commas=table.commas)
    scores = transformed(raw, mapping.transform).astype(np.float64)
    scores = 1.0 - scores if mapping.swap else scores
    reasons = _reasons(scores)
    usable = ~np.logical_or.reduce(list(reasons.values()))
    values = np.full_like(scores, np.nan)
    if usable.any():
        given = [scores[usable]]
        if mapping.transform == "logit":
            log_odds = np.asarray(-raw if mapping.swap else raw, dtype=np.float64)
            given.append(log_odds[usable])
        values[usable] = predict(*given)
    columns = [f"{CALIBRATED}_{name}" for name in class_names] if values.ndim == 2 else [CALIBRATED]
    calibrated = pd.DataFrame(values.reshape(len(values), -1), columns=columns)
    counts = {reason: int(unusable.sum()) for reason, unusable in reasons.items() if unusable.any()}
    return _side_by_side(table.frame, calibrated, counts)


def _reasons(scores: FloatArray) -> dict[str, BoolArray]:
    """Why rows have no calibrated score. Each row is counted under its first reason."""
    matrix = scores.reshape(len(scores), -1)
    missing = np.asarray(np.isnan(matrix).any(axis=1))
    outside = ~missing & ((matrix < 0.0) | (matrix > 1.0)).any(axis=1)
    reasons: dict[str, BoolArray] = {"score missing": missing, "score outside [0, 1]": outside}
    if scores.ndim == 2:
        uneven = np.abs(matrix.sum(axis=1) - 1.0) > ROW_SUM_TOLERANCE
        reasons["scores do not sum to 1"] = ~missing & ~outside & uneven
    return reasons


def _side_by_side(
    frame: pd.DataFrame, new: pd.DataFrame, counts: Mapping[str, int]
) -> CalibratedTable:
    names = unique_names([*frame.columns, *new.columns])[len(frame.columns) :]
    joined_frame = pd.concat([frame.reset_index(drop=True), new.set_axis(names, axis=1)], axis=1)
    return CalibratedTable(joined_frame, {reason: n for reason, n in counts.items() if n})

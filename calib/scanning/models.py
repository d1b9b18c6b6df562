"""Several models in one source: a score column each, or a column that names the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import narwhals as nw
import pandas as pd

from calib.data.aggregate import Aggregate
from calib.data.aggregating import join_models
from calib.loading.building.models import MAX_MODELS, in_order
from calib.loading.checking.rows import unusable
from calib.loading.columns import as_labels
from calib.loading.file_options import ColumnMapping
from calib.loading.loader import with_arguments
from calib.loading.problems import InputError, refuse
from calib.scanning.screening import check_columns, collected
from calib.scanning.watching import Steps
from calib.text import quoted

MODEL = "calib_model"
# Several spellings may be one name.
MOST = 10 * MAX_MODELS


# Rows of one model, and their mapping, with one score and no model.
ModelRows: TypeAlias = tuple[nw.LazyFrame[Any], ColumnMapping]


def count_models(
    rows: nw.LazyFrame[Any],
    mapping: ColumnMapping,
    count: Callable[[nw.LazyFrame[Any], ColumnMapping], Aggregate],
    steps: Steps,
) -> Aggregate:
    """Count each model by itself, and put the counts together."""
    if not mapping.models and mapping.model is None:
        return count(rows, mapping)
    if mapping.models:
        sources, unnamed = _of_columns(rows, mapping), 0
    else:
        sources, unnamed = _of_values(rows, mapping)
    found = {}
    for number, (model, source) in enumerate(sources.items()):
        steps.begin(number, len(sources), model)
        try:
            found[model] = count(*source)
        except InputError as error:
            raise _of_model(error, model, mapping) from None
    try:
        made = join_models(found)
    except ValueError as error:
        raise refuse("models", str(error)) from None
    if unnamed:
        made = replace(made, set_aside={"model missing": unnamed, **made.set_aside})
    return made


def _of_columns(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> dict[str, ModelRows]:
    if mapping.score or mapping.model is not None:
        other = "score" if mapping.score else "model"
        raise refuse("models", f"`models` names the score columns: leave out `{other}`.")
    alone = replace(mapping, models=())
    return {column: (rows, replace(alone, score=column)) for column in mapping.models}


def _of_values(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> tuple[dict[str, ModelRows], int]:
    """The rows of each model by its name, and how many rows name none."""
    check_columns(rows, mapping)
    column = str(mapping.model)
    own = nw.col(column)
    if rows.collect_schema()[column] in (nw.Categorical, nw.Enum):
        own = own.cast(nw.String)
    # A column of names of rows is not fetched.
    some = rows.select(own.alias(MODEL)).group_by(MODEL).agg(nw.len().alias("rows")).head(MOST)
    counts = collected(some)
    values = pd.Series(counts[MODEL].to_pylist(), dtype=object)
    labels = as_labels(values)
    if not 1 <= len(labels) <= MAX_MODELS:
        names = f"more than {MAX_MODELS} models" if len(labels) else "no model"
        raise refuse(
            "model-column",
            f"The model column {quoted(column)} names {names}; 1 to {MAX_MODELS} can be counted. "
            "Choose another column, or none.",
        )
    size = counts["rows"].to_pandas()
    unnamed = int(size[labels.codes < 0].sum())
    if unnamed and not mapping.drop_missing:
        problem = unusable(mapping, "model missing", unnamed, int(size.sum()))
        raise with_arguments([problem], mapping)
    alone = replace(mapping, model=None)
    of_name = {
        name: (rows.filter(own.is_in(values[labels.codes == code].tolist())), alone)
        for code, name in enumerate(labels.names)
    }
    return in_order(of_name), unnamed


def _of_model(error: InputError, model: str, mapping: ColumnMapping) -> InputError:
    """The same error with the name of the model, and with repairs of the mapping of all models."""
    if error.mapping is None:
        return InputError(error.problems, f"Model {quoted(model)}: {error}")
    problems = [
        replace(
            problem,
            sentence=f"Model {quoted(model)}: {problem.sentence}",
            repair=problem.repair and replace(mapping, **problem.repair.changed(error.mapping)),
        )
        for problem in error.problems
    ]
    return with_arguments(problems, mapping)

"""Several models in one source: a score column each, or a column that names the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import narwhals as nw
import pandas as pd

from calib.data.aggregate import Aggregate
from calib.data.aggregating import join_models
from calib.data.file_options import Columns
from calib.loading.building.models import MAX_MODELS, in_order, problems_of_names
from calib.loading.checking.rows import Unusable
from calib.loading.columns import as_labels
from calib.loading.loader import with_arguments
from calib.loading.problems import InputError, refuse
from calib.scanning.screening import check_columns, collected, raise_errors
from calib.scanning.watching import Steps

MODEL = "calib_model"
# Several spellings may be one name, so more values than models are read.
MAX_SPELLINGS = 10 * MAX_MODELS

# The rows of one model, and a mapping that has one score and no model.
ModelRows: TypeAlias = tuple[nw.LazyFrame[Any], Columns]


def count_models(
    rows: nw.LazyFrame[Any],
    mapping: Columns,
    count: Callable[[nw.LazyFrame[Any], Columns], Aggregate],
    steps: Steps,
) -> Aggregate:
    """Count each model separately, and join the counts."""
    if not mapping.models and mapping.model is None:
        return count(rows, mapping)
    if not mapping.models:
        sources, n_unnamed = _by_model_name(rows, mapping)
    elif mapping.score or mapping.model is not None:
        raise refuse("models.columns", other="score" if mapping.score else "model")
    else:
        one = replace(mapping, models=())
        sources, n_unnamed = {name: (rows, replace(one, score=name)) for name in mapping.models}, 0
    counts = {}
    for number, (model, source) in enumerate(sources.items()):
        steps.begin(number, len(sources), model)
        try:
            counts[model] = count(*source)
        except InputError as error:
            raise _with_model(error, model, mapping) from None
    try:
        joined = join_models(counts)
    except ValueError as error:
        raise refuse("models", message=str(error)) from None
    if n_unnamed:
        joined = replace(joined, set_aside={"model missing": n_unnamed, **joined.set_aside})
    return joined


def _by_model_name(rows: nw.LazyFrame[Any], mapping: Columns) -> tuple[dict[str, ModelRows], int]:
    """The rows of each model by its name, and the number of rows without a name."""
    check_columns(rows, mapping)
    column = str(mapping.model)
    name = nw.col(column)
    if rows.collect_schema()[column] in (nw.Categorical, nw.Enum):
        name = name.cast(nw.String)
    # The limit keeps a column with a different name in every row from being fetched.
    query = rows.select(name.alias(MODEL)).group_by(MODEL).agg(nw.len().alias("rows"))
    counts = collected(query.head(MAX_SPELLINGS))
    values = pd.Series(counts[MODEL].to_pylist(), dtype=object)
    labels = as_labels(values)
    size = counts["rows"].to_pandas()
    n_unnamed, total = int(size[labels.codes < 0].sum()), int(size.sum())
    unnamed = Unusable(count=n_unnamed)
    raise_errors(problems_of_names(mapping, len(labels), unnamed, total, "source"), mapping)
    of_one_model = replace(mapping, model=None)
    sources = {
        model: (rows.filter(name.is_in(values[labels.codes == code].tolist())), of_one_model)
        for code, model in enumerate(labels.names)
    }
    return in_order(sources), n_unnamed


def _with_model(error: InputError, model: str, mapping: Columns) -> InputError:
    """The same error with the name of the model, and with repairs of the mapping of all models."""
    problems = [
        replace(
            problem,
            facts={**problem.facts, "of_model": model},
            repair=problem.repair
            and replace(mapping, **problem.repair.changed(error.mapping or mapping)),
        )
        for problem in error.problems
    ]
    return with_arguments(problems, mapping)

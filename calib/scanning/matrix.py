"""Several score columns in one source: a column per class, or per model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import narwhals as nw
import pandas as pd

from calib.data.aggregate import Aggregate
from calib.data.aggregating import join_models
from calib.data.checks import ROW_SUM_TOLERANCE
from calib.data.file_options import Columns
from calib.data.views import check_view
from calib.loading.building.models import MAX_MODELS, in_order, problems_of_names
from calib.loading.checking.class_scores import (
    ClassFacts,
    SumFacts,
    class_problems,
    not_logits,
    sum_problems,
)
from calib.loading.checking.mapped_rows import OUTSIDE, ROUNDING_TOLERANCE
from calib.loading.checking.rows import ALL_ROWS, Unusable
from calib.loading.checking.scores import OUTSIDE_TOLERANCE
from calib.loading.columns import as_classes, as_labels
from calib.loading.guessing.class_columns import (
    LOOK_ROWS,
    in_likeliest_reading,
    match_classes,
    rows_sum,
)
from calib.loading.loader import with_arguments
from calib.loading.problems import InputError, refuse
from calib.scanning.expressions import SCORE, class_scores, total
from calib.scanning.screening import (
    OUTCOME,
    POSITIVE,
    ScreenedRows,
    check_columns,
    check_outcomes,
    collected,
    facts_of,
    named_columns,
    raise_errors,
    screened_rows,
    single_row,
    sums_by_code,
    usable_rows,
    whether,
)
from calib.scanning.watching import Steps

LOWEST, SUM, LACKS = "calib_least", "calib_sum", "calib_lacks"


def screen_view(
    rows: nw.LazyFrame[Any], mapping: Columns, view: str, max_scores: int
) -> ScreenedRows:
    """Read rows of class scores once, and make the score and the outcome of a view.

    The view is "top:1" or "class:k". Up to `max_scores` distinct scores, each is a cell.
    """
    check_columns(rows, mapping)
    kind, place = _checked(view, mapping)
    columns = named_columns(rows, mapping)
    check_outcomes(rows.select(**columns), mapping)
    if mapping.transform == "softmax":
        numbers = (nw.col(column).cast(nw.Float64) for column in mapping.score_columns)
        if rows_sum(collected(rows.select(*numbers).head(LOOK_ROWS)).to_pandas()):
            raise with_arguments([not_logits(mapping)], mapping)
    plain, names = _with_scores(rows, columns, mapping)
    off = (nw.col(SUM) - 1.0).abs() > ROW_SUM_TOLERANCE
    facts = facts_of(plain, mapping, nw.col(LOWEST), off=off)
    labels = as_classes(facts[OUTCOME])
    if not len(labels):
        raise refuse("no-labels", column=mapping.outcome)
    classes = match_classes(mapping.score_columns, labels, mapping.classes)
    classes = in_likeliest_reading(classes, mapping.score_columns, labels)
    class_of, n_rows = classes.index[labels.codes], facts["rows"]
    outside = (labels.codes >= 0) & (class_of < 0)
    of_class = sums_by_code(class_of, n_rows, len(classes.names))
    problems = class_problems(
        ClassFacts(
            mapping=mapping,
            classes=classes,
            labels=labels,
            counts=sums_by_code(labels.codes, n_rows, len(labels)),
            parts={ALL_ROWS: of_class},
            n_rows=int(n_rows.sum()),
            outside=[labels.name(code) for code in labels.codes[outside]],
        )
    )
    # The rows that each reading gets right are not counted in an engine, so a person must choose.
    several = len(classes.readings) > 1
    warnings = [
        replace(problem, severity="error")
        if several and problem.severity == "question"
        else problem
        for problem in problems
    ]
    raise_errors(warnings, mapping)
    odd = {f"outcome {OUTSIDE}": outside}
    usable, set_aside = usable_rows(plain, mapping, facts, class_of >= 0, odd, labels)
    low, high = float(facts["low"].min()), float(facts["high"].max())
    if low < 0.0 or high > 1.0 or facts["off"].sum():
        raise_errors(sum_problems(mapping, _sums(usable)), mapping)
    usable = _summing_to_one(usable, names, clipped=low < 0.0 or high > 1.0)
    values = [facts[OUTCOME][class_of == k].tolist() for k in range(len(names))]
    usable = _top(usable, names, values) if kind == "top" else _class(usable, names, values, place)
    positive = classes.names[place] if kind == "class" else "the predicted class"
    screened = screened_rows(usable, mapping, facts, set_aside, classes.names, positive, max_scores)
    return replace(screened, warnings=tuple(warnings))


def _checked(view: str, mapping: Columns) -> tuple[str, int]:
    try:
        kind, place = check_view(view, len(mapping.score_columns))
    except ValueError as error:
        raise refuse("view", message=str(error)) from None
    if (kind, place) != ("top", 1) and kind != "class":
        raise refuse("view.engine", view=view)
    if mapping.swap:
        raise refuse("swap")
    return kind, place


def _with_scores(
    rows: nw.LazyFrame[Any], columns: Mapping[str, nw.Expr], mapping: Columns
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Scores of all classes, and the largest score, the lowest score and the sum of each row."""
    names = [f"calib_class_{i}" for i in range(len(mapping.score_columns))]
    raw = [nw.col(column).cast(nw.Float64) for column in mapping.score_columns]
    lacks = nw.max_horizontal(*(whether(score.is_null() | score.is_nan()) for score in raw))
    rows = rows.select(**columns, **{LACKS: lacks}, **dict(zip(names, raw, strict=True)))
    rows = class_scores(rows, names, mapping.transform)
    scores = [nw.col(name) for name in names]
    rows = rows.with_columns(
        nw.max_horizontal(*scores).alias(SCORE),
        nw.min_horizontal(*scores).alias(LOWEST),
        total(scores).alias(SUM),
    )
    largest = nw.when(nw.col(SUM).is_finite()).then(nw.col(SCORE)).otherwise(nw.lit(float("inf")))
    return rows.with_columns(nw.when(nw.col(LACKS) == 0).then(largest).alias(SCORE)), names


def _sums(rows: nw.LazyFrame[Any]) -> SumFacts:
    """The range of the class scores, and the rows that do not sum to 1."""
    sums = nw.col(SUM)
    off = (sums - 1.0).abs() > ROW_SUM_TOLERANCE
    columns = {
        "off": whether(off),
        "far": whether((sums - 1.0).abs() > OUTSIDE_TOLERANCE),
        "hundred": whether((sums - 100.0).abs() < 1.0),
        "broken": whether((nw.col(SCORE).floor() != nw.col(SCORE)) | (sums.floor() != sums)),
        "rows": whether(sums.is_finite()),
        "lowest": nw.when(off).then(sums),
        "greatest": nw.when(off).then(sums),
    }
    rows = rows.with_columns(**{f"calib_{name}": value for name, value in columns.items()})
    facts = single_row(
        rows.select(
            nw.col(LOWEST).min().alias("low"),
            nw.col(SCORE).max().alias("high"),
            nw.col("calib_lowest").min(),
            nw.col("calib_greatest").max(),
            *(
                nw.col(f"calib_{name}").sum()
                for name in ("off", "far", "hundred", "rows", "broken")
            ),
        )
    )
    low, high = float(facts["low"]), float(facts["high"])
    rounded = low >= -ROUNDING_TOLERANCE and high <= 1.0 + ROUNDING_TOLERANCE
    n_off, n_rows = int(facts["calib_off"]), int(facts["calib_rows"])
    ends = [float(facts[f"calib_{name}"]) for name in ("lowest", "greatest") if n_off]
    return SumFacts(
        low=0.0 if rounded else low,
        high=1.0 if rounded else high,
        n_rows=n_rows,
        n_off=n_off,
        near=not int(facts["calib_far"]),
        hundreds=2 * int(facts["calib_hundred"]) > n_rows,
        whole=not int(facts["calib_broken"]),
        least=ends[0] if ends else 1.0,
        sums=tuple(dict.fromkeys(ends)),
    )


def _summing_to_one(
    rows: nw.LazyFrame[Any], names: Sequence[str], *, clipped: bool
) -> nw.LazyFrame[Any]:
    """Divide scores by the sum of their row, as for a file, and find the largest of each row."""
    scores = [nw.col(name) for name in names]
    if clipped:
        rows = rows.with_columns(*(score.clip(0.0, 1.0) for score in scores))
        rows = rows.with_columns(total(scores).alias(SUM))
    rows = rows.with_columns(*(score / nw.col(SUM) for score in scores))
    return rows.with_columns(nw.max_horizontal(*scores).alias(SCORE))


def _class(
    rows: nw.LazyFrame[Any], names: Sequence[str], values: Sequence[list[Any]], place: int
) -> nw.LazyFrame[Any]:
    """Make the score and the outcome of one class against the others."""
    is_class = whether(nw.col(OUTCOME).is_in(values[place])) if values[place] else nw.lit(0)
    rows = rows.with_columns(
        nw.col(names[place]).alias(SCORE), is_class.cast(nw.Int8).alias(POSITIVE)
    )
    return rows.drop(names)


def _top(
    rows: nw.LazyFrame[Any], names: Sequence[str], values: Sequence[list[Any]]
) -> nw.LazyFrame[Any]:
    """Find the class of the largest score (the first, if several are equal), and its outcome."""
    no_class = nw.lit(len(names))
    first_largest = (
        nw.when(nw.col(name) == nw.col(SCORE)).then(nw.lit(i)).otherwise(no_class)
        for i, name in enumerate(names)
    )
    labels = (
        nw.when(nw.col(OUTCOME).is_in(labels_of_class)).then(nw.lit(i)).otherwise(nw.lit(-1))
        for i, labels_of_class in enumerate(values)
        if labels_of_class
    )
    rows = rows.with_columns(
        nw.min_horizontal(*first_largest).alias("calib_leads"),
        nw.max_horizontal(*labels).alias("calib_label"),
    )
    is_label = nw.col("calib_leads") == nw.col("calib_label")
    return rows.drop(names).with_columns(whether(is_label).cast(nw.Int8).alias(POSITIVE))


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

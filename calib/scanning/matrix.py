"""One score column per class: the top label or one class against the others, made in the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from calib.data.checks import ROW_SUM_TOLERANCE
from calib.data.views import check_view
from calib.loading.checking.classes import class_question
from calib.loading.checking.mapped_rows import ROUNDING
from calib.loading.checking.outcomes import no_labels
from calib.loading.checking.scores import (
    LITTLE,
    matrix_outside,
    other_classes,
    row_sums,
    seen_classes,
    softmax_of_probabilities,
)
from calib.loading.columns import as_classes
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import LOOK_ROWS, match_classes, rows_sum, settled
from calib.loading.loader import with_arguments
from calib.loading.problems import InputError, Problem, refuse
from calib.scanning.expressions import SCORE, class_scores, total
from calib.scanning.screening import (
    OUTCOME,
    POSITIVE,
    Description,
    check_columns,
    check_outcomes,
    collected,
    described,
    facts_of,
    first,
    named_columns,
    usable_rows,
    whether,
)
from calib.text import joined, significant

LEAST, SUM, LACKS = "calib_least", "calib_sum", "calib_lacks"
VIEWS = "'top:1' or 'class:k'"


def describe_view(
    rows: nw.LazyFrame[Any], mapping: ColumnMapping, view: str, max_scores: int
) -> Description:
    """Look at rows of class scores once, and make the score and the outcome of a view.

    The view is "top:1" or "class:k". Up to `max_scores` distinct scores, each is a cell.
    """
    check_columns(rows, mapping)
    kind, place = _checked(view, mapping)
    columns = named_columns(rows, mapping)
    check_outcomes(rows.select(**columns), mapping)
    if mapping.transform == "softmax":
        _refuse_probabilities(rows, mapping)
    plain, names = _with_scores(rows, columns, mapping)
    off = (nw.col(SUM) - 1.0).abs() > ROW_SUM_TOLERANCE
    facts = facts_of(plain, mapping, nw.col(LEAST), off=off)
    labels = as_classes(facts[OUTCOME])
    if not len(labels):
        raise InputError([no_labels(mapping)])
    classes = match_classes(mapping.score_columns, labels, mapping.classes)
    classes = settled(classes, mapping.score_columns, labels)
    doubts = [class_question(mapping, classes, labels)] if classes.doubtful else []
    # An engine does not compute which of several readings gets the most rows right.
    if len(classes.readings) > 1:
        raise with_arguments([replace(doubts[0], severity="error")], mapping)
    of_value = classes.index[labels.codes]
    known, n_rows = of_value >= 0, facts["rows"].to_numpy(np.int64)
    if 2 * n_rows[known].sum() < n_rows[labels.codes >= 0].sum():
        raise InputError([other_classes(classes, labels)])
    sums = np.bincount(of_value[known], n_rows[known], minlength=len(classes.names))
    counts = sums.astype(np.int64)
    none = "outcome none of the classes"
    odd = (labels.codes >= 0) & ~known
    usable, set_aside = usable_rows(plain, mapping, facts, known, {none: odd})
    warnings = (*doubts, *seen_classes(classes, counts, "the rows"))
    if errors := [problem for problem in warnings if problem.severity == "error"]:
        raise InputError(errors)
    low, high = float(facts["low"].min()), float(facts["high"].max())
    if low < 0.0 or high > 1.0 or facts["off"].sum():
        _check_scores(usable, mapping)
    usable = _summing_to_one(usable, names, clipped=low < 0.0 or high > 1.0)
    values = [facts[OUTCOME][of_value == k].tolist() for k in range(len(names))]
    usable = _top(usable, names, values) if kind == "top" else _class(usable, names, values, place)
    positive = classes.names[place] if kind == "class" else "the predicted class"
    made = described(usable, mapping, facts, set_aside, classes.names, positive, max_scores)
    return replace(made, warnings=warnings)


def _checked(view: str, mapping: ColumnMapping) -> tuple[str, int]:
    try:
        kind, place = check_view(view, len(mapping.score_columns))
    except ValueError as error:
        raise refuse("view", str(error)) from None
    if (kind, place) != ("top", 1) and kind != "class":
        raise refuse(
            "view", f"An engine counts the view {VIEWS}, got {view!r}: it needs calib.load."
        )
    if mapping.swap:
        raise refuse("swap", "`swap` is for one score; with one column per class leave it out.")
    return kind, place


def _refuse_probabilities(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> None:
    scores = (nw.col(column).cast(nw.Float64) for column in mapping.score_columns)
    if rows_sum(collected(rows.select(*scores).head(LOOK_ROWS)).to_pandas()):
        raise with_arguments([softmax_of_probabilities(mapping)], mapping)


def _with_scores(
    rows: nw.LazyFrame[Any], columns: Mapping[str, nw.Expr], mapping: ColumnMapping
) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Scores of all classes, and of each row the largest, the least and the sum of its scores."""
    names = [f"calib_class_{i}" for i in range(len(mapping.score_columns))]
    raw = [nw.col(column).cast(nw.Float64) for column in mapping.score_columns]
    lacks = nw.max_horizontal(*(whether(each.is_null() | each.is_nan()) for each in raw))
    own = dict(zip(names, raw, strict=True))
    rows = rows.select(**columns, **{LACKS: lacks}, **own)
    rows = class_scores(rows, names, mapping.transform)
    scores = [nw.col(name) for name in names]
    rows = rows.with_columns(
        nw.max_horizontal(*scores).alias(SCORE),
        nw.min_horizontal(*scores).alias(LEAST),
        total(scores).alias(SUM),
    )
    largest = nw.when(nw.col(SUM).is_finite()).then(nw.col(SCORE)).otherwise(nw.lit(float("inf")))
    return rows.with_columns(nw.when(nw.col(LACKS) == 0).then(largest).alias(SCORE)), names


def _check_scores(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> None:
    """Refuse class scores outside [0, 1], and rows that do not sum to 1."""
    sums = nw.col(SUM)
    off = (sums - 1.0).abs() > ROW_SUM_TOLERANCE
    columns = {
        "off": whether(off),
        "far": whether((sums - 1.0).abs() > LITTLE),
        "hundred": whether((sums - 100.0).abs() < 1.0),
        "rows": whether(sums.is_finite()),
        "lowest": nw.when(off).then(sums),
        "greatest": nw.when(off).then(sums),
    }
    rows = rows.with_columns(**{f"calib_{name}": own for name, own in columns.items()})
    found = first(
        rows.select(
            nw.col(LEAST).min().alias("low"),
            nw.col(SCORE).max().alias("high"),
            nw.col("calib_lowest").min(),
            nw.col("calib_greatest").max(),
            *(nw.col(f"calib_{name}").sum() for name in ("off", "far", "hundred", "rows")),
        )
    )
    low, high = float(found["low"]), float(found["high"])
    n_off, n_rows = int(found["calib_off"]), int(found["calib_rows"])
    problem: Problem | None = None
    if low < -ROUNDING or high > 1.0 + ROUNDING:
        near, percents = not int(found["calib_far"]), 2 * int(found["calib_hundred"]) > n_rows
        problem = matrix_outside(mapping, low, high, near=near, percents=percents)
    elif n_off:
        ends = [float(found[f"calib_{name}"]) for name in ("lowest", "greatest")]
        where = f"but to {joined([significant(end, 4) for end in dict.fromkeys(ends)])}"
        problem = row_sums(mapping, n_off, n_rows, ends[0], where)
    if problem is not None:
        raise with_arguments([problem], mapping)


def _summing_to_one(
    rows: nw.LazyFrame[Any], names: Sequence[str], *, clipped: bool
) -> nw.LazyFrame[Any]:
    """Scores divided by the sum of their row, as those of a file are, and the largest of each."""
    scores = [nw.col(name) for name in names]
    if clipped:
        rows = rows.with_columns(*(own.clip(0.0, 1.0) for own in scores))
        rows = rows.with_columns(total(scores).alias(SUM))
    rows = rows.with_columns(*(own / nw.col(SUM) for own in scores))
    return rows.with_columns(nw.max_horizontal(*scores).alias(SCORE))


def _class(
    rows: nw.LazyFrame[Any], names: Sequence[str], values: Sequence[list[Any]], place: int
) -> nw.LazyFrame[Any]:
    """One class against the others."""
    hit = whether(nw.col(OUTCOME).is_in(values[place])) if values[place] else nw.lit(0)
    rows = rows.with_columns(nw.col(names[place]).alias(SCORE), hit.cast(nw.Int8).alias(POSITIVE))
    return rows.drop(names)


def _top(
    rows: nw.LazyFrame[Any], names: Sequence[str], values: Sequence[list[Any]]
) -> nw.LazyFrame[Any]:
    """The class of the largest score, of equal ones the first, and whether it is the label."""
    none = nw.lit(len(names))
    leads = (
        nw.when(nw.col(name) == nw.col(SCORE)).then(nw.lit(i)).otherwise(none)
        for i, name in enumerate(names)
    )
    labels = (
        nw.when(nw.col(OUTCOME).is_in(own)).then(nw.lit(i)).otherwise(nw.lit(-1))
        for i, own in enumerate(values)
        if own
    )
    rows = rows.with_columns(
        nw.min_horizontal(*leads).alias("calib_leads"),
        nw.max_horizontal(*labels).alias("calib_label"),
    )
    hit = nw.col("calib_leads") == nw.col("calib_label")
    return rows.drop(names).with_columns(whether(hit).cast(nw.Int8).alias(POSITIVE))

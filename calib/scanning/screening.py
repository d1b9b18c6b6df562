"""The describing query: what the columns hold, and the checks of the Data page that follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from calib.loading.building.from_rows import class_names
from calib.loading.checking.inspection import mapping_problems
from calib.loading.checking.mapped_rows import NEITHER, ROUNDING, label_meaning
from calib.loading.checking.outcomes import (
    MAX_LABELS,
    many_labels,
    no_labels,
    no_positive,
    other_labels,
)
from calib.loading.checking.rows import unusable
from calib.loading.checking.scores import outside_problem
from calib.loading.columns import Labels, as_outcome
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.roles import is_plain_pair, telling_labels
from calib.loading.loader import with_arguments
from calib.loading.problems import InputError, Problem, error, refuse
from calib.numerics.arrays import BoolArray, IntArray
from calib.numerics.cell_table import MAX_EXACT_SCORES
from calib.scanning.expressions import SCORE, WEIGHT, hashed, probability
from calib.text import listed, quoted

# Distinct values are counted among so many rows first. Where nearly every score is another one,
# these are more than can be cells of one score.
PROBED = 2 * MAX_EXACT_SCORES
MAX_CLUSTERS = 1000
OUTCOME, POSITIVE = "calib_outcome", "calib_positive"
SPLIT, FOLD_NAME, GROUP = "calib_split", "calib_fold", "calib_group"


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """What the describing query found."""

    rows: nw.LazyFrame[Any]  # usable, with score, outcome and weight as the analysis takes them
    class_names: tuple[str, ...]  # negative and positive; of one score per class all classes
    positive_name: str
    set_aside: Mapping[str, int]
    largest: float | None  # largest weight, or None if rows have no weights
    exact: bool  # whether there are few distinct scores, so that each can be a cell
    warnings: tuple[Problem, ...] = ()  # what may mislead although the rows can be used
    zoned: bool = False  # whether times are of a type with a zone
    sure: bool = True  # whether the labels leave no doubt which class is positive


def describe(rows: nw.LazyFrame[Any], mapping: ColumnMapping, max_scores: int) -> Description:
    """Look at rows once, and refuse what cannot be counted, with the problems of the Data page.

    The mapping has an outcome and one score. Up to `max_scores` distinct scores, each is a cell.
    """
    check_columns(rows, mapping)
    plain = rows.select(**named_columns(rows, mapping))
    check_outcomes(plain, mapping)
    facts = facts_of(plain, mapping)
    labels, of_value, unknown = labels_of(facts[OUTCOME], facts["rows"], mapping)
    mapping, meaning = meaning_of(labels, mapping, facts["rows"], of_value)
    odd = {"outcome unknown": unknown, f"outcome {NEITHER}": (of_value >= 0) & (meaning < 0)}
    usable, set_aside = usable_rows(plain, mapping, facts, meaning >= 0, odd)
    _check_scores(usable, mapping, facts)
    if float(facts["low"].min()) < 0.0 or float(facts["high"].max()) > 1.0:
        usable = usable.with_columns(nw.col(SCORE).clip(0.0, 1.0).alias(SCORE))
    usable = usable.with_columns(
        # The narrower what is grouped by, the faster.
        whether(nw.col(OUTCOME).is_in(facts[OUTCOME][meaning == 1].tolist()))
        .cast(nw.Int8)
        .alias(POSITIVE)
    )
    names = class_names(labels, mapping)
    made = described(usable, mapping, facts, set_aside, names, names[1], max_scores)
    repaired = mapping.transform != "none" or mapping.swap or mapping.drop_missing
    return replace(made, sure=not repaired and is_plain_pair(labels))


def described(
    rows: nw.LazyFrame[Any],
    mapping: ColumnMapping,
    facts: pd.DataFrame,
    set_aside: Mapping[str, int],
    class_names: tuple[str, ...],
    positive_name: str,
    max_scores: int,
) -> Description:
    """What is known of rows whose score and outcome are those of the analysis."""
    total = int(facts["rows"].sum())
    if mapping.group is not None and not _few(rows, GROUP, MAX_CLUSTERS, total):
        rows = _joined_clusters(rows)
    return Description(
        rows,
        class_names,
        positive_name,
        set_aside,
        float(facts["largest"].max()) if mapping.weight else None,
        _few(rows, SCORE, max_scores, total),
    )


def has_zone(rows: nw.LazyFrame[Any], column: str | None) -> bool:
    """Whether a column has a type of times with a zone, by whose days rows are counted.

    Ibis takes the day in the zone of its connection.
    """
    kind = rows.collect_schema().get(column or "")
    zoned = isinstance(kind, nw.Datetime) and kind.time_zone is not None
    return zoned and not rows.implementation.is_ibis()


def _joined_clusters(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Groups, joined at random.

    Intervals from random groups of groups are as valid (Wolter 2007,
    doi:10.1007/978-0-387-35099-8, chapter 2).
    """
    digits = hashed(rows.with_columns(nw.col(GROUP).cast(nw.String)), GROUP)
    half = digits.with_columns(
        nw.col(GROUP).str.slice(0, 2).alias(GROUP),
        nw.col(GROUP).str.slice(2, 1).is_in(list("01234567")).alias("calib_half"),
    )
    # 512 clusters: two digits, and half of a third.
    return half.with_columns(
        nw.concat_str(
            nw.col(GROUP), nw.when(nw.col("calib_half")).then(nw.lit("0")).otherwise(nw.lit("8"))
        ).alias(GROUP)
    )


def check_columns(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> None:
    """Refuse columns that are not there, or are none of numbers where numbers are needed."""
    schema = rows.collect_schema()
    names = list(schema)
    where = f"the source ({listed(names, 10)})"
    problems = [*mapping_problems(mapping, names, where=where)] or [
        error(
            "text",
            f"Column {quoted(column)} was chosen as the {role}, but its type is {schema[column]}, "
            f"not a number. Choose another column for the {role}, or cast it to a number first.",
        )
        for column, role in mapping.columns().items()
        if role in ("score", "weight") and not schema[column].is_numeric()
    ]
    if problems:
        raise with_arguments(problems, mapping)


def named_columns(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> dict[str, nw.Expr]:
    """Every named column as a column of ours, so that no name of the data is in the way."""
    schema = rows.collect_schema()

    def text(column: str) -> nw.Expr:
        own = nw.col(column)
        if schema[column] in (nw.Categorical, nw.Enum):
            return own.cast(nw.String)
        return own

    named: dict[str, nw.Expr] = {OUTCOME: text(str(mapping.outcome))}
    if isinstance(mapping.score, str):
        named[SCORE] = probability(mapping)
    if mapping.weight is not None:
        named[WEIGHT] = nw.col(mapping.weight).cast(nw.Float64)
    for name, column in ((SPLIT, mapping.split), (FOLD_NAME, mapping.fold), (GROUP, mapping.group)):
        if column is not None:
            named[name] = text(column)
    for number, column in enumerate((*mapping.slices, *((mapping.time,) if mapping.time else ()))):
        own = text(column)
        if column == mapping.time and schema[column] == nw.Datetime:
            # Polars would take the day in UTC.
            local = own.dt.replace_time_zone(None) if has_zone(rows, column) else own
            own = local.cast(nw.Date)
        named[f"calib_by_{number}"] = own
    return named


def check_outcomes(rows: nw.LazyFrame[Any], mapping: ColumnMapping) -> None:
    """Refuse an outcome with too many values for a label, and a source without rows."""
    [distinct] = n_distinct(rows, OUTCOME, among=PROBED)
    if distinct > 2 * max(MAX_LABELS, len(mapping.score_columns)):
        raise InputError([many_labels(mapping, distinct)])
    if not distinct:
        raise refuse("no-rows", "The source has no rows. Choose another source.")


def facts_of(
    rows: nw.LazyFrame[Any], mapping: ColumnMapping, least: nw.Expr | None = None, **tests: nw.Expr
) -> pd.DataFrame:
    """By outcome: rows, least and largest score and weight, and rows that cannot be used.

    `least` is the lowest score of each row, if rows have several. Rows that fulfil one of `tests`
    are counted as well.
    """
    score, weight = nw.col(SCORE), nw.col(WEIGHT)
    finite = score.is_finite()
    reason, reasons = nw.lit(0), _reasons(mapping)
    for i, test in reversed([*enumerate(reasons.values(), 1)]):
        reason = nw.when(test).then(nw.lit(i)).otherwise(reason)
    # A row that cannot be used has its first reason alone.
    rows = rows.with_columns(reason.alias("calib_reason"))
    sums = {name: nw.col("calib_reason") == i for i, name in enumerate(reasons, 1)}
    sums |= {name: finite & test for name, test in tests.items()}
    values = {
        "low": nw.when(finite).then(score if least is None else least),
        "high": nw.when(finite).then(score),
    }
    if mapping.weight is not None:
        values["largest"] = nw.when(weight.is_finite()).then(weight)
    rows = rows.select(
        OUTCOME,
        *(whether(found).alias(f"calib_n_{i}") for i, found in enumerate(sums.values())),
        *(value.alias(f"calib_v_{name}") for name, value in values.items()),
    )
    ends = {"low": nw.Expr.min}
    found = collected(
        rows.group_by(OUTCOME).agg(
            nw.len().alias("rows"),
            *(nw.col(f"calib_n_{i}").sum().alias(name) for i, name in enumerate(sums)),
            *(ends.get(n, nw.Expr.max)(nw.col(f"calib_v_{n}")).alias(n) for n in values),
        )
    )
    # As objects: a label that is 1 must not become 1.0 beside one that is missing.
    labels = pd.Series(found[OUTCOME].to_pylist(), dtype=object)
    numbers = {
        name: pd.Series(found[name].to_pylist(), dtype=np.float64)
        for name in found.column_names
        if name in ("rows", *sums, *values)
    }
    # In an order that does not depend on the engine.
    order = sorted(range(len(labels)), key=lambda i: (numbers["rows"][i], str(labels[i])))
    return pd.DataFrame({OUTCOME: labels, **numbers}).iloc[order].reset_index(drop=True)


def collected(rows: nw.LazyFrame[Any]) -> pa.Table:
    """Run a query, whose result is small."""
    found: pa.Table = rows.collect(backend="pyarrow").to_native()
    return found


def first(rows: nw.LazyFrame[Any]) -> dict[str, Any]:
    """The only row of a query's result."""
    found: dict[str, Any] = collected(rows).to_pylist()[0]
    return found


def n_distinct(rows: nw.LazyFrame[Any], *columns: str, among: int | None = None) -> list[int]:
    """Distinct values of columns, missing ones counted as one, among the first rows or all."""
    some = rows.select(*columns)
    some = some if among is None else some.head(among)
    # One query, whose planning and first rows cost more than the counting. Not through Ibis, whose
    # n_unique PostgreSQL refuses, and not of one column, which Spark then takes longer for.
    if len(columns) > 1 and not rows.implementation.is_ibis():
        found = first(some.select(nw.col(name).n_unique() for name in columns))
        return [int(found[name]) for name in columns]
    each = (some.select(name).unique().select(nw.len().alias("values")) for name in columns)
    return [int(first(one)["values"]) for one in each]


def whether(test: nw.Expr) -> nw.Expr:
    """1 if a condition holds, else 0. Every engine accepts it, unlike a cast of booleans."""
    return nw.when(test).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def labels_of(
    values: pd.Series, counts: pd.Series, mapping: ColumnMapping
) -> tuple[Labels, IntArray, BoolArray]:
    """Labels as in a file of all rows, the code of each value, and which values are unknown."""
    # Which spelling is the commonest depends on the order of the counts alone.
    times = np.argsort(np.argsort(counts.to_numpy(), kind="stable")) + 1
    wanted = (*mapping.positives, *mapping.negatives)
    labels, unknown = as_outcome(pd.Series(values.repeat(times).tolist()), wanted=wanted)
    at = np.cumsum(times) - times
    return labels, labels.codes[at], unknown[at]


def meaning_of(
    labels: Labels, mapping: ColumnMapping, counts: pd.Series, codes: IntArray
) -> tuple[ColumnMapping, IntArray]:
    """The mapping with its positive labels; and for each value 1, 0 (negative) or -1 (neither).

    Refused if no label counts as positive, or it is not known which of several are negative.
    """
    if not len(labels):
        raise InputError([no_labels(mapping)])
    if len(labels) > MAX_LABELS:
        raise InputError([many_labels(mapping, len(labels))])
    if len(labels) == 1:
        total = int(counts[codes >= 0].sum())
        raise refuse(
            "one-class",
            f"All of the rows ({total:,}) have the outcome {listed(labels.names)}. Calibration "
            "compares both: scan rows of both classes, or choose another outcome column.",
        )
    wanted = mapping.positives or telling_labels(labels)
    named = replace(mapping, positive=wanted)
    meaning = label_meaning(labels, named)
    if meaning is None:
        raise with_arguments([no_positive(mapping, labels, labels.names[-1])], mapping)
    problems = [each for each in other_labels(named, labels) if each.severity == "error"]
    if problems:
        raise with_arguments(problems, named)
    return named, meaning[codes]


def usable_rows(
    rows: nw.LazyFrame[Any],
    mapping: ColumnMapping,
    facts: pd.DataFrame,
    known: BoolArray,
    odd: Mapping[str, BoolArray],
) -> tuple[nw.LazyFrame[Any], dict[str, int]]:
    """Rows that can be used, and the number of others by reason, if these are to be left out.

    `known` are the outcomes of `facts` that can be used, and `odd` by reason those that cannot; all
    others are missing.
    """
    tests, n_rows = _reasons(mapping), facts["rows"]
    missing = ~known & ~np.any([*odd.values()], axis=0)
    counts = {reason: n_rows[found].sum() for reason, found in odd.items()}
    counts = {"outcome missing": n_rows[missing].sum()} | counts
    counts |= {reason: facts[reason][known].sum() for reason in tests}
    set_aside = {reason: int(count) for reason, count in counts.items() if count}
    if not set_aside:
        return rows, {}
    total = int(n_rows.sum())
    if not mapping.drop_missing:
        problems = [unusable(mapping, why, n, total) for why, n in set_aside.items()]
        raise with_arguments(problems, mapping)
    if sum(set_aside.values()) == total:
        raise refuse("no-rows", "No usable row is left.")
    kept = [nw.col(OUTCOME).is_in(facts[OUTCOME][known].tolist())]
    return rows.filter(*kept, *(~tests[why] for why in set_aside if why in tests)), set_aside


def _reasons(mapping: ColumnMapping) -> dict[str, nw.Expr]:
    """Why cells cannot be used; a cell has at most one of these reasons."""
    tests = {}
    for role, column in (("score", SCORE), ("weight", WEIGHT)):
        if role == "score" or mapping.weight is not None:
            value = nw.col(column)
            tests[f"{role} missing"] = missing = value.is_null() | value.is_nan()
            tests[f"{role} infinite"] = ~missing & ~value.is_finite()
    if mapping.weight is not None:
        tests["weight not positive"] = ~missing & value.is_finite() & (value <= 0.0)
    for role, column in (("split", SPLIT), ("fold", FOLD_NAME), ("group", GROUP)):
        if getattr(mapping, role) is not None:
            tests[f"{role} missing"] = nw.col(column).is_null()
    return tests


def _check_scores(rows: nw.LazyFrame[Any], mapping: ColumnMapping, facts: pd.DataFrame) -> None:
    low, high = float(facts["low"].min()), float(facts["high"].max())
    if low >= -ROUNDING and high <= 1.0 + ROUNDING:
        return
    score = nw.col(SCORE)
    counted = rows.with_columns(
        whether((score < 0.0) | (score > 1.0)).alias("calib_out"),
        whether(score.floor() != score).alias("calib_odd"),
    ).select(nw.col("calib_out").sum(), nw.col("calib_odd").sum())
    found = first(counted)
    if not int(found["calib_out"]):
        raise refuse(
            "damaged",
            f"Values of column {quoted(mapping.score)} contradict the file's own statistics, so a "
            "file is damaged. Copy it again from where it was made, or write it again.",
        )
    n, whole = int(found["calib_out"]), int(found["calib_odd"]) == 0
    raise with_arguments([outside_problem(mapping, n, low, high, whole=whole)], mapping)


def _few(rows: nw.LazyFrame[Any], column: str, most: int, total: int) -> bool:
    """Whether a column has few distinct values. Often the first rows show that it has not."""
    sizes = (PROBED, None) if total > PROBED else (None,)
    return all(n_distinct(rows, column, among=size)[0] <= most for size in sizes)

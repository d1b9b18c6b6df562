"""One query over all rows: the checks of uploads, and the rows that can be counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from calib.data.file_options import Columns
from calib.loading.building.from_rows import class_names
from calib.loading.checking.inspection import mapping_problems
from calib.loading.checking.mapped_rows import NEITHER, ROUNDING_TOLERANCE, label_meaning
from calib.loading.checking.outcomes import MAX_LABELS, OutcomeFacts, outcome_problems
from calib.loading.checking.rows import ALL_ROWS, Unusable, unusable_problems
from calib.loading.checking.scores import Outside, outside_problem
from calib.loading.columns import Labels, as_outcome
from calib.loading.guessing.class_columns import positive_of, telling_labels
from calib.loading.loader import with_arguments
from calib.loading.problems import Problem, error, note, refuse
from calib.numerics.arrays import BoolArray, IntArray
from calib.numerics.cells import MAX_EXACT_SCORES
from calib.scanning.expressions import SCORE, WEIGHT, hashed, probability

# Distinct values are first counted among this many rows. If most scores differ, these rows already
# have more distinct scores than can each be a cell, and the other rows are not read.
MAX_PROBED_ROWS = 2 * MAX_EXACT_SCORES
MAX_CLUSTERS = 1000
OUTCOME, POSITIVE = "calib_outcome", "calib_positive"
SPLIT, FOLD_NAME, GROUP = "calib_split", "calib_fold", "calib_group"


@dataclass(frozen=True, slots=True, eq=False)
class ScreenedRows:
    """The rows that can be counted, and what one query over all rows showed.

    `rows` have the score, outcome and weight that the analysis uses. `class_names` are the names of
    the negative and the positive class; with one score per class, of all classes. `set_aside` has
    the number of unusable rows by reason. `largest` is the largest weight, or None without weights.
    If `exact`, there are few distinct scores, and each is a cell. `warnings` are about rows that
    can be used but may mislead. `zone_note` says in which zone days are counted, if the type of the
    times has one. `of_outcome` are the facts of an outcome with two classes.
    """

    rows: nw.LazyFrame[Any]
    class_names: tuple[str, ...]
    positive_name: str
    set_aside: Mapping[str, int]
    largest: float | None
    exact: bool
    warnings: tuple[Problem, ...] = ()
    zone_note: Problem | None = None
    of_outcome: OutcomeFacts | None = None


def screen(rows: nw.LazyFrame[Any], mapping: Columns, max_scores: int) -> ScreenedRows:
    """Read the rows once, and refuse what cannot be counted, with the problems of uploads.

    The mapping has an outcome and one score. Up to `max_scores` distinct scores, each is a cell.
    """
    check_columns(rows, mapping)
    plain = rows.select(**named_columns(rows, mapping))
    check_outcomes(plain, mapping)
    facts = facts_of(plain, mapping)
    of_outcome, of_value, unknown = outcome_facts(facts[OUTCOME], facts["rows"], mapping)
    mapping, meaning = of_outcome.mapping, meaning_of(of_outcome, of_value)
    odd = {"outcome unknown": unknown, f"outcome {NEITHER}": (of_value >= 0) & (meaning < 0)}
    labels = of_outcome.labels
    usable, set_aside = usable_rows(plain, mapping, facts, meaning >= 0, odd, labels)
    low, high = float(facts["low"].min()), float(facts["high"].max())
    if low < -ROUNDING_TOLERANCE or high > 1.0 + ROUNDING_TOLERANCE:
        outside = outside_problem(mapping, low, high, _outside(usable, mapping))
        raise with_arguments([outside], mapping)
    if low < 0.0 or high > 1.0:
        usable = usable.with_columns(nw.col(SCORE).clip(0.0, 1.0).alias(SCORE))
    usable = usable.with_columns(
        # Engines group faster by a narrow type.
        whether(nw.col(OUTCOME).is_in(facts[OUTCOME][meaning == 1].tolist()))
        .cast(nw.Int8)
        .alias(POSITIVE)
    )
    names = class_names(labels, mapping)
    screened = screened_rows(usable, mapping, facts, set_aside, names, names[1], max_scores)
    return replace(screened, of_outcome=of_outcome)


def screened_rows(
    rows: nw.LazyFrame[Any],
    mapping: Columns,
    facts: pd.DataFrame,
    set_aside: Mapping[str, int],
    class_names: tuple[str, ...],
    positive_name: str,
    max_scores: int,
) -> ScreenedRows:
    """Join clusters if there are too many, and see whether each distinct score can be a cell."""
    total = int(facts["rows"].sum())
    if mapping.group is not None and not _has_at_most(MAX_CLUSTERS, rows, GROUP, total):
        rows = _joined_clusters(rows)
    return ScreenedRows(
        rows,
        class_names,
        positive_name,
        set_aside,
        float(facts["largest"].max()) if mapping.weight else None,
        _has_at_most(max_scores, rows, SCORE, total),
    )


def zone_note(rows: nw.LazyFrame[Any], mapping: Columns, *, data_zone: bool) -> Problem | None:
    """Note the zone in which days are counted, if the type of the times has one."""
    zone = _zone(rows, mapping.time)
    if zone is None or data_zone:
        return None if zone is None else note("time-zone", column=mapping.time)
    if not rows.implementation.is_ibis():
        return note("time-zone.connection", column=mapping.time, zone=zone)
    backend = rows.to_native().get_backend()
    # Ibis does not report a zone that was set after it has connected.
    if backend.name in ("duckdb", "postgres"):
        [(zone,)] = backend.raw_sql("SELECT current_setting('TimeZone')").fetchall()
        return note("time-zone.connection", column=mapping.time, zone=zone)
    return note("time-zone.connection", column=mapping.time)


def _zone(rows: nw.LazyFrame[Any], column: str | None) -> str | None:
    """The zone of the type of a column."""
    kind = rows.collect_schema().get(column or "")
    return kind.time_zone if isinstance(kind, nw.Datetime) else None


def _joined_clusters(rows: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Join clusters at random into 512 larger ones.

    Intervals from random groups of clusters are as valid (Wolter 2007,
    doi:10.1007/978-0-387-35099-8, chapter 2).
    """
    digits = hashed(rows.with_columns(nw.col(GROUP).cast(nw.String)), GROUP)
    half = digits.with_columns(
        nw.col(GROUP).str.slice(0, 2).alias(GROUP),
        nw.col(GROUP).str.slice(2, 1).is_in(list("01234567")).alias("calib_half"),
    )
    # Two hexadecimal digits and half of a third make 512 clusters.
    return half.with_columns(
        nw.concat_str(
            nw.col(GROUP), nw.when(nw.col("calib_half")).then(nw.lit("0")).otherwise(nw.lit("8"))
        ).alias(GROUP)
    )


def check_columns(rows: nw.LazyFrame[Any], mapping: Columns) -> None:
    """Refuse columns that do not exist, or that do not hold numbers although they must."""
    schema = rows.collect_schema()
    names = list(schema)
    raise_errors(mapping_problems(mapping, names, where="the source", among=names), mapping)
    roles = {c: r for c, r in mapping.columns().items() if r in ("score", "weight")}
    raise_errors(
        (
            error("text.type", column=column, role=role, type=str(schema[column]))
            for column, role in roles.items()
            if not schema[column].is_numeric()
        ),
        mapping,
    )


def raise_errors(problems: Iterable[Problem], mapping: Columns) -> None:
    """Raise the errors among problems as one InputError, with the arguments that repair them."""
    if errors := [problem for problem in problems if problem.severity == "error"]:
        raise with_arguments(errors, mapping)


def named_columns(rows: nw.LazyFrame[Any], mapping: Columns) -> dict[str, nw.Expr]:
    """Every mapped column under a name of ours, so that names of the data cannot conflict."""
    schema = rows.collect_schema()

    def text(column: str) -> nw.Expr:
        value = nw.col(column)
        if schema[column] in (nw.Categorical, nw.Enum):
            return value.cast(nw.String)
        return value

    columns: dict[str, nw.Expr] = {OUTCOME: text(str(mapping.outcome))}
    if isinstance(mapping.score, str):
        columns[SCORE] = probability(mapping)
    if mapping.weight is not None:
        columns[WEIGHT] = nw.col(mapping.weight).cast(nw.Float64)
    for name, column in ((SPLIT, mapping.split), (FOLD_NAME, mapping.fold), (GROUP, mapping.group)):
        if column is not None:
            columns[name] = text(column)
    for number, column in enumerate((*mapping.slices, *((mapping.time,) if mapping.time else ()))):
        value = text(column)
        if column == mapping.time and schema[column] == nw.Datetime:
            # Polars would cast to the day in UTC, so the zone is dropped first. Ibis cannot drop
            # it, and casts to the day in the zone of its connection.
            zoned = _zone(rows, column) is not None and not rows.implementation.is_ibis()
            local = value.dt.replace_time_zone(None) if zoned else value
            value = local.cast(nw.Date)
        columns[f"calib_by_{number}"] = value
    return columns


def check_outcomes(rows: nw.LazyFrame[Any], mapping: Columns) -> None:
    """Refuse an outcome with too many values for a label, and a source without rows."""
    [distinct] = n_distinct(rows, OUTCOME, among=MAX_PROBED_ROWS)
    if distinct > 2 * max(MAX_LABELS, len(mapping.score_columns)):
        raise refuse("many-labels", column=mapping.outcome, n=distinct)
    if not distinct:
        raise refuse("no-rows.source")


def facts_of(
    rows: nw.LazyFrame[Any], mapping: Columns, least: nw.Expr | None = None, **tests: nw.Expr
) -> pd.DataFrame:
    """Per outcome value: rows, least and largest score, largest weight, and unusable rows.

    `least` is the lowest score of each row, if rows have several. Rows that fulfil one of `tests`
    are counted too.
    """
    score, weight = nw.col(SCORE), nw.col(WEIGHT)
    finite = score.is_finite()
    reason, reasons = nw.lit(0), _reasons(mapping)
    for i, test in reversed([*enumerate(reasons.values(), 1)]):
        reason = nw.when(test).then(nw.lit(i)).otherwise(reason)
    # A row is counted only under the first reason that makes it unusable.
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
        *(whether(test).alias(f"calib_n_{i}") for i, test in enumerate(sums.values())),
        *(value.alias(f"calib_v_{name}") for name, value in values.items()),
    )
    ends = {"low": nw.Expr.min}
    answer = collected(
        rows.group_by(OUTCOME).agg(
            nw.len().alias("rows"),
            *(nw.col(f"calib_n_{i}").sum().alias(name) for i, name in enumerate(sums)),
            *(ends.get(n, nw.Expr.max)(nw.col(f"calib_v_{n}")).alias(n) for n in values),
        )
    )
    # Labels are kept as objects, because beside a missing one the label 1 would become 1.0.
    labels = pd.Series(answer[OUTCOME].to_pylist(), dtype=object)
    numbers = {
        name: pd.Series(answer[name].to_pylist(), dtype=np.float64)
        for name in answer.column_names
        if name in ("rows", *sums, *values)
    }
    # Engines return the values in any order.
    order = sorted(range(len(labels)), key=lambda i: (numbers["rows"][i], str(labels[i])))
    return pd.DataFrame({OUTCOME: labels, **numbers}).iloc[order].reset_index(drop=True)


def collected(rows: nw.LazyFrame[Any]) -> pa.Table:
    """Run a query, whose result is small."""
    table: pa.Table = rows.collect(backend="pyarrow").to_native()
    return table


def single_row(rows: nw.LazyFrame[Any]) -> dict[str, Any]:
    """The only row of a query's result."""
    row: dict[str, Any] = collected(rows).to_pylist()[0]
    return row


def n_distinct(rows: nw.LazyFrame[Any], *columns: str, among: int | None = None) -> list[int]:
    """Distinct values of columns, missing ones counted as one, among the first rows or all."""
    some = rows.select(*columns)
    some = some if among is None else some.head(among)
    # Planning a query costs more than counting, so several columns share one. PostgreSQL refuses
    # Ibis's n_unique, and Spark counts a single column faster by `unique`.
    if len(columns) > 1 and not rows.implementation.is_ibis():
        counts = single_row(some.select(nw.col(name).n_unique() for name in columns))
        return [int(counts[name]) for name in columns]
    queries = (some.select(name).unique().select(nw.len().alias("values")) for name in columns)
    return [int(single_row(query)["values"]) for query in queries]


def whether(test: nw.Expr) -> nw.Expr:
    """1 if a condition holds, else 0. Every engine accepts it, unlike a cast of booleans."""
    return nw.when(test).then(nw.lit(1)).otherwise(nw.lit(0)).cast(nw.Int64)


def outcome_facts(
    values: pd.Series, counts: pd.Series, mapping: Columns
) -> tuple[OutcomeFacts, IntArray, BoolArray]:
    """The facts of outcomes that were counted, the code of each value, and which are unknown.

    The labels are those of a file of all rows. A positive label that is not named is one whose name
    tells, or the only label.
    """
    # `as_outcome` needs only the order of the counts to find the commonest spelling of a label.
    times = np.argsort(np.argsort(counts.to_numpy(), kind="stable")) + 1
    wanted = (*mapping.positives, *mapping.negatives)
    labels, unknown = as_outcome(pd.Series(values.repeat(times).tolist()), wanted=wanted)
    at = np.cumsum(times) - times
    codes = labels.codes[at]
    only = positive_of(labels, None) if len(labels) == 1 else None
    positive = mapping.positive or telling_labels(labels) or only
    facts = OutcomeFacts(
        mapping=replace(mapping, positive=positive),
        labels=labels,
        counts=sums_by_code(codes, counts, len(labels)),
        unusable=frozenset(
            f"outcome {state}"
            for state, are in (("missing", (codes < 0) & ~unknown[at]), ("unknown", unknown[at]))
            if are.any()
        ),
    )
    return facts, codes, unknown[at]


def sums_by_code(codes: IntArray, counts: pd.Series, n: int) -> IntArray:
    """The rows of each of `n` codes; -1 is none."""
    has_code = codes >= 0
    return np.bincount(codes[has_code], counts[has_code], minlength=n).astype(np.int64)


def meaning_of(facts: OutcomeFacts, codes: IntArray) -> IntArray:
    """For each counted value whether it is positive (1), negative (0) or neither (-1).

    Raises InputError if no label counts as positive, or if it is not known which are negative.
    """
    total = int(facts.counts.sum())
    # How many rows of several labels can be used is known when they are counted.
    parts = (
        {ALL_ROWS: (total, total if facts.has_positives else 0)} if len(facts.labels) == 1 else {}
    )
    raise_errors(outcome_problems(facts, parts), facts.mapping)
    meaning = label_meaning(facts.labels, facts.mapping)
    assert meaning is not None
    return meaning[codes]


def usable_rows(
    rows: nw.LazyFrame[Any],
    mapping: Columns,
    facts: pd.DataFrame,
    usable: BoolArray,
    odd: Mapping[str, BoolArray],
    labels: Labels,
) -> tuple[nw.LazyFrame[Any], dict[str, int]]:
    """The usable rows, and the number of the others by reason. Without `drop_missing` these raise.

    `usable` marks the usable outcomes among those of `facts`, and `odd` has unusable ones by
    reason; all others are missing.
    """
    tests, n_rows = _reasons(mapping), facts["rows"]
    missing = ~usable & ~np.any([*odd.values()], axis=0)
    counts = {reason: n_rows[outcomes].sum() for reason, outcomes in odd.items()}
    counts = {"outcome missing": n_rows[missing].sum()} | counts
    counts |= {reason: facts[reason][usable].sum() for reason in tests}
    set_aside = {reason: int(count) for reason, count in counts.items() if count}
    if not set_aside:
        return rows, {}
    total = int(n_rows.sum())
    unusable = {reason: Unusable(count=count) for reason, count in set_aside.items()}
    raise_errors(unusable_problems(mapping, unusable, total, labels, "source"), mapping)
    if sum(set_aside.values()) == total:
        raise refuse("no-rows.left")
    values = [value for value in facts[OUTCOME][usable] if value is not None]
    kept = nw.col(OUTCOME).is_in(values)
    if len(values) < usable.sum():
        # Rows without a label count as negative.
        kept = kept | nw.col(OUTCOME).is_null()
    return rows.filter(kept, *(~tests[why] for why in set_aside if why in tests)), set_aside


def _reasons(mapping: Columns) -> dict[str, nw.Expr]:
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


def _outside(rows: nw.LazyFrame[Any], mapping: Columns) -> Outside:
    """Count the scores outside [0, 1]."""
    score = nw.col(SCORE)
    tests = {
        "calib_out": (score < 0.0) | (score > 1.0),
        "calib_odd": score.floor() != score,
        "calib_in": (score > 0.0) & (score < 1.0),
    }
    rows = rows.with_columns(**{name: whether(test) for name, test in tests.items()})
    counts = single_row(rows.select(*(nw.col(name).sum() for name in tests)))
    n, n_odd, n_fractions = (int(counts[name]) for name in tests)
    if not n:
        raise refuse("damaged.values", column=mapping.score)
    return Outside(count=n, whole=n_odd == 0, n_fractions=n_fractions)


def _has_at_most(n_values: int, rows: nw.LazyFrame[Any], column: str, total: int) -> bool:
    """Whether a column has at most `n_values` distinct values. Often the first rows show more."""
    sizes = (MAX_PROBED_ROWS, None) if total > MAX_PROBED_ROWS else (None,)
    return all(n_distinct(rows, column, among=size)[0] <= n_values for size in sizes)

"""Count predictions where they are stored: an engine runs one GROUP BY per column.

Only the counts are returned. No other package imports engines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from calib.core.aggregate import Aggregate
from calib.core.counting import joined_pieces
from calib.core.progress import Progress
from calib.loading.guessing.class_columns import shortened
from calib.loading.loader import as_label_text, as_label_texts
from calib.loading.options import ColumnMapping, Transform
from calib.loading.problems import refuse
from calib.numerics.arrays import arrays_of
from calib.numerics.cell_table import MAX_SCORES
from calib.scanning.counting import Counter, Pieces
from calib.scanning.describing import Description, describe
from calib.scanning.fetching import rows_between, scan_sample
from calib.scanning.matrix import describe_view
from calib.scanning.models import ModelRows, count_models
from calib.scanning.query import scan_sql
from calib.scanning.remarks import remarks_of
from calib.scanning.results import is_result, read_result
from calib.scanning.sources import opened
from calib.scanning.watching import Steps, watched
from calib.slicing import singles_and_pairs

__all__ = ["is_result", "read_result", "rows_between", "scan", "scan_sample", "scan_sql"]


def scan(
    source: Any,
    *,
    outcome: str = "",
    score: str | Sequence[str] = "",
    view: str = "",
    models: Sequence[str] = (),
    model: str | None = None,
    slices: Sequence[str | tuple[str, str]] = (),
    time: str | None = None,
    weight: str | None = None,
    positive: object = None,
    transform: Transform = "none",
    swap: bool = False,
    drop_missing: bool = False,
    split: str | None = None,
    test_value: object = None,
    fold: str | None = None,
    group: str | None = None,
    table: str | None = None,
    name: str | None = None,
    n_ranges: int = 5,
    max_scores: int = MAX_SCORES,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Aggregate:
    """Count predictions where they are stored. No rows are returned.

    The result has the same cells as `calib.aggregate` of the same rows. Only the least and the
    largest score of an entry are those of its whole cell. Files are read by DuckDB in bounded
    memory. A frame is read by its own engine, with one lazy query per slice column.

    Parameters
    ----------
    source : path, glob, folder or frame
        One of: Parquet, CSV or Arrow files; a folder of them, also with Hive partitions; a DuckDB
        database; a DuckDB relation, a Polars DataFrame or LazyFrame, a PyArrow table or dataset, or
        a frame of pandas, Dask, Ibis or PySpark; the result of the query of `calib.scan_sql` as CSV
        or Parquet (then only `positive` is used of the other arguments).
    outcome : str
        Column of the labels.
    score : str or sequence of str
        Column of the scores of the positive class, or one column per class. In the latter case a
        view is counted, and labels are matched to columns as in `calib.load`.
    view : str
        View of one score column per class. "top:1" (the default): the highest score; the outcome is
        whether its class is the true class. "class:k": the score of class k; the outcome is whether
        k is the true class.
    models : sequence of str
        Score columns of several models, in place of `score`. Each is counted separately, see
        `Aggregate.of_model`.
    model : str, optional
        Column that names the model of each row, with 1 to 100 models. Rows without a name are
        treated as `drop_missing` says.
    slices : sequence of str or pair of str
        Slice columns. Two columns in a tuple are crossed, and also counted one by one. Columns with
        many numbers are cut into ranges as in `calib.aggregate`.
    time : str, optional
        Time column. Dates are counted by day.
    weight : str, optional
        Column of row weights.
    positive : object, optional
        The label, or several labels, of positive rows. Default: guessed, for example 1 or "yes".
    transform : str
        How scores are converted to probabilities: "percent", "tenths", "logit" or "clip". With one
        column per class also "softmax" or "normalize".
    swap : bool
        Whether to replace each score by 1 - score.
    drop_missing : bool
        Whether to leave out rows with a missing outcome, score, weight, split, fold or group. They
        are counted in `Aggregate.set_aside`. If False, such rows are an error.
    split : str, optional
        Column that separates test rows from calibration rows.
    test_value : object, optional
        Value of that column for test rows.
    fold : str, optional
        Column of cross-validation folds.
    group : str, optional
        Column of clusters. If there are more than 1,000, a hash joins them into 512 random groups
        of whole clusters, which intervals and folds then use as clusters.
    table : str, optional
        Table of a DuckDB database.
    name : str, optional
        Name of the data.
    n_ranges : int
        Number of ranges into which a slice column with many numbers is cut.
    max_scores : int
        If there are at most this many distinct scores, every cell is one score.
    progress : callable, optional
        Called ten times per second as ``progress(share, step)``: the share that is done, 0 to 1,
        and the current step.
    cancel : callable, optional
        Called ten times per second without arguments. If it returns True, the running query is
        interrupted (DuckDB of files, Spark) or no further query is started (other engines), and an
        InputError is raised.

    Returns
    -------
    Aggregate

    Raises
    ------
    InputError
        If rows or arguments are not allowed. The message says which argument repairs it. It is a
        ValueError.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame(
    ...     {"y": [0, 1, 1], "p": [0.2, 0.7, 0.7], "site": ["north"] * 2 + ["south"]}
    ... )
    >>> counted = scan(rows, outcome="y", score="p", slices=["site"])
    >>> counted.frame()[["column", "value", "score", "outcome", "rows"]]
      column  value  score  outcome  rows
    0                  0.2        0     1
    1                  0.7        1     2
    2   site  north    0.2        0     1
    3   site  north    0.7        1     1
    4   site  south    0.7        1     1
    """
    if is_result(source):
        made = read_result(source, positive)
        return replace(made, name=name or made.name, sources=(_fingerprint(made),))
    try:
        singles, pairs = singles_and_pairs(slices, time)
    except ValueError as error:
        raise refuse("slices", str(error)) from None
    scores = score if isinstance(score, str) else tuple(score)
    mapping = ColumnMapping(
        outcome=outcome,
        score=scores[0] if len(scores) == 1 else scores,
        models=tuple(models),
        model=model,
        positive=as_label_texts(positive),
        weight=weight,
        group=group,
        split=split,
        test_value=as_label_text(test_value),
        fold=fold,
        slices=singles,
        time=time,
        transform=transform,
        swap=swap,
        drop_missing=drop_missing,
    )
    one_score = not isinstance(mapping.score, tuple)
    chosen = view or ("class:1" if one_score else "top:1")
    if one_score and chosen != "class:1":
        raise refuse("view", f"view={view!r} needs one score column per class: `score`.")
    steps = Steps()
    names = [*mapping.slices, *(each for each in (outcome, split, fold, group, model) if each)]
    with opened(source, table, names) as (rows, called, engine):

        def count(one: ModelRows) -> Aggregate:
            steps(0.0, 0.1, "Checking the columns")
            if isinstance(one.mapping.score, tuple):
                found = describe_view(one.rows, one.mapping, chosen, max_scores)
            else:
                found = describe(one.rows, one.mapping, max_scores)
            counted = Counter(found, one.mapping, pairs, n_ranges, steps).count()
            made = _aggregate(found, counted, one.mapping, name or called, max_scores)
            remarks = remarks_of(made, found, one.mapping, counted.warnings)
            return replace(made, view_key=chosen, noticed={"": remarks} if remarks else {})

        made = watched(
            lambda: count_models(rows, mapping, count, steps), engine, steps, progress, cancel
        )
    return replace(made, sources=(_fingerprint(made),))


def _aggregate(
    found: Description, counted: Pieces, mapping: ColumnMapping, name: str, max_scores: int
) -> Aggregate:
    return joined_pieces(
        counted.parts,
        counted.pieces,
        name=name,
        score_name=shortened(mapping.score_columns),
        outcome_name=str(mapping.outcome),
        positive_name=found.positive_name,
        class_names=found.class_names,
        time_name=mapping.time or "",
        time_kind=counted.time_kind,
        weighted=mapping.weight is not None,
        set_aside=dict(found.set_aside),
        fold_names=counted.fold_names,
        max_scores=max_scores,
    )


def _fingerprint(aggregate: Aggregate) -> str:
    """SHA-256 of the counts, because engines do not return the bytes of the rows."""
    digest = hashlib.sha256(repr([astuple(part) for part in aggregate.parts]).encode())
    table, strata = aggregate.table, aggregate.strata
    whole = strata.part[table.stratum] == 0
    counts = (table.stratum, table.key, table.outcome, table.rows)
    ends = (table.low[whole], table.high[whole])
    for values in (*arrays_of(strata).values(), *counts, *ends):
        digest.update(np.ascontiguousarray(values).view(np.uint8).data)
    return digest.hexdigest()


def __dir__() -> list[str]:
    return __all__

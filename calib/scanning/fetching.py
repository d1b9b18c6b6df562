"""Read some rows of a source: rows of a bin, or a reproducible random sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd

from calib.data.base import Progress
from calib.data.file_options import Columns, Transform
from calib.data.origin import Origin
from calib.data.predictions import Predictions
from calib.loading import load
from calib.loading.building.from_rows import column_guess
from calib.loading.guessing.evidence import LOOK_ROWS
from calib.loading.guessing.roles import guess
from calib.loading.loader import raise_and_warn
from calib.loading.problems import Guess, InputError, refuse
from calib.loading.table import make_table
from calib.scanning.expressions import SCORE, hashed, probability
from calib.scanning.screening import check_columns, collected, single_row
from calib.scanning.sources import opened
from calib.scanning.watching import Steps, watched

TEXT = "calib_text"
MIN_SAMPLE_ROWS, DEFAULT_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 100, 200_000, 1_000_000
N_HASHES = 2**32  # A hash has 8 hexadecimal digits.


def rows_between(
    source: Any,
    low: float,
    high: float,
    *,
    outcome: str,
    score: str,
    transform: Transform = "none",
    swap: bool = False,
    table: str | None = None,
    limit: int = 100,
) -> pd.DataFrame:
    """Read some rows in a range of scores, for example of a bin, from the source.

    If there are more than `limit`, the engine chooses the rows: it stops when it has enough.

    Parameters
    ----------
    source : path, glob, folder or frame
        As in `scan`.
    low, high : float
        Lowest and highest probability of the range.
    outcome, score, transform, swap, table
        As in `scan`.
    limit : int
        Largest number of rows, 1 to 10,000.

    Returns
    -------
    DataFrame
        Rows with all columns of the source.

    Raises
    ------
    ValueError
        If the range or the limit is not allowed, or the source cannot be read.

    Examples
    --------
    >>> rows = pd.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.7, 0.8], "name": ["a", "b", "c"]})
    >>> rows_between(rows, 0.6, 0.75, outcome="y", score="p")
       y    p name
    0  1  0.7    b
    """
    if not 0.0 <= low <= high <= 1.0:
        raise ValueError(f"low and high must fulfil 0 <= low <= high <= 1, got {low} and {high}.")
    if not 1 <= limit <= 10_000:
        raise ValueError(f"limit must be from 1 to 10,000, got {limit}.")
    mapping = Columns(outcome=outcome, score=score, transform=transform, swap=swap)
    with opened(source, table, {outcome: "outcome"}) as (rows, _, _):
        check_columns(rows, mapping)
        inside = nw.col(SCORE).is_between(low, high)
        rows = rows.with_columns(probability(mapping, rounded=True).alias(SCORE)).filter(inside)
        return collected(rows.drop(SCORE).head(limit)).to_pandas()


def scan_sample(
    source: Any,
    *,
    n: int = DEFAULT_SAMPLE_ROWS,
    seed: int = 0,
    key: str | None = None,
    table: str | None = None,
    **columns: Any,
) -> Predictions:
    """Load a reproducible random sample of the rows of a source that can be larger than memory.

    Use it if rows are needed, for example to fit calibrators of a score matrix. All results are
    those of the sample; the first remark of the predictions states this. `calib.scan` counts all
    rows instead.

    Parameters
    ----------
    source : path, glob, folder or frame
        As in `calib.scan`.
    n : int
        Number of rows, 100 to 1,000,000. If the source has fewer, all of them are loaded.
    seed : int
        Seed of the sample. Another seed gives other rows.
    key : str, optional
        Column that identifies a row. The sample has the rows with the smallest MD5 of the seed and
        this column. Default: the MD5 of the seed and all columns, written as text by the engine.
        Rows that are equal in these columns are drawn together.
    table : str, optional
        Table of a DuckDB database.
    **columns
        Other arguments of `calib.load`.

    Returns
    -------
    Predictions

    Raises
    ------
    InputError
        If `n` is out of its range, `key` is not a column, too many rows are equal for a random
        sample, or `calib.load` refuses the rows.

    Examples
    --------
    >>> rows = pd.DataFrame({"y": [0, 1] * 500, "p": [i / 1000 for i in range(1000)]})
    >>> drawn = scan_sample(rows, n=100, outcome="y", score="p")
    >>> len(drawn), drawn.remarks[0]
    (100, 'These are 100 of 1,000 rows, drawn at random (seed 0). All numbers are of this sample.')
    """
    sample = sampled_rows(source, n, seed=seed, key=key, table=table)
    predictions = load(sample.frame, **{"name": sample.name, **columns})
    if isinstance(source, str | Path) and table is None:
        origin = replace(predictions.origin or Origin(), file=Path(source).name)
        predictions = replace(predictions, origin=origin)
    return sample.with_origin(predictions)


def guessed_columns(
    source: Any, table: str | None, given: Columns
) -> tuple[Columns, tuple[Guess, ...]]:
    """The columns that `calib.load` guesses from a random sample of the rows, and these guesses.

    A label that counts as positive is not among them, because a sample may lack another label.
    """
    frame = _looked_at(source, table)
    mapping = guess(make_table(frame, list(frame.columns), name="source"), given)
    raise_and_warn(mapping.open_doubts, mapping)
    if mapping.predicted is not None:
        raise refuse("predicted")
    if mapping.negative is None:
        mapping = replace(mapping, positive=given.positive)
    fields, reasons = mapping.changed(given), dict(mapping.reasons)
    guesses = [column_guess(name, fields[name], reasons.get(name, "")) for name in fields]
    return replace(mapping, doubts=()), tuple(guesses)


def _looked_at(source: Any, table: str | None) -> pd.DataFrame:
    try:
        return sampled_rows(source, LOOK_ROWS, table=table).frame
    except InputError as error:
        if error.problems[0].code != "no-sample":
            raise
    with opened(source, table) as (rows, _, _):
        # Most rows equal another one, so the first ones show as much as others.
        return collected(rows.head(LOOK_ROWS)).to_pandas()


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows that were drawn, with all their columns. `name` and `n_rows` are those of the source."""

    frame: pd.DataFrame
    name: str
    n_rows: int
    seed: int
    key: str

    def with_origin(self, predictions: Predictions) -> Predictions:
        """Predictions of these rows, whose remarks say that they are a sample."""
        if len(self.frame) == self.n_rows:
            return predictions
        origin = replace(
            predictions.origin or Origin(),
            sampled=len(self.frame),
            sampled_of=self.n_rows,
            sample_key=self.key,
            seed=self.seed,
        )
        return replace(predictions, origin=origin)


def sampled_rows(
    source: Any,
    n: int,
    *,
    seed: int = 0,
    key: str | None = None,
    table: str | None = None,
    progress: Progress | None = None,
) -> Sample:
    """Draw rows; the arguments are those of `scan_sample` and `scan`."""
    if not MIN_SAMPLE_ROWS <= n <= MAX_SAMPLE_ROWS:
        raise refuse("sample", least=MIN_SAMPLE_ROWS, most=MAX_SAMPLE_ROWS, n=n)
    steps = Steps()
    with opened(source, table) as (rows, name, engine):

        def work() -> Sample:
            steps(0.0, 0.2, "Counting the rows")
            total = int(single_row(rows.select(nw.len().alias("rows")))["rows"])
            steps(0.2, 1.0, "Drawing the sample")
            all_fit = total <= n
            frame = collected(rows).to_pandas() if all_fit else _drawn(rows, n, total, seed, key)
            return Sample(frame, name, total, seed, key or "")

        return watched(work, engine, steps, progress, None)


def _drawn(rows: nw.LazyFrame[Any], n: int, total: int, seed: int, key: str | None) -> pd.DataFrame:
    """The rows with the smallest hashes, in order of their hashes."""
    schema = rows.collect_schema()
    if key is not None and key not in schema:
        raise refuse("no-column.key", column=key)
    # Engines do not write lists and structures as the same text.
    columns = [key] if key else [name for name, kind in schema.items() if not kind.is_nested()]
    texts = (nw.col(name).cast(nw.String).fill_null("") for name in columns)
    text = nw.concat_str(nw.lit(str(seed)), *texts, separator="|")
    # Six standard deviations more than n rows are drawn, so that n of them remain.
    share = (n + 6.0 * math.sqrt(n)) / total
    bound = f"{min(int(share * N_HASHES), N_HASHES - 1):08x}"
    query = hashed(rows.with_columns(text.alias(TEXT)), TEXT, digits=8).filter(nw.col(TEXT) < bound)
    max_rows = n + int(12.0 * math.sqrt(n))
    drawn = collected(query.head(max_rows + 1)).to_pandas()
    # Equal rows have the same hash and are drawn together, so they are not a random sample.
    if not n <= len(drawn) <= max_rows or 2 * drawn[TEXT].nunique() < len(drawn):
        raise refuse("no-sample")
    drawn = drawn.sort_values(TEXT, kind="stable").drop(columns=TEXT)
    return drawn.head(n).reset_index(drop=True)

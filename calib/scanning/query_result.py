"""Read the saved result of the query of `scan_sql` as an Aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from calib.data.aggregate import Aggregate
from calib.data.aggregating import joined_pieces
from calib.data.file_options import Columns
from calib.data.slicing import MAX_VALUES, crossed, days_or_values, too_many
from calib.data.strata import NONE, Part, Strata, crossed_name
from calib.loading.building.from_rows import class_names
from calib.loading.checking.mapped_rows import NEITHER
from calib.loading.dates import as_times
from calib.loading.loader import as_label_texts
from calib.loading.problems import refuse
from calib.loading.reading.reader import stem
from calib.numerics.arrays import IntArray
from calib.numerics.cell_table import CellTable, add_tables
from calib.scanning.cell_queries import named_slices, read_times
from calib.scanning.query import COLUMNS, CROSSED, VERSION
from calib.scanning.screening import meaning_of, outcome_facts

SUMS = {"weight": "calib_weight", "weight_sq": "calib_weight_sq", "score_sum": "calib_score_sum"}
ROLES = ("all", "slice", "crossing", "time")
ENDS = {"low": "calib_low", "high": "calib_high"}


def is_result(path: Any) -> bool:
    """Whether a file is a saved result of the query of `scan_sql`."""
    if not isinstance(path, BufferedIOBase) and not (
        isinstance(path, str | Path) and Path(path).is_file()
    ):
        return False
    with _opened(path) as file:
        try:
            names = pq.read_schema(file).names
        except (pa.ArrowException, OSError):
            file.seek(0)
            first = file.readline(4096).decode("utf-8-sig", "replace")
            names = [name.strip(' "\r\n') for name in first.split(",")]
    return {name.casefold() for name in names} >= set(COLUMNS)


def _opened(path: str | Path | BufferedIOBase) -> AbstractContextManager[BufferedIOBase]:
    return nullcontext(path) if isinstance(path, BufferedIOBase) else open(path, "rb")


def read_result(
    path: str | Path | BufferedIOBase,
    positive: object = None,
    negative: object = None,
    others_negative: bool = False,
) -> Aggregate:
    """Read a saved result of the query of `scan_sql` as an Aggregate.

    The file is CSV with commas and a header, or Parquet. The positive label is guessed if it is not
    given. Raises InputError if scores are outside [0, 1], it is unclear which label is positive, or
    the file is from another version.
    """
    file_name = Path(path).name if isinstance(path, str | Path) else "The file"
    frame = _frame(path)
    versions = set(frame["calib_version"])
    if versions != {VERSION}:
        raise refuse("version", file=file_name, versions=sorted(map(str, versions)), own=VERSION)
    names = frame[frame["calib_role"] == "names"].iloc[0]
    reasons = frame[frame["calib_role"] == "set aside"]
    set_aside = dict(zip(reasons["calib_column"], map(int, reasons["calib_rows"]), strict=True))
    if outside := set_aside.get("score outside", 0):
        raise refuse("outside.counted", column=names["calib_column"], count=outside)
    mapping = Columns(
        outcome=names["calib_value"],
        score=names["calib_column"],
        positive=as_label_texts(positive),
        negative=as_label_texts(negative),
        others_negative=others_negative,
    )
    cells, class_names, unused = _with_outcomes(frame, mapping)
    set_aside |= unused
    # If no cell holds two scores, each can have its score as its key.
    ends = cells.groupby("calib_key").agg(low=("calib_low", "min"), high=("calib_high", "max"))
    cells = cells.assign(exact=bool((ends["low"] == ends["high"]).all()))
    parts: list[Part] = []
    pieces, time_kind = [], ""
    groups = dict(iter(cells.groupby(["calib_role", "calib_column", "calib_column2"], sort=False)))
    for role, *columns in sorted(groups, key=lambda names: ROLES.index(names[0])):
        entries, column = groups[role, *columns], crossed_name(filter(None, columns))
        values, codes, kind = _values(entries, role, columns)
        time_kind = kind or time_kind
        pieces.append(_piece(entries, codes, len(parts)))
        parts += [Part("", column if values else "", value) for value in (values or ("",))]
    time = next((column for role, column, _ in groups if role == "time"), "")
    return joined_pieces(
        parts,
        pieces,
        name=stem(file_name),
        score_name=names["calib_column"],
        outcome_name=names["calib_value"],
        positive_name=class_names[1],
        class_names=class_names,
        time_name=time,
        time_kind=time_kind,
        weighted=bool((cells["calib_weight"] != cells["calib_rows"]).any()),
        set_aside=set_aside,
    )


def _frame(path: str | Path | BufferedIOBase) -> pd.DataFrame:
    texts = ["calib_role", "calib_column", "calib_value", "calib_outcome"]
    with _opened(path) as file:
        file.seek(0)
        packed = file.read(4) == b"PAR1"
        file.seek(0)
        # Pandas must not convert texts, because a slice can be called 007 or NA.
        frame = (
            pd.read_parquet(file)
            if packed
            else pd.read_csv(file, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        )
    frame.columns = frame.columns.str.casefold()
    frame = frame.reindex(columns=[*COLUMNS, *CROSSED])
    numbers = [name for name in COLUMNS if name not in texts]
    frame = frame.replace("", None)
    frame[numbers] = frame[numbers].apply(pd.to_numeric)
    names = frame[["calib_column", "calib_column2"]].astype(object).fillna("").astype(str)
    return frame.assign(**names)


def _with_outcomes(
    frame: pd.DataFrame, mapping: Columns
) -> tuple[pd.DataFrame, tuple[str, str], dict[str, int]]:
    """Cells with usable outcomes, names of the classes, and numbers of other rows by reason."""
    cells = frame[frame["calib_key"].notna()]
    if cells.empty:
        raise refuse("no-rows.query")
    all_rows = cells[cells["calib_role"] == "all"]
    counts = all_rows.groupby("calib_outcome")["calib_rows"].sum().sort_values(kind="stable")
    facts, codes, _ = outcome_facts(counts.index.to_series(), counts, mapping)
    mapping, meaning = facts.mapping, meaning_of(facts, codes)
    meaning_of_cell = cells["calib_outcome"].map(dict(zip(counts.index, meaning, strict=True)))
    usable = meaning_of_cell >= 0
    cells = cells[usable].assign(positive=meaning_of_cell[usable] == 1)
    reasons = {"unknown": codes < 0, NEITHER: (codes >= 0) & (meaning < 0)}
    unused = {f"outcome {why}": int(counts[rows].sum()) for why, rows in reasons.items()}
    return cells, class_names(facts.labels, mapping), {why: n for why, n in unused.items() if n}


def _values(
    cells: pd.DataFrame, role: str, columns: Sequence[str]
) -> tuple[tuple[str, ...], IntArray, str]:
    """Names of the values of a column or of two, the code of each entry, and the kind of times."""
    if role == "all":
        return (), np.zeros(len(cells), dtype=np.int64), ""
    rows = cells["calib_rows"]
    names, codes, kind = _column_values(cells["calib_value"], rows, role, columns[0])
    if role != "crossing":
        return names, codes, kind
    others, other_codes, _ = _column_values(cells["calib_value2"], rows, role, columns[1])
    names, codes = crossed((names, codes), (others, other_codes))
    if len(names) > MAX_VALUES:
        raise refuse("many-values", message=too_many(columns, len(names)))
    return names, codes, kind


def _column_values(
    values: pd.Series, rows: pd.Series, role: str, column: str
) -> tuple[tuple[str, ...], IntArray, str]:
    codes, distinct = pd.factorize(values, use_na_sentinel=False)
    series = pd.Series(distinct)
    if role == "time":
        times = read_times(series, as_times(series), Columns(time=column))
        names, code_of = days_or_values(times)
        return names, code_of[codes], times.dtype.kind
    counts = np.bincount(codes, rows, minlength=len(distinct)).astype(np.int64)
    names, code_of = named_slices(series, counts, column)
    return names, code_of[codes], ""


def _piece(cells: pd.DataFrame, codes: IntArray, first_part: int) -> tuple[Strata, CellTable]:
    exact = bool(cells["exact"].iloc[0])
    low = cells["calib_low"].to_numpy(np.float64) + 0.0
    columns = {name: cells[column].to_numpy(np.float64) for name, column in (SUMS | ENDS).items()}
    table = CellTable(
        exact,
        codes,
        low.view(np.int64) if exact else cells["calib_key"].to_numpy(np.int64),
        cells["positive"].to_numpy(np.bool_),
        cells["calib_rows"].to_numpy(np.int64),
        **columns,
    )
    # Spellings of one label, and values of one range, may leave several entries to be joined.
    table = add_tables(table, table.pick(np.zeros(0, dtype=np.int64)))
    present, stratum = np.unique(table.stratum, return_inverse=True)
    not_counted = np.full(len(present), NONE, dtype=np.int64)
    return Strata(present + first_part, not_counted, not_counted, not_counted), replace(
        table, stratum=stratum
    )

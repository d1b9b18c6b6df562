"""The query as text: every dialect parses it back, and its result is read as an Aggregate."""

from pathlib import Path
from typing import get_args, get_type_hints

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot

import calib
from calib.cli.commands import sql
from calib.cli.main import main
from calib.loading import InputError
from calib.numerics.arrays import arrays_of
from calib.numerics.cells import KEYS_PER_CELL
from calib.reports import Report
from calib.scanning.query import COLUMNS, CROSSED, Dialect
from tests.rare import common_first
from tests.scanning.conftest import drawn

NAMED = {
    "outcome": "outcome",
    "score": "score",
    "slices": ["site", "plan", "visits", ("plan", "visits")],
}


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_every_dialect_parses_its_query_back(dialect: Dialect) -> None:
    query = calib.scan_sql(dialect, table="lake.scores", time="day", weight="weight", **NAMED)
    parsed = sqlglot.parse_one(query, dialect=dialect)
    assert parsed.sql(dialect=dialect, pretty=True) == query.rstrip("\n")
    columns = [each.alias_or_name for each in parsed.find(sqlglot.exp.Union).left.selects] or None
    assert columns is None or set(columns) <= {*COLUMNS, *CROSSED}
    numbers = [each.name for each in parsed.find_all(sqlglot.exp.Literal) if not each.is_string]
    # Some engines take 0.02 for a DECIMAL, but 2e-2 for a DOUBLE.
    assert [number for number in numbers if "." in number and "e" not in number] == []


def test_the_command_line_knows_every_dialect(texts) -> None:
    assert get_args(Dialect) == get_args(get_type_hints(sql)["dialect"])
    with texts.raises(ValueError):
        calib.scan_sql("oracle", table="t", outcome="y", score="p")  # type: ignore[arg-type]


def saved(rows: pd.DataFrame, path: Path, **more: object) -> Path:
    query = calib.scan_sql("duckdb", table="rows", **(NAMED | more))
    result = duckdb.connect().from_df(rows).query("rows", query).df()
    # Some warehouses return names in upper case.
    result.columns = result.columns.str.upper()
    result.to_parquet(path) if path.suffix == ".parquet" else result.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("suffix", "weight"),
    common_first(
        [(suffix, weight) for suffix in (".csv", ".parquet") for weight in (None, "weight")],
        [(".csv", "weight")],
    ),
)
def test_its_result_is_what_scan_counts(tmp_path: Path, suffix: str, weight: str | None) -> None:
    rows = drawn().iloc[::20]
    found = calib.scan(saved(rows, tmp_path / f"cells{suffix}", time="day", weight=weight))
    expected = calib.scan(rows, max_scores=100, time="day", weight=weight, **NAMED)
    assert found.parts == expected.parts
    names = ("class_names", "time_kind", "time_name", "weighted", "exact", "score_name")
    assert {n: getattr(found, n) for n in names} == {n: getattr(expected, n) for n in names}
    sums = [of_cells(each) for each in (found, expected)]
    pd.testing.assert_frame_equal(*sums, check_exact=False, rtol=1e-11)


def of_cells(aggregate: calib.Aggregate) -> pd.DataFrame:
    """Sums by cell, which the query does not cut in parts, and the ends of cells."""
    table = aggregate.table
    part = aggregate.strata.part[table.stratum]
    column = np.array([each.column for each in aggregate.parts], dtype=object)[part]
    cells = pd.DataFrame(arrays_of(table)).assign(
        key=table.key // KEYS_PER_CELL, part=part, column=column
    )
    whole = cells.groupby(["column", "key"])
    cells = cells.assign(low=whole["low"].transform("min"), high=whole["high"].transform("max"))
    sums = {"rows": "sum", "weight": "sum", "score_sum": "sum", "low": "min", "high": "max"}
    return cells.groupby(["part", "key", "outcome"]).agg(sums)


def test_scores_of_few_digits_are_lossless(tmp_path: Path) -> None:
    rows = drawn().iloc[::20].assign(score=lambda each: each["score"].round(3))
    found = calib.scan(saved(rows, tmp_path / "cells.csv"))
    assert found.exact
    np.testing.assert_array_equal(found.table.rows, calib.scan(rows, **NAMED).table.rows)


def test_rows_that_cannot_be_used_are_counted_by_reason(tmp_path: Path) -> None:
    rows = drawn().iloc[::40].reset_index(drop=True)
    rows.loc[:9, "score"], rows.loc[20:24, "outcome"] = np.nan, None
    found = calib.scan(saved(rows, tmp_path / "cells.csv"))
    assert dict(found.set_aside) == {"outcome missing": 5, "score missing": 10}
    assert found.n_rows == len(rows) - 15
    percent = saved(rows.assign(score=100 * rows["score"]), tmp_path / "percent.csv")
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        calib.scan(percent)


def test_hostile_names_stay_names() -> None:
    odd = 'p" FROM x; DROP TABLE y; --'
    rows = pd.DataFrame({odd: [0.1, 0.9], "y": [0, 1], "it's": ["a", "b"]})
    query = calib.scan_sql("duckdb", table="rows", outcome="y", score=odd, slices=["it's"])
    assert len(duckdb.connect().from_df(rows).query("rows", query).df()) == 5
    snowflake = calib.scan_sql("snowflake", table="t", outcome="y", score='"p"')
    assert '"p"' in snowflake
    assert '"Y"' in snowflake


def test_the_commands_scan_print_and_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], texts
) -> None:
    rows = drawn().iloc[::40]
    rows.to_parquet(tmp_path / "rows.parquet")
    named = ["--outcome", "outcome", "--score", "score", "--slice", "site"]
    cells, report = tmp_path / "cells.parquet", tmp_path / "report.json"
    assert main(["scan", str(tmp_path / "rows.parquet"), *named, "-o", str(cells)]) == 0
    assert calib.Aggregate.load(cells).n_rows == len(rows)
    assert "5,000 rows in" in capsys.readouterr().err
    assert main(["sql", "--dialect", "duckdb", "--table", "rows", *named]) == 0
    result = duckdb.connect().from_df(rows).query("rows", capsys.readouterr().out).df()
    result.to_csv(tmp_path / "cells.csv", index=False)
    # A warehouse may save the result as Parquet, with names in upper case.
    result.rename(columns=str.upper).to_parquet(tmp_path / "result.parquet")
    for name in ("cells.csv", "result.parquet"):
        given = ["report", str(tmp_path / name), "--methods", "platt", "-o", str(report)]
        assert main(given) == 0
        assert Report.open(report).analysis.data.n_rows == len(rows)
        assert main(["check", str(tmp_path / name), "--max-ks", "1"]) == 0
    capsys.readouterr()
    assert main(["sql", "--dialect", "duckdb", "--table", "t", "--outcome", "y"]) == 2
    texts.shown(capsys.readouterr().err)

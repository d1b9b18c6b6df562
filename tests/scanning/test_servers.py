"""The counting query in servers that the tests start."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import psycopg
import pytest

import calib
from tests.scanning.conftest import drawn
from tests.scanning.test_query import NAMED, of_cells
from tests.store import postgres


@pytest.fixture(scope="module")
def server() -> Iterator[psycopg.Connection]:
    binaries = postgres.programs()
    if binaries is None:
        pytest.skip(postgres.MISSING)
    with (
        postgres.cluster(binaries) as folder,
        psycopg.connect(host=str(folder), user="calib", dbname="postgres", autocommit=True) as made,
    ):
        yield made


@pytest.mark.engines
@pytest.mark.parametrize("weight", [None, "weight"])
def test_postgresql_counts_the_cells_of_the_rows(
    server: psycopg.Connection, tmp_path: Path, weight: str | None
) -> None:
    rows = drawn()
    if weight:
        # PostgreSQL refuses a product that underflows, of the smallest numbers and a weight.
        rows = rows[(rows["score"] == 0.0) | (rows["score"] > 1e-300)]
    with server.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS scores")
        cursor.execute(
            "CREATE TABLE scores (outcome text, score float8, weight float8, site text, plan text, "
            "visits int, day timestamp)"
        )
        columns = ["outcome", "score", "weight", "site", "plan", "visits", "day"]
        with cursor.copy(f"COPY scores ({', '.join(columns)}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(rows[columns].to_csv(index=False, header=False))
        query = calib.scan_sql("postgres", table="scores", time="day", weight=weight, **NAMED)
        cursor.execute(query)
        result = pd.DataFrame(cursor.fetchall(), columns=[each.name for each in cursor.description])
    result.to_csv(tmp_path / "cells.csv", index=False)
    found = calib.scan(tmp_path / "cells.csv")
    expected = calib.scan(rows, max_scores=100, time="day", weight=weight, **NAMED)
    assert found.parts == expected.parts
    pd.testing.assert_frame_equal(
        of_cells(found), of_cells(expected), check_exact=False, rtol=1e-11
    )

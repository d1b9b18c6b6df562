"""Files of counts: they give what their rows give, and where rows are needed, a page says so."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calib
from calib.ui.controls import uploaders
from calib.ui.pages.decisions import KEY
from calib.ui.session.choices import BIN_AT
from calib.ui.session.session import Session
from tests.pages.harness import copied, dropped, go, opened, press, said, session_of, start
from tests.rare import rare

Counts = dict[str, bytes]


def drawn(seed: int = 0, n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.random(n).round(3)
    return pd.DataFrame(
        {
            "outcome": (rng.random(n) < score**2).astype(int),
            "score": score,
            "site": rng.choice(["north", "south"], n),
            "day": np.datetime64("2026-01-01") + rng.integers(0, 200, n),
        }
    )


def loaded(rows: pd.DataFrame, **more) -> calib.Predictions:
    return calib.load(rows, outcome="outcome", score="score", slices=["site"], time="day", **more)


def saved(folder: Path, rows: pd.DataFrame, name: str = "march") -> Counts:
    path = folder / f"{name}.parquet"
    calib.aggregate(loaded(rows, name=name)).save(path)
    return {path.name: path.read_bytes()}


def of_query(folder: Path, rows: pd.DataFrame) -> Counts:
    query = calib.scan_sql(
        "duckdb", table="rows", outcome="outcome", score="score", slices=["site"], time="day"
    )
    path = folder / "cells.csv"
    duckdb.connect().from_df(rows).query("rows", query).write_csv(str(path), header=True)
    return {path.name: path.read_bytes()}


def of_query_as_parquet(folder: Path, rows: pd.DataFrame) -> Counts:
    """As a warehouse may save it: names in capitals, numbers as decimals, texts in a dictionary."""
    of_query(folder, rows)
    cells = pd.read_csv(folder / "cells.csv", dtype=str, keep_default_na=False)
    table = pa.table(
        {
            column.upper(): pa.array(cells[column].replace("", None))
            if column in ("calib_role", "calib_column", "calib_value", "calib_outcome")
            else pa.array(cells[column].map(lambda x: float(x) if x else None))
            for column in cells
        }
    )
    at = table.schema.get_field_index("CALIB_ROWS")
    decimals = table.column(at).cast(pa.decimal128(38, 0), safe=False)
    table = table.set_column(at, "CALIB_ROWS", decimals)
    at = table.schema.get_field_index("CALIB_ROLE")
    table = table.set_column(at, "CALIB_ROLE", table.column(at).dictionary_encode())
    pq.write_table(table, folder / "cells.parquet")
    return {"cells.parquet": (folder / "cells.parquet").read_bytes()}


@pytest.mark.parametrize("made", [saved, of_query, of_query_as_parquet])
def test_counts_give_the_results_of_their_rows(made, tmp_path):
    rows, settings = drawn(), calib.Settings(methods=("platt",))
    (counted,) = dropped(made(tmp_path, rows)).upload.models.values()
    assert counted.n_rows == 1500
    found = calib.analyze(counted, settings).table()
    expected = calib.analyze(loaded(rows), settings).table()
    np.testing.assert_allclose(found["log_loss"], expected["log_loss"], rtol=1e-9)


def test_slices_and_periods_are_those_of_the_rows_and_what_needs_rows_says_so(tmp_path, texts):
    rows = drawn()
    in_rows = dropped(rows, m="platt")
    in_rows.take(in_rows.upload.mapped(in_rows.upload.mapping.chosen(time="day")))
    in_counts = dropped(saved(tmp_path, rows), m="platt")
    counted, expected = (
        [
            *copied(start("Slices", data), "slices"),
            *copied(opened(start("Slices", data), "folded_periods_first"), "periods"),
            *copied(opened(start("Decisions", data), KEY), "error-rates"),
        ]
        for data in (in_counts, in_rows)
    )
    assert len(counted) == len(expected) > 2
    for one, other in zip(counted, expected, strict=True):
        pd.testing.assert_frame_equal(one, other)
    in_counts.change(BIN_AT, 0.5)
    texts.shown(said(start("Reliability", in_counts)))


def test_several_files_of_counts_are_added_only_when_a_person_says_so(tmp_path):
    files = saved(tmp_path, drawn(1), "a") | saved(tmp_path, drawn(2), "b")
    app = start("Data", files, m="platt")
    session = session_of(app)
    assert session.upload is None
    assert [problem.code for problem in session.file_problems] == ["several-counts"]
    press(app, "read_several-counts_0")
    (both,) = session.upload.models.values()
    assert both.n_rows == 3000
    assert session.upload.files == "a.parquet, b.parquet"


@rare
def test_a_file_that_counts_several_models_opens_as_those_models(tmp_path, texts):
    rows = drawn().assign(second=lambda frame: frame["score"] ** 2)
    both = calib.scan(rows, outcome="outcome", models=["score", "second"], slices=["site"])
    both.save(tmp_path / "both.parquet")
    files = {"both.parquet": (tmp_path / "both.parquet").read_bytes()}
    app = start("Data", files, m="platt")
    assert list(session_of(app).upload.models) == ["score", "second"]
    texts.shown(said(app))
    for page in ("Overview", "Reliability", "Slices", "Decisions", "Calibrators", "Reports"):
        assert not go(app, page).error
    texts.shown(said(go(app, "Calibrators")))


def test_what_counts_cannot_be_is_refused(tmp_path):
    counts, rows = saved(tmp_path, drawn()), drawn(3)[["outcome", "score"]]
    (content,) = counts.values()
    calib.aggregate(calib.load(rows, outcome="outcome", score="score")).save(tmp_path / "o.parquet")
    without_slices = {"other.parquet": (tmp_path / "o.parquet").read_bytes()}
    damaged = pa.table({"stratum": [0]}).replace_schema_metadata({b"calib.aggregate": b"{}"})
    pq.write_table(damaged, tmp_path / "damaged.parquet")
    forged = {"damaged.parquet": (tmp_path / "damaged.parquet").read_bytes()}
    csv = rows.to_csv(index=False).encode()

    for files, code in (
        (counts | {"again.parquet": content}, "counted-twice"),
        (counts | without_slices, "not-added"),
        (counts | {"rows.csv": csv}, "counts-and-rows"),
        (forged, "counts"),
    ):
        session = Session()
        uploaders.receive(session, [*files.items()], "data", add=True)
        assert [problem.code for problem in session.file_problems] == [code]
        assert session.upload is None
    # Counts are no test rows.
    session = dropped(csv)
    uploaders.receive(session, [*counts.items()], "test")
    assert [problem.code for problem in session.file_problems] == ["counts-and-rows"]
    assert session.upload.tests is None

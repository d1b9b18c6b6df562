"""Files of counts on the pages: shown like rows, and where rows are needed, a sentence says so."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.ui.session.choices import BIN_AT
from tests.copied_tables import copied_tables
from tests.rare import common_first

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["reliability", "cumulative", "functions", "compare", "slices", "decisions", "reports"]


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


def saved(folder: Path, rows: pd.DataFrame, name: str = "march.parquet") -> tuple[str, bytes]:
    path = folder / name
    calib.aggregate(loaded(rows, name=path.stem)).save(path)
    return name, path.read_bytes()


def of_query(folder: Path, rows: pd.DataFrame) -> tuple[str, bytes]:
    query = calib.scan_sql(
        "duckdb", table="rows", outcome="outcome", score="score", slices=["site"], time="day"
    )
    path = folder / "cells.csv"
    duckdb.connect().from_df(rows).query("rows", query).write_csv(str(path), header=True)
    return path.name, path.read_bytes()


def dropped(*files: tuple[str, bytes], place: int = 0) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["m"] = "platt"
    app.run().switch_page("pages/data.py").run()
    return drop(app, *files, place=place)


def drop(app: AppTest, *files: tuple[str, bytes], place: int = 0) -> AppTest:
    uploader = app.file_uploader[place]
    given = [(name, content, "") for name, content in files]
    (uploader.upload(*given[0]) if place else uploader.set_value(given)).run()
    assert not app.exception
    return app


def go(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"pages/{page}.py" if page else "app.py").run()
    assert not app.exception
    assert not app.error
    return app


def said(app: AppTest) -> str:
    parts = (*app.markdown, *app.caption, *app.info, *app.error, *app.subheader)
    return " ".join(part.value for part in parts)


def of_query_as_parquet(folder: Path, rows: pd.DataFrame) -> tuple[str, bytes]:
    """As a warehouse may save it: names in capitals, numbers as decimals, texts in a dictionary."""
    name, _ = of_query(folder, rows)
    cells = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
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
    return "cells.parquet", (folder / "cells.parquet").read_bytes()


@pytest.mark.parametrize(
    "made", common_first([saved, of_query, of_query_as_parquet], [of_query_as_parquet])
)
def test_counts_give_the_pages_of_their_rows(made, tmp_path):
    rows = drawn()
    app = dropped(made(tmp_path, rows))
    assert "1,500 rows" in said(app)
    assert "there are no rows to show here" in said(app)
    session = app.session_state["calib"]
    for page in PAGES:
        go(app, page)
    (counted,) = session.upload.models.values()
    found = calib.analyze(counted, session.settings).table()
    expected = calib.analyze(loaded(rows), session.settings).table()
    np.testing.assert_allclose(found["log_loss"], expected["log_loss"], rtol=1e-9)


def test_what_needs_rows_says_so_and_slices_and_periods_are_those_of_the_rows(tmp_path):
    rows = drawn()
    app = dropped(saved(tmp_path, rows))
    in_rows = dropped(("march.csv", rows.to_csv(index=False).encode()))
    session = in_rows.session_state["calib"]
    session.take(session.upload.mapped(session.upload.mapping.chosen(time="day")))
    counted, expected = (
        [
            table
            for name in ("slices", "error-rates", "periods")
            for table in copied_tables(go(each, "slices"), name)
        ]
        for each in (app, in_rows)
    )
    # Each is shown before and after calibration.
    assert len(counted) == len(expected) == 6
    for one, other in zip(counted, expected, strict=True):
        pd.testing.assert_frame_equal(one, other)
    app.session_state["calib"].change(BIN_AT, 0.5)
    assert "there are no rows of the bin to list" in said(go(app, "reliability"))


def test_two_columns_that_were_counted_together_are_crossed_as_in_rows(tmp_path):
    rows = drawn().assign(plan=lambda each: np.where(each.index % 3 == 0, "basic", "pro"))
    rows["half"] = rows.index % 2
    given = {"outcome": "outcome", "score": "score", "slices": ["plan", "site", "half"]}
    calib.aggregate(calib.load(rows, **given), ["half", ("plan", "site")]).save(
        tmp_path / "cells.parquet"
    )
    rows.drop(columns="day").to_csv(tmp_path / "rows.csv", index=False)
    found = []
    for name in ("cells.parquet", "rows.csv"):
        app = dropped((name, (tmp_path / name).read_bytes()))
        go(app, "slices").selectbox(key="slice_by").set_value("site").run()
        app.selectbox(key="cross").set_value("plan").run()
        assert not app.exception
        found.append(copied_tables(app, "slices")[0])
    assert len(found[0]) == 1 + 4
    assert found[0]["Slice"].str.contains("plan (?:basic|pro) × site (?:north|south) ").sum() == 4
    assert found[1]["Slice"].str.contains("site (?:north|south) × plan (?:basic|pro) ").sum() == 4
    # The counts have the columns in the order of counting.
    found[0]["Slice"] = found[0]["Slice"].str.replace(
        r"(plan \w+) × (site \w+)", r"\2 × \1", regex=True
    )
    one, other = (table.sort_values("Slice", ignore_index=True) for table in found)
    pd.testing.assert_frame_equal(one, other)


def test_several_files_of_counts_are_added_only_when_a_person_says_so(tmp_path):
    files = [saved(tmp_path, drawn(seed), f"{name}.parquet") for seed, name in ((1, "a"), (2, "b"))]
    app = dropped(*files)
    session = app.session_state["calib"]
    assert session.upload is None
    assert [problem.code for problem in session.file_problems] == ["several-counts"]
    app.button(key="read_several-counts_0").click().run()
    assert not app.exception
    (both,) = session.upload.models.values()
    assert both.n_rows == 3000
    assert session.upload.files == "a.parquet, b.parquet"
    assert "3,000 rows" in said(app)


def test_a_file_that_counts_several_models_opens_as_those_models(tmp_path):
    rows = drawn().assign(second=lambda frame: frame["score"] ** 2)
    both = calib.scan(rows, outcome="outcome", models=["score", "second"], slices=["site"])
    both.save(tmp_path / "both.parquet")
    app = dropped(("both.parquet", (tmp_path / "both.parquet").read_bytes()))
    session = app.session_state["calib"]
    assert list(session.upload.models) == ["score", "second"]
    assert "2 models: score, second" in said(app)
    for page in ("", *PAGES):
        go(app, page)
    assert "Counts do not pair rows" in said(go(app, "compare"))


def refused(app: AppTest) -> list[str]:
    """Why files were not read; after the question whether to add them is answered by yes."""
    session = app.session_state["calib"]
    if [problem.code for problem in session.file_problems] == ["several-counts"]:
        app.button(key="read_several-counts_0").click().run()
    assert not app.exception
    assert session.upload is None
    return [problem.code for problem in session.file_problems]


def test_what_counts_cannot_be_is_refused(tmp_path):
    name, content = saved(tmp_path, drawn())
    rows = drawn(3)[["outcome", "score"]]
    without_slices = tmp_path / "other.parquet"
    calib.aggregate(calib.load(rows, outcome="outcome", score="score")).save(without_slices)
    other = ("other.parquet", without_slices.read_bytes())
    damaged = pa.table({"stratum": [0]}).replace_schema_metadata({b"calib.aggregate": b"{}"})
    pq.write_table(damaged, tmp_path / "damaged.parquet")

    assert refused(dropped((name, content), ("again.parquet", content))) == ["counted-twice"]
    assert refused(dropped((name, content), other)) == ["not-added"]
    of_rows = ("rows.csv", rows.to_csv(index=False).encode())
    assert refused(dropped((name, content), of_rows)) == ["counts-and-rows"]
    forged = ("damaged.parquet", (tmp_path / "damaged.parquet").read_bytes())
    assert refused(dropped(forged)) == ["counts"]


def test_counts_are_no_test_rows(tmp_path):
    rows = drawn()
    app = dropped(("rows.csv", rows.to_csv(index=False).encode()))
    drop(app, saved(tmp_path, rows), place=1)
    session = app.session_state["calib"]
    assert [problem.code for problem in session.file_problems] == ["counts-and-rows"]
    assert session.upload.tests is None

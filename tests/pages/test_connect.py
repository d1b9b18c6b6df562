"""Connect: a source that the operator named is counted where it lies; nothing else is opened."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import calib
from calib.loading import InputError
from calib.scanning.connections import ALL_FILES, Connection
from calib.text import plain
from tests.pages.test_pages import button, go, start


def rows(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    p = rng.random(n_rows)
    site = np.where(rng.random(n_rows) < 0.5, "north", "south")
    return pd.DataFrame({"p": p, "y": (rng.random(n_rows) < p**1.3).astype(int), "site": site})


def written(path: Path, n_rows: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows(n_rows, seed=n_rows).to_parquet(path)
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    written(tmp_path / "scores" / "march.parquet", 3000)
    written(tmp_path / "scores" / "april.parquet", 2000)
    return tmp_path / "scores"


def connected(folder: Path, table: str):
    app = start()
    app.secrets["connections"] = {"team": {"type": "files", "path": str(folder)}}
    go(app, "data")
    app.selectbox(key="connect_source").set_value("team").run()
    app.selectbox(key="connect_table_team").set_value(table).run()
    return app


def test_a_table_is_mapped_by_a_guess_and_counted(folder):
    app = connected(folder, ALL_FILES)
    assert app.selectbox(key=f"connect_outcome_team_{ALL_FILES}").value == "y"
    assert app.selectbox(key=f"connect_score_team_{ALL_FILES}").value == "p"
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert not app.error
    assert any("5,000 rows, counted in" in each.value for each in app.markdown)
    # The answer is that of all rows.
    frame = pd.concat([rows(2000, seed=2000), rows(3000, seed=3000)])
    answer = calib.analyze(calib.load(frame, outcome="y", score="p")).verdict
    go(app, "")
    assert any(plain(answer.heading) in each.value for each in app.markdown)
    assert any(plain(answer.finding) in each.value for each in app.markdown)


def test_a_refresh_says_what_changed(folder):
    app = connected(folder, ALL_FILES)
    button(app, "connect_scan").click().run()
    button(app, "connect_refresh").click().run()
    assert "Nothing changed" in app.info[0].value
    written(folder / "may.parquet", 1000)
    button(app, "connect_refresh").click().run()
    assert plain("Rows: 5,000 before, 6,000 now.") in app.info[0].value


def test_a_wrong_column_is_refused_with_its_repair(folder):
    app = connected(folder, "march.parquet")
    app.selectbox(key="connect_transform_team_march.parquet").set_value("percent").run()
    app.selectbox(key="connect_score_team_march.parquet").set_value("site").run()
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert "site" in app.error[0].value


def test_no_source_is_shown_where_none_was_named_and_a_bad_section_is_told(texts):
    app = go(start(), "data")
    assert not [each for each in app.selectbox if each.key == "connect_source"]
    app = start()
    app.secrets["connections"] = {"team": {"type": "ftp", "path": "x"}}
    go(app, "data")
    texts(app.warning[0].value)


def test_only_what_the_operator_named_is_opened(folder, tmp_path):
    written(tmp_path / "secret.parquet", 10)
    source = Connection("team", "files", str(folder))
    assert source.tables() == (ALL_FILES, "april.parquet", "march.parquet")
    for table in ("../secret.parquet", str(tmp_path / "secret.parquet"), "", "."):
        with pytest.raises(InputError, match="has no table"):
            source.source(table)


def test_tables_of_a_database_and_its_first_rows(tmp_path):
    path = tmp_path / "scores.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", rows(5000))
        connection.execute("CREATE TABLE scores AS SELECT * FROM frame").fetchall()
    source = Connection.of("warehouse", {"type": "duckdb", "path": str(path)})
    assert source.tables() == ("scores",)
    assert len(source.first_rows("scores").frame) == 1000
    with pytest.raises(InputError, match="There is no file"):
        Connection("gone", "duckdb", str(tmp_path / "none.duckdb")).tables()


def test_an_address_with_a_password_is_not_repeated():
    source = Connection("team", "ibis", "postgres://me:secret@127.0.0.1:1/none")
    with pytest.raises(InputError) as caught:
        source.tables()
    assert "secret" not in str(caught.value)


def test_a_bin_shows_rows_of_the_source(folder):
    app = connected(folder, ALL_FILES)
    button(app, "connect_scan").click().run()
    go(app, "reliability")
    bins = next(each for each in app.selectbox if each.key.startswith("bin_at_uncalibrated"))
    bins.set_value(2).run()
    button(app, "fetch_rows").click().run()
    assert not app.exception
    found = next(
        each.value for each in app.dataframe if list(each.value.columns) == ["p", "y", "site"]
    )
    assert len(found) == 50

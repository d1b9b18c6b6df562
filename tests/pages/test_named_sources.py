"""A source that the operator named is counted where it lies; nothing else is opened."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.loading import Columns, InputError
from calib.scanning.connections import ALL_FILES, Connection
from calib.store import Store
from calib.ui.controls import data_menu
from calib.ui.layout import frame as page_frame
from calib.ui.pages.reports.report_form import report_of
from calib.ui.session import named_sources
from calib.ui.session.choices import BIN_AT
from calib.ui.session.links import OLD_QUERY, decode
from calib.ui.session.named_sources import Connections
from calib.ui.session.session import Session
from calib.ui.session.upload import Upload
from tests.pages.harness import answers, at, go, headings, model_of, press, said, session_of, start
from tests.rare import rare


def rows(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    # Few cells: an analysis grows with them.
    p = rng.random(n_rows).round(2)
    site = np.where(rng.random(n_rows) < 0.5, "north", "south")
    return pd.DataFrame({"p": p, "y": (rng.random(n_rows) < p**1.3).astype(int), "site": site})


def of_classes(n_rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    score = rng.dirichlet(np.ones(3), n_rows)
    frame = pd.DataFrame(score, columns=["p_ant", "p_bee", "p_cow"])
    frame["y"] = [rng.choice(["ant", "bee", "cow"], p=own) for own in score]
    return frame


def written(folder: Path, n_rows: int, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    rows(n_rows, seed=n_rows).to_parquet(folder / name)
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the operator named as the source `team`."""
    made = written(tmp_path / "scores", 500, "march.parquet")
    written(made, 300, "april.parquet")
    named(monkeypatch, Connection("team", "files", str(made)))
    return made


def named(monkeypatch: pytest.MonkeyPatch, source: Connection) -> None:
    """Let the operator name this source."""
    sources = Connections({source.name: source}, ())
    for module in (named_sources, data_menu):
        monkeypatch.setattr(module, "operator_connections", lambda: sources)


def table(folder: Path, name: str = ALL_FILES, mapping: Columns | None = None) -> Upload:
    """A table whose columns a person has mapped, or that were guessed."""
    upload = Upload.of_table(Connection("team", "files", str(folder)), name)
    return upload if mapping is None else upload.mapped(mapping)


def shown(upload: Upload) -> Session:
    session = Session.from_link({"m": "platt"})
    session.take(upload)
    return session


def counted(folder: Path, name: str = ALL_FILES) -> Session:
    return shown(table(folder, name).with_counts())


def picked(page: str, table: str = "") -> AppTest:
    """A page on which a person chose the source, and one of its tables, in the data menu."""
    app = start(page, m="platt")
    app.selectbox(key="menu_source_0").set_value("team").run()
    if table:
        app.selectbox(key="menu_source_0_team").set_value(table).run()
    return app


def test_a_table_is_chosen_in_the_menu_and_its_columns_are_guessed(folder, texts):
    app = picked("Overview", ALL_FILES)
    assert not app.error
    # The answer is that of all rows.
    frame = pd.concat([rows(n, seed=n) for n in (300, 500)])
    verdict = calib.analyze(calib.load(frame, outcome="y", score="p")).verdict
    (said_of_all,) = answers(app)
    assert verdict.finding in said_of_all
    app = go(app, "Data")
    assert app.selectbox(key="map_outcome").value == "y"
    assert app.selectbox(key="map_score").value == "p"
    texts.shown(said(app))
    # It is opened once, so that another source can be chosen.
    assert app.selectbox(key="menu_source_1").value is None


def test_the_only_table_of_a_source_is_opened_without_a_question(folder, monkeypatch):
    named(monkeypatch, Connection("team", "files", str(folder / "march.parquet")))
    assert session_of(picked("Data")).upload.source.table == "march.parquet"


def test_columns_are_mapped_before_the_rows_are_counted(folder):
    app = picked("Data", ALL_FILES)
    app.multiselect(key="map_slices").set_value(["site"]).run()
    assert session_of(app).upload.is_uncounted
    app = go(app, "Overview")
    assert list(session_of(app).upload.predictions.columns) == ["site"]


def test_a_refresh_counts_the_rows_again(folder):
    app = start("Data", counted(folder))
    written(folder, 100, "may.parquet")
    app = go(press(app, "refresh"), "Overview")
    assert session_of(app).upload.predictions.n_rows == 900


def test_a_doubt_about_the_columns_is_asked_before_anything_is_counted(folder):
    frame = rows(600).rename(columns={"p": "prob"})
    frame.assign(score=frame["prob"] ** 2).to_parquet(folder / "t.parquet")
    app = picked("Overview", "t.parquet")
    upload = session_of(app).upload
    assert upload.asks
    assert not upload.models
    assert not app.error
    app = press(app, "choose_0")
    assert session_of(app).upload.models


def test_a_repair_maps_the_columns_as_it_says(folder):
    rows(600).assign(p=lambda frame: 100 * frame["p"]).to_parquet(folder / "t.parquet")
    app = go(picked("Overview", "t.parquet"), "Data")
    (problem,) = session_of(app).upload.problems
    assert problem.code == "percent"
    app = press(app, "repair_percent" if problem.repair_label else "repair_percent_0")
    assert app.selectbox(key="map_transform").value == "percent"
    assert session_of(go(app, "Overview")).upload.models


def test_no_source_is_shown_where_none_was_named_and_a_bad_section_is_told(texts):
    app = start("Data", m="platt")
    assert not [each for each in app.selectbox if each.key.startswith("menu_source")]
    app = at(m="platt")
    app.secrets["connections"] = {"team": {"type": "ftp", "path": "x"}}
    texts(go(app, "Data").warning[0].value)


def test_only_what_the_operator_named_is_opened(folder, tmp_path):
    rows(10).to_parquet(tmp_path / "secret.parquet")
    source = Connection("team", "files", str(folder))
    assert source.tables() == (ALL_FILES, "april.parquet", "march.parquet")
    for table in ("../secret.parquet", str(tmp_path / "secret.parquet"), "", "."):
        with pytest.raises(InputError) as caught:
            source.source(table)
        assert caught.value.problems[0].code == "no-table"


def test_tables_of_a_database_and_its_first_rows(tmp_path):
    path = tmp_path / "scores.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", rows(2000))
        connection.execute("CREATE TABLE scores AS SELECT * FROM frame").fetchall()
    source = Connection.of("warehouse", {"type": "duckdb", "path": str(path)})
    assert source.tables() == ("scores",)
    assert len(source.first_rows("scores").frame) == 1000
    with pytest.raises(InputError) as caught:
        Connection("gone", "duckdb", str(tmp_path / "none.duckdb")).tables()
    assert caught.value.problems[0].code == "no-file"


def test_an_address_with_a_password_is_not_repeated():
    source = Connection("team", "ibis", "postgres://me:secret@127.0.0.1:1/none")
    with pytest.raises(InputError) as caught:
        source.tables()
    assert "secret" not in str(caught.value)


def test_a_source_of_which_only_counts_are_allowed_shows_no_rows(folder, monkeypatch, texts):
    options = {"type": "files", "path": str(folder), "rows": False}
    source = Connection.of("team", options)
    named(monkeypatch, source)
    session = shown(Upload.of_table(source, "march.parquet").with_counts())
    assert "preview" not in {each.key for each in start("Data", session).dataframe}
    session.change(BIN_AT, 0.5)
    app = start("Reliability", session)
    assert "fetch_rows" not in {each.key for each in app.button}
    texts.shown(said(app), "words")
    with texts.raises(ValueError):
        Connection.of("team", options | {"rows": "no"})


@rare
def test_a_bin_shows_rows_of_the_source(folder):
    session = counted(folder)
    session.change(BIN_AT, 0.5)
    app = press(start("Reliability", session), "fetch_rows")
    found = next(one.value for one in app.dataframe if list(one.value) == ["p", "y", "site"])
    assert len(found) == 50


def test_predicted_labels_are_not_counted_as_if_they_were_scores(folder, texts):
    mapping = Columns(outcome="y", score="p", predicted="site")
    with texts.raises(InputError) as caught:
        table(folder, mapping=mapping).with_counts()
    assert caught.value.problems[0].code == "predicted"


@rare
def test_class_scores_are_those_of_the_rows(folder):
    frame = of_classes()
    frame.to_parquet(folder / "t.parquet")
    app = picked("Data", "t.parquet")
    assert app.segmented_control(key="map_kind").value == "By class"
    assert app.text_input(key="map_classes").value == "p_ant … p_cow"
    app = go(app, "Overview")
    (found,) = session_of(app).upload.models.values()
    assert found.view_key == "top:1"
    in_rows = calib.load(frame, outcome="y", score=["p_ant", "p_bee", "p_cow"])
    expected = calib.analyze(in_rows, {"view": "top:1", "methods": ("uncalibrated",)})
    (said_of_all,) = answers(app)
    assert expected.verdict.summary.rpartition(": ")[2] in said_of_all.lower()


@rare
def test_several_models_are_compared(folder):
    frame = rows(900).rename(columns={"p": "p_old"})
    frame.assign(p_new=frame["p_old"] ** 1.3).to_parquet(folder / "t.parquet")
    mapping = Columns(outcome="y", models=("p_old", "p_new"), positive="1")
    app = start("Data", shown(table(folder, "t.parquet", mapping)))
    assert app.segmented_control(key="map_kind").value == "By model"
    for page in ("Overview", "Reliability", "Slices", "Decisions", "Calibrators", "Reports"):
        assert not go(app, page).error, page
    assert set(session_of(app).upload.models) == {"p_old", "p_new"}
    assert "Counts do not pair rows" in said(go(app, "Calibrators"))


def test_a_link_names_the_source_and_the_table_and_counts_again(folder):
    link = counted(folder).link()
    assert (link["source"], link["table"]) == ("team", ALL_FILES)
    assert str(folder) not in json.dumps(link)
    app = start("Overview", **link)
    assert session_of(app).upload.predictions.n_rows == 800
    assert not app.warning
    # A source with other rows says so.
    written(folder, 100, "may.parquet")
    app = start("Overview", **link)
    assert session_of(app).upload.predictions.n_rows == 900
    assert session_of(app).refused == (page_frame.OTHER_COUNTS,)


@rare
def test_a_saved_report_counts_again(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    session = counted(folder)
    report = report_of(session, model_of(session))
    assert json.loads(report.source) == {"source": "team", "table": ALL_FILES}
    assert str(folder) not in report.json()
    with Store.from_environment() as store:
        report_id = store.save(report)
    app = press(start("Reports", report=report_id), "recount")
    # AppTest does not follow to the other page by itself.
    assert session_of(go(app, "Overview")).upload.predictions.n_rows == 800
    assert not session_of(app).refused


def test_a_link_with_a_query_of_an_earlier_version_opens_the_table(folder):
    query = {"source": "team", "table": "march.parquet", "outcome": "y", "score": "p"}
    app = start("Overview", query=json.dumps(query), seen="2026-11-22~5~0~0~0~x")
    assert session_of(app).upload.predictions.n_rows == 500
    assert session_of(app).refused == (OLD_QUERY,)


def test_a_link_to_a_source_that_is_not_here_says_so(folder, texts):
    app = start("Overview", source="other", table="march.parquet")
    texts(headings(app)[0])
    texts.shown(app.error[0].value)
    assert session_of(app).upload is None
    # Another one can be chosen in the menu.
    assert app.selectbox(key="menu_source_0").options == ["team"]
    assert not press(app, "show_example").error


@pytest.mark.parametrize(
    ("source", "table"),
    [
        ("/etc", "passwd"),
        ("team", "../secret.parquet"),
        ("team", "%s/secret.parquet"),
        ("team", ""),
        ("team", 'march.parquet" FROM x --'),
    ],
)
def test_a_hostile_link_opens_nothing_else(source, table, folder, tmp_path):
    rows(10).to_parquet(tmp_path / "secret.parquet")
    link, _ = decode({"v": "1", "source": source, "table": table.replace("%s", str(tmp_path))})
    with pytest.raises(InputError):
        named_sources.table_named(link.source.source, link.source.table)


@pytest.mark.parametrize(
    "query",
    [
        "[" * 5000,
        "[]",
        "{}",
        "7",
        '{"source":"team"}',
        '{"source":"team","table":["a"]}',
        '{"source":"' + "x" * 10_000 + '","table":"a"}',
    ],
)
def test_a_query_without_names_opens_no_source(query):
    session = Session.from_link({"v": "1", "query": query})
    assert session.refused == (OLD_QUERY,)
    assert not session.waits

"""Connect: a source that the operator named is counted where it lies; nothing else is opened."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import calib
from calib.loading import Columns, InputError
from calib.scanning.connections import ALL_FILES, Connection
from calib.store import Store
from calib.text import plain
from calib.ui.pages.data import connect
from calib.ui.pages.reports.report_form import report_of
from calib.ui.session import source_links
from calib.ui.session.choices import BIN_AT
from calib.ui.session.links import decode
from calib.ui.session.session import Session
from calib.ui.session.source_links import Connections, Query
from calib.ui.session.upload import Connected, Upload
from tests.pages.harness import answers, at, go, headings, model_of, press, said, session_of, start
from tests.rare import rare

MAPPING = Columns(outcome="y", score="p", positive="1")
CLASSES = Columns(outcome="y", score=("p_ant", "p_bee", "p_cow"))


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
    for module in (source_links, connect):
        monkeypatch.setattr(module, "operator_connections", lambda: sources)


def connected(folder: Path, table: str = ALL_FILES, mapping=MAPPING, **more) -> Connected:
    source = Connection("team", "files", str(folder))
    columns = tuple(source.first_rows(table).columns)
    return Connected(source, table, mapping, **{"columns": columns, **more})


def drafted(source: Connected) -> Session:
    """A session in which the columns of a table are being mapped."""
    session = Session.from_link({"m": "platt"})
    session.draft = source
    return session


def counted(source: Connected) -> Session:
    session = drafted(source)
    session.take(Upload.of_source(source))
    return session


def test_a_table_is_mapped_by_a_guess_counted_and_refreshed(folder, texts):
    app = start("Data", m="platt")
    app.selectbox(key="connect_source").set_value("team").run()
    app.selectbox(key="connect_table_team").set_value(ALL_FILES).run()
    assert app.selectbox(key="connect_outcome").value == "y"
    assert app.selectbox(key="connect_score").value == "p"
    assert not press(app, "connect_scan").error
    texts.shown(said(app))
    assert "Nothing changed" in press(app, "connect_refresh").info[0].value
    written(folder, 100, "may.parquet")
    assert plain("Rows: 800 before, 900 now.") in press(app, "connect_refresh").info[0].value
    # The answer is that of all rows.
    frame = pd.concat([rows(n, seed=n) for n in (300, 500, 100)])
    verdict = calib.analyze(calib.load(frame, outcome="y", score="p")).verdict
    (said_of_all,) = answers(go(app, "Overview"))
    assert verdict.finding in said_of_all


def test_a_repair_maps_the_columns_as_it_says(folder):
    rows(600).assign(p=lambda frame: 100 * frame["p"]).to_parquet(folder / "t.parquet")
    app = press(start("Data", drafted(connected(folder, "t.parquet"))), "connect_scan")
    assert "percent" in app.error[0].value.lower()
    press(app, "connect_repair_percent_0_0")
    assert app.selectbox(key="connect_transform").value == "percent"
    assert not app.error
    assert not press(app, "connect_scan").error
    assert session_of(app).upload.models


def test_no_source_is_shown_where_none_was_named_and_a_bad_section_is_told(texts):
    app = start("Data", m="platt")
    assert not [each for each in app.selectbox if each.key == "connect_source"]
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
    source = Connected(Connection.of("team", options), "march.parquet", MAPPING)
    named(monkeypatch, source.source)
    app = start("Data", drafted(source))
    assert not [each for each in app.segmented_control if each.key == "connect_rows"]
    assert "First rows" not in [each.label for each in app.expander]
    session = counted(source)
    session.change(BIN_AT, 0.5)
    app = start("Reliability", session)
    assert "fetch_rows" not in {each.key for each in app.button}
    texts.shown(said(app), "words")
    # A link may ask for a sample.
    with texts.raises(InputError):
        Upload.of_source(Connected(source.source, "march.parquet", MAPPING, sample=100))
    with texts.raises(ValueError):
        Connection.of("team", options | {"rows": "no"})


@rare
def test_a_bin_shows_rows_of_the_source(folder):
    session = counted(connected(folder))
    session.change(BIN_AT, 0.5)
    app = press(start("Reliability", session), "fetch_rows")
    found = next(one.value for one in app.dataframe if list(one.value) == ["p", "y", "site"])
    assert len(found) == 50


def test_a_sample_has_the_rows_that_the_library_draws(folder, tmp_path):
    of_classes().to_parquet(folder / "t.parquet")
    upload = Upload.of_source(connected(folder, "t.parquet", CLASSES, sample=200))
    given = {"outcome": "y", "score": list(CLASSES.score)}
    expected = calib.scan_sample(folder / "t.parquet", n=200, **given)
    assert upload.predictions.is_matrix
    assert upload.predictions.fingerprint == expected.fingerprint
    assert expected.remarks[0] in upload.checklist
    # Equal rows are drawn by their id.
    equal = pd.DataFrame({"y": [0, 1] * 500, "p": [0.25, 0.75] * 500, "row": range(1000)})
    equal.to_parquet(folder / "t.parquet")
    source = connected(folder, "t.parquet", sample=200, row_id="row")
    expected = calib.scan_sample(equal, n=200, key="row", outcome="y", score="p", positive="1")
    assert Upload.of_source(source).predictions.fingerprint == expected.fingerprint


@rare
def test_a_sample_is_drawn_on_the_page_and_again_by_its_link(folder, texts):
    of_classes().to_parquet(folder / "t.parquet")
    app = start("Data", drafted(connected(folder, "t.parquet", CLASSES)))
    app.segmented_control(key="connect_rows").set_value("Draw a sample").run()
    assert app.number_input(key="connect_sample").value == 200_000
    app.number_input(key="connect_sample").set_value(500).run()
    texts(app.button(key="connect_scan").label)
    assert not [each for each in app.selectbox if each.key == "connect_view"]
    assert not press(app, "connect_scan").error
    texts.shown(said(go(app, "Overview")))
    assert not go(app, "Compare").error
    assert not go(app, "Classes").error
    link = session_of(app).link()
    assert json.loads(link["query"])["sample"] == 500
    texts.shown(start("Overview", **link).info[0].value)


def test_a_sample_that_would_not_fit_in_memory_is_refused(folder, texts):
    wide = {"sample": 1_000_000, "columns": tuple(map(str, range(1000)))}
    with texts.raises(InputError) as caught:
        connected(folder, **wide).drawn()
    assert caught.value.problems[0].code == "too-large"


def test_predicted_labels_are_not_counted_as_if_they_were_scores(folder, texts):
    mapping = Columns(outcome="y", score="p", predicted="site")
    with texts.raises(InputError) as caught:
        connected(folder, mapping=mapping).counted()
    assert caught.value.problems[0].code == "predicted"


@pytest.mark.parametrize(("view", "chosen"), [("top:1", None), ("class:2", "class:2")])
@rare
def test_a_view_of_class_scores_is_that_of_the_rows(folder, view, chosen):
    frame = of_classes()
    frame.to_parquet(folder / "t.parquet")
    app = start("Data", drafted(connected(folder, "t.parquet", CLASSES)))
    assert app.segmented_control(key="connect_kind").value == "By class"
    assert app.text_input(key="connect_classes").value == "p_ant … p_cow"
    if chosen:
        app.selectbox(key="connect_view").set_value(chosen).run()
    assert not press(app, "connect_scan").error
    (found,) = session_of(app).upload.models.values()
    assert found.view_key == view
    in_rows = calib.load(frame, outcome="y", score=list(CLASSES.score))
    expected = calib.analyze(in_rows, {"view": view, "methods": ("uncalibrated",)})
    (said_of_all,) = answers(go(app, "Overview"))
    assert expected.verdict.summary.rpartition(": ")[2] in said_of_all.lower()


@pytest.mark.parametrize("sample", [0, 300])
@rare
def test_several_models_are_compared(folder, sample):
    frame = rows(900).rename(columns={"p": "p_old"})
    frame = frame.assign(p_new=frame["p_old"] ** 1.3, row=range(900))
    frame.to_parquet(folder / "t.parquet")
    mapping = Columns(outcome="y", models=("p_old", "p_new"), positive="1")
    app = start(
        "Data", drafted(connected(folder, "t.parquet", mapping, sample=sample, row_id="row"))
    )
    assert app.segmented_control(key="connect_kind").value == "By model"
    assert not press(app, "connect_scan").error
    assert set(session_of(app).upload.models) == {"p_old", "p_new"}
    for page in ("Overview", "Reliability", "Slices", "Decisions", "Functions", "Reports"):
        assert not go(app, page).error, page
    assert ("Counts do not pair rows" in said(go(app, "Compare"))) == (sample == 0)
    compared = r"(p_old and p_new|p_new and p_old) are not significantly different"
    assert sample or re.search(compared, said(app))


def test_a_pair_of_slice_columns_is_counted_together_and_goes_with_its_columns(folder, texts):
    rows(600).assign(plan=["basic", "pro"] * 300).to_parquet(folder / "t.parquet")
    pairs = (("site", "plan"),)
    mapping = MAPPING.chosen(slices=("site", "plan"))
    source = connected(folder, "t.parquet", mapping, pairs=pairs)
    session = counted(source)
    assert session.upload.predictions.crossings == pairs
    assert json.loads(session.link()["query"])["pairs"] == [["site", "plan"]]
    assert source.mapped(MAPPING.chosen(slices=("site",))).pairs == ()
    without = connected(folder, "t.parquet", mapping)
    app = start("Data", drafted(without))
    app.multiselect(key="connect_pairs").set_value(list(pairs)).run()
    assert session_of(app).draft == source
    texts.shown(said(start("Slices", counted(without))))


def test_a_link_counts_again_and_says_what_changed(folder, texts):
    session = counted(connected(folder))
    model_of(session)
    link = session.link()
    assert str(folder) not in json.dumps(link)
    query = json.loads(link["query"])
    assert (query["source"], query["table"], query["outcome"]) == ("team", ALL_FILES, "y")
    texts.shown(start("Overview", **link).info[0].value)
    written(folder, 100, "may.parquet")
    app = start("Overview", **link)
    told = app.info[0].value.replace("\\", "")
    assert told.startswith("Counted on 20")
    assert "Rows: 800 before, 900 now." in told
    assert re.search(r"KS calibration error: [\d.]+%", told)
    assert not press(app, "dismiss_changed").info


@rare
def test_a_saved_report_counts_again_and_says_what_changed(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    session = counted(connected(folder))
    report = report_of(session, model_of(session))
    assert json.loads(report.source)["source"] == "team"
    assert str(folder) not in report.json()
    with Store.from_environment() as store:
        report_id = store.save(report)
    written(folder, 100, "may.parquet")
    app = press(start("Reports", report=report_id), "recount")
    # AppTest does not follow to the other page by itself.
    assert plain("Rows: 800 before, 900 now.") in go(app, "Overview").info[0].value


def test_a_link_to_a_source_or_columns_that_are_not_here_says_so(folder, texts):
    query = {"source": "other", "table": "march.parquet", "outcome": "y", "score": "p"}
    app = start("Overview", query=json.dumps(query))
    texts(headings(app)[1])
    texts.shown(app.error[0].value)
    assert session_of(app).upload is None
    assert not press(app, "show_example").error
    app = start("Overview", query=json.dumps(query | {"source": "team", "score": "q"}))
    assert "`q`" in app.error[0].value
    # It is not asked again and again.
    assert app.button(key="recount")


@pytest.mark.parametrize(
    "query",
    [
        '{"source":"/etc","table":"passwd"}',
        '{"source":"team","table":"../secret.parquet","outcome":"y","score":"p"}',
        '{"source":"team","table":"%s/secret.parquet","outcome":"y","score":"p"}',
        '{"source":"team","table":"","outcome":"y","score":"p"}',
        '{"source":"team","table":"march.parquet","outcome":"y\\" FROM x --","score":"p"}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":["p","site"],"view":"/etc"}',
        '{"source":"team","table":"march.parquet","outcome":"y","models":["../p"]}',
        '{"source":"team","table":"../secret.parquet","outcome":"y","score":"p","sample":500}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":"p","sample":5000000}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":"p","pairs":[["x","y"]]}',
        '{"source":"team","table":"april.parquet","outcome":"y","score":"p","sample":200,'
        '"row_id":"../x"}',
        '{"source":"team","table":"march.parquet","outcome":"y","classes":"* … /etc"}',
    ],
)
def test_a_hostile_link_opens_nothing_else(query, folder, tmp_path):
    rows(10).to_parquet(tmp_path / "secret.parquet")
    text = query.replace("%s", str(tmp_path))
    link, refused = decode({"v": "1", "query": text})
    assert not refused
    with pytest.raises(InputError):
        Upload.of_source(link.source.query.connected())


def test_single_scores_have_one_view_whatever_a_link_says(folder):
    view = Query("team", "march.parquet", MAPPING, "class:9").connected()
    assert Upload.of_source(view).predictions.n_rows == 500


@pytest.mark.parametrize(
    "link",
    [
        {"query": "[" * 5000},
        {"query": "{}"},
        {"query": '{"source":"team","table":"a","path":"/etc/passwd"}'},
        {"query": '{"source":"team","table":"a","outcome":{"a":1}}'},
        {"query": '{"source":"team","table":"a","transform":"![x](http://evil)"}'},
        {"query": '{"source":"team","table":["a"]}'},
        {"query": '{"source":"team","table":"a","slices":"a"}'},
        {"query": '{"source":"team","table":"a","pairs":["ab"]}'},
        {"query": '{"source":"team","table":"a","pairs":[["a"]]}'},
        {"query": '{"source":"team","table":"a","pairs":[["a",1]]}'},
        {"query": '{"source":"team","table":"a","sample":"all"}'},
        {"query": '{"source":"team","table":"a","sample":true}'},
        {"query": '{"source":"team","table":"a","sample":-5}'},
        {"query": '{"source":"team","table":"a","swap":"yes"}'},
        {"query": '{"source":"team","table":"a","guessed":["outcome"]}'},
        {"query": '{"source":"team","table":"a","score":["p",1]}'},
        {"query": '{"source":"","table":"a"}'},
        {"query": '{"source":"team"}'},
        {"query": '{"source":"' + "x" * 10_000 + '"}'},
        {"seen": "yesterday"},
        {"seen": "2026-11-22~5~1e9~0~0~x"},
        {"seen": "2026-11-22~~~~~"},
    ],
)
def test_what_no_connected_link_says_is_ignored_in_a_sentence(link):
    session = Session.from_link({"v": "1", **link})
    (refused,) = session.refused
    assert "was ignored" in refused
    assert not session.waits


def test_many_classes_are_a_range_in_a_link(folder):
    frame = pd.DataFrame(np.full((3, 40), 0.025), columns=[f"p_{k}" for k in range(40)])
    frame.assign(y=[0, 1, 2]).to_parquet(folder / "t.parquet")
    mapping = Columns(outcome="y", score=tuple(frame))
    query = Query.of(connected(folder, "t.parquet", mapping, view="class:3"))
    assert query.classes == "p_0 … p_39"
    again = Query.read(query.written()).connected()
    assert (again.mapping.score, again.view) == (tuple(frame), "class:3")

"""Connect: a source that the operator named is counted where it lies; nothing else is opened."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import calib
from calib.loading import ColumnMapping, InputError
from calib.scanning.connections import ALL_FILES, Connection
from calib.store import Store
from calib.text import plain
from calib.ui.session.upload import Connected
from tests.pages.test_pages import answers, button, go, start
from tests.rare import common_first


def rows(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    # Few cells: an analysis grows with them.
    p = rng.random(n_rows).round(3)
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
    app = start(m="platt")
    app.secrets["connections"] = {"team": {"type": "files", "path": str(folder)}}
    go(app, "data")
    app.selectbox(key="connect_source").set_value("team").run()
    app.selectbox(key="connect_table_team").set_value(table).run()
    return app


def test_a_table_is_mapped_by_a_guess_and_counted(folder):
    app = connected(folder, ALL_FILES)
    assert app.selectbox(key="connect_outcome").value == "y"
    assert app.selectbox(key="connect_score").value == "p"
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert not app.error
    assert any("5,000 rows, counted in" in each.value for each in app.markdown)
    # The answer is that of all rows.
    frame = pd.concat([rows(2000, seed=2000), rows(3000, seed=3000)])
    answer = calib.analyze(calib.load(frame, outcome="y", score="p")).verdict
    go(app, "")
    (said_of_all,) = answers(app)
    assert answer.kind in said_of_all
    assert answer.finding in said_of_all


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
    app.selectbox(key="connect_transform").set_value("percent").run()
    app.selectbox(key="connect_score").set_value("site").run()
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


def of_classes(n_rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    score = rng.dirichlet(np.ones(3), n_rows)
    frame = pd.DataFrame(score, columns=["p_ant", "p_bee", "p_cow"])
    frame["y"] = [rng.choice(["ant", "bee", "cow"], p=own) for own in score]
    return frame


def of_models(n_rows: int = 900) -> pd.DataFrame:
    frame = rows(n_rows).rename(columns={"p": "p_old"})
    return frame.assign(p_new=frame["p_old"] ** 1.3)


MAPPING = ColumnMapping(outcome="y", score="p")


def offered(tmp_path: Path, frame: pd.DataFrame):
    (tmp_path / "scores").mkdir(exist_ok=True)
    frame.to_parquet(tmp_path / "scores" / "t.parquet")
    return connected(tmp_path / "scores", "t.parquet")


def said(app) -> str:
    return " ".join(each.value for each in (*app.markdown, *app.caption, *app.info, *app.warning))


@pytest.mark.parametrize(("view", "chosen"), [("top:1", None), ("class:2", "class:2")])
def test_a_view_of_class_scores_is_that_of_the_rows(tmp_path, view, chosen):
    frame = of_classes()
    app = offered(tmp_path, frame)
    assert app.segmented_control(key="connect_kind").value == "By class"
    assert app.text_input(key="connect_classes").value == "p_ant … p_cow"
    if chosen:
        app.selectbox(key="connect_view").set_value(chosen).run()
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert not app.error
    (counted,) = app.session_state["calib"].upload.models.values()
    assert counted.view_key == view
    in_rows = calib.load(frame, outcome="y", score=["p_ant", "p_bee", "p_cow"])
    expected = calib.analyze(in_rows, {"view": view, "methods": ("uncalibrated",)})
    go(app, "")
    (said_of_all,) = answers(app)
    assert expected.verdict.summary.rpartition(": ")[2] in said_of_all.lower()


@pytest.mark.parametrize("by", common_first(["column", "name"], ["column"]))
def test_several_models_are_compared(tmp_path, by):
    frame = of_models()
    if by == "name":
        parts = [
            frame.rename(columns={name: "p"})[["p", "y", "site"]].assign(model=name)
            for name in ("p_old", "p_new")
        ]
        frame = pd.concat(parts, ignore_index=True)
    app = offered(tmp_path, frame)
    if by == "column":
        assert app.segmented_control(key="connect_kind").value == "By model"
        assert set(app.multiselect(key="connect_models").value) == {"p_old", "p_new"}
    else:
        assert app.selectbox(key="connect_model").value == "model"
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert set(app.session_state["calib"].upload.models) == {"p_old", "p_new"}
    assert "2 models" in said(app)
    for page in ("", "reliability", "slices", "decisions", "functions", "cumulative", "reports"):
        go(app, page)
        assert not app.error, page
    go(app, "compare")
    assert "Counts do not pair rows" in said(app)
    words = said(app).replace("\\", "")
    assert re.search("(p_old and p_new|p_new and p_old) are not significantly different", words)
    # The mapping is still there.
    go(app, "data")
    assert app.selectbox(key="connect_table_team").value == "t.parquet"
    assert app.selectbox(key="connect_outcome").value == "y"


def test_two_slice_columns_that_were_counted_together_are_crossed(tmp_path):
    frame = rows(2000).assign(plan=["basic", "pro"] * 1000)
    app = offered(tmp_path, frame)
    app.multiselect(key="connect_slices").set_value(["site"]).run()
    assert not [each for each in app.multiselect if each.key == "connect_pairs"]
    app.multiselect(key="connect_slices").set_value(["site", "plan"]).run()
    app.multiselect(key="connect_pairs").set_value([("site", "plan")]).run()
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert not app.error
    (counted,) = app.session_state["calib"].upload.models.values()
    assert counted.crossings == (("site", "plan"),)
    link = link_of(go(app, ""))
    assert json.loads(link["query"])["pairs"] == [["site", "plan"]]
    app = opened(tmp_path / "scores", link)
    assert "Nothing changed" in app.info[0].value
    go(app, "slices")
    app.selectbox(key="slice_by").set_value("site").run()
    app.selectbox(key="cross").set_value("plan").run()
    assert not app.error
    app.selectbox(key="cross").set_value("").run()
    assert "Slices to cross" not in said(app)
    # A pair goes with its columns.
    app = offered(tmp_path, frame)
    app.multiselect(key="connect_slices").set_value(["site", "plan"]).run()
    app.multiselect(key="connect_pairs").set_value([("site", "plan")]).run()
    app.multiselect(key="connect_slices").set_value(["site"]).run()
    assert app.session_state["calib"].draft.pairs == ()
    app.multiselect(key="connect_slices").set_value(["site", "plan"]).run()
    button(app, "connect_scan").click().run()
    assert "Slices to cross" in said(go(app, "slices"))


def test_a_sample_is_analysed_as_rows(tmp_path):
    frame = of_classes()
    app = offered(tmp_path, frame)
    app.segmented_control(key="connect_rows").set_value("Draw a sample").run()
    assert app.number_input(key="connect_sample").value == 200_000
    app.number_input(key="connect_sample").set_value(500).run()
    assert button(app, "connect_scan").label == "Analyse the sample"
    assert not [each for each in app.selectbox if each.key == "connect_view"]
    button(app, "connect_scan").click().run()
    assert not app.exception
    assert not app.error
    given = {"outcome": "y", "score": ["p_ant", "p_bee", "p_cow"]}
    expected = calib.scan_sample(tmp_path / "scores", n=500, **given)
    (drawn,) = app.session_state["calib"].upload.models.values()
    assert drawn.is_matrix
    assert drawn.fingerprint == expected.fingerprint
    assert drawn.remarks[0] == expected.remarks[0]
    assert expected.remarks[0] in said(app)
    go(app, "")
    assert "(a sample of its rows)" in said(app)
    assert plain(expected.remarks[0]) in said(app)
    assert not go(app, "compare").error
    assert not go(app, "classes").error
    link = link_of(go(app, ""))
    assert json.loads(link["query"])["sample"] == 500
    again = opened(tmp_path / "scores", link)
    assert not again.exception
    assert "the sample is the same" in again.info[0].value


def test_a_sample_of_equal_rows_is_drawn_by_their_id(tmp_path):
    frame = pd.DataFrame({"y": [0, 1] * 1000, "p": [0.25, 0.75] * 1000, "row": range(2000)})
    app = offered(tmp_path, frame)
    app.segmented_control(key="connect_rows").set_value("Draw a sample").run()
    app.number_input(key="connect_sample").set_value(200).run()
    app.selectbox(key="connect_row_id").set_value("row").run()
    button(app, "connect_scan").click().run()
    assert not app.error
    (drawn,) = app.session_state["calib"].upload.models.values()
    own = calib.scan_sample(frame, n=200, key="row", outcome="y", score="p")
    assert drawn.fingerprint == own.fingerprint
    app.number_input(key="connect_sample").set_value(2000).run()
    button(app, "connect_scan").click().run()
    assert "these are all of them" in said(app)


def test_what_is_wrong_with_a_sample_is_told_with_its_repair(tmp_path):
    app = offered(tmp_path, rows(600).assign(p=lambda frame: 100 * frame["p"]))
    app.segmented_control(key="connect_rows").set_value("Draw a sample").run()
    app.selectbox(key="connect_transform").set_value("none").run()
    button(app, "connect_scan").click().run()
    assert "percent" in app.error[0].value.lower()
    button(app, "connect_repair_percent_0_0").click().run()
    button(app, "connect_scan").click().run()
    assert not app.error
    assert app.session_state["calib"].upload.models


def test_several_models_of_a_sample_are_compared_row_by_row(tmp_path):
    app = offered(tmp_path, of_models())
    app.segmented_control(key="connect_rows").set_value("Draw a sample").run()
    app.number_input(key="connect_sample").set_value(300).run()
    button(app, "connect_scan").click().run()
    assert not app.error
    upload = app.session_state["calib"].upload
    assert {name: len(each) for name, each in upload.models.items()} == {"p_old": 300, "p_new": 300}
    assert "Counts do not pair rows" not in said(go(app, "compare"))


def test_a_source_of_which_only_counts_are_allowed_shows_no_rows(folder, texts):
    app = start(m="platt")
    only = {"type": "files", "path": str(folder), "rows": False}
    app.secrets["connections"] = {"team": only}
    go(app, "data")
    app.selectbox(key="connect_source").set_value("team").run()
    app.selectbox(key="connect_table_team").set_value(ALL_FILES).run()
    assert not [each for each in app.segmented_control if each.key == "connect_rows"]
    assert "First rows" not in [each.label for each in app.expander]
    button(app, "connect_scan").click().run()
    assert not app.error
    go(app, "reliability")
    bins = next(each for each in app.selectbox if each.key.startswith("bin_at_uncalibrated"))
    bins.set_value(2).run()
    assert not [each for each in app.button if each.key == "fetch_rows"]
    assert "allows only counts" in said(app)
    # A link may ask for a sample.
    asked = Connected(Connection.of("team", only), "march.parquet", MAPPING, sample=100)
    with texts.raises(InputError):
        asked.drawn()
    with pytest.raises(ValueError, match="must be true or false"):
        Connection.of("team", only | {"rows": "no"})


def test_a_sample_that_would_not_fit_in_memory_is_refused(folder):
    source = Connection("team", "files", str(folder))
    columns = tuple(map(str, range(1000)))
    wide = Connected(source, "march.parquet", MAPPING, sample=1_000_000, columns=columns)
    with pytest.raises(InputError, match="Draw at most 200,000 rows"):
        wide.drawn()


def test_one_class_column_is_refused_as_for_files(tmp_path):
    app = offered(tmp_path, of_classes())
    app.text_input(key="connect_classes").set_value("p_ant").run()
    button(app, "connect_scan").click().run()
    assert "One class column" in app.error[0].value
    button(app, "connect_repair_one-class-column_0_0").click().run()
    assert app.selectbox(key="connect_score").value == "p_ant"


def test_predicted_labels_are_not_counted_as_if_they_were_scores(folder):
    source = Connection("team", "files", str(folder))
    mapping = ColumnMapping(outcome="y", score="p", predicted="site")
    with pytest.raises(InputError, match="compares no predicted labels"):
        Connected(source, "march.parquet", mapping).counted()


def test_a_repair_maps_the_columns_as_it_says(tmp_path):
    app = offered(tmp_path, rows(600).assign(p=lambda frame: 100 * frame["p"]))
    button(app, "connect_scan").click().run()
    assert "percent" in app.error[0].value.lower()
    button(app, "connect_repair_percent_0_0").click().run()
    assert app.selectbox(key="connect_transform").value == "percent"
    assert not app.error
    button(app, "connect_scan").click().run()
    assert not app.error
    assert app.session_state["calib"].upload.models


def opened(folder: Path, link: dict[str, str], name: str = "team"):
    """A link as another person opens it."""
    app = start(**link)
    if folder is not None:
        app.secrets["connections"] = {name: {"type": "files", "path": str(folder)}}
    return app.run()


def link_of(app) -> dict[str, str]:
    # AppTest gives lists.
    found = dict(app.query_params)
    return {name: each[0] if isinstance(each, list) else each for name, each in found.items()}


def test_a_link_counts_again_and_says_what_changed(folder):
    app = connected(folder, ALL_FILES)
    button(app, "connect_scan").click().run()
    go(app, "")
    link = link_of(app)
    assert str(folder) not in json.dumps(link)
    query = json.loads(link["query"])
    assert (query["source"], query["table"], query["outcome"]) == ("team", ALL_FILES, "y")

    same = opened(folder, link)
    assert not same.exception
    assert "Nothing changed since " in same.info[0].value
    written(folder / "may.parquet", 1000)
    other = opened(folder, link)
    assert not other.exception
    assert plain("Rows: 5,000 before, 6,000 now.") in other.info[0].value
    told = other.info[0].value.replace("\\", "")
    assert told.startswith("Counted on 20")
    assert re.search(r"KS calibration error: [\d.]+%", told)
    assert told.endswith("Not calibrated: too high, before and now.")
    button(other, "dismiss_changed").click().run()
    assert not other.info


def test_a_saved_report_counts_again_and_says_what_changed(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    app = connected(folder, ALL_FILES)
    button(app, "connect_scan").click().run()
    go(app, "reports")
    button(app, "save").click().run()
    assert not app.exception
    with Store.from_environment() as store:
        (entry,) = store.list()
        assert json.loads(store.open(entry.id).source)["source"] == "team"
        assert str(folder) not in store.open(entry.id).json()
    written(folder / "may.parquet", 1000)

    for name, said_ in (("team", "Rows: 5,000 before, 6,000 now."), ("other", "")):
        other = opened(folder, {"report": entry.id}, name)
        other.switch_page("pages/reports.py").run()
        other.query_params["report"] = entry.id
        button(other.run(), "recount").click().run()
        # AppTest does not follow to the other page by itself.
        go(other, "")
        if said_:
            assert plain(said_) in other.info[0].value
            assert not other.error
        else:
            assert "This server has no source `team`" in other.error[0].value


def test_a_link_to_a_source_that_is_not_known_here_names_it(folder):
    app = connected(folder, ALL_FILES)
    button(app, "connect_scan").click().run()
    link = link_of(app)
    app = opened(folder, link, name="other")
    assert not app.exception
    assert "This server has no source `team`" in app.error[0].value
    assert app.session_state["calib"].upload is None
    button(app, "show_example").click().run()
    assert not app.error


def test_a_link_to_columns_that_are_gone_says_so(folder):
    app = connected(folder, "march.parquet")
    button(app, "connect_scan").click().run()
    link = link_of(app)
    rows(500).rename(columns={"p": "q"}).to_parquet(folder / "march.parquet")
    app = opened(folder, link)
    assert not app.exception
    assert "`p`" in app.error[0].value
    # It is not asked again and again.
    assert button(app, "recount")


@pytest.mark.parametrize(
    "query",
    [
        '{"source":"/etc","table":"passwd"}',
        '{"source":"team","table":"../secret.parquet","outcome":"y","score":"p"}',
        '{"source":"team","table":"%s/secret.parquet","outcome":"y","score":"p"}',
        '{"source":"team","table":"","outcome":"y","score":"p"}',
        '{"source":"team","table":"march.parquet","outcome":"y\\" FROM x --","score":"p"}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":"p","view":"class:9"}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":["p","site"],"view":"/etc"}',
        '{"source":"team","table":"march.parquet","outcome":"y","models":["../p"]}',
        '{"source":"team","table":"../secret.parquet","outcome":"y","score":"p","sample":500}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":"p","sample":5000000}',
        '{"source":"team","table":"march.parquet","outcome":"y","score":"p","pairs":[["x","y"]]}',
        '{"source":"team","table":"april.parquet","outcome":"y","score":"p","sample":500,'
        '"row_id":"../x"}',
        '{"source":"team","table":"march.parquet","outcome":"y","classes":"* … /etc"}',
    ],
)
def test_a_hostile_link_opens_nothing_else(query, folder, tmp_path):
    written(tmp_path / "secret.parquet", 10)
    app = opened(folder, {"v": "1", "query": query.replace("%s", str(tmp_path))})
    assert not app.exception
    upload = app.session_state["calib"].upload
    if "view" in query and '"score":"p"' in query:
        return  # Single scores have only one view, whatever the link says.
    assert upload is None
    assert app.error


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
def test_what_no_connected_link_says_is_ignored_in_a_sentence(link, folder):
    app = opened(folder, {"v": "1", **link})
    assert not app.exception
    assert "was ignored" in app.warning[0].value
    assert not app.session_state["calib"].waits


def test_many_classes_are_a_range_in_a_link(tmp_path):
    rng = np.random.default_rng(0)
    score = rng.dirichlet(np.ones(40), 800)
    frame = pd.DataFrame(score, columns=[f"p_{k}" for k in range(40)])
    frame.insert(0, "y", [rng.choice(40, p=own) for own in score])
    app = offered(tmp_path, frame)
    app.selectbox(key="connect_view").set_value("class:3").run()
    button(app, "connect_scan").click().run()
    assert not app.error
    link = link_of(go(app, ""))
    assert json.loads(link["query"])["classes"] == "p_0 … p_39"
    again = opened(tmp_path / "scores", link)
    assert not again.exception
    assert "Nothing changed" in again.info[0].value

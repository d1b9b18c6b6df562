"""The Reports page without a browser: saving, finding, opening, comparing, deleting, files."""

import gzip
import json
import shlex
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from sqlalchemy import insert
from streamlit.testing.v1 import AppTest

import calib
from calib.analysis.decisions import Costs, ErrorLimit
from calib.analysis.judge import judge_rows
from calib.cli import main
from calib.loading.judged_rows import judged_example
from calib.reports import Report, compare_reports, parts_of
from calib.reports.contents.settings_file import SavedSettings
from calib.reports.render.reproduction import command_line, library_call
from calib.store import Store
from calib.store.engine import make_engine
from calib.store.tables import titles
from calib.text import day_words, moment
from calib.ui.controls.report_files import file_stem
from calib.ui.pages.reports.sharing import IMAGES, who_can_open
from calib.ui.session import identity
from calib.ui.session.identity import is_local
from calib.ui.session.sign_in import Person
from calib.words.measures import metric_text
from tests.pages.harness import (
    address,
    answers,
    drawings,
    drawn,
    drop,
    go,
    metric_tables,
    press,
    said,
    session_of,
    start,
)
from tests.pages.test_hostile import bare
from tests.rare import common_first, rare
from tests.reports.kept import KEPT

# A report of one method: it grows with them.
opened = partial(start, "Reports", m="platt")
drop_report = partial(drop, name="report.json")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("CALIB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CALIB_DATABASE_URL", raising=False)
    return tmp_path / "home"


@pytest.fixture
def store(home) -> Store:
    with Store.from_environment() as opened:
        yield opened


@pytest.fixture(scope="module")
def report() -> Report:
    return Report.open(KEPT)


def rows(n: int = 600) -> str:
    rng = np.random.default_rng(0)
    p = rng.random(n).round(5)
    hits = rng.random(n) < p**2
    sites, days = rng.choice(["north", "south"], n), rng.integers(1, 29, n)
    lines = [
        f"{int(hit)},{score:.5f},{site},2024-01-{day:02d}"
        for hit, score, site, day in zip(hits, p, sites, days, strict=True)
    ]
    return "outcome,score,site,date\n" + "\n".join(lines) + "\n"


def tables(app: AppTest) -> str:
    frames = [frame.value.to_string() for frame in app.dataframe]
    return " ".join(frames + metric_tables(app))


def undated(report: Report) -> str:
    # The seal holds the date, too.
    return replace(report, created="2026-03-01", seal=None).json()


def stated(report: Report) -> str:
    """The same as what is made by a call or a command that names what was guessed at first."""
    data = json.loads(undated(report))
    data["analysis"]["data"]["origin"]["guessed"] = []
    return json.dumps(data)


@rare
def test_page_library_and_command_line_give_the_same_report(store, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(rows())
    app = start("Reports", rows())
    app.text_input(key="title").set_value("March").run()
    press(app, "save")
    (entry,) = store.list()
    page = undated(store.open(entry.id))

    predictions = calib.load(path)
    analysis = calib.analyze(predictions)
    words = {"title": "March"}
    by_hand = Report.from_analysis(analysis, parts=parts_of(predictions, analysis), **words)
    assert page == undated(by_hand)

    assert main(["report", str(path), "--title", "March", "-o", str(tmp_path / "r.json")]) == 0
    assert page == undated(Report.open(tmp_path / "r.json"))


def test_the_settings_of_the_pages_go_into_all_three_alike(store, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(rows())
    link = {"bins": "9", "by": "uniform", "m": "platt", "fn": "4", "cross": "date", "slice": "site"}
    link |= {"unit": "week", "ranges": "3", "err": "0.4", "sure": "0.9"}
    app = start("Reports", rows(), **link)
    press(app, "save")
    (entry,) = store.list()
    page = undated(store.open(entry.id).edited(title=""))

    predictions = calib.load(path)
    settings = calib.Settings(methods=("platt",), n_bins=9, strategy="uniform")
    analysis = calib.analyze(predictions, settings)
    parts = parts_of(
        predictions,
        analysis,
        slices=[("site",), ("site", "date")],
        n_ranges=3,
        unit="week",
        costs=Costs(false_negative=4),
        error_limit=ErrorLimit(0.4, 0.9, "both"),
    )
    assert parts.certificate.share
    assert page == undated(Report.from_analysis(analysis, parts=parts))

    options = "--bins 9 --strategy uniform --methods platt --cost-fn 4 --unit week --ranges 3"
    options += " --certify-error 0.4 --certify-confidence 0.9 --certify-sides both"
    command = ["report", str(path), *options.split(), "--cross", "site", "date"]
    assert main([*command, "-o", str(tmp_path / "r.json")]) == 0
    assert page == undated(Report.open(tmp_path / "r.json"))


def test_the_grade_is_chosen_and_what_an_exact_report_shows_is_said(store, texts):
    app = opened(rows())
    assert "from the files of an exact report" not in said(app)
    app.radio(key="grade").set_value("exact").run()
    texts.shown(said(app))
    press(app, "save")
    (entry,) = store.list()
    assert store.open(entry.id).evidence.grade == "exact"


def test_saving_twice_makes_one_and_editing_makes_another(store, texts):
    app = opened()
    app.text_input(key="tags").set_value("churn, 2026").run()
    press(app, "save")
    press(app, "save")
    texts.shown(found(app))
    (first,) = store.list()
    assert first.tags == ("2026", "churn")
    app.text_input(key="title").set_value("Another").run()
    press(app, "save")
    dated = f"Calibration of naive_bayes, {day_words(first.created)}"
    assert {entry.title for entry in store.list()} == {dated, "Another"}
    assert undated(store.open(first.id))


def test_another_session_is_led_to_an_equal_report_of_an_earlier_day(store, texts):
    press(opened(), "save")
    (today,) = store.list()
    title = "Calibration of naive_bayes, 1 March 2026"
    before = store.open(today.id).edited(title=title, created="2026-03-01T09:05:00+00:00")
    store.delete(today.id, by="a test", for_good=True)
    report_id = store.save(before)
    app = opened(new="report")
    press(app, "save")
    assert store.count() == 1
    assert session_of(app).team_reports.saved == report_id
    texts(app.success[0].value)
    # Only the session that saved a report may delete it.
    assert not session_of(app).team_reports.saved_ids
    app.text_area(key="note").set_value("Other words").run()
    press(app, "save")
    assert store.count() == 2


def keys(app: AppTest) -> set[str]:
    return {each.key for each in app.button}


def test_saved_reports_come_first_and_the_form_is_behind_a_button(store, report):
    assert "new_report" not in keys(opened())  # The form is open while nothing is saved.
    store.save(report)
    app = opened()
    assert "## 1 saved report" in said(app)
    assert not app.get("download_button")
    order = [each.key for each in app.main if each.type in ("checkbox", "button")]
    assert order.index("pick_0") < order.index("new_report")
    press(app, "new_report")
    order = [each.key for each in app.main if each.type in ("checkbox", "button")]
    assert order.index("pick_0") < order.index("save")
    assert len(app.get("download_button")) == 4
    press(app, "close_form")
    assert "new_report" in keys(app)
    # Other pages lead to the form.
    assert "save" in keys(opened(new="report"))


def test_no_report_is_made_before_a_click(store, monkeypatch):
    def refuse(*_):
        raise AssertionError("a report was made")

    monkeypatch.setattr(Report, "from_analysis", refuse)
    app = opened()
    assert len(app.get("download_button")) == 4


def test_a_report_has_the_people_of_the_form(store):
    app = opened()
    words = {"author": "Ada", "reviewer": "Bo", "sign_off": "Cy, 2 June", "model_version": "PD 2.3"}
    for key, value in words.items():
        app.text_input(key=key).set_value(value).run()
    press(app, "save")
    saved = store.open(store.list()[0].id)
    assert {name: getattr(saved, name) for name in words} == words


def test_a_report_has_the_template_and_the_fields_of_the_form(store):
    app = opened()
    assert app.selectbox(key="template").value == ""
    app.selectbox(key="template").set_value("clinical").run()
    n_fields = sum((one.key or "").startswith("answer clinical ") for one in app.text_input)
    assert n_fields == 30
    app.text_input(key="answer clinical 17").set_value("Committee 12").run()
    press(app, "save")
    saved = store.open(store.list()[0].id)
    assert saved.checklist.template.name == "clinical"
    assert saved.checklist.answers == {"17": "Committee 12"}
    assert "observed_expected_ratio" in saved.analysis.uncalibrated.metrics
    assert "17 Ethical approval" in said(opened(report=store.list()[0].id))


def test_a_report_that_an_earlier_version_renamed_says_its_title_in_the_list(store, report):
    report_id = store.save(report)
    engine = make_engine(store.url, 10.0)
    with engine.begin() as connection:
        line = {"report_id": report_id, "title": "Loans, June", "searched": "loans, june"}
        connection.execute(insert(titles).values(line))
    engine.dispose()
    assert "**Loans, June**" in found(opened())
    text = said(opened(report=report_id))
    assert "Listed as Loans, June." in text
    assert "## Loans, with slices" in text


def test_a_report_is_deleted_in_the_list_by_who_may_change_it(store, report):
    report_id = store.save(report)
    assert "delete_0" not in keys(opened())
    app = press(own(opened(), report_id), "delete_0")
    press(app, "delete_confirmed")
    assert store.count() == 0


def test_files_have_the_name_of_the_data():
    assert file_stem("loans 2026/03") == "loans_2026_03"
    assert file_stem("../../<b>") == ".._.._b_"
    assert len(file_stem("x" * 300)) == 60


def test_a_tag_that_is_too_long_is_told_and_nothing_is_saved(store, texts):
    app = opened()
    app.text_input(key="tags").set_value("x" * 70).run()
    texts.shown(said(press(app, "save")))
    assert store.count() == 0


def test_a_link_with_the_id_alone_opens_the_report(store, report, texts):
    app = opened(report=store.save(report, tags=["credit"]))
    text = said(app)
    texts.shown(text)
    for title in ("Record", "Slices", "Over time", "Decisions", "How to reproduce this"):
        assert f"### {title}" in text
    # The answer above the contents has its own drawing.
    below, (_, *svgs) = report.html().split("<nav")[1], drawings(app)
    assert len(app.get("plotly_chart")) + len(svgs) == below.count('class="plot"')
    lines = metric_tables(app)
    n_tables = len(app.dataframe) + len(app.table) + len(lines)
    assert n_tables == below.count("<table>")
    log_loss = report.analysis.uncalibrated.metrics["log_loss"].value
    assert any(f">{log_loss:.4f}<" in table for table in lines)
    assert address(app) == {"report": store.list()[0].id}


@pytest.mark.parametrize("mistyped", ["nonsense", "![](http://x.invalid/a.png)"])
def test_an_unknown_id_is_a_sentence(mistyped, texts):
    app = opened(report=mistyped)
    texts.shown(app.error[0].value, "no report")
    assert "![](" not in app.error[0].value


def test_a_list_with_a_damaged_entry_names_it_and_shows_the_others(store, report, texts):
    damaged, _ = store.save(replace(report, title="March")), store.save(report)
    with store._engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER calib_reports_stay")
        connection.exec_driver_sql(
            "UPDATE calib_reports SET saved = 'once', author = x'ff', content = x'00' WHERE id = ?",
            (damaged,),
        )
    app = opened()
    texts.shown(said(app))
    assert not app.error
    (error,) = opened(report=damaged).error
    texts.shown(error.value)


def own(app: AppTest, report_id: str) -> AppTest:
    """As if this session had saved the report."""
    session_of(app).team_reports.saved_ids.add(report_id)
    return drawn(app)


def test_a_deleted_report_says_so_at_its_address_and_can_be_restored(store, report, texts):
    report_id = store.save(report)
    app = own(opened(report=report_id), report_id)
    press(app, "delete")
    assert store.count() == 1
    press(app, "delete_confirmed")
    assert store.count() == 0
    (line,) = store.deletions()
    assert (line.title, line.deleted_by) == ("Loans, with slices", "the session that saved it")
    texts.shown(opened(report=report_id).error[0].value)
    assert not [each for each in opened().button if each.key == "restore_0"]
    press(app, "restore_0")
    assert store.count() == 1
    assert [each.change for each in store.changes()] == ["restored", "deleted", "saved"]


@rare
def test_the_first_look_at_the_reports_removes_what_rested_long_enough(home, report):
    with Store.from_environment() as store:
        gone = store.save(report)
        store.delete(gone, by="Ada")
    # The time was over, and this was found, long ago.
    for change in (
        "calib_deletions SET deleted = '2020-01-01T00:00:00+00:00'",
        "calib_changes SET moment = '2020-02-02T00:00:00+00:00' WHERE change = 'expired'",
    ):
        with sqlite3.connect(home / "reports.db") as connection:
            connection.execute(f"UPDATE {change}")
        connection.close()
        st.cache_resource.clear()  # A server looks only once per day.
        opened()
    with Store.from_environment() as store:
        assert store.resting() == ()
        assert store.deletions()[0].report_id == gone


def test_another_session_cannot_delete_an_anonymous_report(store, report):
    report_id = store.save(report)
    app = opened(report=report_id)
    assert not [each for each in app.button if each.key == "delete"]
    # Not even by the dialog of before.
    session_of(app).team_reports.asking = "delete"
    session_of(app).team_reports.about = report_id
    app.run()
    assert not [each for each in app.button if each.key == "delete_confirmed"]


def test_a_read_only_server_shows_reports_and_saves_none(store, report, monkeypatch, texts):
    report_id = store.save(report)
    monkeypatch.setenv("CALIB_READ_ONLY", "1")
    app = own(opened(report=report_id), report_id)
    assert "Loans, with slices" in said(app)
    assert not {"edit", "delete"} & {each.key for each in app.button}
    app = opened(new="report")
    texts.shown(said(app))
    assert "save" not in {each.key for each in app.button}


def test_editing_makes_a_new_report_and_leaves_the_old(store, report):
    report_id = store.save(report, tags=["old"])
    app = opened(report=report_id)
    press(app, "edit")
    app.text_input(key="edit_title").set_value("New words").run()
    app.text_input(key="edit_tags").set_value("new").run()
    press(app, "save_edited")
    assert store.open(report_id).json() == report.json()
    (new,) = store.list("new words")
    assert new.tags == ("new",)
    made = store.open(new.id)
    assert made.analysis.data == report.analysis.data
    assert "New words" in said(app)


def found(app: AppTest) -> str:
    return " ".join(element.proto.label for element in app.get("page_link"))


def test_the_list_is_searched_filtered_and_turned(store, report, texts):
    for n in range(12):
        words = {"title": f"Report {n}", "author": "Ada" if n % 2 else "Bo", "note": ""}
        store.save(report.edited(**words), tags=["even"] if n % 2 == 0 else [])
    app = opened()
    assert "Report 11" in found(app)
    assert "**Report 1**" not in found(app)
    assert "1 to 10 of 12" in said(app)
    press(app, "older")
    assert "11 to 12 of 12" in said(app)
    app.selectbox(key="filter_author").set_value("Bo").run()
    assert "**Report 10**" in found(app)
    assert "**Report 11**" not in found(app)
    app.selectbox(key="filter_tag").set_value("even").run()
    app.text_input(key="search_reports").set_value("report 4").run()
    assert "**Report 4**" in found(app)
    assert "**Report 10**" not in found(app)
    app.text_input(key="search_reports").set_value("%_nothing").run()
    texts.shown(said(app))


def test_two_reports_are_held_together(store, report, texts):
    first = store.save(report)
    other = store.save(report.edited(title="Later", author="", note="", created="2026-07-01"))
    app = opened(report=first)
    app.selectbox(key="against").set_value(other).run()
    text = said(app)
    texts.shown(text)
    texts.shown(text.replace("\\", ""))
    assert address(app) == {"report": first, "against": other}
    # Only what few people need is folded.
    folded = [one.label for one in opened(report=other, against=first).expander]
    assert "Reliability" in folded


def test_a_row_of_the_list_says_what_makes_a_report_trustworthy(store, report):
    report_id = store.save(report)
    (line,) = [each for each in listed() if "badge" in each]
    assert line.startswith(":green-badge[")
    assert f"{report.analysis.data.n_rows:,}" in line.split()
    assert moment(report.date) in line.replace("\\", "")
    assert report.analysis.verdict.sentence in said(opened()).replace("\\", "")
    # A report of another program may have another number under the same seal.
    data = json.loads(report.json())
    data["author"] = "Eve"
    with store._engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER calib_reports_stay")
        content = gzip.compress(json.dumps(data).encode())
        connection.exec_driver_sql("UPDATE calib_reports SET content = ?", (content,))
    st.cache_resource.clear()
    (line,) = [each for each in listed() if "badge" in each]
    assert line.startswith(":red-badge[")
    assert store.open_sealed(report_id)[1] in opened(report=report_id).warning[0].value


def listed() -> list[str]:
    return [each.value for each in opened().caption]


def test_two_reports_of_the_list_are_picked_and_compared(store, report):
    first, second, _ = (
        store.save(report.edited(title=title, author="", note="")) for title in "abc"
    )
    app = opened()
    boxes = [box for box in app.checkbox if box.label == "Compare"]
    assert len(boxes) == 3
    for number in (1, 2):
        app.checkbox(key=f"pick_{number}").check().run()
    assert app.checkbox(key="pick_0").disabled
    (link,) = [each for each in app.get("page_link") if "Compare the two" in each.proto.label]
    assert first in link.proto.query_string
    assert second in link.proto.query_string
    app.checkbox(key="pick_1").uncheck().run()
    assert not app.checkbox(key="pick_0").disabled
    assert not [each for each in app.get("page_link") if "Compare the two" in each.proto.label]


def test_the_page_says_where_reports_are_kept(store, home):
    shown = said(opened()).replace("\\", "")
    assert str(home / "reports.db") in shown
    assert "CALIB_DATABASE_URL" in shown


@pytest.mark.parametrize("url", ["https://calib.example.org/reports", "http://10.0.0.7:8501"])
def test_only_the_operator_sees_where_reports_are_kept(store, home, monkeypatch, url):
    monkeypatch.setattr(identity, "is_local", lambda _: is_local(url))
    assert not is_local(url)
    shown = said(opened()).replace("\\", "")
    assert str(home) not in shown
    assert "CALIB_DATABASE_URL" not in shown


def test_of_people_who_sign_in_an_admin_is_an_operator(monkeypatch):
    monkeypatch.setattr(identity, "is_configured", lambda: True)
    monkeypatch.setenv("CALIB_ADMINS", "ada@example.org")
    for name, is_admin in (("ada@example.org", True), ("bo@example.org", False)):
        monkeypatch.setattr(identity, "person", lambda name=name: Person(name, "A", 2e9))
        assert identity.is_operator() == is_admin
    monkeypatch.setattr(identity, "person", lambda: None)
    assert not identity.is_operator()


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1", "[::1]:8501"])
def test_a_link_of_this_computer_says_so(host, texts):
    texts.shown(who_can_open(f"http://{host}/reports?report=x"), "each case")
    said = who_can_open("http://calib.team:8501/reports?report=x")
    texts(said, "each case, 2")


def later(report: Report) -> bytes:
    """A file of the same numbers, under a later date and another title."""
    words = {"title": "Later", "author": "", "note": ""}
    return report.edited(**words, created="2026-07-01").json().encode()


KINDS = ("saved and file", "file and saved", "two files")


@pytest.mark.parametrize("kind", common_first(KINDS, ["saved and file"]))
def test_a_report_from_a_file_is_held_against_another(kind, store, report, texts):
    first, other = KEPT.read_bytes(), later(report)
    if kind == "saved and file":
        app = drop_report(opened(report=store.save(report)), "other_file", other)
    elif kind == "two files":
        app = drop_report(drop_report(opened(), "report_file", first), "other_file", other)
    else:
        saved = store.save(report)
        app = drop_report(opened(), "report_file", other)
        app.selectbox(key="against").set_value(saved).run()
    texts.shown(said(app), "two titles")
    expected = compare_reports(Report.open(first), Report.open(other))
    for change in expected.metrics[:5]:
        column = change.column
        assert metric_text(column.key, change.first.value, column.digits) in tables(app)
    # Files have no link, neither two nor one.
    assert "against" not in address(app)
    press(app, "close_other")
    assert "### Record" in said(app)
    assert "against Later" not in said(app)


@rare
def test_the_report_of_a_judge_begins_with_its_pass_rate(store):
    result = judge_rows(judged_example())
    app = drop_report(opened(), "report_file", Report.from_judge(result).json().encode())
    assert result.headline in answers(app)[0]
    assert "### Pass rate" in said(app)
    assert f"{len(result.disagreements)} of {result.n_labels}" in tables(app)


def test_a_file_is_opened_and_a_broken_one_is_told(report, texts):
    app = drop_report(opened(), "report_file", KEPT.read_bytes())
    texts.shown(said(app))
    assert "### Record" in said(app)
    press(app, "close_file")
    other = json.loads(KEPT.read_text()) | {"schema_version": 99}
    for content, sentence in (
        (json.dumps(other).encode(), "written by another version of calib"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not UTF-8 text"),
    ):
        drop_report(app, "report_file", content)
        assert sentence in app.error[0].value.replace("\\", "")


def test_a_store_that_is_away_is_a_sentence_and_files_still_work(monkeypatch, texts):
    monkeypatch.setenv("CALIB_DATABASE_URL", "postgresql://ada:secret@localhost:1/team")
    app = opened()
    texts.shown(app.error[0].value)
    assert "secret" not in app.error[0].value
    assert len(app.get("download_button")) == 4


def test_hostile_words_stay_text(store, report):
    image = "![i](http://x.invalid/a.png)"
    words = {"title": f"<b>x</b> {image}", "author": image, "note": image}
    report_id = store.save(report.edited(**words), tags=[image, ":red[tag]"])
    listed, shown = opened(), opened(report=report_id)
    assert not bare(listed)
    assert not bare(shown)
    assert not [each for each in listed.caption if ":gray-badge[:red[tag]]" in each.value]


@rare
def test_what_a_saved_report_prints_makes_it_again(store, tmp_path, monkeypatch):
    """A file that the page of the data had to repair: percentages, and a label to choose."""
    path = tmp_path / "mine.csv"
    lines = [line.split(",") for line in rows(300).splitlines()]
    percent = [f"{'ab'[int(hit)]},{100 * float(p):.3f},{site}" for hit, p, site, _ in lines[1:]]
    path.write_text("\n".join(["label,score,site", *percent]) + "\n")
    app = start("Data", path.read_text(), m="platt")
    press(press(app, "repair_percent"), "choose_0")
    go(app, "Reports")
    app.text_input(key="title").set_value("It's in percent").run()
    press(app, "save")
    saved = store.open(store.list()[0].id)
    monkeypatch.chdir(tmp_path)
    made: dict[str, Report] = {}
    exec(library_call(saved), made)
    assert stated(made["report"]) == stated(saved)
    buttons = opened(report=store.list()[0].id).get("download_button")
    assert "Download settings\\.json" in [button.label for button in buttons]
    (tmp_path / "settings.json").write_text(SavedSettings.of(saved).json())
    command = shlex.split(command_line(saved))
    assert main([*command[1:-1], "report.json"]) == 0
    assert stated(Report.open("report.json")) == stated(saved)


def test_the_chart_and_the_tables_of_an_opened_report_can_be_saved_and_no_button_is_dead(
    store, report
):
    app = opened(report=store.save(report))
    assert not [button for button in app.button if button.disabled]
    assert IMAGES in [found.value for found in app.caption]
    assert "csv_summary" in {
        each.proto.id.rpartition("-")[2] for each in app.get("download_button")
    }
    grids = [one for kind in ("dataframe", "table") for one in app.get(kind)]
    with_buttons = [
        each for each in app.get("bidi_component") if "name=csv" in (each.proto.json or "")
    ]
    assert grids
    assert len(with_buttons) > len(grids)

"""Automate: the desk of a log, and a judge: its example, a person's tables, and the report."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.analysis.judge import judge_rows
from calib.data.judged import JudgedRows
from calib.features.automate.desk import desk
from calib.features.automate.desk_words import headline
from calib.features.automate.page import (
    csv_of_next_labels,
    csv_of_next_rows,
    judge_report,
    width_sentence,
)
from calib.features.automate.reading import decisions_example
from calib.loading import read
from calib.loading.judged_rows import judged_example, judged_tables
from calib.ui.session.judging import Judging
from calib.ui.session.session import Session
from tests.automate.shapes import written
from tests.automate.test_desk import simulated, two_versions
from tests.pages.harness import (
    address,
    answers,
    drawn,
    drop,
    go,
    headings,
    key_numbers,
    markup,
    press,
    said,
    session_of,
    start,
)
from tests.pages.test_hostile import bare, trap
from tests.rare import rare

JUDGED, GOLD = "data_file_judged", "data_file_gold"


def finding(app: AppTest) -> str:
    """The first heading below the title of the page."""
    return headings(app)[1]


def data_shown(app: AppTest) -> str:
    """The line that says what the page answers, and for which data."""
    return next(e.value for e in app.caption if "Shown here" in e.value).replace("\\", "")


def tables(n: int = 600, n_labels: int = 120) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    passed = rng.random(n) < 0.7
    judged = pd.DataFrame({"id": [f"r{i}" for i in range(n)]})
    judged["judge_score"] = np.where(passed, rng.beta(6, 2, n), rng.beta(3, 3, n)).round(3)
    judged["other_judge"] = rng.random(n).round(3)
    judged["explanation"] = "because"
    gold = pd.DataFrame({"id": judged["id"], "label": np.where(passed, "pass", "fail")})
    return judged, gold.iloc[:: n // n_labels]


def shown(judged: pd.DataFrame, gold: pd.DataFrame | None = None, **columns: object) -> AppTest:
    """The page with tables that were dropped, and what their columns mean."""
    session = Session()
    judging = Judging().with_table(read(judged), gold=False)
    if gold is not None:
        judging = judging.with_table(read(gold), gold=True)
    session.judging = judging.having(**columns)
    return start("Automate", session)


@pytest.mark.parametrize("in_one_file", [True, False])
def test_tables_of_a_judge_that_are_dropped_anywhere_open_its_page(in_one_file: bool) -> None:
    judged, gold = tables()
    files = {"judged.csv": judged, "gold.csv": gold}
    if in_one_file:
        files = {"judged.csv": judged.merge(gold, how="left", on="id")}
    contents = [(name, frame.to_csv(index=False).encode(), "") for name, frame in files.items()]
    app = start("Data", m="platt")
    app.file_uploader[0].set_value(contents).run()
    assert not app.exception
    session = session_of(app)
    assert session.page == "Automate"
    assert session.upload is None
    (rows,) = session.judging.parts.rows.values()
    assert (len(rows.score), int(np.isfinite(rows.outcome).sum())) == (600, 120)
    press(go(app, "Automate"), "as_predictions")
    assert (session.judging.judged, session.page) == (None, "Data")
    assert session.upload is not None


def test_other_tables_are_not_those_of_a_judge() -> None:
    judged, gold = tables()
    every = judged.merge(gold, how="left", on="id")
    others = {
        "labels in all rows": [every.assign(label="pass")],
        "no name of a judge": [every[["id", "label"]].assign(score=judged["judge_score"])],
        "no labels": [judged],
        "rows without a score": [every.assign(judge_score=[np.nan, *judged["judge_score"][1:]])],
        "two judges": [judged, judged],
    }
    found = {name: judged_tables([read(f) for f in frames]) for name, frames in others.items()}
    assert found == dict.fromkeys(others)


def test_it_opens_on_an_example_that_is_said_to_be_one(texts):
    app, result = start("Automate", m="platt", about="judge"), judge_rows(judged_example())
    texts.shown(answers(app)[0])
    assert finding(app) == result.headline
    texts.shown(result.headline)
    assert key_numbers(app) == {
        "Debiased pass rate": f"{100 * result.mean:.1f}%",
        "Agreement with the labels": f"{100 * result.agreement:.1f}%",
        "Labels saved": str(result.labels_saved),
    }
    assert f"constant answer {100 * result.constant_accuracy:.1f}%" in answers(app)[0]
    assert headings(app)[2:] == [
        "The judge's scores on the labelled rows",
        "Pass rate with and without the judge",
        "Label more rows",
        "Report",
        f"{len(result.disagreements)} disagreements",
    ]
    table = app.dataframe[-1].value
    pd.testing.assert_frame_equal(table, result.disagreements, check_dtype=False)


def test_a_persons_own_tables_stay_until_the_example_is_wanted(texts):
    app, (judged, gold) = start("Automate", m="platt", about="judge"), tables()
    drop(app, JUDGED, judged)
    texts(finding(app))
    assert [problem.code for problem in session_of(app).judging.problems] == ["no-gold"]
    drop(app, GOLD, gold)
    result = calib.judge(judged, gold)
    assert not app.error
    assert finding(app) == result.headline
    assert "Example" not in answers(app)[0]
    assert key_numbers(app)["Labels saved"] == str(result.labels_saved)
    texts.shown(said(app))
    # A file that cannot be read leaves the tables.
    drop(app, GOLD, b"%PDF-1.7 and more", "x.pdf")
    assert app.error[0].value.startswith("Not read: ")
    assert finding(go(go(app, "Learn"), "Automate")) == result.headline
    assert finding(press(app, "judge_example")) == judge_rows(judged_example()).headline


def test_several_judges_are_side_by_side(texts):
    judged, gold = tables()
    scores = ["judge_score", "other_judge"]
    compared = calib.compare_judges(judged, gold, score=scores).results
    app = shown(judged, gold)
    app.multiselect(key="judge_score").set_value(scores).run()
    texts.shown(headings(app))
    assert app.selectbox(key="judge_shown").value == "judge_score"
    app.selectbox(key="judge_shown").set_value("other_judge").run()
    assert finding(app) == compared["other_judge"].headline
    for name, result in compared.items():
        assert f"{100 * result.mean:.1f}%" in markup(app, "Judges and models"), name


def test_ratings_and_other_labels_are_repaired_on_the_page():
    judged, gold = tables()
    judged["judge_score"] = 1 + (4 * judged["judge_score"]).round()
    gold["label"] = gold["label"].map({"pass": "B", "fail": "A"})
    app = shown(judged, gold)
    assert [problem.code for problem in session_of(app).judging.problems] == [
        "no-positive",
        "scale",
    ]
    press(app, "judge_no-positive_0")
    assert [problem.code for problem in session_of(app).judging.problems] == ["scale"]
    assert not press(app, "judge_scale_0").error
    result = calib.judge(judged, gold, positive="B", scale=(1, 5))
    assert finding(app) == result.headline
    assert app.selectbox(key="judge_scale").value == (1.0, 5.0)
    app.text_input(key="judge_positive").set_value("a").run()
    assert finding(app) == calib.judge(judged, gold, positive="A", scale=(1, 5)).headline


@rare
def test_a_column_that_is_not_there_and_a_model_without_scores_are_said(texts):
    judged, gold = tables()
    app = shown(judged, gold, row_id="explanation")
    texts.shown(app.error[0].value)
    judged["answered_by"] = np.where(judged.index < 300, "m", "n")
    judged.loc[300:, "judge_score"] = np.nan
    app = shown(judged, gold, model="answered_by")
    assert not app.error
    texts.shown(app.warning[0].value)
    assert "At least 3 rows" in shown(tables()[0], gold.iloc[:2]).warning[0].value


def test_a_log_with_several_scorers_is_read_after_one_is_chosen(texts):
    app, cases = start("Automate", m="platt", about="judge"), []
    for number in range(100):
        scores = {"Faithfulness": number % 10 / 10, "Bias": 1 - number % 10 / 10}
        metrics = [{"name": k, "score": v, "success": v > 0.5} for k, v in scores.items()]
        cases.append({"name": str(number), "metricsData": metrics})
    log = json.dumps({"testCases": cases})
    gold = pd.DataFrame({"sample_id": range(100), "label": ["pass", "fail"] * 50})
    drop(app, JUDGED, log, "run.json")
    texts.shown(app.error[0].value)
    press(app, "judge_read_False_which-scorer_1")
    texts.shown(app.error[0].value)
    assert not drop(app, GOLD, gold).error
    assert finding(app) == calib.judge(log.encode(), gold, scorer="Bias").headline


def test_scores_outside_the_labelled_range_have_no_rate(texts):
    judged, _ = tables()
    high = judged["id"][judged["judge_score"].argsort()[-100:]]
    app = shown(judged, high.to_frame().assign(label=["pass", "fail"] * 50))
    texts(finding(app))
    assert key_numbers(app)["Debiased pass rate"] == key_numbers(app)["Labels saved"] == "–"


@rare
def test_a_judge_that_is_always_right_has_no_disagreements(texts):
    rng = np.random.default_rng(0)
    judged = pd.DataFrame({"score": rng.integers(0, 2, 300)})
    app = shown(judged.assign(gold=judged["score"].where(judged.index < 80)))
    assert headings(app)[-1] == "0 disagreements"
    texts.shown(said(app))


def test_the_number_of_labels_for_a_width(texts):
    result = judge_rows(judged_example())
    for points in (20, 5, 1):
        texts(width_sentence(result, points), f"{points} points")


def test_the_settings_and_the_threshold_are_in_the_link(texts):
    rows = judged_example()
    app = shown(pd.DataFrame({"score": rows.score, "gold": rows.outcome}))
    app.number_input(key="judge_pass_from").set_value(0.8).run()
    app.number_input(key="judge_points").set_value(20).run()
    app.number_input(key="judge_next_rows").set_value(80).run()
    assert address(app) == {"v": "1", "pass": "0.8", "points": "20", "next": "80"}
    agreement = judge_rows(rows, threshold=0.8).agreement
    assert key_numbers(app)["Agreement with the labels"] == f"{100 * agreement:.1f}%"
    again = start("Automate", **address(app))
    assert again.number_input(key="judge_points").value == 20
    assert again.number_input(key="judge_next_rows").value == 80
    texts.shown(said(again))


def test_the_rows_to_label_next_hold_no_formula():
    written = pd.read_csv(io.BytesIO(csv_of_next_rows(judge_rows(judged_example()), 30)))
    assert list(written.columns) == ["row", "id", "question", "gold"]
    assert len(written) == 30
    rng = np.random.default_rng(0)
    gold = np.where(np.arange(200) < 60, rng.random(200) < 0.5, np.nan)
    rows = JudgedRows.from_arrays(rng.random(200), gold, columns={"answer": ["=1+1"] * 200})
    assert b"'=1+1" in csv_of_next_rows(judge_rows(rows), 5)


def test_the_report_is_that_of_the_library(texts):
    judged, gold = tables()
    app = shown(judged, gold)
    labels = [one.proto.label for one in app.get("download_button")]
    assert labels[-4:] == ["HTML", "JSON", "Markdown", "Tables (CSV)"]
    (rows,) = session_of(app).judging.parts.rows.values()
    report = judge_report(rows, 0.5)
    assert report.parts.judge.numbers.sentence == calib.judge(judged, gold).sentence
    app = shown(judged, gold[gold["label"] == "pass"])
    texts.shown(said(app))
    assert "HTML" not in [one.proto.label for one in app.get("download_button")]


def test_names_of_the_tables_are_no_markdown():
    judged, gold = tables()
    names = {"id": trap("id"), "judge_score": trap("score"), "explanation": trap("why")}
    hostile = judged.drop(columns="other_judge").assign(explanation=trap("x")).rename(columns=names)
    gold = gold.rename(columns={"id": trap("id"), "label": trap("label")})
    app = shown(hostile, gold)
    assert app.error
    assert not bare(app)
    app = shown(hostile, gold, score=(trap("score"),), outcome=trap("label"), row_id=trap("id"))
    assert not app.error
    assert answers(app)
    assert not bare(app)


def test_a_link_for_data_that_are_not_here_shows_it():
    app = start("Automate", data="c3018ed03540", file="x.csv", rows="500", about="judge")
    assert finding(app) == judge_rows(judged_example()).headline


def drop_log(app: AppTest, files: dict[str, bytes]) -> None:
    (place,) = (one for one in app.file_uploader if one.key.startswith("data_file_log"))
    place.set_value([(name, content, "") for name, content in files.items()])
    drawn(app)


def test_the_desk_opens_on_an_example_and_says_which_data_it_shows(texts):
    app = start("Automate")
    made = desk(decisions_example())
    assert finding(app) == headline(made, 0.05)
    texts(data_shown(app), "data")
    texts(answers(app)[0], "answer")
    (of_records,) = (e.value for e in app.markdown if "questions of a record" in e.value)
    texts(of_records, "together")
    body = markup(app, "Questions")
    for line in made.lines:
        assert line.question in body
        for gate in line.gates.values():
            assert f">{100 * gate.share:.0f}%<" in body or gate.share == 0.0
    (written,) = app.get("download_button")
    assert written.proto.label == "Download thresholds.json"
    app.segmented_control(key="automate_error").set_value(0.01).run()
    assert finding(app) == headline(made, 0.01) != headline(made, 0.05)
    assert address(app) == {"v": "1", "errors": "0.01"}


@pytest.mark.parametrize("apart", [False, True])
def test_a_log_and_its_labels_can_be_dropped(apart, tmp_path, monkeypatch):
    if apart:
        monkeypatch.setattr("calib.features.automate.page.is_harmless", lambda *_: False)
    lines = [{**one, "id": str(i)} for i, one in enumerate(simulated(400))]
    labels = [{"id": one["id"], "labels": one.pop("labels")} for one in lines]
    contents = ["\n".join(map(json.dumps, some)).encode() for some in (lines, labels)]
    app = start("Automate")
    drop_log(app, {"a.jsonl": contents[0], "labels.jsonl": contents[1]})
    wanted = [written(tmp_path, some, f"{i}.jsonl") for i, some in enumerate((lines, labels))]
    made = desk(calib.decisions_log(*wanted))
    assert finding(app) == headline(made, 0.05)
    assert "Example" not in answers(app)[0]
    assert "**a.jsonl**, 400 records, m-1" in data_shown(app)
    # A file that cannot be read leaves the log.
    drop_log(app, {"x.json": b'[{"a": 1}]'})
    assert app.error[0].value.startswith("Not read: ")
    assert finding(go(go(app, "Learn"), "Automate")) == headline(made, 0.05)
    assert finding(press(app, "desk_example")) == headline(desk(decisions_example()), 0.05)


def test_what_is_shown_follows_the_dropped_tables_until_it_is_chosen():
    judged, gold = tables()
    app = shown(judged, gold)
    assert finding(app) == calib.judge(judged, gold).headline
    app.segmented_control(key="automate_kind").set_value("decisions").run()
    assert finding(app) == headline(desk(decisions_example()), 0.05)
    session = session_of(app)
    session.judging = Judging.of(read(judged), read(gold))
    assert finding(go(app, "Automate")) == calib.judge(judged, gold).headline


def test_names_of_a_log_are_no_markdown():
    lines = simulated(120)
    for one in lines:
        one["answers"][trap("q")], one["model"] = one["answers"].pop("a"), trap("m")
        one["labels"][trap("q")] = one["labels"].pop("a")
        one["meta"] = {trap("c"): trap(one["meta"]["country"])}
    app = start("Automate")
    drop_log(app, {f"{trap('f')}.json": json.dumps(lines).encode()})
    assert not app.error
    assert not bare(app)


def test_two_versions_are_beside_each_other(tmp_path):
    lines = two_versions(200)
    app = start("Automate")
    drop_log(app, {"a.json": json.dumps(lines).encode()})
    made = desk(calib.decisions_log(written(tmp_path, lines)))
    body = markup(app, "Versions")
    assert [one.n_records for one in made.versions] == [200, 200]
    assert body.count("m-2") == 2


def test_a_log_without_labels_offers_the_answers_to_label(tmp_path):
    lines = [{**one, "id": f"=r{i}"} for i, one in enumerate(simulated(100))]
    for one in lines:
        del one["labels"]
    app = start("Automate")
    drop_log(app, {"a.json": json.dumps(lines).encode()})
    log = calib.decisions_log(written(tmp_path, lines))
    assert not app.error
    assert finding(app) == headline(desk(log), 0.05)
    app.number_input(key="judge_next_rows").set_value(30).run()
    assert finding(app) == headline(desk(log), 0.05)
    listed = pd.read_csv(io.BytesIO(csv_of_next_labels(log, 30)))
    assert listed["question"].value_counts().to_dict() == {"a": 30, "b": 30}
    assert listed["id"].str.startswith("'=").all()

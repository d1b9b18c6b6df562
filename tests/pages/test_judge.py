"""The page Judge: its example, a person's own tables, and what it refuses."""

import io
import json
from html import unescape

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib
from calib.analysis.judge import judge_rows
from calib.data.judged import JudgedRows
from calib.loading.judged_example import judged_example
from calib.ui.session.page_list import PAGES
from calib.ui.session.results import judge_report
from tests.pages.test_hostile import bare, trap
from tests.pages.test_pages import answers, headings, key_numbers, said, start


def opened() -> AppTest:
    app = start()
    app.switch_page(PAGES["Judge"]).run()
    assert not app.exception
    return app


def finding(app: AppTest) -> str:
    """The first heading below the title of the page."""
    return unescape(headings(app)[1])


def drop(app: AppTest, key: str, frame: pd.DataFrame, name: str = "mine.csv") -> AppTest:
    (place,) = (one for one in app.file_uploader if one.key.startswith(f"data_file_{key}"))
    place.upload(name, frame.to_csv(index=False).encode(), "text/csv").run()
    assert not app.exception
    return app


def tables(n: int = 600, n_labels: int = 120) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    passed = rng.random(n) < 0.7
    judged = pd.DataFrame({"id": [f"r{i}" for i in range(n)]})
    judged["judge_score"] = np.where(passed, rng.beta(6, 2, n), rng.beta(3, 3, n)).round(3)
    judged["other_judge"] = rng.random(n).round(3)
    judged["explanation"] = "because"
    gold = pd.DataFrame({"id": judged["id"], "label": np.where(passed, "pass", "fail")})
    return judged, gold.iloc[:: n // n_labels]


def table(app: AppTest, name: str) -> str:
    """The markup of a table of the page."""
    (markup,) = (one.proto.json for one in app.get("bidi_component") if name in str(one.proto))
    return markup


def test_it_opens_on_an_example_that_is_said_to_be_one():
    app, result = opened(), judge_rows(judged_example())
    assert "Example, not your data" in answers(app)[0]
    assert finding(app) == result.headline
    assert result.headline.endswith("is too high.")
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
    shown = app.dataframe[-1].value
    pd.testing.assert_frame_equal(shown, result.disagreements, check_dtype=False)


def test_a_persons_own_tables():
    app, (judged, gold) = opened(), tables()
    drop(app, "judged", judged)
    assert finding(app) == "Drop a judge's scores and gold labels"
    assert "No column looks like gold labels" in app.error[0].value
    drop(app, "gold", gold)
    result = calib.judge(judged, gold)
    assert not app.error
    assert finding(app) == result.headline
    assert "Example" not in answers(app)[0]
    assert key_numbers(app)["Labels saved"] == str(result.labels_saved)
    assert "as the judge's score" in said(app)
    app.button(key="judge_example").click().run()
    assert finding(app) == judge_rows(judged_example()).headline


def test_one_table_may_have_the_labels():
    app, (judged, gold) = opened(), tables()
    drop(app, "judged", judged.merge(gold, how="left"))
    assert finding(app) == calib.judge(judged, gold).headline


def test_the_tables_stay_on_other_pages():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged), "gold", gold)
    app.switch_page(PAGES["Overview"]).run()
    app.switch_page(PAGES["Judge"]).run()
    assert finding(app) == calib.judge(judged, gold).headline


def test_columns_can_be_chosen():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged), "gold", gold.rename(columns={"label": "what"}))
    assert not app.error
    app.multiselect(key="judge_score").set_value(["other_judge"]).run()
    result = calib.judge(judged, gold, score="other_judge")
    assert finding(app) == result.headline
    app.multiselect(key="judge_score").set_value([]).run()
    assert finding(app) == calib.judge(judged, gold).headline
    app.selectbox(key="judge_row_id").set_value("explanation").run()
    assert "have no column `explanation`" in app.error[0].value


def test_several_judges_are_side_by_side():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged), "gold", gold)
    scores = ["judge_score", "other_judge"]
    app.multiselect(key="judge_score").set_value(scores).run()
    compared = calib.compare_judges(judged, gold, score=scores).results
    assert "Judges and models" in headings(app)
    assert app.selectbox(key="judge_shown").value == "judge_score"
    app.selectbox(key="judge_shown").set_value("other_judge").run()
    assert finding(app) == compared["other_judge"].headline
    for name, result in compared.items():
        assert f"{100 * result.mean:.1f}%" in table(app, "Judges and models"), name


def test_blank_clusters_are_refused_and_a_model_without_scores_is_said():
    app, (judged, gold) = opened(), tables()
    judged["question"] = np.where(judged.index < 10, None, "q")
    judged["answered_by"] = np.where(judged.index < 300, "m", "n")
    judged.loc[300:, "judge_score"] = np.nan
    drop(drop(app, "judged", judged), "gold", gold)
    app.selectbox(key="judge_group").set_value("question").run()
    assert not app.exception
    assert "Row 1 of the judged rows has no `question`" in app.error[0].value
    app.selectbox(key="judge_group").set_value("–").run()
    app.selectbox(key="judge_model").set_value("answered_by").run()
    assert not app.error
    assert "Column `judge_score` has no scores" in app.warning[0].value


def test_ratings_and_other_labels_are_repaired_on_the_page():
    app, (judged, gold) = opened(), tables()
    judged["judge_score"] = 1 + (4 * judged["judge_score"]).round()
    gold["label"] = gold["label"].map({"pass": "B", "fail": "A"})
    drop(drop(app, "judged", judged), "gold", gold)
    assert "which of them passes must be clear" in app.error[0].value
    app.button(key="judge_unclear-labels_1").click().run()
    assert "State the lowest and the highest possible score" in app.error[0].value
    app.button(key="judge_scale_0").click().run()
    assert not app.error
    result = calib.judge(judged, gold, positive="B", scale=(1, 5))
    assert finding(app) == result.headline
    assert app.selectbox(key="judge_scale").value == (1.0, 5.0)
    app.text_input(key="judge_positive").set_value("a").run()
    assert finding(app) == calib.judge(judged, gold, positive="A", scale=(1, 5)).headline


def test_the_threshold_is_in_the_link():
    app, rows = opened(), judged_example()
    drop(app, "judged", pd.DataFrame({"score": rows.score, "gold": rows.outcome}))
    app.number_input(key="judge_pass_from").set_value(0.8).run()
    assert app.query_params["pass"] == "0.8"
    agreement = judge_rows(rows, threshold=0.8).agreement
    assert key_numbers(app)["Agreement with the labels"] == f"{100 * agreement:.1f}%"


def test_a_log_with_several_scorers_is_read_after_one_is_chosen():
    app, cases = opened(), []
    for number in range(100):
        scores = {"Faithfulness": number % 10 / 10, "Bias": 1 - number % 10 / 10}
        metrics = [{"name": k, "score": v, "success": v > 0.5} for k, v in scores.items()]
        cases.append({"name": str(number), "metricsData": metrics})
    log = json.dumps({"testCases": cases}).encode()
    gold = pd.DataFrame({"sample_id": range(100), "label": ["pass", "fail"] * 50})
    (place,) = (one for one in app.file_uploader if one.key.startswith("data_file_judged"))
    place.upload("run.json", log, "application/json").run()
    assert "Not read: Each answer was scored in several ways" in app.error[0].value
    app.button(key="judge_read_False_which-scorer_1").click().run()
    assert "no label that does not depend on the judge" in app.error[0].value
    drop(app, "gold", gold)
    assert not app.error
    assert finding(app) == calib.judge(log, gold, scorer="Bias").headline


def test_labels_that_do_not_match_are_refused_in_words():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged), "gold", gold.assign(id="zz" + gold["id"]))
    assert "have an id that is not among the judged rows, such as `zzr0`" in app.error[0].value
    assert finding(app) == "Drop a judge's scores and gold labels"


def test_a_file_that_cannot_be_read_is_refused_and_the_tables_stay():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged), "gold", gold)
    (place,) = (one for one in app.file_uploader if one.key.startswith("data_file_gold"))
    place.upload("x.pdf", b"%PDF-1.7 and more", "application/pdf").run()
    assert not app.exception
    assert app.error[0].value.startswith("Not read: ")
    assert finding(app) == calib.judge(judged, gold).headline


def test_too_few_labels_are_said_first():
    app, (judged, gold) = opened(), tables(n_labels=20)
    drop(drop(app, "judged", judged), "gold", gold)
    assert finding(app) == "Too few to tell: 20 gold labels."
    drop(app, "gold", gold.iloc[:2])
    assert "At least 3 rows" in app.warning[0].value


def test_scores_outside_the_labelled_range_have_no_rate():
    app, (judged, _) = opened(), tables()
    high = judged["id"][judged["judge_score"].argsort()[-100:]]
    drop(drop(app, "judged", judged), "gold", high.to_frame().assign(label=["pass", "fail"] * 50))
    assert finding(app) == "No pass rate: the labels do not cover the judge's scores."
    assert key_numbers(app)["Debiased pass rate"] == key_numbers(app)["Labels saved"] == "–"


def test_a_judge_that_is_always_right_has_no_disagreements():
    app = opened()
    rng = np.random.default_rng(0)
    judged = pd.DataFrame({"score": rng.integers(0, 2, 300)})
    drop(app, "judged", judged.assign(gold=judged["score"].where(judged.index < 80)))
    assert headings(app)[-1] == "0 disagreements"
    assert "is the gold label on every labelled row" in said(app)


@pytest.mark.parametrize(("points", "words"), [(20, "are enough for 20 points"), (1, "not enough")])
def test_the_number_of_labels_for_a_width(points, words):
    app = opened()
    assert "more than now" in said(app)
    app.number_input(key="judge_points").set_value(points).run()
    assert words in said(app)


def test_the_settings_are_in_the_link():
    app = opened()
    app.number_input(key="judge_points").set_value(20).run()
    app.number_input(key="judge_next_rows").set_value(80).run()
    assert {name: app.query_params[name] for name in ("points", "next")} == {
        "points": "20",
        "next": "80",
    }
    again = start(points="20", next="80")
    again.switch_page(PAGES["Judge"]).run()
    assert again.number_input(key="judge_points").value == 20
    assert again.number_input(key="judge_next_rows").value == 80
    assert "are enough for 20 points" in said(again)


def test_the_rows_to_label_next():
    from calib.ui.pages.judge import csv_of_next_rows

    result = judge_rows(judged_example())
    written = pd.read_csv(io.BytesIO(csv_of_next_rows(result, 30)))
    assert list(written.columns) == ["row", "id", "question", "gold"]
    assert len(written) == 30


def test_the_rows_to_label_next_hold_no_formula():
    from calib.ui.pages.judge import csv_of_next_rows

    rng = np.random.default_rng(0)
    gold = np.where(np.arange(200) < 60, rng.random(200) < 0.5, np.nan)
    rows = JudgedRows.from_arrays(rng.random(200), gold, columns={"answer": ["=1+1"] * 200})
    assert b"'=1+1" in csv_of_next_rows(judge_rows(rows), 5)


def test_the_report_is_that_of_the_library():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged, "judged.csv"), "gold", gold)
    labels = [one.proto.label for one in app.get("download_button")]
    assert labels[-4:] == ["HTML", "JSON", "Markdown", "Tables (CSV)"]
    rows = app.session_state["calib"].judging.parts.rows["judged"]
    report = judge_report(app.session_state["calib"], rows, 0.5)
    assert report.parts.judge.numbers.sentence == calib.judge(judged, gold).sentence


def test_labels_that_are_all_alike_have_no_report():
    app, (judged, gold) = opened(), tables()
    drop(drop(app, "judged", judged), "gold", gold[gold["label"] == "pass"])
    assert "needs labels of both kinds" in said(app)
    assert "HTML" not in [one.proto.label for one in app.get("download_button")]


def test_names_of_the_tables_are_no_markdown():
    app, (judged, gold) = opened(), tables()
    names = {"id": trap("id"), "judge_score": trap("score"), "explanation": trap("why")}
    hostile = judged.drop(columns="other_judge").assign(explanation=trap("x")).rename(columns=names)
    drop(app, "judged", hostile, "judged.csv")
    drop(app, "gold", gold.rename(columns={"id": trap("id"), "label": trap("label")}))
    assert app.error
    assert not bare(app)
    app.multiselect(key="judge_score").set_value([trap("score")]).run()
    app.selectbox(key="judge_outcome").set_value(trap("label")).run()
    app.selectbox(key="judge_row_id").set_value(trap("id")).run()
    assert not app.error
    assert answers(app)
    assert not bare(app)


def test_a_link_for_data_that_are_not_here_shows_it():
    app = start(data="c3018ed03540", name="x.csv", rows="500")
    app.switch_page(PAGES["Judge"]).run()
    assert finding(app) == judge_rows(judged_example()).headline

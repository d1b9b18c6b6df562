"""Files that raise questions: what is asked, and what a person's answers make of the rows."""

import numpy as np
import pandas as pd
import pytest

from calib.ui.controls import data_menu, uploaders
from tests.pages.harness import (
    drop,
    dropped,
    go,
    headings,
    press,
    rows,
    said,
    session_of,
    start,
)

LINES = rows().splitlines()[1:]


def test_a_file_that_is_dropped_on_the_first_page_is_answered_there(texts):
    app = drop(start(), "data_file", rows())
    assert not app.error
    assert "File: **mine**" in said(app)
    texts(headings(app)[0])
    assert app.query_params["file"] == "mine.csv"


@pytest.mark.parametrize(("data", "asked"), [(rows(scale=100.0), "percent"), (b"\x89PNG", "image")])
def test_a_file_that_raises_a_question_leads_from_the_first_page_to_data(data, asked, texts):
    app = drop(start(), "data_file", data)
    assert headings(app)[0] == "Data"
    texts.shown(app.error[0].value, asked)


def test_percentages_are_repaired_by_one_click(texts):
    app = start("Overview", rows(scale=100.0), m="platt")
    texts.shown(app.error[0].value)
    go(app, "Data")
    assert "Divide by 100" in app.button(key="repair_percent").label
    assert not press(app, "repair_percent").error
    assert session_of(app).upload.predictions.n_rows == 400
    assert not go(app, "Overview").error


@pytest.mark.parametrize(("answer", "n_rows"), [(0, 400), (1, 401)])
def test_a_first_line_that_may_be_data_is_asked_about(answer, n_rows, texts):
    app = start("Data", rows().replace("outcome,score", "0,1"), m="platt")
    texts.shown(app.error[0].value, "the question")
    assert not press(app, f"read_header_{answer}").error
    assert session_of(app).upload.predictions.n_rows == n_rows


def test_a_mark_of_two_meanings_is_asked_about_and_can_be_changed(texts):
    weighted = [f"{line},{w}" for line, w in zip(LINES, ['"1,234"', "999"] * 200, strict=True)]
    app = start("Data", "\n".join(["outcome,score,sample_weight", *weighted]), m="platt")
    texts.shown([one.value for one in app.markdown])
    texts.shown(headings(app)[1], "words")
    press(app, "repair_decimal-mark_1")
    assert session_of(app).upload.models
    assert app.selectbox(key="map_decimal").value == "."
    app.selectbox(key="map_decimal").set_value(",").run()
    assert session_of(app).upload.models


def test_words_repeats_and_spellings_are_told_on_the_data_page(texts):
    words = {"1": ["yes", "Yes"], "0": ["no", "unknown"]}
    more = [
        f"{words[line[0]][i % 2]}{line[1:]},{'NA' if i % 5 else 'EU'}"
        for i, line in enumerate(LINES)
    ]
    app = start("Data", "\n".join(["outcome,score,region", *more, *more[:7]]), m="platt")
    assert [name.casefold() for name in app.multiselect(key="map_positive").value] == ["yes"]
    texts.shown(app.error[0].value)
    told = " ".join(note.value for note in app.info)
    texts.shown(told)
    texts.shown(told)
    assert not press(app, "repair_missing").error


def test_an_answer_about_reversed_scores_opens_the_analysis_and_is_asked_once():
    app = press(start("Overview", rows(reverse=True), m="platt"), "choose_0")
    assert session_of(app).upload.predictions.n_rows == 400
    asked = [each.key for each in go(app, "Data").button if (each.key or "").startswith("choose_")]
    assert not asked


def test_several_labels_can_be_positive(texts):
    names = {"1": ["III", "IV"], "0": ["I", "I"]}
    stages = [f"{names[line[0]][i % 2]}{line[1:]}" for i, line in enumerate(LINES)]
    app = start("Data", "\n".join(["outcome,score", *stages]), m="platt")
    assert "no-positive" in {b.key.removeprefix("repair_") for b in app.button}
    app.multiselect(key="map_positive").set_value(["III", "IV"]).run()
    assert not app.error
    texts.shown(said(app))


def test_a_changed_mapping_changes_the_rows_and_stays():
    text = "\n".join(["outcome,score,other", *(f"{line},0.5" for line in LINES)])
    app = start("Data", text, m="platt")
    app.selectbox(key="map_score").set_value("other").run()
    assert set(session_of(app).upload.predictions.scores) == {0.5}
    go(app, "Reliability")
    assert go(app, "Data").selectbox(key="map_score").value == "other"


def test_a_file_that_cannot_be_read_leaves_the_data():
    session = dropped(rows())
    before = session.upload
    uploaders.receive(session, [("picture.csv", b"\x89PNG\r\n\x1a\n")], "data")
    assert session.file_problems
    assert session.upload is before


def test_pasted_rows_are_read_and_a_path_is_not():
    app = start("Data")
    app.text_area(key="data_paste").set_value(rows())
    assert "400 rows" in said(press(app, "use_paste"))
    app.text_area(key="data_paste").set_value("/etc/hostname")
    assert press(app, "use_paste").error


def test_whether_the_model_was_trained_on_the_rows_is_asked():
    app = start("Data", rows(), m="platt")
    app.radio(key="unseen").set_value("no").run()
    assert "optimistic" in app.warning[0].value
    assert session_of(app).unseen == "no"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"outcome,score\n",
        b"outcome,score\n1,0.5\n",
        b"only\n1\n2\n",
        b"\x00\x01\x02\xff" * 50,
        b"outcome,score\n1,nan\n0,inf\n1,0.2\n",
        b"outcome,score\n1,high\n0,low\n",
        b"outcome,score\n" + b"1,0.5\n" * 50,
    ],
)
def test_hostile_files_get_a_sentence_and_no_traceback(data):
    assert start("Data", {"mine.csv": data}).error


def test_the_line_of_the_file_says_what_its_columns_were_read_as(texts):
    session = dropped(rows())
    line = data_menu.read_as(session, session.upload).replace("\\", "")
    texts.shown(line)


def test_folds_of_the_file_are_used_and_said_where_methods_are_compared(texts):
    folds = [f"{line},{i % 3}" for i, line in enumerate(LINES)]
    text = "\n".join(["outcome,score,cv_fold", *folds])
    app = start("Calibrators", text, m="platt", folds="7")
    texts.shown(protocol(app))
    texts.shown(said(app))
    assert not [found for found in app.slider if found.key == "n_folds"]
    go(app, "Data").selectbox(key="map_fold").set_value(None).run()
    texts.shown(protocol(go(app, "Calibrators")))
    assert app.slider(key="n_folds").value == 7


def protocol(app):
    """How the held-out scores were made."""
    return " ".join(each.value for each in app.caption)


def test_beside_a_question_no_button_is_in_colour(texts):
    home = np.array([int(line[0]) for line in LINES])
    scores = np.array([float(line[2:]) for line in LINES])
    games = {"prob1": scores, "won1": home, "prob2": 1.0 - scores, "won2": 1 - home}
    app = start("Data", pd.DataFrame(games), m="platt")
    texts.shown(headings(app)[1])
    asked = [one for one in app.button if one.key.startswith("repair_")]
    assert len(asked) > 2
    assert {one.proto.type for one in asked} == {"secondary"}


def test_a_question_on_another_page_stands_alone_and_leads_to_the_columns():
    """Class columns without names, whose view could be chosen only after the answer."""
    scores = np.array([float(line[2:]) for line in LINES])
    kinds = np.array(["ant", "bee", "cow"])[np.arange(len(scores)) % 3]
    columns = {str(k): part for k, part in enumerate((scores / 2, scores / 2, 1.0 - scores))}
    app = start("Overview", pd.DataFrame({**columns, "y": kinds}), m="temperature")
    assert [one.key for one in app.button if one.key.startswith("choose_")]
    assert not [one for one in app.segmented_control if one.key == "view_kind"]
    assert any("first rows" in one.proto.label for one in app.get("page_link"))

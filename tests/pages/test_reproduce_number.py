"""Reproduce a number, on Reliability and Compare."""

import re
from html import unescape

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib
from tests.pages.test_pages import go, start, upload

TITLE = "Reproduce a number"


def text_of(app: AppTest) -> str:
    """All that the page says, and its tables, as plain text."""
    shown = [element.value for element in [*app.markdown, *app.caption]]
    markup = " ".join(str(element.proto) for element in app.get("bidi_component"))
    return unescape(" ".join([*shown, re.sub(r"<[^>]+>", " ", markup)])).replace("\\", "")


def typed(app: AppTest, text: str) -> AppTest:
    app.text_input(key="reproduced").set_value(text).run()
    assert not app.exception
    return app


@pytest.mark.parametrize("page", ["reliability", "compare"])
def test_the_number_of_another_tool_is_named(page):
    app = go(start(), page)
    assert TITLE in [one.label for one in app.expander]
    assert "as in scikit-learn" not in text_of(app)
    said = text_of(typed(app, "0.132"))
    assert "as in scikit-learn calibration_curve and netcal" in said
    assert "Unlike ours: 10 uniform bins instead of 15 quantile bins" in said
    assert app.session_state["calib"].link()["num"] == "0.132"


def test_a_link_carries_the_number():
    app = go(start(num="13.2"), "reliability")
    said = text_of(app)
    assert "13.2 was read as 13.2%." in said
    assert "as in scikit-learn calibration_curve and netcal" in said


def test_none_and_no_number_say_so():
    app = go(start(), "compare")
    assert "gives 0.9876543 on these rows" in text_of(typed(app, "0.9876543"))
    assert "Nearest conventions" in text_of(app)
    for text in ("0,132", "about 0.1", "-1"):
        assert "This is not a number of at least 0" in text_of(typed(app, text))


def test_scores_of_a_calibrator():
    app = go(start(), "reliability")
    analysis = calib.analyze(calib.examples.EXAMPLES["naive_bayes"].load())
    ece = analysis.table().loc["beta", "ece_quantile"]
    typed(app, f"{ece:.6f}")
    app.selectbox(key="reproduced_of").set_value("beta").run()
    said = text_of(app)
    assert f"{ece:.6f} is the ECE of the positive class with 15 quantile bins" in said


def test_a_matrix_and_the_error_of_the_last_exam():
    app = go(start(ex="digits"), "compare")
    assert "conventions" in text_of(typed(app, "0.05"))
    rng = np.random.default_rng(0)
    confidence = rng.choice([0.6, 0.7, 0.8, 0.9, 1.0], 150)
    lines = [f"{int(rng.random() < 0.3)},{one}" for one in confidence]
    app = go(upload(start(), "outcome,score\n" + "\n".join(lines)), "reliability")
    said = text_of(typed(app, "0.000"))
    assert "Humanity's Last Exam" in said
    assert "The code leaves out its last bin, which has 150 of 150 rows" in said


def test_of_several_models_one_is_chosen():
    app = go(start(ex="rounds"), "compare")
    models = calib.examples.EXAMPLES["rounds"].load_models()
    first, last = next(iter(models)), list(models)[-1]
    assert app.selectbox(key="reproduced_model").options == [first, last]
    ece = calib.analyze(models[last], {"methods": ()}).table()["ece_quantile"].iloc[0]
    typed(app, f"{ece:.7f}")
    app.selectbox(key="reproduced_model").set_value(last).run()
    assert not app.exception
    found = calib.conventions(models[last], f"{ece:.7f}")
    assert len(found)
    assert found.sentence in text_of(app)

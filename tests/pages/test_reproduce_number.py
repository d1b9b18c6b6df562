"""Reproduce a number, on Reliability and Calibrators."""

import re
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

import calib
from tests.pages.harness import address, start
from tests.pages.test_models import LONG
from tests.rare import rare


def text_of(app: AppTest) -> str:
    """All that the page says, and its tables, as plain text."""
    shown = [element.value for element in [*app.markdown, *app.caption]]
    markup = " ".join(str(element.proto) for element in app.get("bidi_component"))
    return unescape(" ".join([*shown, re.sub(r"<[^>]+>", " ", markup)])).replace("\\", "")


def typed(app: AppTest, text: str) -> AppTest:
    app.text_input(key="reproduced").set_value(text).run()
    assert not app.exception
    return app


@pytest.mark.parametrize("page", ["Reliability", "Calibrators"])
def test_the_number_of_another_tool_is_named_and_in_the_link(page, texts):
    app = start(page, m="platt")
    texts.shown([one.label for one in app.expander], "each case")
    assert "as in scikit-learn" not in text_of(app)
    said = text_of(typed(app, "13.2"))
    texts.shown(said, "each case, 2")
    assert address(app)["num"] == "13.2"


def test_none_and_no_number_say_so(texts):
    app = start("Calibrators", m="platt", num="0.9876543")
    texts.shown(text_of(app))
    assert "Nearest conventions" in text_of(app)
    for text in ("0,132", "about 0.1", "-1"):
        texts.shown(text_of(typed(app, text)), "each case")


@rare
def test_scores_of_a_calibrator_of_one_of_several_models():
    app = start("Calibrators", LONG, m="platt")
    assert len(app.selectbox(key="reproduced_of").options) == 2
    rows = calib.load_models(LONG)["b"]
    number = f"{calib.analyze(rows, {'methods': ()}).table()['ece_quantile'].iloc[0]:.7f}"
    typed(app, number)
    app.selectbox(key="model").set_value("b").run()
    assert not app.exception
    found = calib.conventions(rows, number)
    assert len(found)
    assert found.sentence in text_of(app)

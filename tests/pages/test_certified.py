"""The certified threshold on Decisions: its sentence, controls, link, and what is refused."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from calib.analysis.decisions import certify
from calib.loading.examples import EXAMPLES
from tests.pages.test_pages import metric_tables
from tests.pages.test_slices import go, start, upload
from tests.pages.test_slices import said as said_in_markdown


def said(app) -> str:
    return said_in_markdown(app).replace("\\", "")


def sentence(app) -> str:
    (made,) = [e.proto.body for e in app.get("html") if 'class="certificate"' in e.proto.body]
    return html.unescape(re.sub("<[^>]*>", "", made))


def test_the_page_says_what_the_library_certifies():
    app = start("decisions", ex="naive_bayes", err="0.1")
    expected = certify(EXAMPLES["naive_bayes"].load(), 0.1, sides="both")
    assert sentence(app) == expected.sentence
    assert expected.tested_on in said(app)
    (table,) = [body for body in metric_tables(app) if ">Bound (97.5%)</th>" in body]
    for side in expected.sides:
        assert f"{side.n_errors} of {side.n_rows} (" in table


def test_its_controls_are_in_the_link():
    app = start("decisions", ex="naive_bayes")
    app.number_input(key="max_error").set_value(20.0).run()
    app.selectbox(key="certainty").set_value(0.9).run()
    app.segmented_control(key="sides").set_value("above").run()
    assert not app.exception
    wanted = {"err": "0.2", "sure": "0.9", "sides": "above"}
    assert {name: app.query_params[name] for name in wanted} == wanted
    expected = certify(EXAMPLES["naive_bayes"].load(), 0.2, 0.9).sentence
    assert sentence(app) == expected == sentence(start("decisions", ex="naive_bayes", **wanted))


def test_a_side_that_is_not_certified_says_why():
    app = start("decisions", ex="naive_bayes")
    assert sentence(app).startswith("Accept above 99.22%, reject none, look at the rest: 24% of")
    assert "Rejected none: of the 216 rows with the lowest scores" in said(app)


def test_the_top_label_of_a_matrix_is_accepted_only():
    app = start("decisions", ex="digits")
    assert "reject" not in sentence(app)
    assert app.segmented_control(key="sides").value == "above"


def test_answers_are_accepted_only():
    app = upload(frame().rename(columns={"outcome": "correct", "score": "confidence"}), "decisions")
    assert app.segmented_control(key="sides").value == "above"
    assert upload(frame(), "decisions").segmented_control(key="sides").value == "both"


def frame(n: int = 600, **columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    score = rng.random(n).round(6)
    outcome = (rng.random(n) < score).astype(int)
    return pd.DataFrame({"outcome": outcome, "score": score, **columns})


def test_unequal_weights_are_refused_in_words():
    app = upload(frame(weight=np.linspace(1, 2, 600)), "data")
    app.selectbox(key="map_weight").set_value("weight").run()
    go(app, "decisions")
    assert "Not certified: rows must have equal weights" in said(app)
    assert not app.exception


def test_few_rows_say_how_many_are_needed():
    app = upload(frame(60), "decisions")
    assert sentence(app) == "72 rows without an error are needed; there are 60."


@pytest.mark.parametrize(("cost", "bright"), [("1", False), ("3", True)])
def test_the_button_stands_out_only_if_calibration_changes_the_decisions(cost, bright):
    app = start("decisions", ex="naive_bayes", fn=cost)
    button = app.button(key="use")
    assert button.label == "Get Logistic as code"
    assert button.proto.type == ("primary" if bright else "secondary")

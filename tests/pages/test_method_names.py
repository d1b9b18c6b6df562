"""Methods have the same names and the same order on all pages."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from calib.ui.session.choices import TAB
from calib.ui.session.page_list import PAGES
from tests.pages.harness import address, by_class, go, metric_tables, model_of, session_of, start
from tests.pages.test_hostile import elements, texts
from tests.rare import common_first, rare

METHODS = ("platt", "logistic", "beta")
# Other names in the field, and people.
PLATT = re.compile(r"\bPlatt\b(?! scaling|'s| 1999)")
LINK = {"m": ".".join(METHODS), "show": ".".join(("uncalibrated", *METHODS)), "after": "platt"}


def written(app: AppTest) -> Iterator[str]:
    for _, proto in elements(app._tree):
        for _, text in texts(MessageToDict(proto)):
            yield text


@pytest.mark.parametrize("page", common_first(PAGES, ("Calibrators",)))
def test_no_page_calls_platt_scaling_by_the_name_of_its_author_alone(page):
    app = start(page, **LINK)
    found = [
        text[max(0, at.start() - 80) : at.end() + 80]
        for text in written(app)
        for at in PLATT.finditer(text)
    ]
    assert found == []


def names(table: str) -> list[str]:
    return re.findall(r"<th scope=row[^>]*>(?:<button[^>]*>)?([^<]*)", table)


def test_the_order_of_methods_is_that_of_their_loss():
    """Pages have it from the analysis, and controls have the methods in the order of the menu."""
    app = start("Calibrators", **LINK)
    analysis = model_of(session_of(app)).analysis
    losses = [analysis.methods[key].metrics["log_loss"].value for key in analysis.ranked]
    assert losses == sorted(losses)
    ranked = [analysis.methods[key].label for key in analysis.ranked]
    assert ranked != [analysis.methods[key].label for key in analysis.methods]
    *_, table = metric_tables(app)
    assert names(table) == ranked
    assert ranked in [names(table) for table in metric_tables(go(app, "Decisions"))]
    assert app.selectbox(key="after").options == [
        analysis.methods[key].label for key in analysis.methods if key != "uncalibrated"
    ]


@rare
@pytest.mark.parametrize(
    "link", [LINK, {"ex": "digits", "m": "temperature.platt.logistic.vector"}], ids=str
)
def test_every_page_has_that_order(link):
    app = start("Calibrators", **link)
    ranked = names(next(table for table in metric_tables(app) if 'aria-label="Metrics"' in table))
    controls = ["Uncalibrated", *(name for name in ranked if name != "Uncalibrated")]
    assert len(ranked) == 1 + len(link["m"].split("."))
    session_of(app).change(TAB, "panels")
    (pills,) = [e for e in go(app, "Reliability").get("button_group") if e.key == "shown"]
    assert pills.options == controls
    for page in ("Slices", "Decisions"):
        assert go(app, page).selectbox(key="after").options == controls[1:]
    session_of(app).reset(TAB)
    assert ranked in [names(table) for table in metric_tables(go(app, "Reliability"))]
    if "ex" in link:
        assert by_class(go(app, "Slices")).selectbox(key="classes").options == controls[1:]


@rare
def test_a_chosen_method_stays_chosen_where_the_order_changes():
    app = start("Reliability", **LINK | {"show": "uncalibrated", "tab": "cumulative"})
    (pills,) = [each for each in app.get("button_group") if each.key == "shown"]
    pills.select("platt").run()
    first = model_of(session_of(app)).analysis.ranked
    app.selectbox(key="menu_example").set_value("svm").run()
    assert model_of(session_of(app)).analysis.ranked != first
    (pills,) = [each for each in app.get("button_group") if each.key == "shown"]
    assert pills.value == ["uncalibrated", "platt"]
    assert address(app)["show"] == "uncalibrated.platt"

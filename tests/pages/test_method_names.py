"""Methods have the same names and the same order on all pages."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from tests.pages.test_hostile import elements, texts
from tests.pages.test_pages import PAGES, go, metric_tables, start
from tests.rare import common_first

METHODS = ("platt", "logistic", "stack")
# Other names in the field, and people.
PLATT = re.compile(r"\bPlatt\b(?! scaling|'s| 1999)")
LINK = {"m": ".".join(METHODS), "show": ".".join(("uncalibrated", *METHODS)), "after": "platt"}


def written(app: AppTest) -> Iterator[str]:
    for _, proto in elements(app._tree):
        for _, text in texts(MessageToDict(proto)):
            yield text


@pytest.mark.parametrize("page", common_first([*PAGES, "methods", "gallery"], ("compare",)))
def test_no_page_calls_platt_scaling_by_the_name_of_its_author_alone(page):
    app = go(start(**LINK), page)
    found = [
        text[max(0, at.start() - 80) : at.end() + 80]
        for text in written(app)
        for at in PLATT.finditer(text)
    ]
    assert found == []


def order(app: AppTest) -> list[str]:
    """The names of the methods by held-out log loss, as the table of Compare has them."""
    *_, table = metric_tables(go(app, "compare"))
    return rows(table)


def rows(table: str) -> list[str]:
    return re.findall(r"<th scope=row[^>]*>([^<]*)", table)


@pytest.mark.parametrize(
    "link", [LINK, {"ex": "digits", "m": "temperature.platt.logistic.vector"}], ids=str
)
def test_the_order_of_methods_is_that_of_their_loss_on_every_page(link):
    app = start(**link)
    names = order(app)
    controls = ["Uncalibrated", *(name for name in names if name != "Uncalibrated")]
    assert len(names) == 1 + len(link["m"].split("."))
    assert names != controls
    (shown,) = [each for each in go(app, "cumulative").get("button_group") if each.key == "shown"]
    assert shown.options == controls
    for page in ("slices", "decisions"):
        assert go(app, page).selectbox(key="after").options == controls[1:]
    assert names in [rows(table) for table in metric_tables(go(app, "decisions"))]
    assert names in [rows(table) for table in metric_tables(go(app, "reliability"))]
    if "ex" in link:
        assert go(app, "classes").selectbox(key="classes").options == controls
        return
    parameters = [each.proto.body for each in go(app, "functions").get("html")]
    found = re.findall(r"<span><b>([^<]*)", " ".join(parameters))
    assert found == names


def test_a_chosen_method_stays_chosen_where_the_order_changes():
    app = go(start(**LINK | {"show": "uncalibrated"}), "cumulative")
    (pills,) = [each for each in app.get("button_group") if each.key == "shown"]
    pills.select("platt").run()
    first = order(app)
    app.selectbox(key="menu_example").set_value("svm").run()
    assert order(app) != first
    (pills,) = [each for each in go(app, "cumulative").get("button_group") if each.key == "shown"]
    assert pills.value == ["uncalibrated", "platt"]
    assert app.query_params["show"] == "uncalibrated.platt"

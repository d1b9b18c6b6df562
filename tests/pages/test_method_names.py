"""Methods have the same names on all pages."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from tests.pages.test_hostile import elements, texts
from tests.pages.test_pages import PAGES, go, start
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

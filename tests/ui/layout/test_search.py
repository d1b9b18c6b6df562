"""What the search lists, and what it opens."""

from types import SimpleNamespace

import pytest

from calib.calibrators import CALIBRATORS
from calib.loading.examples import EXAMPLES
from calib.metrics import METRICS
from calib.ui.layout import search
from calib.ui.session.page_list import PAGES
from calib.ui.session.session import Session


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    pages: list[str] = []
    monkeypatch.setattr(search.st, "switch_page", pages.append)
    return pages


def test_everything_is_listed_once():
    listed = [*search._pages(), *search._examples_and_terms()]
    assert [title for kind, title, *_ in listed if kind == "Page"] == list(PAGES)
    assert [key for kind, key, *_ in listed if kind == "Example"] == list(EXAMPLES)
    names = {kind: {name for one, _, name, _ in listed if one == kind} for kind, *_ in listed}
    assert names["Metric"] == {metric.label for metric in METRICS.values()}
    assert names["Method"] == {method.label for method in CALIBRATORS.values()}
    assert "Brier skill score" in names["Term"]
    assert len({entry[:2] for entry in listed}) == len(listed)


def test_a_recent_file_opens_again_on_the_shown_page(opened):
    shown, other = (SimpleNamespace(name=name) for name in ("a.csv", "b.csv"))
    taken = []
    session = SimpleNamespace(
        recent=(shown, other), upload=shown, page="Compare", take=taken.append
    )
    assert list(search._recent(session)) == [("File", "1", "b.csv", "recent open again")]
    search._open(session, "File", "1")
    assert taken == [other]
    assert opened == [PAGES["Compare"]]


@pytest.mark.parametrize(
    ("kind", "key", "page"),
    [
        ("Page", "Slices", "Slices"),
        ("Example", "svm", "Overview"),
        ("Metric", "ECE", "Methods"),
        # These come from a forged message.
        ("Page", "../secrets", "Methods"),
        ("Example", "none", "Methods"),
        ("File", "7", "Methods"),
    ],
)
def test_an_entry_opens_its_page(opened, kind, key, page):
    session = Session(page="Gallery")
    search._open(session, kind, key)
    assert opened == [PAGES[page]]
    assert session.example == ("svm" if key == "svm" else Session().example)
    assert session.methods_filter == (key if page == "Methods" else "")

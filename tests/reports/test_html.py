import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.reports import Report
from calib.words.measures import metric_text
from tests.once import analysed
from tests.reports.conftest import overconfident

MAX_BYTES = 500_000


class Reader(HTMLParser):
    """Collects tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.text = ""
        self._skip = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._skip = tag

    def handle_endtag(self, tag):
        if tag == self._skip:
            self._skip = ""

    def handle_data(self, data):
        if not self._skip:
            self.text += data

    def handle_comment(self, data):
        self.comments.append(data)


@pytest.fixture(scope="module")
def page(report):
    return report.html()


@pytest.fixture(scope="module")
def hostile_page(hostile_report):
    return hostile_report.html()


def test_the_table_holds_the_analysis_numbers(page, analysis):
    text = Reader(page).text
    for method in analysis.methods.values():
        for column in analysis.columns:
            value = method.metrics[column.key].value
            assert metric_text(column.key, value, column.digits) in text
    assert analysis.verdict.finding in text
    assert all(reason in text for reason in analysis.recommendation.reasons)
    assert analysis.data.fingerprint in text


def test_head_and_sections_come_in_order(page, texts):
    titles = re.findall(r"<h[12]>(.*?)</h[12]>", page)
    first = ["March", "These probabilities are overconfident.", "Explore", "Record"]
    assert titles[:4] == first
    texts(titles[-1])
    assert "Ada · 1 March 2026, 09:05 UTC" in page


def test_settings_are_all_there_with_changes_marked(page):
    text = re.sub(r"\s+", " ", Reader(page.replace("</td>", " </td>")).text)
    assert "n_bins12 changed" in text
    assert "seed0 default" in text


def test_nothing_is_loaded(page, hostile_page, texts):
    for html in (page, hostile_page):
        for tag, attributes in Reader(html).tags:
            assert not {"src", "srcset", "action", "background"} & set(attributes), tag
            assert attributes.get("href", "data:,").startswith(("data:", "#"))
        assert not re.search(r"url\(|@import", html)
    texts.shown(page)


@pytest.mark.parametrize("kind", ["page", "hostile_page"])
def test_text_makes_no_tags(kind, request):
    html = request.getfixturevalue(kind)
    reader = Reader(html)
    assert "img" not in {tag for tag, _ in reader.tags}
    assert not reader.comments
    assert not [name for _, attributes in reader.tags for name in attributes if name[:2] == "on"]
    # The page holds the explorer and its cells.
    kinds = [attributes.get("type") for tag, attributes in reader.tags if tag == "script"]
    assert kinds == ["text/plain", "module"]


def test_only_its_own_script_and_style_are_allowed(page):
    policy = next(
        attributes["content"]
        for tag, attributes in Reader(page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "unsafe" not in policy
    assert not [tag for tag, attributes in Reader(page).tags if "style" in attributes]
    for kind, start in (("script", '<script type="module">'), ("style", "<style>")):
        text = page.split(start)[1].split(f"</{kind}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_a_report_without_an_explorer_has_no_script():
    outcome, score = overconfident(300)
    rows = Predictions.from_arrays(outcome, score, group=np.arange(300) // 3)
    page = Report.from_analysis(analyze(rows, Settings(methods=("platt",)))).html()
    assert "script-src 'none'" in page
    assert "<script" not in page


def test_hostile_text_is_shown_as_it_is(hostile_page):
    text = Reader(hostile_page).text
    for hostile in ("<img src=x onerror=window.hacked=1>", "=cmd|' /C calc'!A1", "<!-- a -->"):
        assert hostile in text


@pytest.mark.parametrize("grade", ["guarded", "exact"])
def test_an_example_stays_small(grade):
    analysis = analysed("naive_bayes")
    assert len(Report.from_analysis(analysis, grade=grade).html().encode()) < MAX_BYTES

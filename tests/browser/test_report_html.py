"""The HTML report in a real browser: from a file, without a network, with and without scripts."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from calib.analysis import Analysis, analyze
from calib.cli.main import main
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.loading.examples import EXAMPLES
from calib.metrics import expected_calibration_error
from calib.reports import Report, parts_of
from calib.reports.contents.checklist import TEMPLATES
from calib.reports.contents.settings_file import SavedSettings
from tests.browser.looks import ODD_TYPE, violations
from tests.reports.kept import KEPT

HOSTILE = "<img src=x onerror=window.hacked=1></script><script>window.hacked=1</script>"
CUT = "all => all.filter(t => t.scrollWidth > t.clientWidth).map(t => t.innerText.slice(0, 80))"
WIDEST = "() => document.documentElement.scrollWidth"

# Texts of a chart that leave it, or cover another text.
COLLIDING = """
charts => charts.flatMap(chart => {
    const room = chart.getBoundingClientRect(), texts = [...chart.querySelectorAll("text")];
    const boxes = texts.map(text => text.getBoundingClientRect());
    return texts.flatMap((text, i) => {
        const box = boxes[i], found = [];
        if (box.left < room.left - 1 || box.right > room.right + 1) found.push(text.textContent);
        boxes.forEach((other, j) => {
            const width = Math.min(box.right, other.right) - Math.max(box.left, other.left);
            const height = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
            if (j > i && width > 1 && height > 4)
                found.push([text.textContent, texts[j].textContent]);
        });
        return found;
    });
})
"""


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    rng = np.random.default_rng(0)
    score = rng.random(1000)
    return analyze(Predictions.from_arrays(rng.random(1000) < score**2, score, name=HOSTILE))


@pytest.fixture(scope="module")
def file(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    report = Report.from_analysis(analysis, title=HOSTILE, note=HOSTILE)
    path = tmp_path_factory.mktemp("report") / "report.html"
    report.save(path)
    return path


@contextmanager
def opened(browser: Browser, file: Path, **options: Any) -> Iterator[Page]:
    """The report in a tab without a network; fails on anything in the console."""
    context = browser.new_context(offline=True, **options)
    problems: list[str] = []
    context.on("weberror", lambda event: problems.append(str(event.error)))
    context.on("console", lambda message: problems.append(message.text))
    context.on("request", lambda request: problems.append(request.url))
    page = context.new_page()
    page.goto(file.as_uri())
    yield page
    context.close()
    outside = [problem for problem in problems if not problem.startswith(("file:", "data:"))]
    assert not outside, "\n".join(outside)


def wait_until_drawn(page: Page) -> int:
    """Number of charts, once the explorer stands, where the report has one."""
    if page.locator("#explore").count():
        page.wait_for_selector("#explorer svg.diagram path.line", state="attached")
    return page.locator("svg.plot").count()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_has_two_weights_and_no_small_print(browser: Browser, file: Path, width: int):
    with opened(browser, file, viewport={"width": width, "height": 844}) as page:
        wait_until_drawn(page)
        assert page.evaluate(ODD_TYPE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_drawn(browser: Browser, file: Path, scheme: str):
    with opened(browser, file, color_scheme=scheme) as page:
        assert wait_until_drawn(page) == 4
        assert page.evaluate("window.hacked") is None
        expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
        # Text on charts has the colour of the page.
        fill = page.locator("svg.plot text").first.evaluate("t => getComputedStyle(t).fill")
        assert fill == page.evaluate("getComputedStyle(document.body).color")


def test_slices_time_and_decisions_are_drawn_in_any_font(browser: Browser, tmp_path: Path):
    Report.open(KEPT).save(tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        assert wait_until_drawn(page) == 10
        # The report has the fonts of the system. This is the widest of the usual ones.
        page.evaluate("document.body.style.fontFamily = 'DejaVu Sans'")
        assert page.locator("svg.plot").evaluate_all(COLLIDING) == []


@pytest.mark.parametrize("width", [320, 380, 1280])
def test_the_page_is_no_wider_than_the_window(browser: Browser, file: Path, width: int):
    with opened(browser, file, viewport={"width": width, "height": 800}) as page:
        wait_until_drawn(page)
        assert page.evaluate(WIDEST) == width


def test_the_answer_has_two_columns_and_one_on_a_phone(browser: Browser, file: Path):
    with opened(browser, file, viewport={"width": 1280, "height": 800}) as page:
        wait_until_drawn(page)
        left, right = (box.bounding_box() for box in page.locator(".evidence > div").all())
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] <= right["x"]
        expect(page.locator(".summary .wide .plot")).to_be_visible()
        page.set_viewport_size({"width": 380, "height": 800})
        above, below = (box.bounding_box() for box in page.locator(".evidence > div").all())
        assert above["y"] + above["height"] <= below["y"]
        expect(page.locator(".summary .small .plot")).to_be_visible()
        expect(page.locator(".summary .wide .plot")).to_be_hidden()


def test_on_a_phone_the_words_of_a_wide_chart_can_be_read(browser: Browser, file: Path):
    """They are not shrunk with the chart to the width of the window: it scrolls."""
    with opened(browser, file, viewport={"width": 380, "height": 800}) as page:
        wait_until_drawn(page)
        heights = page.locator("figure .plot text").evaluate_all(
            "texts => texts.filter(text => text.textContent)"
            ".map(text => text.getBBox().height * text.getScreenCTM().d).filter(Boolean)"
        )
        assert min(heights) >= 8
        assert page.evaluate(WIDEST) == 380


def test_long_names_of_slices_leave_the_numbers_in_sight(browser: Browser, tmp_path: Path):
    rng = np.random.default_rng(1)
    score = rng.random(600)
    names = ["a name of many words that goes on and on", "x" * 70]
    rows = Predictions.from_arrays(
        rng.random(600) < score, score, columns={"site": rng.choice(names, 600)}
    )
    found = analyze(rows, Settings(methods=()))
    Report.from_analysis(found, parts=parts_of(rows, found)).save(tmp_path / "report.html")
    with opened(browser, tmp_path / "report.html") as page:
        for width, share in ((380, 0.45), (1280, 0.4)):
            page.set_viewport_size({"width": width, "height": 800})
            table = page.get_by_role("region", name="By site").first
            head = table.locator("tbody th").first.bounding_box()
            assert head["width"] < share * table.bounding_box()["width"]


def test_it_reads_without_scripts(browser: Browser, file: Path):
    with opened(browser, file, java_script_enabled=False) as page:
        expect(page.locator("svg.plot[role=img][aria-label]")).to_have_count(4)
        expect(page.locator(".answer h2")).to_be_visible()
        expect(page.get_by_role("row", name="Isotonic").first).to_be_visible()
        expect(page.locator("svg.plot").first).to_be_visible()
        expect(page.get_by_role("heading", name="Explore")).to_be_hidden()


def test_the_settings_are_downloaded_without_a_network(browser: Browser, file: Path):
    with opened(browser, file) as page:
        link = page.get_by_role("link", name="Download settings.json")
        with page.expect_download() as download:
            link.click()
        assert download.value.suggested_filename == "settings.json"
        saved = SavedSettings.from_json(json.loads(download.value.path().read_text()))
        assert saved.title == HOSTILE
        page.emulate_media(media="print")
        expect(link).to_be_hidden()


def test_charts_fit_on_paper(browser: Browser, file: Path):
    # A4 less its margins, in CSS pixels.
    with opened(browser, file, viewport={"width": 687, "height": 1000}) as page:
        page.emulate_media(media="print", color_scheme="dark")
        wait_until_drawn(page)
        assert page.evaluate(WIDEST) == 687
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the first example, as the command line writes it."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["report", "example:naive_bayes", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_breaks_no_rule(browser: Browser, example: Path, scheme: str):
    with opened(browser, example, color_scheme=scheme) as page:
        assert violations(page) == []


def test_the_answer_is_on_the_first_screen(browser: Browser, example: Path):
    with opened(browser, example, viewport={"width": 1440, "height": 900}) as page:
        wait_until_drawn(page)
        answer = page.locator("#verdict")
        for part in (".answer h2", ".bars", ".holds", ".summary .wide .plot"):
            box = answer.locator(part).last.bounding_box()
            assert box["y"] + box["height"] <= 900, part
        page.get_by_role("link", name="Settings", exact=True).click()
        expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_in_viewport()


@pytest.mark.parametrize("key", ["naive_bayes", "digits"])
def test_an_example_prints_on_six_pages_and_its_record_on_the_first(
    browser: Browser, example: Path, tmp_path: Path, key: str
):
    if key == "digits":
        example = tmp_path / "report.html"
        assert main(["report", f"example:{key}", "-o", str(example)]) == 0
    with opened(browser, example, viewport={"width": 687, "height": 1000}) as page:
        page.emulate_media(media="print")
        wait_until_drawn(page)
        # A4 less its margins is 1,032 CSS pixels high.
        last = page.locator("#record").bounding_box()
        assert last["y"] + last["height"] < 1032
        printed = page.pdf(prefer_css_page_size=True)
        assert 1 < len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 6
        # In two columns of a wide window, no table is cut.
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1280, "height": 800})
        assert page.locator(".table").evaluate_all(CUT) == []


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_prints_on_eight_pages(browser: Browser, tmp_path: Path, template: str):
    file = tmp_path / "report.html"
    words = ["--template", template, "-o", str(file)]
    assert main(["report", "example:logistic", *words]) == 0
    with opened(browser, file, viewport={"width": 687, "height": 1000}) as page:
        page.emulate_media(media="print")
        wait_until_drawn(page)
        printed = page.pdf(prefer_css_page_size=True)
        assert 1 < len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 8


@pytest.mark.parametrize("grade", ["guarded", "exact"])
def test_a_hand_moves_the_bins_offline_and_reads_the_numbers_of_the_library(
    browser: Browser, tmp_path: Path, grade: str
):
    analysis = analyze(EXAMPLES["naive_bayes"].load())
    report = Report.from_analysis(analysis, grade=grade)
    report.save(tmp_path / "report.html")
    cells = report.evidence.scores("uncalibrated")
    with opened(browser, tmp_path / "report.html") as page:
        wait_until_drawn(page)
        said = page.locator("#explorer .readouts").first
        own = analysis.uncalibrated.metrics["ece_quantile"].value
        expect(said).to_contain_text("Gaps of 15 quantile bins")
        expect(said.locator("td").first).to_have_text(f"{own:.1%}")
        slider = page.locator("#explorer").get_by_role("slider")
        slider.focus()
        for _ in range(7):
            slider.press("ArrowRight")
        page.locator("#explorer").get_by_label("Uniform").check()
        ece = expected_calibration_error(cells, n_bins=22, strategy="uniform")
        expect(said).to_contain_text("Gaps of 22 uniform bins")
        expect(said.locator("td").first).to_have_text(f"{ece:.1%}")
        page.locator("#explorer summary").click()
        page.locator("#explorer").get_by_label("Log-odds", exact=True).check()
        page.locator("#explorer").get_by_label("Isotonic").check()
        expect(said).to_contain_text(re.compile(r"Isotonic \d\.\d%"))
        assert page.locator("#explorer svg.diagram path.line").count() == 3
    if grade == "exact":
        rows = ScoreCells.from_arrays(
            *(getattr(EXAMPLES["naive_bayes"].load(), name) for name in ("outcome", "scores"))
        )
        whole = expected_calibration_error(rows, n_bins=22, strategy="uniform")
        assert ece == pytest.approx(whole, abs=1e-12)


def test_another_script_is_refused(browser: Browser, example: Path, tmp_path: Path):
    text = example.read_text().replace("</main>", "<script>window.hacked = 1</script></main>")
    (tmp_path / "changed.html").write_text(text)
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "changed.html").as_uri())
    wait_until_drawn(page)
    assert page.evaluate("window.hacked") is None
    context.close()


def test_the_explorer_is_not_printed(browser: Browser, example: Path):
    with opened(browser, example) as page:
        wait_until_drawn(page)
        expect(page.get_by_role("heading", name="Explore")).to_be_visible()
        page.emulate_media(media="print")
        expect(page.locator("#explore")).to_be_hidden()


def test_in_a_notebook_the_page_is_alive_in_a_frame_that_reaches_nothing(
    browser: Browser, analysis: Analysis, tmp_path: Path
):
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html>{analysis._repr_html_()}")
    with opened(browser, tmp_path / "notebook.html") as page:
        frame = page.frame_locator("iframe")
        expect(frame.locator("#explorer .what")).to_have_text("Gaps of 15 quantile bins")
        frame.locator("#explorer").get_by_role("slider").press("ArrowRight")
        expect(frame.locator("#explorer .what")).to_have_text("Gaps of 16 quantile bins")

"""From a dropped evaluation log to its answer, in a real browser."""

from playwright.sync_api import Page, expect

from tests.browser.actions import upload
from tests.browser.harness import by_key, settle, visit
from tests.loading.logs import archive, members
from tests.pages.test_logs import samples


def test_a_dropped_log_is_asked_about_once_and_then_answered(page: Page, tmp_path):
    answers = samples(0)
    for answer in answers:
        answer["scores"]["other"] = {"value": "C"}
    path = tmp_path / "run.eval"
    path.write_bytes(archive(members(answers)))
    visit(page, "/data")
    upload(page, path)
    expect(page.get_by_text("Each answer was scored in several ways")).to_be_visible()
    page.get_by_role("button", name="match").click()
    settle(page)
    settle(page)
    expect(page.get_by_role("heading", name="What was read")).to_be_visible()
    expect(by_key(page, "answers")).to_be_visible()
    page.get_by_role("link", name="See the result").click()
    settle(page)
    expect(page.get_by_role("heading", level=2)).to_contain_text(
        "These confidences are overconfident", timeout=30_000
    )
    expect(page.get_by_role("link", name="Ranking")).to_contain_text("least confident rows")

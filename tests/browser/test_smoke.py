"""The app opens; the `page` fixture does the judging."""

from playwright.sync_api import Page

from tests.browser.harness import visit
from tests.rare import rare


@rare
def test_app_opens(page: Page) -> None:
    visit(page)
    assert page.locator("[data-testid=stMain]").inner_text().strip()

"""Text can be read: every text that a page shows against what lies behind it, in both themes."""

import pytest
from playwright.sync_api import Page

from tests.browser.harness import by_key, visit
from tests.rare import common_first

# WCAG 2.2, 1.4.3; text of 24 pixels and more may have less, and is held to the same here.
LEAST = 4.5
# Least contrast of each visible text, by what it says. What cannot be used now is let off, as in
# WCAG.
CONTRASTS = """
() => {
    const OFF = ":disabled, [aria-disabled=true], [data-testid=stFileUploader]";
    const pixel = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    const rgba = color => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = color;
        pixel.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, alpha / 255];
    };
    const over = ([r, g, b, alpha], below) =>
        [r, g, b].map((part, i) => alpha * part + (1 - alpha) * below[i]);
    const luminance = color => {
        const [r, g, b] = color.map(part => part / 255)
            .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const around = element => {
        const found = [];
        for (let at = element; at; at = at.parentElement) found.push(at);
        return found;
    };
    // A slider's value is part of its thumb and hangs above it.
    const holder = element => element.closest("[data-testid=stSliderThumbValue]")
        ?.closest("[data-testid=stSlider]") ?? element;
    const ground = element => around(holder(element)).reverse()
        .map(at => rgba(getComputedStyle(at).backgroundColor))
        .reduce((below, color) => over(color, below), [255, 255, 255]);
    const contrast = element => {
        const style = getComputedStyle(element);
        const [r, g, b, alpha] = rgba(element instanceof SVGElement ? style.fill : style.color);
        const opacity = around(element)
            .reduce((share, at) => share * getComputedStyle(at).opacity, alpha);
        const below = ground(element);
        const [dark, light] = [luminance(over([r, g, b, opacity], below)), luminance(below)]
            .sort((one, other) => one - other);
        return opacity === 0 ? null : (light + 0.05) / (dark + 0.05);
    };
    const found = {};
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, element = text.parentElement;
        const range = new Range();
        range.selectNodeContents(text);
        const {width, height} = range.getBoundingClientRect();
        const off = element.closest(OFF);
        if (!text.data.trim() || width < 2 || height < 2 || off) continue;
        const seen = element.checkVisibility({visibilityProperty: true});
        const value = seen ? contrast(element) : null;
        const name = text.data.trim();
        if (value !== null) found[name] = Math.min(value, found[name] ?? value);
    }
    return found;
}
"""
# The toolbar of a chart fades in under the pointer.
FADED_IN = "() => !document.getAnimations().some(found => found instanceof CSSTransition)"
PAGES = ["data", "reliability?bins=20&colour=red", "slices", "methods", "compare?ex=digits"]


# Of light pages axe checks the contrast: test_accessibility.py.
@pytest.mark.parametrize("scheme", common_first(["light", "dark"], ["dark"]))
@pytest.mark.parametrize("path", common_first(PAGES, [PAGES[1]]))
def test_every_text_can_be_read(page: Page, path: str, scheme: str):
    page.emulate_media(color_scheme=scheme)
    visit(page, f"/{path}")
    ground = page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"}[scheme]
    found = page.evaluate(CONTRASTS)
    assert len(found) > 20
    assert {text: value for text, value in found.items() if value < LEAST} == {}


@pytest.mark.parametrize("scheme", common_first(["light", "dark"], ["dark"]))
def test_what_the_pointer_shows_can_be_read(page: Page, scheme: str):
    page.emulate_media(color_scheme=scheme)
    visit(page, "/compare")
    before = set(page.evaluate(CONTRASTS))
    by_key(page, "chart_forest").locator(".point").first.hover(force=True)
    page.locator(".hoverlayer .nums").first.wait_for()
    page.wait_for_function(FADED_IN)
    shown = {text: value for text, value in page.evaluate(CONTRASTS).items() if text not in before}
    assert shown
    assert min(shown.values()) >= LEAST

"""How a page looks and is operated: rules of axe, contrasts, type, what the keyboard reaches."""

from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
# Streamlit breaks these rules in these parts of elements: its drop zone has a role and a name, and
# the label of a disabled one is grey.
STREAMLIT = (
    ("presentation-role-conflict", "stFileUploaderDropzone"),
    ("color-contrast", "Test rows, if they are in a second file"),
)

# WCAG 2.2, 1.4.3; text of 24 pixels and more may have less, and is held to the same here.
LEAST_CONTRAST = 4.5
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
# Texts of another weight than regular and bold, or smaller than 12 pixels. Icons are a font, too,
# and the answer, which is the largest text, is a little bolder.
ODD_TYPE = """
() => {
    const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode.data.trim(), element = texts.currentNode.parentElement;
        const {fontFamily, fontSize, fontWeight} = getComputedStyle(element);
        const size = parseFloat(fontSize) * (element.currentCSSZoom ?? 1);
        const seen = element.checkVisibility({visibilityProperty: true});
        if (!text || !seen || element.closest("script, style") || fontFamily.includes("Material"))
            continue;
        const weights = ["400", "600", ...element.closest(".answer h1, .answer h2") ? ["650"] : []];
        if (!weights.includes(fontWeight) || size < 12)
            found.push([text.slice(0, 40), fontWeight, size]);
    }
    return found;
}
"""
# Keys of what holds the focus, and of what can be operated and is not switched off.
FOCUSED = """
() => {
    const found = [];
    for (let at = document.activeElement; at; at = at.parentElement)
        found.push(...[...at.classList].filter(name => name.startsWith("st-key-")));
    return found;
}
"""
OPERABLE = """
() => [...document.querySelectorAll(
    "input:not([disabled]), button:not([disabled]), [role=slider]:not([disabled]), a[href]"
)].map(control => control.closest(".stElementContainer[class*=st-key-]"))
    .filter(place => place && place.checkVisibility() && !place.querySelector(".js-plotly-plot"))
    .flatMap(place => [...place.classList].filter(name => name.startsWith("st-key-")))
"""


def violations(page: Page) -> list[str]:
    """Broken rules, each with its element."""
    page.evaluate(AXE)
    found: list[dict[str, Any]] = page.evaluate(RUN)
    return [
        f"{rule['id']}: {node['html'][:200]} ({node['failureSummary']})"
        for rule in found
        for node in rule["nodes"]
        if not any(rule["id"] == known and part in node["html"] for known, part in STREAMLIT)
    ]

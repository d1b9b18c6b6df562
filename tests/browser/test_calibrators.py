"""Exploring epsilon on the Calibrators page."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import press_slider
from tests.browser.harness import by_key, traces, visit


def trace(page: Page, key: str, name: str) -> dict:
    (found,) = [drawn for drawn in traces(page, key) if drawn["name"] == name]
    return found


def names(page: Page, key: str) -> set[str]:
    return {drawn["name"] for drawn in traces(page, key)}


def marked(drawn: dict) -> tuple[float, float]:
    """The point with the large marker."""
    sizes = drawn["marker"]["size"]
    at = sizes.index(max(sizes))
    return drawn["x"][at], drawn["y"][at]


def test_moving_epsilon_bends_the_spline_and_moves_the_marked_point(page: Page):
    visit(page, "/calibrators?ex=logistic&eps=0.1")
    expect(by_key(page, "epsilon").get_by_test_id("stSliderThumbValue")).to_have_text("0.1")
    spline = trace(page, "chart_adjustments", "Spline")["y"]
    x, loss = marked(trace(page, "chart_epsilon", "Spline"))
    assert x == pytest.approx(0.1)
    press_slider(page, "epsilon", "Home")
    expect(by_key(page, "epsilon").get_by_test_id("stSliderThumbValue")).to_have_text("automatic")
    assert trace(page, "chart_adjustments", "Spline")["y"] != spline
    moved, _ = marked(trace(page, "chart_epsilon", "Spline"))
    assert moved == pytest.approx(1e-8)
    _, outside = marked(trace(page, "chart_epsilon", "Rows left unchanged"))
    assert outside == 0
    # One of the points has the number that the comparison gave.
    line = trace(page, "chart_epsilon", "Spline")
    at = min(range(len(line["x"])), key=lambda i: abs(line["x"][i] - 0.1))
    assert line["y"][at] == pytest.approx(loss, abs=1e-9)


def test_the_map_by_the_rule_stays_beside_the_one_in_use(page: Page):
    visit(page, "/calibrators?ex=logistic")
    ruled = trace(page, "chart_adjustments", "Spline")["y"]
    assert "Spline, automatic ε" not in names(page, "chart_adjustments")
    press_slider(page, "epsilon", "End")
    faint = trace(page, "chart_adjustments", "Spline, automatic ε")
    assert faint["y"] == pytest.approx(ruled)
    assert trace(page, "chart_adjustments", "Spline")["y"] != pytest.approx(ruled)

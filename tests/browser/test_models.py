"""Several models side by side, and matrices of scores, in a real browser."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import go
from tests.browser.harness import by_key, settle, traces, visit

READ_RANGE = "plot => plot._fullLayout.yaxis.range"
BOX = "place => { const box = place.getBoundingClientRect(); return [box.x, box.y, box.width]; }"


def drop(page: Page, *files) -> None:
    visit(page, "/data")
    page.locator(".st-key-data_file input[type=file]").set_input_files(files)
    by_key(page, "map_outcome").wait_for()
    settle(page)


@pytest.fixture
def checkpoints(tmp_path):
    """The same rows scored by three checkpoints, ever surer, a file each."""
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    y = rng.random(2000) < p
    paths = []
    for epoch in (10, 2, 1):
        score = p**epoch / (p**epoch + (1 - p) ** epoch)
        path = tmp_path / f"epoch {epoch}.csv"
        path.write_text(
            "y,score\n" + "\n".join(f"{int(a)},{b:.9f}" for a, b in zip(y, score, strict=True))
        )
        paths.append(path)
    return paths


def test_checkpoints_in_several_files(page: Page, checkpoints):
    drop(page, *checkpoints)
    expect(page.get_by_text("3 models, epoch 1, epoch 2 and epoch 10")).to_be_visible()
    go(page, "Cumulative")
    first, second = (by_key(page, key) for key in ("chart_difference", "chart_difference_1"))
    # Side by side, of one size, on the same axes.
    (x1, y1, w1), (x2, y2, w2) = first.evaluate(BOX), second.evaluate(BOX)
    assert x2 > x1 + w1 - 1
    assert abs(y1 - y2) < 2
    assert abs(w1 - w2) < 2
    ranges = [plot.locator(".js-plotly-plot").evaluate(READ_RANGE) for plot in (first, second)]
    assert ranges[0] == ranges[1]

    go(page, "Compare")
    expect(page.get_by_role("heading", name="epoch 1 has the lowest log loss")).to_be_visible()
    lines = [t for t in traces(page, "chart_models") if t["x"] != [None] and t["yaxis"] == "y"]
    assert [t["legendgroup"] for t in lines][:2] == ["uncalibrated", "clip"]
    assert len(lines) == 3
    assert lines[0]["y"] == sorted(lines[0]["y"])

    by_key(page, "models").get_by_role("button", name="epoch 1", exact=True).click()
    settle(page)
    expect(by_key(page, "chart_forest")).to_have_count(1)
    expect(by_key(page, "chart_forest_1")).to_have_count(0)
    assert "model=epoch+10" in page.url or "model=epoch%2010" in page.url


def test_columns_stand_below_each_other_on_a_phone(page: Page):
    page.set_viewport_size({"width": 380, "height": 800})
    visit(page, "/reliability?ex=rounds")
    (x1, y1, w1), (x2, y2, _) = (
        by_key(page, key).evaluate(BOX) for key in ("chart_reliability", "chart_reliability_1")
    )
    assert x1 == x2
    assert y2 > y1 + 300
    assert x1 + w1 <= 380


def test_four_models_move_to_a_second_row_where_they_do_not_fit(page: Page):
    wanted = "~".join(f"round {number}" for number in (1, 3, 10, 30))
    visit(page, f"/?ex=rounds&model={wanted}")
    boxes = [by_key(page, f"summary{suffix}").evaluate(BOX) for suffix in ("", "_1", "_2", "_3")]
    assert boxes[0][0] == boxes[2][0]
    assert boxes[2][1] > boxes[0][1] + 300
    page.set_viewport_size({"width": 2300, "height": 900})
    settle(page)
    boxes = [by_key(page, f"summary{suffix}").evaluate(BOX) for suffix in ("", "_1", "_2", "_3")]
    assert len({round(left) for left, _, _ in boxes}) == 4
    # The sentences above the charts are one to four lines long.
    tops = [top for _, top, _ in boxes]
    assert max(tops) - min(tops) < 120

"""The choice of one of several models in a real browser."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.actions import go
from tests.browser.harness import by_key, settle, traces, visit


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
    go(page, "Reliability")
    page.get_by_role("tab", name="Cumulative").click()
    settle(page)
    expect(by_key(page, "chart_difference")).to_have_count(1)
    expect(by_key(page, "pick_model")).to_contain_text("epoch 1")

    go(page, "Calibrators")
    expect(page.get_by_role("heading", name="epoch 1 has the lowest log loss")).to_be_visible()
    lines = [t for t in traces(page, "chart_models") if t["x"] != [None] and t["yaxis"] == "y"]
    assert [t["legendgroup"] for t in lines][:2] == ["uncalibrated", "clip"]
    assert len(lines) == 3
    assert lines[0]["y"] == sorted(lines[0]["y"])

    by_key(page, "model").get_by_role("combobox").click()
    page.get_by_role("option", name="Model: epoch 10", exact=True).click()
    settle(page)
    assert "model=epoch+10" in page.url or "model=epoch%2010" in page.url
    page.reload()
    settle(page)
    expect(by_key(page, "model").get_by_role("combobox")).to_have_value("Model: epoch 10")

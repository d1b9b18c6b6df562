"""Get the code: as code that is verified, and as a column of calibrated scores."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Locator, Page, expect

import calib
from calib.calibrators import score_methods
from calib.exports import load_calibrator, verify
from tests.browser.actions import saved
from tests.browser.harness import settle, visit


def opened(page: Page, path: str) -> Locator:
    visit(page, path)
    page.get_by_role("button", name="Get the code", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Verified: DuckDB")).to_be_visible()
    return dialog


def test_the_code_of_every_form_is_verified(page: Page, tmp_path: Path):
    dialog = opened(page, "/")
    for form, suffix in (("SQL", "sql"), ("Python", "py"), ("JavaScript", "js"), ("JSON", "json")):
        dialog.get_by_role("radio", name=form, exact=True).click()
        download = dialog.get_by_role("button", name=f"Download naive_bayes-logistic.{suffix}")
        expect(download).to_be_visible()
        settle(page)
        assert verify(saved(page, download, tmp_path)).deviation <= 1e-12
        expect(dialog.get_by_text("Verified:")).to_be_visible()


def test_scores_of_the_analysis_and_new_ones_are_calibrated(page: Page, tmp_path: Path):
    dialog = opened(page, "/calibrators?m=uncalibrated.platt.beta")
    dialog.get_by_role("radio", name="Calibrated scores").click()
    path = saved(page, dialog.get_by_role("button", name="Download CSV"), tmp_path)
    frame = pd.read_csv(path)
    assert set(frame["calibrated_by"]) == {"out-of-fold"}
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    np.testing.assert_allclose(frame["score"], rows.scores, atol=1e-15)
    new = pd.DataFrame({"id": ["a", "b", "c"], "score": [0.2, 0.9, np.nan]})
    held = io.BytesIO()
    new.to_parquet(held)
    dialog.locator("input[type=file]").set_input_files(
        {"name": "new.parquet", "mimeType": "application/octet-stream", "buffer": held.getvalue()}
    )
    expect(dialog.get_by_text("1 row without a calibrated score: score missing.")).to_be_visible()
    settle(page)
    button = dialog.get_by_role("button", name="Download Parquet").last
    made = pd.read_parquet(saved(page, button, tmp_path))
    method = path.stem.rpartition("-")[2]
    fitted = calib.calibrator(method).fit(rows.scores, rows.outcome)
    np.testing.assert_allclose(made["calibrated"][:2], fitted.predict([0.2, 0.9]), rtol=1e-9)
    assert np.isnan(made["calibrated"][2])


def test_exported_code_gives_the_same_numbers_in_chromium(page: Page, tmp_path: Path):
    rng = np.random.default_rng(0)
    scores = rng.random(800)
    outcome = rng.random(800) < scores**1.4
    for key, method in score_methods().items():
        if method.create is None:
            continue
        fitted = method.create().fit(scores, outcome)
        source = load_calibrator(calib.export(fitted, tmp_path / f"{key}.json"))
        code = calib.export(fitted, tmp_path / f"{key}.js").read_text()
        new = np.concatenate([source.scores, rng.random(2000), 10.0 ** -rng.uniform(0, 300, 500)])
        found = page.evaluate(
            """async ([code, scores]) => {
                const file = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
                const {calibrate} = await import(file);
                return scores.map(score => calibrate(score));
            }""",
            [code, new.tolist()],
        )
        np.testing.assert_allclose(found, source.predict(new), rtol=1e-12, atol=1e-14, err_msg=key)

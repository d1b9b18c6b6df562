"""Get the code: the code calibrates the column of the file."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import calib
from calib.loading import read
from calib.loading.building.models import calibrate_table
from calib.ui.controls import use_calibrator
from calib.ui.controls.use_calibrator import fitted
from tests.pages.harness import dropped, press, start


def swapped(n: int = 400) -> pd.DataFrame:
    """Percentages of the negative class."""
    rng = np.random.default_rng(0)
    p = rng.random(n).round(5)
    return pd.DataFrame({"outcome": (rng.random(n) < p).astype(int), "score": 100.0 - 100.0 * p})


@pytest.mark.parametrize("form", [".py", ".sql"])
def test_the_code_begins_with_the_conversion_of_the_scores(form, texts):
    import duckdb

    rows = swapped()
    session = dropped(rows, m="beta")
    mapping = session.upload.mapping.chosen(transform="percent", swap=True)
    session.take(session.upload.mapped(mapping))
    app = start("Overview", session)
    app.session_state["use_form"] = form  # Another run would close the dialog.
    press(app, "use")
    names_of_files = [b.proto.label for b in app.get("download_button")]
    assert f"Download mine-beta{form}" in names_of_files
    code = app.code[0].value
    words = re.sub(r"\n(?:#|--) ", " ", code)
    texts.shown(words, "each case")
    raw = rows["score"].to_numpy()
    if form == ".py":
        names: dict = {}
        exec(code, names)
        found = [names["calibrate"](score) for score in raw.tolist()]
    else:
        with duckdb.connect() as connection:
            connection.register("scores", rows)
            found = connection.execute(code).df()["calibrated"]
    predictions = calib.load(rows, outcome="outcome", score="score", transform="percent", swap=True)
    fitted = calib.calibrator("beta").fit(predictions.scores, predictions.outcome)
    np.testing.assert_allclose(found, fitted.predict(predictions.scores), rtol=1e-9)


def test_new_scores_are_converted_as_the_counts_were(tmp_path):
    rows = swapped()
    given = {"outcome": "outcome", "score": "score", "transform": "percent", "swap": True}
    calib.aggregate(calib.load(rows, **given)).save(tmp_path / "march.parquet")
    counts = calib.Aggregate.load(tmp_path / "march.parquet")
    analysis = calib.analyze(counts, calib.Settings(methods=("platt",)))
    # AppTest closes a dialog before a file can be dropped in it.
    table = read(rows[["score"]])
    session, model = SimpleNamespace(upload=None), SimpleNamespace(rows=counts, analysis=analysis)
    mapping = use_calibrator._mapping(session, model, table)
    made = calibrate_table(table, mapping, fitted(analysis)["platt"].predict)
    p = 1.0 - rows["score"].to_numpy() / 100.0
    expected = calib.calibrator("platt").fit(p, rows["outcome"]).predict(p)
    np.testing.assert_allclose(made.frame["calibrated"], expected, rtol=1e-9)

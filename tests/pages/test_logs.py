"""Dropped evaluation logs: what was read, what is asked, and the words of the answer."""

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.loading.logs import archive, inspect_json, lines, lm_sample, members, sample, stated
from tests.pages.harness import drawn, go, said, start


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if label in button.label).click()
    return drawn(app)


def samples(seed: int, n: int = 300, scale: float = 1.0) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.3, 1.0, n).round(3)
    right = rng.random(n) < confidence**2
    return [
        stated(k, float(scale * c), "C" if r else "I")
        for k, (c, r) in enumerate(zip(confidence, right, strict=True))
    ]


def test_a_log_with_several_scorers_and_partly_right_answers_is_asked_about(texts):
    log = [*samples(0), stated(300, 0.4, "P")]
    for answer in log:
        answer["scores"]["other"] = {"value": 0.25}
    app = start("Data", {"run.eval": archive(members(log))}, m="platt")
    texts.shown(said(app))
    press(app, "match")
    texts.shown(said(app))
    # The second answer keeps the first one.
    press(app, "Partly right counts as wrong")
    texts.shown(said(app))
    (table,) = [frame.value for frame in app.dataframe if "Source" in frame.value]
    assert table.to_dict("records") == [
        {
            "Task": "capitals",
            "Model": "m/one",
            "Rows": 301,
            "Scored": 301,
            "Without confidence": 0,
            "Source": "stated",
        }
    ]
    text = said(go(app, "Overview"))
    assert "confidences" in text
    links = [link.proto.label for link in app.get("page_link")]
    assert any("**Ranking** AUC" in label for label in links)


def test_a_log_without_confidence_says_what_it_still_gives(texts):
    log = inspect_json([sample(k, "CI"[k % 2]) for k in range(40)])
    app = start("Data", {"run.json": log}, m="platt")
    text = said(app)
    texts.shown(text)
    assert any("Source" in frame.value for frame in app.dataframe)


def test_samples_and_results_are_dropped_together(texts):
    rng = np.random.default_rng(0)
    records = [lm_sample(k, [0.0, float(-rng.exponential())], k % 3 // 2) for k in range(200)]
    results = b'{"results": {"arc": {}}, "configs": {}, "model_name": "org/m"}'
    files = {
        "samples_arc_2025-01-01T00-00-00.1.jsonl": lines(*records),
        "results_2025-01-01T00-00-00.1.json": results,
    }
    app = start("Data", files, m="platt")
    (table,) = [frame.value for frame in app.dataframe if "Source" in frame.value]
    assert table["Model"].tolist() == ["org/m"]
    assert table["Source"].tolist() == ["token probability"]
    texts.shown(said(app))


def test_several_logs_are_several_models():
    files = {
        f"{model}.json": inspect_json(samples(seed), eval={"task": "t", "model": model})
        for seed, model in enumerate(("one", "two"))
    }
    app = start("Data", files, m="platt")
    (table,) = [frame.value for frame in app.dataframe if "Source" in frame.value]
    assert table["Model"].tolist() == ["one", "two"]
    assert "one" in said(go(app, "Calibrators"))

"""Matrices that are uploaded: mapped in few words, repaired by one click, faults told."""

import io

import numpy as np
import pandas as pd

from tests.pages.harness import press, said, session_of, start

RNG = np.random.default_rng(2)
NAMES = ["ant", "bee", "cow"]
LOGITS = RNG.normal(0.0, 1.5, (400, 3))
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABEL = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)


def csv() -> bytes:
    frame = pd.DataFrame(P, columns=[f"p_{name}" for name in NAMES])
    frame["label"] = np.array(NAMES)[LABEL]
    return frame.to_csv(index=False).encode()


def npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def test_a_matrix_is_mapped_in_few_words(texts):
    app = start("Data", csv(), m="temperature")
    assert app.segmented_control(key="map_kind").value == "By class"
    assert app.text_input(key="map_classes").value == "p_ant … p_cow"
    assert app.selectbox(key="map_outcome").options == ["label"]
    texts.shown(said(app))
    assert not app.error


def test_class_columns_are_typed(texts):
    app = start("Data", csv(), m="temperature")
    app.text_input(key="map_classes").set_value("p_ant, p_bee").run()
    texts.shown(app.error[0].value)
    texts(app.button(key="repair_outside-classes").label)
    app.text_input(key="map_classes").set_value("p_*").run()
    assert not app.error
    app.text_input(key="map_classes").set_value("p_ant, p_dog").run()
    texts.shown(app.error[0].value)


def test_one_class_of_a_matrix_as_a_binary_score_and_back():
    app = start("Data", csv(), m="temperature")
    app.segmented_control(key="map_kind").set_value("One column").run()
    assert app.selectbox(key="map_score").value == "p_ant"
    app.segmented_control(key="map_kind").set_value("By class").run()
    assert app.text_input(key="map_classes").value == "p_ant … p_cow"
    assert not app.error


def test_logits_are_softmaxed_by_one_click():
    app = start("Data", {"net.npz": npz(logits=LOGITS, y=LABEL)}, m="temperature")
    assert "logits" in app.error[0].value
    assert not press(app, "repair_logits").error
    np.testing.assert_allclose(session_of(app).upload.predictions.scores, P)


def test_a_thousand_classes_are_no_thousand_options():
    matrix = RNG.dirichlet(np.full(1000, 0.1), 1100).astype(np.float32)
    label = np.arange(1100) % 1000
    app = start("Data", {"wide.npz": npz(probs=matrix, y=label)}, m="temperature")
    assert not app.error
    assert app.text_input(key="map_classes").value == "probs_0 … probs_999"
    assert max(len(found.options) for found in app.selectbox) < 50
    (preview,) = app.dataframe
    assert preview.value.shape[1] <= 40

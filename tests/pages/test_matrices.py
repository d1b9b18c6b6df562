"""Matrices through the Data page: mapped in few words, repaired by one click, faults told."""

import io

import numpy as np
import pandas as pd
import pytest

from tests.pages.test_pages import button, go, said, start, upload

RNG = np.random.default_rng(2)
NAMES = ["ant", "bee", "cow"]
LOGITS = RNG.normal(0.0, 1.5, (400, 3))
P = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABEL = (LOGITS + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)


def csv(matrix=P, labels=None, prefix="p_") -> bytes:
    frame = pd.DataFrame(matrix, columns=[f"{prefix}{name}" for name in NAMES])
    frame["label"] = np.array(NAMES)[LABEL] if labels is None else labels
    return frame.to_csv(index=False).encode()


def npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def control(app, kind: str, key: str):
    return next(found for found in getattr(app, kind) if found.key == key)


def test_a_matrix_is_mapped_in_few_words(texts):
    app = upload(start(m="temperature"), csv())
    assert control(app, "segmented_control", "map_kind").value == "By class"
    assert control(app, "text_input", "map_classes").value == "p_ant … p_cow"
    assert control(app, "selectbox", "map_outcome").options == ["label"]
    texts.shown(said(app))
    assert not app.error


def test_class_columns_are_typed(texts):
    app = upload(start(m="temperature"), csv())
    control(app, "text_input", "map_classes").set_value("p_ant, p_bee").run()
    texts.shown(app.error[0].value)
    texts(button(app, "repair_outside-classes").label)
    control(app, "text_input", "map_classes").set_value("p_*").run()
    assert not app.error
    control(app, "text_input", "map_classes").set_value("p_ant, p_dog").run()
    texts.shown(app.error[0].value)


def test_one_class_of_a_matrix_as_a_binary_score_and_back():
    app = upload(start(m="temperature"), csv())
    control(app, "segmented_control", "map_kind").set_value("One column").run()
    assert control(app, "selectbox", "map_score").value == "p_ant"
    control(app, "segmented_control", "map_kind").set_value("By class").run()
    assert control(app, "text_input", "map_classes").value == "p_ant … p_cow"
    assert not app.error


def test_logits_are_softmaxed_by_one_click():
    app = upload(start(m="temperature"), npz(logits=LOGITS, y=LABEL), "net.npz")
    assert "logits" in app.error[0].value
    button(app, "repair_logits").click().run()
    assert not app.error
    app = go(app, "")
    assert not app.error
    assert not app.exception


def test_a_thousand_classes_are_no_thousand_options():
    matrix = RNG.dirichlet(np.full(1000, 0.1), 1100).astype(np.float32)
    label = np.arange(1100) % 1000
    app = upload(start(m="temperature"), npz(probs=matrix, y=label), "wide.npz")
    assert not app.error
    assert control(app, "text_input", "map_classes").value == "probs_0 … probs_999"
    assert max(len(found.options) for found in app.selectbox) < 50
    (preview,) = app.dataframe
    assert preview.value.shape[1] <= 40


FAULTS = {
    "rows that do not sum to 1": (csv(np.vstack([P[:2] * 0.9, P[2:]])), "do not sum to 1"),
    "labels outside": (csv(labels=np.where(np.arange(400) < 2, "dog", np.array(NAMES)[LABEL])),
                       "not one of the 3 classes in 2 rows, such as `dog` in rows 2 and 3"),
    "NaN rows": (csv(np.where(np.arange(400)[:, None] == 5, np.nan, P)), "missing in 1 row"),
    "one label": (csv(labels="ant"), "All of the rows (400) have the label `ant`"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_told(case):
    data, sentence = FAULTS[case]
    app = upload(start(m="temperature"), data)
    assert any(sentence in error.value for error in app.error)


def test_a_class_that_is_never_seen_is_a_warning(texts):
    keep = LABEL != 2
    app = upload(start(m="temperature"), csv(P[keep], np.array(NAMES)[LABEL[keep]]))
    assert not app.error
    texts.shown([warning.value for warning in app.warning])


def test_one_class_column_is_told_with_its_repair(texts):
    app = upload(start(m="temperature"), csv())
    control(app, "text_input", "map_classes").set_value("p_ant").run()
    texts.shown(app.error[0].value)
    button(app, "repair_one-class-column").click().run()
    assert control(app, "segmented_control", "map_kind").value == "One column"

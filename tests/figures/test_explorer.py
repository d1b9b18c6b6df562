"""The data of the explorer: plain text, and only the cells that are shown."""

import json
import re

import numpy as np

import calib
from calib.calibrators import CALIBRATORS
from calib.data.predictions import Predictions
from calib.figures.explorer import explorer_bytes, explorer_data, packed, script, style
from calib.figures.theme import DASHES, GREY, SYMBOLS, style_of


def test_names_of_classes_reach_the_axes_as_they_are():
    name = "<b>7 & 8</b> %{x}"
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 300)
    rows = Predictions(outcome=rng.integers(0, 3, 300), scores=scores, class_names=("a", name, "c"))
    analysis = calib.analyze(rows, calib.Settings(view="class:1", methods=("uncalibrated",)))
    data = explorer_data(analysis, analysis.held_out.cells, ["uncalibrated"])
    assert str(name) in data["across"]
    assert str(name) in data["upward"]
    assert data["positives"] == "positives"
    analysis = calib.analyze(rows, calib.Settings(view="top:1", methods=("uncalibrated",)))
    data = explorer_data(analysis, analysis.held_out.cells, ["uncalibrated"])
    assert data["positives"] == "right answers"


def test_cells_of_other_methods_stay_at_home():
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    analysis = calib.analyze(rows, calib.Settings(methods=("uncalibrated", "platt", "beta")))
    data = explorer_data(analysis, analysis.held_out.cells, ["platt"])
    assert [key for key, method in data["methods"].items() if "cells" in method] == ["platt"]
    assert len(json.dumps(data)) < 150_000


def test_what_is_sent_has_a_name_of_its_content_and_little_endian_numbers():
    name = "198c09fe8b32a542"
    sent = f'{{"of": "{name}", "level": 0.95}}'.encode()
    assert explorer_bytes({"level": 0.95}) == (name, sent)
    assert packed(np.array([0.5])) == packed(np.array([0.5], dtype=">f8")) == "f8:AAAAAAAA4D8="


def test_its_marks_are_those_of_all_charts():
    """Dashes, symbols and greys stand in `calib.figures.theme` only."""
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    analysis = calib.analyze(rows, calib.Settings(methods=("uncalibrated", "platt")))
    methods = explorer_data(analysis, analysis.held_out.cells, [])["methods"]
    for key, method in methods.items():
        assert method["color"] == style_of(key).color
        assert method["dash"] == DASHES[style_of(key).dash]
        np.testing.assert_allclose(method["corners"], SYMBOLS[style_of(key).symbol], atol=5e-5)
    assert methods["uncalibrated"]["corners"] == []
    assert f"--explorer-grey: {GREY};" in style()
    assert not re.search("#[0-9a-f]{6}", script())


def test_methods_have_their_labels_and_stand_by_loss_after_the_uncalibrated_scores():
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    analysis = calib.analyze(rows, calib.Settings(methods=("platt", "logistic", "stack")))
    methods = explorer_data(analysis, analysis.held_out.cells, [])["methods"]
    assert list(methods) == ["uncalibrated", "logistic", "stack", "platt"]
    labels = {key: CALIBRATORS[key].label for key in methods}
    assert {key: method["label"] for key, method in methods.items()} == labels

"""A matrix of scores on every page: its view, its methods, its classes, its link."""

import re

import numpy as np
import pytest
import streamlit as st

import calib
from calib.crossfit.settings import default_methods
from calib.loading.examples import EXAMPLES
from tests.pages.test_matrices import csv, npz
from tests.pages.test_pages import (
    PAGES,
    button,
    drawings,
    go,
    headings,
    key_numbers,
    metric_tables,
    said,
    start,
    upload,
)
from tests.rare import common_first

QUICK = "uncalibrated.temperature.isotonic"


def control(app, kind: str, key: str):
    return next(found for found in getattr(app, kind) if found.key == key)


def labels(app) -> str:
    return " ".join(link.proto.label for link in app.get("page_link"))


@pytest.mark.parametrize("view", common_first(["top:2", "within:2", "class:3"], ["within:2"]))
def test_every_page_shows_every_view(view):
    app = start(ex="digits", m=QUICK, view=view)
    assert not app.exception
    assert not app.error
    for page in (*PAGES, "classes", "methods"):
        go(app, page)
        assert not app.error
        assert app.query_params["view"] == view
    go(app, "")
    kind, index = view.split(":")
    assert control(app, "segmented_control", "view_kind").value == kind
    key, shown = ("selectbox", "view_class") if kind == "class" else ("number_input", "view_rank")
    assert control(app, key, shown).value == int(index)


def test_a_matrix_begins_with_its_first_class_and_its_own_methods():
    app = go(start(ex="digits"), "compare")
    methods = default_methods(EXAMPLES["digits"].load())
    assert set(control(app, "multiselect", "methods").value) == set(methods[1:])
    assert app.query_params == {"v": "1", "ex": "digits"}
    assert "View: **top 1**" in said(app)


def test_the_view_is_chosen_by_kind_and_by_name(texts):
    app = start(ex="digits", m=QUICK)
    control(app, "segmented_control", "view_kind").set_value("class").run()
    assert app.query_params["view"] == "class:0"
    names = control(app, "selectbox", "view_class")
    assert names.options[:3] == ["zero", "one", "two"]
    names.set_value(5).run()
    assert app.query_params["view"] == "class:5"
    texts.shown(said(app))
    button(app, "reset_view").click().run()
    assert "view" not in app.query_params


def test_a_slice_of_a_matrix_is_calibrated_apart_as_a_whole(texts):
    app = go(start(ex="digits", m="uncalibrated.temperature"), "slices")
    # A calibrator of one slice is fitted when a slice is chosen.
    control(app, "selectbox", "apart").select_index(0).run()
    (sentence,) = [each.value for each in app.markdown if "separate calibrator" in each.value]
    assert "predicted correctly" in sentence
    texts.shown(sentence)
    texts.shown(sentence)


@pytest.mark.parametrize("page", ["classes", "data", "gallery"])
def test_a_view_is_chosen_only_where_it_changes_what_is_shown(page):
    app = start(ex="digits")
    key = "view_kind"
    assert key in {each.key for each in app.segmented_control}
    go(app, page)
    assert key not in {each.key for each in app.segmented_control}
    assert "View:" not in said(app)


def test_rows_are_correct_in_the_view_of_the_top_label_alone():
    app = start(ex="digits")
    assert re.search(r"1,797 +1,\d+ correct", said(app))
    app = start(ex="digits", view="class:8")
    assert re.search(r"1,797 +174 positive", said(app))


def test_another_view_fits_nothing_again(monkeypatch):
    app = start(ex="digits", m=QUICK, seed="7")

    def refuse(*_args, **_kwargs):
        raise AssertionError("fitted again")

    monkeypatch.setattr("calib.crossfit.matrix._fit_all", refuse)
    control(app, "number_input", "view_rank").set_value(3).run()
    assert not app.error
    assert not app.exception
    go(app, "compare")
    assert not app.error


def test_the_way_over_functions_fits_nothing_again(monkeypatch, texts):
    app = go(start(ex="digits", m=QUICK, seed="8"), "functions")
    texts.shown(" ".join(info.value for info in app.info))
    control(app, "number_input", "view_rank").set_value(2).run()

    def refuse(*_args, **_kwargs):
        raise AssertionError("fitted again")

    monkeypatch.setattr("calib.crossfit.matrix._fit_all", refuse)
    go(app, "compare")
    assert not app.error


def test_a_view_that_does_not_exist_is_refused_in_words(texts):
    app = start(ex="digits", m=QUICK, view="class:12")
    texts.shown(app.warning[0].value)
    assert "view" not in app.query_params
    texts.shown(start(ex="digits", view="first").warning[0].value)


def test_one_score_a_row_leaves_matrix_methods_and_view_behind():
    app = start(ex="digits", m="uncalibrated.vector.platt", view="class:4")
    go(app, "data")
    control(app, "selectbox", "example_menu").set_value("svm").run()
    go(app, "compare")
    assert control(app, "multiselect", "methods").value == ["platt"]
    assert not app.warning
    assert not [found for found in app.segmented_control if found.key == "view_kind"]


def test_classes_are_told_worst_first_and_by_method(texts):
    app = go(start(ex="digits", m=QUICK), "classes")
    texts.shown(said(app))
    table = app.dataframe[0].value
    assert (np.diff(table["ks_error"]) <= 0).all()
    texts.shown(said(app))
    control(app, "selectbox", "classes").set_value("temperature").run()
    assert "## Temperature: " in said(app)
    errors = [float(re.search(r">KS ([\d.]+)%<", chart)[1]) for chart in drawings(app)]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 10
    assert app.query_params["cls"] == "temperature"


def test_of_many_classes_the_twelve_with_the_largest_errors_are_drawn():
    rng = np.random.default_rng(5)
    logits = rng.normal(0.0, 3.0, (4000, 150))
    label = (logits / 2.0 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    probs = np.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    app = go(upload(start(m="temperature"), npz(probs=probs, y=label), "many.npz"), "classes")
    table = app.dataframe[0].value
    assert len(table) == 150
    shown = [re.search('font-weight="600">([^<]*)<', chart)[1] for chart in drawings(app)]
    assert shown == list(table["class"].iloc[:12])
    assert "the first 12 of 150 classes" in said(app)


def test_overview_and_classes_count_the_same_classes_before_and_after():
    app = start(ex="digits", m=QUICK)
    rows = EXAMPLES["digits"].load()
    settings = {"methods": tuple(QUICK.split("."))}
    analysis = calib.analyze(rows, settings)
    assert analysis.verdict.finding in unescaped(app)
    (tooltip,) = [each.help for each in app.caption if "Runner" in each.value]
    assert analysis.after_sentence in tooltip.replace("\\", "")
    go(app, "classes")
    for method, verdict in (
        ("uncalibrated", analysis.verdict),
        (analysis.recommendation.method, analysis.after),
    ):
        label = analysis.methods[method].label
        if method != "uncalibrated":
            control(app, "selectbox", "classes").set_value(method).run()
        n = sum(key.startswith("class:") for key in verdict.rejected)
        counted = f"{n} of 10 classes" if n else "none of 10 classes"
        assert f"{label}: {counted}" in unescaped(app)
        assert f"{n} of 10 classes" in verdict.sentence or not n


def unescaped(app) -> str:
    return said(app).replace("\\", "").replace("*", "")


def test_a_class_that_is_selected_opens(monkeypatch):
    app = go(start(ex="digits", m=QUICK), "classes")
    third = app.dataframe[0].value["class"].iloc[2]
    # Nobody can point at a table here.
    monkeypatch.setattr(st, "dataframe", lambda *_, **__: {"selection": {"rows": [2]}})
    app.run()
    assert not app.exception
    names = EXAMPLES["digits"].load().class_names
    assert app.query_params["view"] == f"class:{names.index(third)}"
    assert control(app, "selectbox", "view_class").value == names.index(third)
    assert headings(app)[0] == "calib: Reliability"


def test_compare_shows_all_classes_and_clipping(texts):
    app = go(start(ex="digits", m=QUICK), "compare")
    shown = metric_tables(app)[0]
    for name in ("Uncalibrated", "Temperature", "Isotonic"):
        assert f">{name}<" in shown
    assert "Fitted to each class against the rest." in shown
    assert "KS, top-1" not in shown
    control(app, "multiselect", "columns").set_value(["accuracy", "ks_top_1"]).run()
    assert app.query_params["cols"] == "accuracy.ks_top_1"
    shown = metric_tables(app)[0]
    assert ">KS, top-1<" in shown
    assert ">Classwise ECE<" not in shown
    assert "<td>6.7%<small>" in shown
    texts.shown(said(app))
    texts.shown(said(app))


def test_classes_are_offered_for_more_than_two_only(texts):
    app = start(m="temperature")
    assert "Classes" not in labels(app)
    go(app, "classes")
    texts.shown(" ".join(info.value for info in app.info))
    assert "Classes" in labels(start(ex="digits", m=QUICK))


def test_a_matrix_of_ones_own_shows_every_page():
    app = upload(start(m="temperature"), csv())
    for page in ("", *PAGES, "classes"):
        go(app, page)
        assert not app.error
    go(app, "classes")
    assert set(app.dataframe[0].value["class"]) == {"ant", "bee", "cow"}


def test_no_page_shows_two_losses_of_one_name(texts):
    app = start(ex="digits", m=QUICK)
    texts.shown(key_numbers(app))
    texts.shown(said(app))
    go(app, "compare")
    shown = " ".join(metric_tables(app))
    assert "(top-label log loss)<" in shown
    assert "(multiclass log loss)<" in shown
    assert "(log loss)<" not in shown

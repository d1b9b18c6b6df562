"""A matrix of scores: its view, its methods, its classes, its link."""

import re

import numpy as np
import pytest
import streamlit as st

from calib.crossfit.matrix import MatrixFits
from calib.data.base import no_progress
from calib.ui.pages.slices import classes
from calib.ui.session import results, state
from calib.ui.session.choices import VIEW
from calib.ui.session.session import Session
from tests.pages.harness import (
    address,
    by_class,
    copied,
    drawings,
    dropped,
    headings,
    metric_tables,
    model_of,
    opened,
    press,
    said,
    session_of,
    start,
    tables,
)
from tests.pages.test_matrices import csv, npz
from tests.rare import rare

DIGITS = {"ex": "digits", "m": "temperature.isotonic"}
OWN = {"m": "temperature"}


def test_the_view_is_chosen_by_kind_and_by_name(texts):
    app = start("Overview", csv(), **OWN)
    app.segmented_control(key="view_kind").set_value("class").run()
    assert address(app)["view"] == "class:0"
    names = app.selectbox(key="view_class")
    assert names.options == ["ant", "bee", "cow"]
    names.set_value(1).run()
    assert address(app)["view"] == "class:1"
    texts.shown(said(app))
    assert "view" not in press(app, "reset_view").query_params


@pytest.mark.parametrize("page", ["Slices", "Data", "Learn"])
def test_a_view_is_chosen_only_where_it_changes_what_is_shown(page):
    app = start(page, csv(), **OWN)
    assert "view_kind" not in {each.key for each in app.segmented_control}
    assert "View:" not in said(app)


def test_rows_are_correct_in_the_view_of_the_top_label_alone():
    app = start("Overview", csv(), **OWN)
    assert "Mean confidence" in drawings(app)[0]
    app = start("Overview", csv(), **OWN, view="class:2")
    assert "Mean score of" in drawings(app)[0]


def test_another_view_fits_nothing_again(monkeypatch):
    session = dropped(csv(), m="temperature.platt")
    rows = model_of(session).rows
    # The curves need methods of one score, and keep those of the matrix.
    state.one_score_analysis(session, rows, no_progress)

    def refuse(*_args, **_kwargs):
        raise AssertionError("fitted again")

    monkeypatch.setattr("calib.crossfit.matrix._fit_all", refuse)
    session.change(VIEW, "within:2")
    assert model_of(session).analysis.settings.view == "within:2"


def test_curves_of_a_view_have_the_advice_of_the_matrix():
    session = session_of(start("Calibrators", ex="digits", m="dirichlet.beta"))
    model = model_of(session)
    advised = model.analysis.recommendation
    assert advised.method == "dirichlet"
    alone = state.one_score_analysis(session, model.rows, no_progress)
    assert alone.recommendation == advised
    # The curves are those of one score, among which another calibrator may be the best.
    assert not alone.source.is_matrix


@rare
def test_the_way_over_functions_says_what_its_curves_are(texts):
    app = start("Calibrators", **DIGITS)
    texts.shown(" ".join(info.value for info in app.info))


@rare
def test_a_slice_of_a_matrix_is_calibrated_apart_as_a_whole(texts):
    app = start("Slices", **DIGITS)
    # A calibrator of one slice is fitted when a slice is chosen.
    opened(app, "folded_apart_first").selectbox(key="apart").select_index(0).run()
    (sentence,) = [each.value for each in app.markdown if "separate calibrator" in each.value]
    assert "predicted correctly" in sentence
    texts.shown(sentence)
    texts.shown(sentence)


@pytest.mark.parametrize("view", ["class:12", "first"])
def test_a_view_that_does_not_exist_is_refused_in_words(view, texts):
    app = start("Overview", ex="digits", m="temperature.isotonic", view=view)
    texts(app.warning[0].value, view)
    assert "view" not in app.query_params


def class_rows(app):
    """The HTML of each drawn class by its name, in order."""
    drawn = next(each["markup"] for each in tables(app) if each["name"] == "classes")
    rows = re.split(r'<div class="row[^"]*" role=row>', drawn)[1:]
    return {re.search(r"<b>(.*?)</b>", row)[1]: row for row in rows}


def test_classes_are_told_worst_first_before_and_after(texts):
    app = start("Slices", **DIGITS, kind="class")
    rows = class_rows(app)
    errors = [float(re.search(r"<b>([\d.]+)%</b> now", row)[1]) for row in rows.values()]
    assert errors == sorted(errors, reverse=True)
    assert len(rows) == 10
    # A class is drawn with the intervals of the difference and of the error, before and after.
    for row in rows.values():
        assert len(re.findall(r'<line class="bar ', row)) == 4
    texts.shown(said(app), "words")
    assert "KS error" not in said(app)
    lines = copied(app, "classes")[0]
    assert lines["class"].tolist() == list(rows)
    assert {"ks_error", "ece"} <= set(lines)
    app = opened(app, classes.NUMBERS)
    table = app.dataframe[0].value
    assert (np.diff(table["ks_error"]) <= 0).all()
    assert lines["class"].tolist() == table["class"].tolist()
    app.selectbox(key="classes").set_value("isotonic").run()
    assert "Isotonic: " in said(app)
    assert address(app)["cls"] == "isotonic"


def test_classes_with_small_scores_have_log_odds_axes():
    rng = np.random.default_rng(5)
    logits = rng.normal(0.0, 0.2, (2000, 90))
    label = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    probs = np.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    app = start("Slices", {"many.npz": npz(probs=probs, y=label)}, **OWN)
    drawn = next(each["markup"] for each in tables(app) if each["name"] == "classes")
    assert "(log-odds)</span>" in drawn


@rare
def test_of_many_classes_the_twelve_with_the_largest_errors_are_drawn():
    rng = np.random.default_rng(5)
    logits = rng.normal(0.0, 3.0, (4000, 150))
    label = (logits / 2.0 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    probs = np.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    app = start("Slices", {"many.npz": npz(probs=probs, y=label)}, **OWN)
    table = copied(app, "classes")[0]
    assert len(table) == 150
    assert list(class_rows(app)) == list(table["class"].iloc[:12])
    assert any("of 150." in each["markup"] for each in tables(app))


def test_the_verdict_and_classes_count_the_same_classes_before_and_after():
    session = Session.from_link(DIGITS)
    analysis = model_of(session).analysis
    advised = analysis.recommendation.method
    for method, verdict in (("uncalibrated", analysis.verdict), (advised, analysis.after)):
        table = MatrixFits.classwise(analysis.multiclass.held_out, method, list("abcdefghij"))
        found = classes.finding(results.classwise(table, analysis, method), method)
        n = sum(key.startswith("class:") for key in verdict.rejected)
        assert (f"{n} of 10 classes" if n else "any of 10 classes") in found
        assert f"{n} of 10 classes" in verdict.sentence or not n


def test_a_class_that_is_selected_opens(monkeypatch):
    app = opened(start("Slices", **DIGITS, kind="class"), classes.NUMBERS)
    third = app.dataframe[0].value["class"].iloc[2]
    # Nobody can point at a table here.
    monkeypatch.setattr(st, "dataframe", lambda *_, **__: {"selection": {"rows": [2]}})
    app.run()
    assert not app.exception
    names = model_of(session_of(app)).rows.class_names
    assert address(app)["view"] == f"class:{names.index(third)}"
    assert app.selectbox(key="view_class").value == names.index(third)
    assert headings(app)[0] == "Reliability"


def test_calibrators_shows_all_classes(texts):
    app = start("Calibrators", **DIGITS)
    # No page shows two losses of one name.
    shown = " ".join(metric_tables(app))
    texts.shown(shown, "words")
    assert "(log loss)<" not in shown
    shown = metric_tables(app)[0]
    for name in ("Uncalibrated", "Temperature", "Isotonic"):
        assert f">{name}<" in shown
    texts.shown(shown, "words, 2")
    assert "KS, top-1" not in shown
    app.multiselect(key="columns").set_value(["accuracy", "ks_top_1"]).run()
    assert address(app)["cols"] == "accuracy.ks_top_1"
    shown = metric_tables(app)[0]
    assert ">KS, top-1<" in shown
    assert ">Classwise ECE<" not in shown
    assert re.search(r"<td[^>]*>6\.7%<small>", shown)
    texts.shown(said(app))


def test_slices_are_classes_or_values_of_a_column_where_there_are_both():
    app = start("Slices", **DIGITS)
    assert by_class(app).selectbox(key="classes").value in ("temperature", "isotonic")
    assert address(app)["kind"] == "class"
    assert not [control for control in app.selectbox if control.key == "slice_by"]
    app.segmented_control(key="slice_kind").set_value("column").run()
    assert app.selectbox(key="slice_by").value == "ink"
    assert "kind" not in address(app)


@pytest.mark.parametrize("data", [{}, csv()])
def test_nothing_is_chosen_between_classes_and_columns_where_one_of_them_is_missing(data):
    app = start("Slices", data, kind="class", m="temperature.platt")
    assert "slice_kind" not in {each.key for each in app.segmented_control}
    shown = {each["name"] for each in tables(app)}
    assert ("classes" in shown) == bool(len(data))

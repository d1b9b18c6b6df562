"""Defaults of a comparison of a matrix."""

from dataclasses import replace

import numpy as np
import pytest

from calib import analyze, report
from calib.calibrators import CALIBRATORS
from calib.crossfit.settings import Settings, default_methods, default_settings
from calib.data.predictions import Predictions
from calib.metrics import matrix_metrics
from tests.rare import common_first


def matrix(n: int, m: int) -> Predictions:
    scores = np.full((n, m), 1.0 / m)
    return Predictions.from_arrays(np.arange(n) % m, scores)


@pytest.mark.parametrize(
    ("shape", "with_", "without"),
    [
        ((100, 10), {"vector", "isotonic", "beta", "dirichlet"}, set()),
        ((100, 51), {"vector", "isotonic", "beta"}, {"dirichlet"}),
        ((30_000, 100), {"vector"}, {"isotonic", "dirichlet"}),
        ((1_000, 1_000), {"temperature", "clip", "ks_spline"}, {"vector", "beta"}),
        ((30_000, 1_000), {"temperature", "clip", "ks_spline"}, {"vector", "isotonic"}),
    ],
)
def test_methods_go_by_the_size_of_the_matrix(shape, with_, without):
    chosen = default_methods(matrix(*shape))
    assert chosen[0] == "uncalibrated"
    assert with_ <= set(chosen) <= set(CALIBRATORS)
    assert not without & set(chosen)


def test_one_score_a_row_keeps_the_settings_of_one_score():
    assert default_settings(Predictions.from_arrays([0, 1], [0.2, 0.7])) == Settings(view="class:1")


def test_a_matrix_is_first_seen_at_its_first_class():
    result = default_settings(matrix(30, 3))
    assert (result.view, result.methods) == ("top:1", default_methods(matrix(30, 3)))


@pytest.mark.parametrize(
    "settings", common_first([Settings(methods=("temperature",)), Settings(), None], [None])
)
def test_settings_without_a_view_take_that_of_the_data(settings):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 200)
    rows = Predictions.from_arrays(rng.integers(0, 3, 200), scores)
    analysis = analyze(rows, settings)
    assert analysis.settings.view == "top:1"
    top = scores.max(axis=1)
    assert analysis.data.mean_score == pytest.approx(top.mean())
    one = analyze(Predictions.from_arrays(rows.outcome == 0, scores[:, 0]), Settings(methods=()))
    assert one.settings.view == "class:1"
    assert one.data.mean_score == pytest.approx(scores[:, 0].mean())


def test_the_earlier_analysis_is_taken_whether_or_not_the_view_is_named():
    rng = np.random.default_rng(0)
    rows = Predictions.from_arrays(rng.random(200) < 0.4, rng.random(200))
    first = analyze(rows, Settings(methods=("platt",)))
    platt_only = Settings(methods=("platt",), view="class:1")
    assert analyze(rows, platt_only, earlier=first) is first


LOSSES = {
    "top:1": ("Top-label log loss", "Top-label Brier score"),
    "top:2": ("Top-2 log loss", "Top-2 Brier score"),
    "within:2": ("Within-top-2 log loss", "Within-top-2 Brier score"),
    "class:2": ("Log loss, class ship", "Brier score, class ship"),
}


@pytest.mark.parametrize("view", LOSSES)
def test_losses_of_a_view_are_told_from_those_of_the_matrix(view, texts):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(4), 400)
    names = ("cat", "dog", "ship", "frog")
    rows = Predictions.from_arrays(rng.integers(0, 4, 400), scores, class_names=names)
    analysis = analyze(rows, Settings(view=view, methods=("temperature",)))
    for result in (analysis, analyze(rows, replace(analysis.settings, n_bins=7), earlier=analysis)):
        assert tuple(column.label for column in result.columns[:2]) == LOSSES[view]
    texts(matrix_metrics()["log_loss"].label)
    texts(matrix_metrics()["brier_score"].label)
    texts.shown(analysis.recommendation.sentence)
    cells = {cell.strip() for cell in report(analysis).markdown().split("|")}
    shown = " ".join(cells).lower()
    assert all(label.lower() in shown for label in (*LOSSES[view], "Multiclass log loss"))
    assert not {"Log loss", "Brier score"} & cells

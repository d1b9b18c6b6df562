"""Cross-fitted comparison of multiclass calibrators."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import PredefinedSplit

from calib.calibrators import multiclass_calibrator
from calib.crossfit.fitting import cross_fit, cross_fit_scores
from calib.crossfit.matrix import fit_matrix
from calib.crossfit.matrix_comparison import choose_for_classes, compare, compare_multiclass
from calib.crossfit.settings import Settings
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.metrics import expected_calibration_error, ks_error, matrix_metrics
from calib.uncertainty import Bootstrap

METHODS = ("temperature", "vector", "isotonic", "ks_spline")


@pytest.fixture(scope="module")
def predictions(problem):
    scores, label = problem
    return Predictions.from_arrays(label, scores, class_names=("ant", "bee", "cat", "dog"))


@pytest.fixture(scope="module")
def compared(predictions):
    return compare_multiclass(predictions, METHODS)


def test_metrics_are_those_of_scikit_learn(predictions, compared):
    label = predictions.outcome
    for key, result in compared.results.items():
        matrix = compared.held_out.matrix(key)
        assert matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        expected = {
            "log_loss": log_loss(label, matrix),
            "brier_score": brier_score_loss(label, matrix, scale_by_half=False),
            "accuracy": accuracy_score(label, matrix.argmax(axis=1)),
        }
        for name, value in expected.items():
            assert result.metrics[name].value == pytest.approx(value, abs=1e-12)
            assert result.metrics[name].low < value < result.metrics[name].high
        assert set(result.metrics) == set(matrix_metrics())


def test_no_row_is_scored_by_a_map_that_saw_it(predictions, compared):
    held_out = compared.held_out
    rows = np.concatenate([split.rows for split in held_out.splits])
    assert sorted(rows) == list(range(len(predictions)))
    split = held_out.splits[2]
    others = np.setdiff1d(np.arange(len(predictions)), split.rows)
    again = multiclass_calibrator("vector").fit(
        predictions.scores[others], predictions.outcome[others]
    )
    expected = again.predict(predictions.scores[split.rows])
    assert held_out.matrix("vector")[split.rows] == pytest.approx(expected, abs=1e-12)


def test_differences_are_paired(compared):
    temperature, uncalibrated = compared.results["temperature"], compared.results["uncalibrated"]
    for name in ("log_loss", "brier_score", "accuracy"):
        difference = temperature.differences[name]
        assert difference.value == pytest.approx(
            temperature.metrics[name].value - uncalibrated.metrics[name].value, abs=1e-12
        )
    label, rows = compared.held_out.scored.label, np.arange(len(compared.held_out))
    matrices = [compared.held_out.matrix(key) for key in ("uncalibrated", "temperature")]
    gain = np.log(matrices[0][rows, label]) - np.log(matrices[1][rows, label])
    difference = temperature.differences["log_loss"]
    # The two sides differ for skewed values. Together they are as wide as Student's interval.
    width = 2 * 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))
    assert difference.high - difference.low == pytest.approx(width, rel=0.03)
    assert temperature.differences["accuracy"].value == 0.0
    assert compared.results[compared.best].to_best.value == 0.0


def test_the_simplest_of_the_good_is_recommended(compared):
    # The log-odds are twice as large as they should be, which one parameter repairs.
    assert compared.recommended == "temperature"
    assert compared.results["uncalibrated"].to_best.low > 0.0


def test_a_more_complex_method_must_gain_two_nats_and_half_a_nat_per_class():
    for gain, chosen in ((3.99, "temperature"), (4.01, "vector")):
        losses = {"uncalibrated": 0.6, "temperature": 0.5, "vector": 0.5 - gain / 1000.0}
        assert choose_for_classes(losses, 1000.0, 4) == chosen


@pytest.mark.parametrize("view", ["class:2", "top:1", "top:3", "within:2"])
def test_any_view_of_a_method(predictions, compared, view):
    plain = compared.held_out.view("uncalibrated", view)
    direct = predictions.view(view)
    assert (plain.score == direct.score).all()
    assert (plain.outcome == direct.outcome).all()
    calibrated = compared.held_out.view("temperature", view)
    assert len(calibrated) == len(predictions)


def test_view_metrics_are_those_of_the_views(compared):
    views = {"ks_top_1": "top:1", "ks_top_2": "top:2", "ks_within_2": "within:2"}
    for name, view in views.items():
        cells = compared.held_out.view("isotonic", view).cells()
        value = compared.results["isotonic"].metrics[name].value
        assert value == pytest.approx(ks_error(cells), abs=1e-12)


def test_named_test_rows_are_scored_and_nothing_else(problem):
    scores, label = problem
    test = np.arange(len(label)) >= 500
    comparison = compare_multiclass(Predictions.from_arrays(label, scores, test=test), ("vector",))
    fitted = multiclass_calibrator("vector").fit(scores[:500], label[:500])
    expected = log_loss(label[500:], fitted.predict(scores[500:]))
    assert comparison.held_out.protocol == "test rows"
    assert comparison.results["vector"].metrics["log_loss"].value == pytest.approx(
        expected, abs=1e-12
    )


def test_frame_has_a_row_a_method(compared):
    frame = compared.frame()
    assert set(frame.index) == {"uncalibrated", *METHODS}
    assert frame["log_loss"].is_monotonic_increasing
    assert {"method", *matrix_metrics(), "log_loss_diff_low", "accuracy_high"} <= set(frame)


def test_groups_are_held_out_whole(problem):
    scores, label = problem
    group = np.arange(len(label)) // 8
    comparison = compare_multiclass(
        Predictions.from_arrays(label, scores, group=group), ("vector",)
    )
    for split in comparison.held_out.splits:
        rest = np.setdiff1d(np.arange(len(label)), split.rows)
        assert not set(group[split.rows]) & set(group[rest])


def test_classes_that_are_rare_or_never_seen_are_told(problem, texts):
    scores, label = problem
    common = np.flatnonzero(label < 2)
    # Class 2 has one row, and class 3 has none.
    rows = np.append(common, np.flatnonzero(label == 2)[:1])
    comparison = compare_multiclass(Predictions.from_arrays(label[rows], scores[rows]), METHODS)
    assert comparison.held_out.unseen == (2, 3)
    texts.shown(comparison.notes[0])
    assert np.isfinite(comparison.frame()["log_loss"]).all()
    assert not comparison.held_out.failures


def test_one_class_without_rows_is_told_in_the_singular(problem, texts):
    scores, label = problem
    rows = np.flatnonzero(label < 3)
    comparison = compare_multiclass(Predictions.from_arrays(label[rows], scores[rows]), METHODS)
    texts(comparison.notes[0])


def test_binary_scores_are_two_classes():
    rng = np.random.default_rng(0)
    score = rng.random(600)
    comparison = compare_multiclass(
        Predictions.from_arrays(rng.random(600) < score**2, score), ("vector", "isotonic")
    )
    assert comparison.results["isotonic"].differences["brier_score"].high < 0.0
    assert comparison.results["vector"].metrics["ks_within_2"].value == pytest.approx(
        0.0, abs=1e-12
    )


def fit_and_compare(predictions, settings, earlier=None):
    fitted = fit_matrix(predictions, settings, earlier=earlier and earlier.held_out)
    return compare(fitted, settings, earlier=earlier)


def test_one_more_method_is_fitted_alone_and_another_view_fits_nothing(predictions):
    first = fit_and_compare(predictions, Settings(methods=("temperature",)))
    more = fit_and_compare(predictions, Settings(methods=("temperature", "vector")), earlier=first)
    fresh = fit_and_compare(predictions, Settings(methods=("temperature", "vector")))
    for split, old in zip(more.held_out.splits, first.held_out.splits, strict=True):
        assert split.calibrators["temperature"] is old.calibrators["temperature"]
    assert more.frame().equals(fresh.frame())
    other = fit_and_compare(
        predictions, Settings(view="top:2", methods=("temperature",)), earlier=first
    )
    assert other.held_out is first.held_out


@pytest.mark.parametrize("changed", [{"seed": 1}, {"n_folds": 3}])
def test_other_folds_fit_everything_anew(predictions, changed):
    first = fit_and_compare(predictions, Settings(methods=("temperature",)))
    other = fit_and_compare(
        predictions, Settings(methods=("temperature",), **changed), earlier=first
    )
    assert (
        other.held_out.calibrators["temperature"] is not first.held_out.calibrators["temperature"]
    )
    assert other.frame()["log_loss"]["temperature"] != first.frame()["log_loss"]["temperature"]


def test_another_epsilon_refits_what_reads_it(predictions):
    first = fit_and_compare(predictions, Settings(methods=("temperature", "spline")))
    second = fit_and_compare(
        predictions, Settings(methods=("temperature", "spline"), epsilon=0.05), earlier=first
    )
    assert second.held_out.calibrators["temperature"] is first.held_out.calibrators["temperature"]
    assert second.held_out.calibrators["spline"] is not first.held_out.calibrators["spline"]
    assert second.held_out.calibrators["spline"].calibrators_[0].epsilon == 0.05


def test_intervals_of_views_are_those_of_the_binary_problem(compared):
    result = compared.results["uncalibrated"]
    view = compared.held_out.view("uncalibrated", "top:1")
    bootstrap = Bootstrap.from_arrays(view.outcome, view.score)
    for name, metric in (("ks_top_1", ks_error), ("ece_top_label", expected_calibration_error)):
        other = bootstrap.estimate(metric, kind="error")
        ours = result.metrics[name]
        assert (ours.value, ours.low, ours.high) == pytest.approx(
            (other.value, other.low, other.high), abs=0.1 * (other.high - other.low)
        )


def test_what_a_person_may_get_wrong(predictions, problem, texts):
    with texts.raises(ValueError):
        compare_multiclass(predictions, ("plat",))
    with texts.raises(ValueError):
        compare_multiclass(predictions, n_folds=1)
    scores, label = problem
    all_test = Predictions.from_arrays(label, scores, test=np.ones(len(label), dtype=bool))
    with texts.raises(ValueError):
        compare_multiclass(all_test)
    one_class = Predictions.from_arrays(np.zeros(len(label), dtype=int), scores)
    comparison = compare_multiclass(one_class, ("temperature",))
    texts.shown(comparison.notes[-1])
    assert list(comparison.results) == ["uncalibrated"]


def test_named_folds_are_used_as_they_are(problem):
    scores, label = problem
    fold = np.random.default_rng(1).choice(["a", "b", "c"], len(label))
    rows = Predictions.from_arrays(label, scores, fold=fold)
    held_out = compare_multiclass(rows, ("vector",), n_folds=9).held_out
    np.testing.assert_array_equal(np.array(rows.fold_names)[held_out.fold], fold)
    for train, test in PredefinedSplit(rows.fold).split():
        expected = multiclass_calibrator("vector").fit(scores[train], label[train])
        np.testing.assert_allclose(
            held_out.matrix("vector")[test], expected.predict(scores[test]), atol=1e-12
        )


def test_one_cross_fit_serves_scores_and_matrices(predictions):
    settings = Settings(methods=("temperature",))
    first = cross_fit(predictions, settings)
    assert first.settings.view == "top:1"
    other = cross_fit(predictions, replace(settings, view="class:2"), earlier=first)
    assert other.matrix is first.matrix
    class_view = first.matrix.view("temperature", "class:2")
    assert other.cells["temperature"].base_rate == pytest.approx(class_view.outcome.mean())
    assert other.cells["temperature"].mean_score == pytest.approx(class_view.score.mean())
    single = predictions.one_score("class:2")
    of_scores = cross_fit(single, Settings(methods=("platt",)))
    assert of_scores.matrix is None
    again = cross_fit_scores(
        CountedRows.of_rows(single.view()), Settings(view="class:1", methods=("platt",))
    )
    assert (of_scores.scores["platt"] == again.scores["platt"]).all()

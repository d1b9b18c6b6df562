"""A view of a matrix, analysed: every method by its own outcomes, and nothing fitted twice."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from calib.analysis import analyze
from calib.crossfit.cross_fitted import mean_estimate
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.metrics import ks_error
from tests.rare import common_first, rare

SETTINGS = Settings(view="top:1", methods=("temperature", "isotonic"))


@pytest.fixture(scope="module")
def predictions(problem):
    scores, label = problem
    return Predictions.from_arrays(label, scores, class_names=("ant", "bee", "cat", "dog"))


@pytest.fixture(scope="module")
def analysis(predictions):
    return analyze(predictions, SETTINGS)


def test_outcomes_are_those_of_the_class_that_each_method_ranks_first(predictions, analysis):
    for key in ("uncalibrated", "temperature", "isotonic"):
        matrix = analysis.multiclass.held_out.matrix(key)
        right = matrix.argmax(axis=1) == predictions.outcome
        view = analysis.held_out.row_view(key)
        assert (view.outcome == right).all()
        assert (view.score == matrix.max(axis=1)).all()
        expected = log_loss(right, matrix.max(axis=1))
        assert analysis.methods[key].metrics["log_loss"].value == pytest.approx(expected)
        assert analysis.methods[key].metrics["ks_error"].value == ks_error(right, view.score)
    # Only isotonic regression changes the ranks of some rows.
    assert set(analysis.held_out.outcomes) == {"isotonic"}


def test_differences_are_paired_by_row_though_outcomes_differ(analysis):
    rows = [analysis.held_out.row_view(key) for key in ("isotonic", "uncalibrated")]
    losses = [-np.log(np.where(r.outcome, r.score, 1.0 - r.score)) for r in rows]
    folds = analysis.multiclass.held_out.fold_matrices("isotonic")
    label = analysis.multiclass.held_out.scored.label[analysis.multiclass.held_out.fold_points[0]]
    by_fold = [
        -np.log(np.where(p.argmax(axis=1) == label, p.max(axis=1), 1.0 - p.max(axis=1)))
        for p in folds
    ]
    added = np.var(by_fold, axis=0).sum() * len(by_fold) / len(label) ** 2
    expected = mean_estimate(losses[0] - losses[1], rows[0], 0.95, added)
    result = analysis.methods["isotonic"].differences["log_loss"]
    for name in ("value", "low", "high"):
        assert getattr(result, name) == pytest.approx(getattr(expected, name), rel=1e-12)


def test_change_of_auc_is_delongs(analysis):
    """Fold by fold, since each has a calibrator of its own, and weighted by pairs of rows."""
    change, fold = analysis.methods["temperature"].differences["auc"], analysis.held_out.rows.fold
    result, variance, pairs = [], [], []
    for number in np.unique(fold):
        placements, area = {}, {}
        for key in ("temperature", "uncalibrated"):
            r = analysis.held_out.view(key).rows(fold == number)
            area[key] = roc_auc_score(r.outcome, r.score)
            above = r.score[r.outcome][:, None] - r.score[~r.outcome]
            wins = (above > 0) + 0.5 * (above == 0)
            placements[key] = wins.mean(axis=1), wins.mean(axis=0)
        result.append(area["temperature"] - area["uncalibrated"])
        both = zip(placements["temperature"], placements["uncalibrated"], strict=True)
        variance.append(sum(np.var(a - b, ddof=1) / len(a) for a, b in both))
        pairs.append(wins.size)
    share = np.array(pairs) / sum(pairs)
    assert change.value == pytest.approx(share @ result, abs=1e-12)
    width = change.high - change.low
    assert width == pytest.approx(2 * 1.96 * np.sqrt(share**2 @ variance), rel=0.02)


def test_another_view_fits_nothing(predictions, analysis):
    other = analyze(predictions, replace(SETTINGS, view="class:2"), earlier=analysis)
    assert other.multiclass.held_out is analysis.multiclass.held_out
    assert other.data.positive_name == "cat"
    fresh = analyze(predictions, replace(SETTINGS, view="class:2"))
    assert other.table().equals(fresh.table())
    assert other.recommendation == analysis.recommendation


def test_a_moved_slider_keeps_the_matrix(predictions, analysis):
    other = analyze(predictions, replace(SETTINGS, n_bins=7), earlier=analysis)
    assert other.multiclass is analysis.multiclass
    assert other.held_out is analysis.held_out
    assert len(other.uncalibrated.reliability.rows) == 7


def test_another_level_widens_the_matrix_too(predictions, analysis):
    other = analyze(predictions, replace(SETTINGS, confidence_level=0.99), earlier=analysis)
    wide = other.multiclass.results["temperature"].metrics
    narrow = analysis.multiclass.results["temperature"].metrics
    for name in ("log_loss", "accuracy", "ks_top_2"):
        assert wide[name].high > narrow[name].high


def test_recommendation_is_that_of_the_matrix(analysis):
    assert analysis.recommendation.method == analysis.multiclass.recommended == "temperature"


def test_test_rows_are_those_of_the_view(problem):
    scores, label = problem
    test = np.arange(len(label)) % 2 == 0
    result = analyze(Predictions.from_arrays(label, scores, test=test), SETTINGS)
    assert result.data.protocol == "test rows"
    assert (result.data.n_rows, result.data.n_calibration) == (400, 400)
    right = scores[test].argmax(axis=1) == label[test]
    assert (result.held_out.given_rows.outcome == right).all()


def test_clusters_reach_every_interval(problem):
    scores, label = (values[:400] for values in problem)
    twice = np.repeat(np.arange(len(label)), 2)
    rows = Predictions.from_arrays(label[twice], scores[twice], group=twice)
    settings = replace(SETTINGS, methods=("temperature",))
    result, plain = (
        analyze(rows, settings),
        analyze(Predictions.from_arrays(label, scores), settings),
    )
    clustered, single = (
        a.multiclass.results["uncalibrated"].metrics["ks_top_1"] for a in (result, plain)
    )
    assert clustered.value == pytest.approx(single.value, abs=1e-12)
    assert clustered.high - clustered.low == pytest.approx(single.high - single.low, rel=0.15)


def test_a_view_of_one_outcome_is_told(problem, texts):
    scores, label = problem
    rows = Predictions.from_arrays(
        np.where(label == 3, 0, label), scores, class_names=("ant", "bee", "cat", "dog")
    )
    with texts.raises(ValueError):
        analyze(rows, replace(SETTINGS, view="class:3"))
    with texts.raises(ValueError):
        analyze(rows, replace(SETTINGS, view="class:4"))


def test_methods_of_a_matrix_cannot_calibrate_one_score(texts):
    rng = np.random.default_rng(0)
    score = rng.random(400)
    rows = Predictions.from_arrays(rng.random(400) < score, score)
    first = analyze(rows, Settings(methods=("platt", "vector")))
    assert list(first.methods) == ["uncalibrated", "platt"]
    texts.shown(first.warnings[0])
    again = analyze(rows, Settings(methods=("platt", "vector", "beta")), earlier=first)
    assert list(again.methods) == ["uncalibrated", "platt", "beta"]


def columns_of(kind, n):
    rng = np.random.default_rng(5)
    return {
        "weights": {"sample_weight": rng.gamma(2.0, 1.0, n)},
        "weighted ties": {"sample_weight": rng.gamma(2.0, 1.0, n)},
        "clusters": {"group": rng.integers(0, 60, n)},
        "clusters alike": {"group": np.arange(n) // 2},
        "test rows": {"test": rng.random(n) < 0.4},
        "clusters and test rows": {
            "group": rng.integers(0, 60, n),
            "test": rng.random(n) < 0.4,
            "sample_weight": rng.gamma(2.0, 1.0, n),
        },
        "folds": {"fold": rng.choice(["a", "b", "c"], n)},
    }.get(kind, {})


def numbers_of(result, into):
    """Every number of a result, wherever it lies."""
    if isinstance(result, np.ndarray | float | int | str):
        into.append(np.asarray(result))
    elif isinstance(result, Mapping):
        for key in result:
            numbers_of(result[key], into)
    elif isinstance(result, tuple):
        for part in result:
            numbers_of(part, into)
    elif is_dataclass(result):
        for part in fields(result):
            # The rows of the source are in their original order.
            if part.name not in ("held_out", "fingerprint", "settings", "columns", "source"):
                numbers_of(getattr(result, part.name), into)
    return into


ORDERED = [
    "plain",
    "ties",
    "weights",
    "weighted ties",
    "clusters",
    "clusters alike",
    "test rows",
    "clusters and test rows",
    "folds",
]


@pytest.mark.parametrize("view", common_first(["top:1", "class:2"], ["class:2"]))
@pytest.mark.parametrize("kind", common_first(ORDERED, ["clusters and test rows"]))
def test_the_order_of_the_rows_makes_no_difference(problem, kind, view):
    scores, label = (np.repeat(values, 2, axis=0)[:500] for values in problem)
    if "ties" in kind:
        scores = np.maximum(scores.round(1), 0.05)
        scores = scores / scores.sum(axis=1, keepdims=True)
    more = columns_of(kind, len(label))
    settings = Settings(view=view, methods=("temperature", "vector", "dirichlet", "isotonic"))
    order = np.random.default_rng(1).permutation(len(label))
    first = analyze(Predictions.from_arrays(label, scores, **more), settings)
    shuffled = {name: values[order] for name, values in more.items()}
    second = analyze(Predictions.from_arrays(label[order], scores[order], **shuffled), settings)
    ours, theirs = numbers_of(first, []), numbers_of(second, [])
    assert len(ours) > 500
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    for key in first.methods:
        one, other = (result.multiclass.held_out.matrix(key) for result in (first, second))
        by_row = (np.lexsort(scores.T) for scores in (one, other))
        np.testing.assert_array_equal(one[next(by_row)], other[next(by_row)])


@rare
def test_the_last_bit_of_the_scores_makes_no_difference(problem):
    """Processors compute a softmax with other last bits. The folds must be the same."""
    scores, label = problem
    bit = np.random.default_rng(1).choice([-1e-16, 0.0, 1e-16], scores.shape)
    settings = Settings(methods=("temperature", "isotonic"))
    first, second = (
        analyze(Predictions.from_arrays(label, one / one.sum(axis=1, keepdims=True)), settings)
        for one in (scores, scores + bit)
    )
    for key in first.methods:
        one, other = (result.multiclass.held_out.matrix(key) for result in (first, second))
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-9)


def test_copies_of_a_row_are_counted_once(problem):
    """The cost of a view grows with the distinct rows of a fold. All rows count in its numbers."""
    scores, label = (np.repeat(values[:100], 40, axis=0) for values in problem)
    result = analyze(Predictions.from_arrays(label, scores), replace(SETTINGS, n_folds=4))
    assert len(result.held_out.rows) == 400
    assert result.held_out.rows.n_rows == result.data.n_rows == 4000
    for key in ("uncalibrated", "isotonic"):
        matrix = result.multiclass.held_out.matrix(key)
        right, top = matrix.argmax(axis=1) == label, matrix.max(axis=1)
        metrics = result.methods[key].metrics
        assert metrics["log_loss"].value == pytest.approx(log_loss(right, top), rel=1e-12)
        losses = -np.log(np.where(right, top, 1.0 - top))
        half = 1.96 * losses.std() / np.sqrt(4000)
        width = metrics["log_loss"].high - metrics["log_loss"].low
        assert width == pytest.approx(2 * half, rel=0.01)

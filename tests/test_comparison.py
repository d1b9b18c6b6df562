from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from calib.analysis import analyze
from calib.analysis.method_results import Reference
from calib.calibrators import CALIBRATORS, Calibrator
from calib.crossfit.cross_fitted import LOSSES, mean_estimate
from calib.crossfit.fitting import cross_fit, cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from tests.isotonic_peer import shrunken
from tests.rare import common_first, rare


def overconfident(n: int = 2000, seed: int = 3, **more) -> BinaryView:
    rng = np.random.default_rng(seed)
    truth = expit(rng.normal(-0.5, 1.5, n))
    score = expit(2 * logit(truth))
    return Predictions.from_arrays(rng.random(n) < truth, score, **more).view()


@pytest.fixture
def fits(monkeypatch):
    """The classes that were fitted, in order."""
    fitted = []
    original = Calibrator._fit_by

    def spy(self, fit, cells):
        fitted.append(type(self).__name__)
        return original(self, fit, cells)

    monkeypatch.setattr(Calibrator, "_fit_by", spy)
    return fitted


def test_each_row_is_scored_by_a_map_that_did_not_see_it():
    view = overconfident()
    held_out = cross_fit_scores(
        CountedRows.of_rows(view), Settings(methods=("isotonic",), n_folds=4, seed=7)
    )
    # No two rows share a score, so each row is in one fold.
    expected, fold = np.empty(len(view)), held_out.row_values(held_out.rows.fold).round()
    for number in range(4):
        train, test = fold != number, fold == number
        assert abs(test.sum() - 500) <= 1
        assert abs(view.outcome[test].sum() - view.outcome.sum() / 4) < 1
        expected[test] = shrunken(view.score[train], view.outcome[train], view.score[test])
    np.testing.assert_allclose(held_out.row_scores("isotonic"), expected, atol=1e-12)
    assert held_out.protocol == "folds"


def test_the_drawn_map_is_fitted_on_all_rows():
    view = overconfident()
    held_out = cross_fit_scores(CountedRows.of_rows(view), Settings(methods=("isotonic",)))
    grid = np.linspace(0, 1, 11)
    expected = shrunken(view.score, view.outcome, grid)
    np.testing.assert_allclose(held_out.calibrators["isotonic"].predict(grid), expected, atol=1e-12)
    assert held_out.fitted_on.n_rows == len(view)


def test_named_calibration_and_test_rows_are_kept_apart():
    test = np.arange(2000) % 4 == 0
    view = overconfident(test=test)
    held_out = cross_fit_scores(CountedRows.of_rows(view), Settings(methods=("isotonic",)))
    expected = shrunken(view.score[~test], view.outcome[~test], view.score[test])
    np.testing.assert_allclose(held_out.row_scores("isotonic"), expected, atol=1e-12)
    assert held_out.rows.n_rows == 500
    assert held_out.fitted_on.n_rows == 1500
    assert held_out.protocol == "test rows"


def test_a_group_is_never_split_over_the_folds():
    group = np.repeat(np.arange(200), 10)
    held_out = cross_fit_scores(
        CountedRows.of_rows(overconfident(group=group)), Settings(methods=("isotonic",))
    )
    fold = held_out.row_values(held_out.rows.fold).round()
    assert set(fold) == {0, 1, 2, 3, 4}
    for number in range(200):
        assert len(np.unique(fold[group == number])) == 1


@pytest.mark.parametrize(
    "kind",
    common_first(
        ["plain", "ties", "weights", "groups", "test rows", "folds", "groups in folds"],
        ["weights", "groups in folds"],
    ),
)
def test_the_order_of_the_rows_makes_no_difference(kind):
    n = 400
    rng = np.random.default_rng(8)
    columns = {
        "weights": {"sample_weight": rng.gamma(2.0, 1.0, n)},
        "groups": {"group": rng.integers(0, 60, n)},
        "test rows": {"test": rng.random(n) < 0.3},
        "folds": {"fold": rng.choice(["a", "b", "c"], n)},
        "groups in folds": {"group": np.arange(n), "fold": rng.choice(["a", "b", "c"], n)},
    }.get(kind, {})
    rows = overconfident(n, **columns)
    if kind in ("ties", "weights", "groups in folds"):
        rows = replace(rows, score=rows.score.round(2))
    shuffled = rows.rows(rng.permutation(n))
    if rows.group is not None:
        # Clusters are numbered in the order of the rows.
        shuffled = replace(shuffled, group=shuffled.group.max() - shuffled.group)
    settings = Settings()
    first, second = (
        cross_fit_scores(CountedRows.of_rows(rows), settings),
        cross_fit_scores(CountedRows.of_rows(shuffled), settings),
    )
    assert list(first.scores) == list(second.scores)
    for key, scores in first.scores.items():
        np.testing.assert_array_equal(scores, second.scores[key])
        np.testing.assert_array_equal(first.replicates[key].gap[:], second.replicates[key].gap[:])
        np.testing.assert_array_equal(
            first.replicates[key].noise[:], second.replicates[key].noise[:]
        )
        for name in ("score", "rows", "weight", "positive", "weight_sq", "positive_sq"):
            one, other = (getattr(held_out.cells[key], name) for held_out in (first, second))
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("matrix", [False, True])
def test_fewer_groups_than_folds_make_fewer_folds(n_groups, matrix):
    rng = np.random.default_rng(0)
    score = rng.random(300)
    outcome, group = (rng.random(300) < score).astype(int), rng.integers(0, n_groups, 300)
    given = np.column_stack([1 - score, score / 2, score / 2]) if matrix else score
    rows = Predictions.from_arrays(outcome, given, group=group)
    held_out = cross_fit(rows, Settings(view="class:1", methods=("platt",)))
    assert held_out.rows.fold is not None
    folds = {
        frozenset(np.unique(held_out.rows.fold[held_out.rows.group == g])) for g in range(n_groups)
    }
    assert len(folds) == n_groups
    assert all(len(fold) == 1 for fold in folds)


def test_one_group_that_cannot_be_held_out_is_refused(texts):
    rows = Predictions.from_arrays(
        np.arange(60) % 2, np.linspace(0.1, 0.9, 60), group=np.zeros(60, int)
    )
    with texts.raises(ValueError):
        cross_fit(rows, Settings(view="class:1"))


def test_groups_of_one_class_leave_the_scores_without_calibrators():
    outcome = np.arange(60) % 2
    rows = Predictions.from_arrays(outcome, np.linspace(0.1, 0.9, 60), group=outcome)
    held_out = cross_fit(rows, Settings(view="class:1", methods=("platt",)))
    assert list(held_out.scores) == ["uncalibrated"]
    assert list(held_out.failures) == ["platt"]


def test_named_folds_are_used_as_they_are():
    fold = np.random.default_rng(0).integers(0, 3, 2000)
    view = replace(overconfident(), fold=fold)
    held_out = cross_fit_scores(CountedRows.of_rows(view), Settings(methods=("isotonic",)))
    for number in range(3):
        train, test = fold != number, fold == number
        expected = shrunken(view.score[train], view.outcome[train], view.score[test])
        np.testing.assert_allclose(held_out.row_scores("isotonic")[test], expected, atol=1e-12)


def test_named_folds_give_the_held_out_scores_of_scikit_learn():
    n, rng = 2000, np.random.default_rng(0)
    name, codes = np.array(["north", "east", "south", "west"]), rng.integers(0, 4, n)
    rows = overconfident(n)
    predictions = Predictions.from_arrays(rows.outcome, rows.score, fold=name[codes])
    analysis = analyze(predictions, Settings(methods=("logistic",), n_folds=7, seed=3))
    expected = cross_val_predict(
        LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000),
        logit(rows.score)[:, None],
        rows.outcome,
        cv=PredefinedSplit(codes),
        method="predict_proba",
    )[:, 1]
    scores = analysis.held_out.row_scores("logistic")
    np.testing.assert_allclose(scores, expected, atol=1e-7)
    loss = analysis.methods["logistic"].metrics["log_loss"].value
    assert loss == pytest.approx(log_loss(rows.outcome, expected), abs=1e-8)
    assert (analysis.data.protocol, analysis.data.named_folds) == ("folds", 4)


def test_one_changed_parameter_refits_only_what_it_touches(fits):
    view = overconfident(600)
    first = cross_fit_scores(CountedRows.of_rows(view), Settings())
    fits.clear()
    changed = Settings(epsilon=0.01)
    second = cross_fit_scores(CountedRows.of_rows(view), changed, earlier=first)
    # A stack fits its members again.
    members = {"Uncalibrated", "Platt", "Logistic", "Spline", "VennAbers"}
    assert set(fits) == {"Spline", "Stack"} | members
    fresh = cross_fit_scores(CountedRows.of_rows(view), changed)
    assert list(second.scores) == list(fresh.scores)
    for key, scores in fresh.scores.items():
        np.testing.assert_array_equal(second.scores[key], scores)
        np.testing.assert_array_equal(second.replicates[key].gap[:], fresh.replicates[key].gap[:])
    fits.clear()
    cross_fit_scores(CountedRows.of_rows(view), Settings(seed=1), earlier=first)
    assert len(set(fits)) == 8


def test_one_class_is_a_sentence(texts):
    one_class = Predictions.from_arrays(np.ones(50), np.full(50, 0.5)).view()
    with texts.raises(ValueError):
        cross_fit_scores(CountedRows.of_rows(one_class), Settings())
    only_calibration = Predictions.from_arrays(
        [0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], test=[False, False, True, True]
    ).view()
    with texts.raises(ValueError):
        cross_fit_scores(CountedRows.of_rows(only_calibration), Settings())


def test_fewer_positives_than_folds_make_fewer_folds():
    view = Predictions.from_arrays([1, 1, 1] + [0] * 40, np.linspace(0.9, 0.1, 43)).view()
    held_out = cross_fit_scores(CountedRows.of_rows(view), Settings(methods=("platt",)))
    assert np.isfinite(held_out.scores["platt"]).all()


def test_the_interval_of_a_mean_is_the_textbooks():
    rng = np.random.default_rng(0)
    values = rng.normal(size=250)
    # Symmetric values need no correction for skewness.
    values = np.concatenate([1.0 + values, 1.0 - values])
    view = Predictions.from_arrays(rng.integers(0, 2, 500), rng.random(500)).view()
    estimate = mean_estimate(values, view, 0.95)
    # The factor is the quantile of t with 499 degrees of freedom.
    half = 1.9647293909876649 * values.std(ddof=1) / np.sqrt(500)
    assert estimate.value == pytest.approx(values.mean(), abs=1e-14)
    assert estimate.low == pytest.approx(values.mean() - half, abs=1e-12)
    assert estimate.high == pytest.approx(values.mean() + half, abs=1e-12)


def row_loss(y, p):
    return -np.log(np.where(y, p, 1.0 - p))


@pytest.mark.parametrize("weighted", [False, True])
def test_added_variance_is_what_the_folds_calibrators_differ_by(weighted):
    """k / (k - 1) times the jackknife's variance of each row's loss, summed over rows."""
    weight = np.random.default_rng(2).gamma(2.0, size=400) if weighted else None
    view = overconfident(400, sample_weight=weight)
    held_out = cross_fit_scores(
        CountedRows.of_rows(view), Settings(methods=("platt", "logistic"), n_folds=4, seed=7)
    )
    fold = held_out.row_values(held_out.rows.fold).round()
    x, brier = logit(view.score)[:, None], []
    for train in (fold != number for number in range(4)):
        peer = LogisticRegression(C=np.inf, tol=1e-10).fit(
            x[train], view.outcome[train], None if weight is None else weight[train]
        )
        brier.append((peer.predict_proba(x)[:, 1] - view.outcome) ** 2)
    share = np.full(400, 1 / 400) if weight is None else weight / weight.sum()
    jackknife = 3 / 4 * ((brier - np.mean(brier, axis=0)) ** 2).sum(axis=0)
    expected = 4 / 3 * (share**2 * jackknife).sum()
    variance = held_out.fold_variance("logistic", LOSSES["brier_score"])
    assert variance == pytest.approx(expected, rel=1e-4)
    assert held_out.fold_variance("uncalibrated", LOSSES["brier_score"]) == 0.0
    assert held_out.fold_variance("platt", LOSSES["log_loss"], "platt") == 0.0


def test_many_scores_give_the_same_added_variance_as_all_of_them():
    held_out = cross_fit_scores(
        CountedRows.of_rows(overconfident(20_000)), Settings(methods=("beta",))
    )
    view, fold = held_out.rows, held_out.rows.fold
    parts = [view.rows(fold != number).cells() for number in range(5)]
    fits = [CALIBRATORS["beta"].create().fit_cells(cells) for cells in parts]
    values = np.array([row_loss(view.outcome, fitted.predict(view.score)) for fitted in fits])
    expected = ((values - values.mean(axis=0)) ** 2).sum() / len(view) ** 2
    variance = held_out.fold_variance("beta", LOSSES["log_loss"])
    assert variance == pytest.approx(expected, rel=0.02)


def test_calibrators_of_other_rows_are_given():
    held_out = cross_fit_scores(
        CountedRows.of_rows(overconfident(test=np.arange(2000) % 2 == 0)),
        Settings(methods=("beta",)),
    )
    assert held_out.fold_variance("beta", LOSSES["log_loss"]) == 0.0


@rare
def test_intervals_of_cross_fitted_differences_hold_the_truth():
    """Calibrated scores in 200 rows: from paired losses alone they hold 83 to 87%."""
    grid = expit(-0.5 + 1.5 * norm.ppf((np.arange(2000) + 0.5) / 2000))
    settings = Settings(methods=("logistic", "beta"))
    held = dict.fromkeys(("logistic", "beta"), 0)
    for rng in np.random.default_rng(1).spawn(200):
        score = expit(rng.normal(-0.5, 1.5, 200))
        view = Predictions.from_arrays(rng.random(200) < score, score).view()
        held_out = cross_fit_scores(CountedRows.of_rows(view), settings, n_replicates=2)
        plain = Reference.of(held_out)
        for key in held:
            given = held_out.calibrators[key].predict(grid)
            gain = grid * np.log(grid / given) + (1 - grid) * np.log((1 - grid) / (1 - given))
            contributions = plain.contributions(key)
            difference = plain.differences(key, contributions, 0.95)["log_loss"]
            held[key] += difference.low <= gain.mean() <= difference.high
    # If intervals of 93% are right, fewer than this hold in 1 of 1,000 tries of 200 intervals.
    assert min(held.values()) >= binom.ppf(0.001, 200, 0.93), held


def test_clusters_of_copies_count_once():
    """Ten copies of each row, named as clusters, carry no more evidence than the rows."""
    rng = np.random.default_rng(0)
    y, p, values = rng.integers(0, 2, 100), rng.random(100), rng.normal(size=100)
    single = mean_estimate(values, Predictions.from_arrays(y, p).view(), 0.9)
    copied = Predictions.from_arrays(
        np.repeat(y, 10), np.repeat(p, 10), group=np.repeat(np.arange(100), 10)
    ).view()
    clustered = mean_estimate(np.repeat(values, 10), copied, 0.9)
    assert clustered.low == pytest.approx(single.low, abs=1e-12)
    assert clustered.high == pytest.approx(single.high, abs=1e-12)


def test_cross_fitting_undoes_a_known_distortion():
    """Doubled log-odds are halved again: the logistic regression of outcome on them has slope 1."""
    view = overconfident(20_000)
    held_out = cross_fit_scores(CountedRows.of_rows(view), Settings())
    for key in ("beta", "spline"):
        x = logit(np.clip(held_out.scores[key], 1e-12, 1 - 1e-12))[:, None]
        slope = LogisticRegression(C=1e10).fit(x, held_out.rows.outcome).coef_[0, 0]
        assert slope == pytest.approx(1.0, abs=0.05), key

"""What must not matter, over the registries: the weights' unit, copies named as a group, row order.

Fits end when their steps are small, so that two of them agree as nearly as rounding lets Newton's
method see: about the square root of double precision where a minimum is flat.
"""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit
from sklearn.naive_bayes import GaussianNB

from calib import analyze, calibrator, metrics
from calib.analysis.recommendation import too_few
from calib.analysis.slices import (
    Slicing,
    slice_error_rates,
    slice_gaps,
    slice_mix,
    slice_reliability,
)
from calib.analysis.verdict import judge
from calib.calibrators import CALIBRATORS, multiclass_calibrator, score_methods
from calib.calibrators.meta_estimators import CalibratedModel
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.curves.rate import corp_curve, smooth_curve
from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import ScoreMatrix
from calib.metrics import score_metrics
from calib.metrics.by_class import class_table
from calib.metrics.by_cluster import clustered_tests, widened_line, widened_test
from calib.metrics.proper import row_log_loss
from calib.metrics.ranking import auc_difference, auc_estimate, row_auc, row_auc_within
from calib.numerics.binning import bin_cells
from calib.uncertainty import Bootstrap, replicate, resample_rows, slope_estimate
from tests.rare import members

GRID = np.linspace(0.01, 0.99, 50)
SCALES = (1e-3, 2.0, 1000.0)
N, COPIES = 400, 5
COPY = np.repeat(np.arange(N), COPIES)
# These depend on the number of rows, such as the simulated null distributions. For named groups,
# calib.metrics.by_cluster has other tests.
COUNT_ROWS = {
    "ks_test", "kuiper_test", "spiegelhalter_test", "hosmer_lemeshow_test",
    "calibration_slope_intercept", "certain_and_wrong",
}  # fmt: skip


def numbers(result):
    if not dataclasses.is_dataclass(result):
        return np.array([float(result)])
    values = [getattr(result, field.name) for field in dataclasses.fields(result)]
    return np.array([float(value) for value in values if not isinstance(value, str)])


def close(one, two, tolerance=1e-9):
    np.testing.assert_allclose(one, two, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module", params=["distinct", "tied"])
def data(request):
    rng = np.random.default_rng(7)
    z = rng.normal(-0.5, 1.5, N)
    score = expit(1.8 * z + 0.4)
    outcome = rng.random(N) < expit(z + 0.6 * np.sin(3.0 * z))
    return (score if request.param == "distinct" else score.round(2)), outcome


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(8).gamma(1.5, 1.0, N)


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(9)
    scores = rng.dirichlet([1.0, 1.5, 2.0], N)
    label = np.array([rng.choice(3, p=row) for row in scores**1.5 / (scores**1.5).sum(1)[:, None]])
    return scores, label


def made(key):
    method = calibrator(key)
    return method.set_params(random_state=0) if "random_state" in method.get_params() else method


@pytest.mark.parametrize("key", members(score_methods()))
def test_calibrators_and_the_unit_of_weights(key, data, weight):
    score, outcome = data
    weighted = made(key).fit(score, outcome, weight).predict(GRID)
    plain = made(key).fit(score, outcome).predict(GRID)
    for scale in SCALES:
        close(made(key).fit(score, outcome, scale * weight).predict(GRID), weighted)
        close(made(key).fit(score, outcome, np.full(N, scale)).predict(GRID), plain)


# SplineCalib's published penalty counts from the lowest score. A score on an edge of Histogram
# belongs to the lower bin.
ONE_SIDED = {"splinecalib", "histogram"}
# The published rule uses only the distance from 1, so epsilon is given here.
GIVEN = {key: {"epsilon": 1e-3} for key in ("spline", "stack")}


@pytest.mark.parametrize("key", members(sorted(set(score_methods()) - ONE_SIDED)))
def test_calibrators_and_exchanged_classes(key, data):
    score, outcome = data
    one, other = (made(key).set_params(**GIVEN.get(key, {})) for _ in range(2))
    there = one.fit(score, outcome).predict(GRID)
    here = other.fit(1.0 - score, ~outcome).predict(1.0 - GRID)
    close(1.0 - here, there, 1e-5)


def test_weights_of_another_unit_leave_the_intervals_of_differences_of_a_histogram_alone():
    # The mean of one score was once rounded to the other side of an edge, because of the unit of
    # its weights.
    rng = np.random.default_rng(1357)
    z = rng.normal(-0.5, 1.5, 3000)
    outcome, weight = rng.random(3000) < expit(0.7 * z + 0.1), rng.lognormal(0.0, 0.7, 3000)
    score, settings = expit(z).round(4), Settings(methods=("histogram",))
    fits = [
        cross_fit_scores(
            CountedRows.of_rows(Predictions.from_arrays(outcome, score, sample_weight=w).view()),
            settings,
        )
        for w in (weight, 1e6 * weight)
    ]
    one, other = (fit.fold_scores["histogram"].score for fit in fits)
    close(other, one)
    close(*(fit.fold_variance("histogram", row_log_loss) for fit in fits))


@pytest.mark.parametrize("key", members(score_methods()))
def test_calibrators_and_copies_named_as_a_group(key, data, weight):
    score, outcome = data
    for w in (None, weight):
        single = made(key).fit(score, outcome, w).predict(GRID)
        copied = None if w is None else w[COPY]
        grouped = made(key).fit(score[COPY], outcome[COPY], copied, COPY.astype(str))
        close(grouped.predict(GRID), single, 1e-7)


@pytest.mark.parametrize("key", members(score_methods()))
def test_calibrators_and_the_order_of_rows(key, data, weight):
    score, outcome = data
    group = np.arange(N) // 4
    order = np.random.default_rng(0).permutation(N)
    there = made(key).fit(score, outcome, weight, group).predict(GRID)
    here = made(key).fit(score[order], outcome[order], weight[order], group[order])
    close(here.predict(GRID), there, 1e-7)


@pytest.mark.parametrize("key", members(score_methods()))
def test_groups_of_one_row_are_none(key, data):
    score, outcome = data
    alone = made(key).fit(score, outcome, groups=np.arange(N)).predict(GRID)
    close(alone, made(key).fit(score, outcome).predict(GRID), 1e-7)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_metrics_and_the_unit_of_weights(key, data, weight):
    score, outcome = data
    metric = getattr(metrics, key)
    weighted = numbers(metric(outcome, score, sample_weight=weight))
    plain = numbers(metric(outcome, score))
    for scale in SCALES:
        close(numbers(metric(outcome, score, sample_weight=scale * weight)), weighted)
        close(numbers(metric(outcome, score, sample_weight=np.full(N, scale))), plain)


@pytest.mark.parametrize("key", members(key for key in score_metrics() if key not in COUNT_ROWS))
def test_metrics_and_copies_named_as_a_group(key, data, weight):
    score, outcome = data
    for w in (None, weight):
        copied = None if w is None else w[COPY]
        single = ScoreCells.from_arrays(outcome, score, w)
        grouped = ScoreCells.from_arrays(outcome[COPY], score[COPY], copied, COPY)
        metric = getattr(metrics, key)
        close(numbers(metric(grouped)), numbers(metric(single)), 1e-7)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_metrics_and_the_order_of_rows(key, data, weight):
    score, outcome = data
    order = np.random.default_rng(0).permutation(N)
    one = getattr(metrics, key)(outcome, score, sample_weight=weight)
    two = getattr(metrics, key)(outcome[order], score[order], sample_weight=weight[order])
    close(numbers(one), numbers(two))


@pytest.mark.parametrize("key", members(CALIBRATORS))
def test_multiclass_calibrators_and_the_unit_of_weights(key, matrix, weight):
    scores, label = matrix
    weighted = multiclass_calibrator(key).fit(scores, label, weight).predict(scores)
    plain = multiclass_calibrator(key).fit(scores, label).predict(scores)
    again = multiclass_calibrator(key).fit(scores, label, 1e-3 * weight).predict(scores)
    close(again, weighted, 1e-7)
    constant = multiclass_calibrator(key).fit(scores, label, np.full(N, 10.0))
    close(constant.predict(scores), plain, 1e-7)


@pytest.mark.parametrize("key", members(CALIBRATORS))
def test_multiclass_calibrators_and_copies_named_as_a_group(key, matrix):
    scores, label = matrix
    fixed = {"strength": 0.01} if key.startswith("dirichlet") else {}
    single = multiclass_calibrator(key, **fixed).fit(scores, label).predict(scores)
    grouped = multiclass_calibrator(key, **fixed).fit(scores[COPY], label[COPY], None, COPY)
    close(grouped.predict(scores), single, 1e-6)


@pytest.mark.parametrize("curve", [smooth_curve, corp_curve, reliability_curve])
def test_curves_and_the_unit_of_weights(curve, data, weight):
    score, outcome = data
    one = curve(ScoreCells.from_arrays(outcome, score, weight))
    plain = curve(ScoreCells.from_arrays(outcome, score))
    for scale in SCALES:
        scaled = curve(ScoreCells.from_arrays(outcome, score, scale * weight))
        constant = curve(ScoreCells.from_arrays(outcome, score, np.full(N, scale)))
        # The isotonic curve's band comes from resamples, which are counted in single precision.
        tolerance = 1e-6 if curve is corp_curve else 1e-9
        for name in ("observed", "low", "high"):
            close(getattr(scaled, name), getattr(one, name), tolerance)
            close(getattr(constant, name), getattr(plain, name), tolerance)


def test_a_calibrated_model_and_the_unit_of_weights(data, weight):
    score, outcome = data
    x = score[:, None]
    one = CalibratedModel(GaussianNB(), "spline").fit(x, outcome, weight).predict_proba(x)
    for scale in SCALES:
        model = CalibratedModel(GaussianNB(), "spline").fit(x, outcome, scale * weight)
        close(model.predict_proba(x), one, 1e-7)


def test_an_analysis_and_the_unit_of_weights(data, weight):
    score, outcome = data
    methods = ("uncalibrated", "platt", "spline")
    one, plain = (
        analyze(Predictions.from_arrays(outcome, score, w), Settings(methods=methods)).table()
        for w in (weight, None)
    )
    for w, expected in ((1e-3 * weight, one), (np.full(N, 10.0), plain)):
        predictions = Predictions.from_arrays(outcome, score, w)
        table = analyze(predictions, Settings(methods=methods)).table()
        measured = expected.select_dtypes("number").columns
        # Resamples are counted in single precision.
        close(table[measured], expected[measured], 1e-5)


def test_fits_and_curves_of_an_analysis_know_the_groups():
    """Copies named as a group tell what the single rows tell; ICI is a metric of the same curve."""
    rng = np.random.default_rng(3)
    z = rng.normal(-1.0, 1.5, N)
    score, outcome = expit(1.8 * z + 0.4), rng.random(N) < expit(z)
    methods = ("uncalibrated", "beta", "spline")
    rows = Predictions.from_arrays(outcome[COPY], score[COPY], group=COPY).view()
    copied = cross_fit_scores(CountedRows.of_rows(rows), Settings(methods=methods))
    single = cross_fit_scores(
        CountedRows.of_rows(Predictions.from_arrays(outcome, score).view()),
        Settings(methods=methods),
    )
    for key in methods:
        close(copied.calibrators[key].predict(GRID), single.calibrators[key].predict(GRID), 1e-6)
    loss = {key: metrics.log_loss(cells) for key, cells in copied.cells.items()}
    assert loss["spline"] < min(loss["uncalibrated"], loss["beta"] + 0.005)
    ici = [
        metrics.integrated_calibration_index(of.cells["uncalibrated"]).ici
        for of in (copied, single)
    ]
    assert ici[0] == pytest.approx(ici[1], abs=1e-3)


def test_the_spline_of_clusters_is_near_the_true_model():
    excess = {"logistic": [], "beta": [], "spline": [], "unnamed": []}
    rng = np.random.default_rng(1)
    fresh = rng.normal(-1.0, 1.5, 20_000)
    p = expit(fresh)
    group = np.repeat(np.arange(150), 10)
    for _ in range(24):
        # All rows of a cluster have the same score, and two of its rows share their luck with
        # probability 0.3.
        z = rng.normal(-1.0, 1.5, 150)[group]
        common = rng.random(len(group)) < np.sqrt(0.3)
        luck = np.where(common, rng.random(150)[group], rng.random(len(group)))
        for name, losses in excess.items():
            fit = calibrator("spline" if name == "unnamed" else name)
            fit.fit(
                expit(1.8 * z + 0.4), luck < expit(z), None, None if name == "unnamed" else group
            )
            q = np.clip(fit.predict(expit(1.8 * fresh + 0.4)), 1e-12, 1.0 - 1e-12)
            losses.append(np.mean(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))))
    mean = {name: np.mean(losses) for name, losses in excess.items()}
    # The true curve is one of those of `logistic`, so no method can do much better.
    assert mean["spline"] < 2.0 * mean["logistic"]
    assert mean["spline"] < mean["beta"]
    assert mean["unnamed"] > 3.0 * mean["spline"]


CUT = Slicing(("third",), ("a", "b", "c"), np.arange(N) % 3)


def drawn_errors(view):
    cells = view.cells()
    resamples = replicate(resample_rows(view, cells, n_replicates=30), view.score)
    edges, bins = np.linspace(0.0, 1.0, 9), bin_cells(cells, 8, "uniform")
    errors = resamples.ks, resamples.kuiper, resamples.ece(edges, cells), resamples.mce(edges)
    spread = np.array([each.estimate(0.1, 0.9).low for each in errors])
    deviation = resamples.largest_deviation(bins, np.full(len(bins), 0.1))
    return [*(each.deviation for each in errors), spread, resamples.design_effect(bins), deviation]


def contributions(view, score):
    cells = ScoreCells.from_arrays(view.outcome, score, view.weights)
    return row_auc(cells, view.outcome, score)


def curve_of_a_slice(view):
    curve = slice_reliability(view, view.score, CUT.member(1), n_bins=5)
    names = ("mean_score", "observed", "low", "high", "band_low", "band_high")
    return [getattr(curve, name) for name in names]


UNITLESS = {
    "area": auc_estimate,
    "difference of areas": lambda view: auc_difference(
        view, contributions(view, view.score), contributions(view, view.score.round(1))
    ),
    "area within folds": lambda view: row_auc_within(view, np.arange(N) % 4),
    "slope": slope_estimate,
    "errors": drawn_errors,
    "bootstrap": lambda view: Bootstrap.of_rows(view, n_replicates=30).estimate(
        metrics.ks_error, kind="error"
    ),
    "tests by cluster": lambda view: clustered_tests(view) if view.group is not None else (),
    "widened test": lambda view: widened_test(
        metrics.ks_test(view.cells()), view, view.cells()
    ),
    "widened line": lambda view: widened_line(
        view, metrics.calibration_slope_intercept(view.cells())
    ),
    "gaps of slices": lambda view: slice_gaps(view, view.score, CUT),
    "error rates of slices": lambda view: slice_error_rates(view, view.score.round(), CUT),
    "mix of slices": lambda view: slice_mix(CUT, view.score > 0.5, view.weights, view.group),
    "curve of a slice": curve_of_a_slice,
    "classes": lambda view: class_table(
        ScoreMatrix(
            np.column_stack([1.0 - view.score, view.score]),
            view.outcome.astype(np.int64), view.weights, view.group,
        ),
        ("no", "yes"),
        5,
    ),
    "verdict": lambda view: judge(view.cells()).p_adjusted,
    "too few": lambda view: list(str(too_few(view.cells(), ("a", "b"))).encode()),
}  # fmt: skip


def flat(result):
    """All numbers of a result."""
    if dataclasses.is_dataclass(result):
        result = [getattr(result, field.name) for field in dataclasses.fields(result)]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        return np.concatenate([np.empty(0), *map(flat, result)])
    return np.empty(0) if isinstance(result, str) else np.ravel(np.array(result, dtype=float))


@pytest.mark.parametrize("name", UNITLESS)
@pytest.mark.parametrize("data", ["tied"], indirect=True)
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_tests_and_slices_and_the_unit_of_weights(name, grouped, data, weight):
    score, outcome = data
    group = np.arange(N) // 5 if grouped else None

    def found(w):
        return flat(UNITLESS[name](Predictions.from_arrays(outcome, score, w, group=group).view()))

    one = found(weight)
    for scale in (1e-6, 1e4):
        # Resamples are counted in single precision.
        close(found(scale * weight), one, 1e-5)

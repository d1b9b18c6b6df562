"""Properties of every multiclass calibrator of the registry."""

import pickle
from functools import cache, partial
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from calib import metrics
from calib.calibrators import CALIBRATORS, multiclass_calibrator, score_methods
from calib.data.cells import ScoreCells
from calib.data.views import ScoreMatrix
from calib.exports.document import read_document
from calib.exports.from_fitted import describe
from calib.metrics import matrix_metrics, multiclass_metrics
from calib.numerics.class_scores import softmax
from tests.documented import documented_defaults
from tests.rare import members

METHODS = list(CALIBRATORS)
every = pytest.mark.parametrize("key", members(METHODS))
BY_WEIGHT = [key for key in METHODS if not CALIBRATORS[key].weighs_evidence]
# Its folds are drawn by row, so they change if rows are repeated or exchanged.
FOLDS_BY_ROW = {"dirichlet": {"strength": 0.01}, "dirichlet_l2": {"strength": 0.01}}


def made(key):
    return multiclass_calibrator(key, **FOLDS_BY_ROW.get(key, {}))


@pytest.fixture(scope="module")
def fitted(problem):
    """Fits a calibrator to all rows, once for all tests, which leave it as it is."""
    return cache(lambda key: made(key).fit(*problem))


def assert_probabilities(p, shape):
    assert p.shape == shape
    assert p.dtype == np.float64
    assert (p >= 0.0).all()
    assert p.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_every_binary_calibrator_is_there():
    assert set(score_methods()) < set(METHODS)
    assert {"vector", "structured", "matrix", "dirichlet", "dirichlet_l2"} <= set(METHODS)


@every
def test_predicts_probabilities_and_leaves_its_input_alone(key, problem):
    scores, label = problem
    before = scores.copy()
    fitted = multiclass_calibrator(key).fit(scores, label)
    assert_probabilities(fitted.predict(scores), scores.shape)
    corners = np.vstack([np.eye(4), np.full(4, 0.25), [1e-300, 0.0, 0.0, 1.0], [0, 0.5, 0.5, 0]])
    assert_probabilities(fitted.predict(corners), corners.shape)
    assert (scores == before).all()
    # Only the formula of the identity has no number.
    assert key == "uncalibrated" or any(digit in fitted.formula() for digit in "0123456789")


@every
def test_accuracy_is_kept_where_that_is_promised(key, problem):
    scores, label = problem
    fitted = made(key).fit(scores[:400], label[:400])
    kept = fitted.predict(scores).argmax(axis=1) == scores.argmax(axis=1)
    assert not fitted.keeps_accuracy or kept.all()


@pytest.mark.parametrize("key", members(BY_WEIGHT))
def test_weights_are_repeated_rows(key, problem):
    scores, label = problem
    weight = np.random.default_rng(1).integers(1, 4, len(label))
    weighted = made(key).fit(scores, label, weight).predict(scores)
    repeated = made(key).fit(np.repeat(scores, weight, axis=0), np.repeat(label, weight))
    # The likelihood has rounding errors, so Newton's method comes no nearer.
    assert weighted == pytest.approx(repeated.predict(scores), abs=1e-6)


@every
def test_order_of_rows_does_not_matter(key, problem, fitted):
    scores, label = problem
    order = np.random.default_rng(2).permutation(len(label))
    there = fitted(key).predict(scores)
    back = made(key).fit(scores[order], label[order]).predict(scores)
    assert back == pytest.approx(there, abs=1e-6)


# One-vs-rest treats all classes alike. The others do so unless ranks are tied.
@every
def test_names_of_the_classes_do_not_matter(key, problem, fitted):
    scores, label = problem
    names = np.array([2, 0, 3, 1])
    there = fitted(key).predict(scores)
    other = made(key).fit(scores[:, np.argsort(names)], names[label])
    assert other.predict(scores[:, np.argsort(names)])[:, names] == pytest.approx(there, abs=1e-6)


HARD = {
    "certain scores": (np.eye(3)[[0, 1, 2, 0, 1, 2]], [0, 1, 2, 1, 2, 0]),
    "separated": (np.full((6, 3), 0.1) + 0.7 * np.eye(3)[[0, 1, 2] * 2], [0, 1, 2] * 2),
    "never right": (np.full((6, 3), 0.1) + 0.7 * np.eye(3)[[0, 1, 2] * 2], [1, 2, 0] * 2),
    "constant": (np.full((6, 3), 1 / 3), [0, 1, 2, 0, 1, 1]),
    "two rows": (np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]), [0, 2]),
    "two classes": (np.array([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.7, 0.3]]), [0, 1, 0, 1]),
    "tiny": (
        np.array([[1.0, 1e-300, 0.0], [1e-320, 1.0, 0.0], [0.0, 0.0, 1.0]] * 3),
        [0, 2, 1] * 3,
    ),
    "a class never seen": (np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]] * 20), [0, 1] * 20),
    "a score never given": (np.array([[0.6, 0.4, 0.0], [0.2, 0.8, 0.0]] * 20), [0, 2, 1, 1] * 10),
}


@every
@pytest.mark.parametrize("case", HARD)
def test_hard_data_give_probabilities(key, case):
    scores, label = HARD[case]
    fitted = multiclass_calibrator(key).fit(scores, label)
    assert_probabilities(fitted.predict(scores), scores.shape)
    new = np.random.default_rng(0).dirichlet(np.full(scores.shape[1], 0.2), 50)
    assert_probabilities(fitted.predict(new), new.shape)


def test_equal_scores_leave_the_temperature_at_1():
    """Every temperature has the same likelihood, so nothing is changed."""
    fitted = multiclass_calibrator("temperature").fit(*HARD["constant"])
    assert fitted.temperature_ == 1.0


@every
def test_a_class_never_seen_is_named_and_keeps_a_chance(key, problem):
    scores, label = problem
    seen = label != 3
    fitted = made(key).fit(scores[seen], label[seen])
    assert fitted.unseen_ == (3,)
    assert (fitted.predict(scores)[:, 3] > 0.0).all()


BAD = {
    "a sum below 1": ([[0.5, 0.4], [0.5, 0.5]], [0, 1]),
    "a missing score": ([[0.5, 0.5], [np.nan, 0.5]], [0, 1]),
    "a score above 1": ([[0.5, 0.5], [1.5, -0.5]], [0, 1]),
    "a class too high": ([[0.5, 0.5], [0.5, 0.5]], [0, 2]),
    "a class below 0": ([[0.5, 0.5], [0.5, 0.5]], [0, -1]),
    "a missing class": ([[0.5, 0.5], [0.5, 0.5]], [0, np.nan]),
    "names of classes": ([[0.5, 0.5], [0.5, 0.5]], ["a", "b"]),
    "one column": ([[1.0], [1.0]], [0, 0]),
    "no matrix": ([0.5, 0.5], [0, 1]),
    "no rows": (np.empty((0, 3)), []),
    "too few labels": ([[0.5, 0.5], [0.5, 0.5]], [0]),
    "one class": ([[0.5, 0.5], [0.5, 0.5]], [1, 1]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_its_sentence(case, texts):
    scores, label = BAD[case]
    with texts.raises(ValueError):
        multiclass_calibrator("temperature").fit(scores, label)


def test_another_number_of_classes_is_refused(problem, texts):
    fitted = multiclass_calibrator("temperature").fit(*problem)
    with texts.raises(ValueError):
        fitted.predict([[0.5, 0.5]])


@every
def test_scikit_learn_conventions(key, problem):
    scores, label = problem
    method = made(key)
    with pytest.raises(NotFittedError):
        method.predict(scores)
    few = scores[:200], label[:200]
    fitted = clone(method).fit(*few)
    assert fitted.get_params() == method.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(scores) == fitted.predict(scores)).all()
    assert fitted.fit(*few) is fitted
    with pytest.raises(ValueError, match="same length"):
        fitted.fit(scores, label[:5])
    assert vars(fitted) == vars(method)


@every
def test_entry_describes_itself(key):
    entry = CALIBRATORS[key]
    assert entry.key == key
    assert entry.label
    assert entry.summary.endswith(".")


def test_metrics_of_a_matrix_stay_in_the_range_that_they_declare():
    certain = np.eye(3)[[0, 1, 2, 0]]
    for labels in ([0, 1, 2, 0], [1, 2, 0, 1]):  # All rows are right, or all are wrong.
        for key, value in multiclass_metrics(labels, certain).items():
            low, high = matrix_metrics()[key].bounds
            assert low <= value <= high, key
    assert multiclass_metrics([1, 2, 0, 1], certain)["accuracy"] == 0.0
    assert multiclass_metrics([1, 2, 0, 1], certain)["brier_score"] == 2.0


@pytest.mark.parametrize("name", matrix_metrics())
def test_a_metric_of_a_matrix_takes_arrays_or_one_matrix(name, problem, texts):
    scores, labels = problem
    weight = np.random.default_rng(3).random(len(labels)) + 0.5
    facade = getattr(metrics, matrix_metrics()[name].key)
    rows = ScoreMatrix.from_arrays(labels, scores, weight)
    result = facade(labels, scores, sample_weight=weight)
    assert facade(rows) == result
    assert metrics.multiclass_metrics(labels, scores, sample_weight=weight)[name] == result
    with pytest.raises(TypeError, match="ScoreMatrix"):
        facade(ScoreCells.from_arrays([0, 1], [0.2, 0.7]))
    with pytest.raises(TypeError, match="ScoreCells"):
        metrics.ks_error(rows)
    with texts.raises(ValueError, "each case"):
        facade([0, 1], [0.2, 0.7])


def test_scorers_score_matrices(problem):
    scores, labels = problem
    fitted = LogisticRegression().fit(scores, labels)
    score = metrics.scorer("multiclass_log_loss")(fitted, scores, labels)
    assert score == -metrics.multiclass_log_loss(labels, fitted.predict_proba(scores))


@every
def test_parameters_that_are_not_given_are_as_documented(key):
    method, make = multiclass_calibrator(key), CALIBRATORS[key].create_matrix
    expected = {"method": key} if make is None else documented_defaults(type(method))
    if isinstance(make, partial):  # The key of a variant sets some parameters of the class.
        expected |= signature(make.func).bind_partial(*make.args, **make.keywords).arguments
    assert method.get_params() == expected


@every
def test_what_was_fitted_is_noted(key, problem):
    scores, label = problem
    weight = np.random.default_rng(1).random(len(label)) + 0.5
    fitted = made(key).fit(scores, label, weight)
    assert (fitted.n_rows_, fitted.n_classes_, fitted.unseen_) == (*scores.shape, ())
    shares = [weight[label == k].sum() / weight.sum() for k in range(scores.shape[1])]
    assert fitted.fitted_base_rate_ == pytest.approx(shares)


@every
def test_formulas_say_what_was_fitted(key, fitted, texts):
    texts(fitted(key).formula())


def test_the_unit_of_logits_makes_no_difference_to_a_temperature():
    """Float64 holds the softmax of logits that are 50 times as large, down to 1e-262."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0.0, 2.0, (600, 3))
    label = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    small, large = (softmax(unit * logits) for unit in (1.0, 50.0))
    assert large.min() < 1e-200
    fitted = multiclass_calibrator("temperature").fit(large, label)
    expected = multiclass_calibrator("temperature").fit(small, label).predict(small)
    assert fitted.predict(large) == pytest.approx(expected, abs=1e-6)
    exported = describe(fitted)
    assert exported.predict(large) == pytest.approx(fitted.predict(large), abs=1e-12)
    assert read_document(exported.json()).form.lowest == large.min()


def test_zeros_are_rounded_scores_of_unknown_size():
    scores = np.array([[1.0, 1e-200], [1e-200, 1.0], [1.0, 0.0]] * 20)
    label = np.array([0, 1, 1] * 20)
    fitted = multiclass_calibrator("temperature").fit(scores, label)
    assert fitted.lowest_ == np.finfo(float).eps
    assert fitted.predict([[1.0, 0.0]]) == pytest.approx(fitted.predict([[1.0, 1e-200]]))

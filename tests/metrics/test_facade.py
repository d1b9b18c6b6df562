"""The scikit-learn-style facade around every metric."""

import inspect
import math
import re
from typing import get_args, get_type_hints

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from calib import metrics
from calib.data.cells import ScoreCells
from calib.metrics import METRICS, matrix_metrics, score_metrics
from tests.rare import members

RNG = np.random.default_rng(8)
SCORE = RNG.random(150).round(2)
OUTCOME = RNG.random(150) < SCORE
WEIGHT = RNG.random(150) + 0.5


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("key", members(score_metrics()))
def test_arrays_and_cells_agree(key, weight):
    facade = getattr(metrics, key)
    cells = ScoreCells.from_arrays(OUTCOME, SCORE, weight)
    assert facade(cells) == facade(OUTCOME, SCORE, sample_weight=weight)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_a_single_row_has_an_answer(key):
    getattr(metrics, key)([1], [0.25])
    getattr(metrics, key)([0], [1.0])


@pytest.mark.parametrize("key", members(score_metrics()))
def test_signature(key):
    parameters = inspect.signature(getattr(metrics, key)).parameters
    assert list(parameters)[:3] == ["y_true", "y_prob", "sample_weight"]
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[2:])


@pytest.mark.parametrize("key", members(score_metrics()))
def test_a_parameter_that_does_not_exist_is_refused(key):
    with pytest.raises(TypeError, match="n_bin_s"):
        getattr(metrics, key)(OUTCOME, SCORE, n_bin_s=3)


def test_half_of_the_arguments_is_refused(texts):
    with texts.raises(TypeError):
        metrics.ks_error(OUTCOME)


def test_cells_and_arrays_together_are_refused(texts):
    cells = ScoreCells.from_arrays(OUTCOME, SCORE)
    with texts.raises(TypeError):
        metrics.ks_error(cells, SCORE)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.expected_calibration_error(OUTCOME, SCORE, norm="l3"),
        lambda: metrics.expected_calibration_error(OUTCOME, SCORE, debiased=True),
        lambda: metrics.expected_calibration_error(OUTCOME, SCORE, n_bins=0),
        lambda: metrics.thresholded_calibration_error(OUTCOME, SCORE, threshold=0.5),
        lambda: metrics.calibration_slope_intercept(OUTCOME, SCORE, confidence_level=95),
    ],
)
def test_errors_are_sentences(call, texts):
    with texts.raises(ValueError):
        call()


@pytest.fixture(scope="module")
def model():
    features = np.random.default_rng(9).normal(size=(200, 3))
    labels = (features[:, 0] + np.random.default_rng(10).normal(size=200) > 0).astype(int)
    fitted = LogisticRegression().fit(features, labels)
    return fitted, features, labels, fitted.predict_proba(features)[:, 1]


def single_number(key):
    return isinstance(getattr(metrics, key)(OUTCOME, SCORE), float | int)


@pytest.mark.parametrize("key", members(key for key in score_metrics() if single_number(key)))
@pytest.mark.parametrize("greater_is_better", [True, False])
def test_scikit_learn_makes_scorers_of_single_numbers(key, greater_is_better, model):
    fitted, features, labels, score = model
    metric, weight = getattr(metrics, key), np.linspace(0.5, 2.0, 200)
    scorer = make_scorer(
        metric, response_method="predict_proba", greater_is_better=greater_is_better
    )
    sign = 1 if greater_is_better else -1
    assert scorer(fitted, features, labels) == sign * metric(labels, score)
    weighted = metric(labels, score, sample_weight=weight)
    assert scorer(fitted, features, labels, sample_weight=weight) == sign * weighted


def test_scorers_take_parameters(model):
    fitted, features, labels, score = model
    scorer = make_scorer(
        metrics.expected_calibration_error, response_method="predict_proba", n_bins=5
    )
    five = metrics.expected_calibration_error(labels, score, n_bins=5)
    assert scorer(fitted, features, labels) == five
    ours = metrics.scorer("expected_calibration_error", n_bins=5)
    assert ours(fitted, features, labels) == -five


@pytest.mark.parametrize("key", members(score_metrics()))
def test_every_metric_selects_models(key, model):
    _, features, labels, _ = model
    candidates = GridSearchCV(
        LogisticRegression(), {"C": [1e-3, 1.0]}, scoring=metrics.scorer(key), cv=3
    )
    result = candidates.fit(features, labels).cv_results_["mean_test_score"]
    assert np.isfinite(result).all()


@pytest.mark.parametrize(
    ("key", "part", "score"),
    [
        ("log_loss", None, lambda y, s: -metrics.log_loss(y, s)),
        ("auc", None, metrics.auc),
        ("signed_calibration_error", None, lambda y, s: -abs(np.mean(y) - np.mean(s))),
        ("calibration_slope_intercept", None,
         lambda y, s: -abs(metrics.calibration_slope_intercept(y, s).slope - 1.0)),
        ("ks_test", "p_value", lambda y, s: metrics.ks_test(y, s).p_value),
        ("brier_decomposition", "discrimination",
         lambda y, s: metrics.brier_decomposition(y, s).discrimination),
        ("distinct_scores", None, lambda _, s: len(np.unique(s))),
    ],
)  # fmt: skip
def test_larger_scores_are_better(key, part, score, model):
    fitted, features, labels, probability = model
    result = metrics.scorer(key, part)(fitted, features, labels)
    assert result == pytest.approx(score(labels, probability), abs=1e-12)


def test_a_part_that_does_not_exist_is_refused(model, texts):
    fitted, features, labels, _ = model
    with texts.raises(ValueError):
        metrics.scorer("ks_test", "z")(fitted, features, labels)
    with texts.raises(ValueError):
        metrics.scorer("auc", "z")(fitted, features, labels)


@pytest.mark.parametrize("key", members(score_metrics()))
def test_every_metric_says_what_it_is(key):
    entry = METRICS[key]
    low, high = entry.bounds
    assert low < high
    assert entry.better in ("lower", "higher", "zero", "one", "none")
    assert re.fullmatch(r"[A-Z].*[^.]", entry.label, re.IGNORECASE)
    for words in (entry.meaning, entry.convention):
        assert re.fullmatch(r"[A-Z].*\.", words)
    # A source has a year, and an identifier if there is one.
    assert re.search(r"\b(19|20)\d\d\b", entry.source)


def test_one_class_has_no_auc_and_no_slope():
    assert math.isnan(metrics.auc([1, 1], [0.2, 0.3]))
    assert not metrics.calibration_slope_intercept([1, 1], [0.2, 0.3]).estimable


# These defaults are pinned, so that none is changed by mistake.
DEFAULTS = {
    "n_bins": 15, "strategy": "uniform", "norm": "l1", "threshold": 1e-3, "n_groups": 10,
    "random_state": 0, "confidence_level": 0.95,
}  # fmt: skip


def optional(key):
    parameters = inspect.signature(getattr(metrics, key)).parameters.values()
    return {p.name: p.default for p in parameters if p.default not in (None, p.empty)}


def other_value(key, name):
    """A value of the parameter that is not its default."""
    default = optional(key)[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, str):
        options = get_args(get_type_hints(METRICS[key].compute)[name])
        return next(option for option in options if option != default)
    if name == "threshold":
        # The lowest score is above half of the default.
        return 0.2
    return default + 1 if isinstance(default, int) else default / 2.0


CASES = [(key, name) for key in score_metrics() for name in optional(key)]


@pytest.mark.parametrize(("key", "name"), CASES)
def test_a_parameter_that_is_not_given_has_its_default(key, name):
    default = optional(key)[name]
    assert default == DEFAULTS.get(name, default)
    metric, given = getattr(metrics, key), {"norm": "l2"} if name == "debiased" else {}
    # All scores are distinct, and few enough for a simulated null distribution.
    score = np.random.default_rng(11).random(90) ** 3
    outcome = np.random.default_rng(12).random(90) < score**1.5
    result = metric(outcome, score, **given)
    assert result == metric(outcome, score, **given, **{name: default})
    assert result != metric(outcome, score, **given, **{name: other_value(key, name)})


@pytest.mark.parametrize("key", matrix_metrics())
def test_metrics_of_a_matrix_have_15_bins_unless_another_number_is_asked_for(key):
    scores = np.random.default_rng(11).dirichlet(np.ones(3), 200)
    label = np.random.default_rng(12).integers(0, 3, 200)
    metric = getattr(metrics, matrix_metrics()[key].key)
    if "n_bins" in inspect.signature(metric).parameters:
        assert metric(label, scores) == metric(label, scores, n_bins=15)
        assert metric(label, scores) != metric(label, scores, n_bins=16)
    every = metrics.multiclass_metrics(label, scores)[key]
    assert every == metrics.multiclass_metrics(label, scores, n_bins=15)[key]


def section(doc, name):
    return doc.partition(f"{name}\n{'-' * len(name)}\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize("key", METRICS)
def test_documentation_adds_what_the_declaration_says(key):
    entry, doc = METRICS[key], inspect.getdoc(getattr(metrics, key))
    written = inspect.cleandoc(entry.compute.__doc__)
    assert doc.startswith(written.split("\n\n")[0])
    assert section(doc, "Parameters").startswith("y_true : ")
    assert section(written, "Parameters") in doc
    # A file without `from __future__ import annotations` has the class instead of its name.
    returned = inspect.formatannotation(entry.compute.__annotations__["return"]).strip("'")
    low, high = entry.bounds
    bounds = f"\n    In [{low:.4g}, {high:.4g}]." if returned == "float" else ""
    assert section(doc, "Returns") == (section(written, "Returns") or f"{returned}{bounds}")
    source = entry.source and f"{entry.source}."
    assert section(doc, "References") == (section(written, "References") or source)
    assert section(doc, "Examples") == section(written, "Examples")
    assert "ValueError\n    If " in doc


# The last values that are allowed, and the first that are refused.
LIMITS = {
    "n_bins": ((1,), (0,)),
    "n_groups": ((1,), (0,)),
    "threshold": ((0.0, 0.4999), (-1e-9, 0.5)),
    "confidence_level": ((1e-9, 1 - 1e-9), (0.0, 1.0)),
}


@pytest.mark.parametrize(("key", "name"), [case for case in CASES if case[1] in LIMITS])
def test_parameters_are_allowed_up_to_their_limits(key, name):
    allowed, refused = LIMITS[name]
    for value in allowed:
        assert getattr(metrics, key)(OUTCOME, SCORE, **{name: value}) is not None
    for value in refused:
        with pytest.raises(ValueError, match="n_bins" if name == "n_groups" else name):
            getattr(metrics, key)(OUTCOME, SCORE, **{name: value})

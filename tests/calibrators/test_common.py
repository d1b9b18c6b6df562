"""Properties of every calibrator of the registry."""

from __future__ import annotations

import doctest
import inspect
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from calib.calibrators import Calibrator, calibrator, score_methods
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from tests.documented import documented_defaults
from tests.rare import members

METHODS = list(score_methods())
MONOTONE = [key for key in METHODS if score_methods()[key].create().monotone]
FITTED = [key for key in METHODS if score_methods()[key].create().needs_both_classes]
# These have a handful of parameters and one shape, so they become constant if the truth falls.
PARAMETRIC = ["platt", "logistic", "temperature", "beta", "beta_am", "beta_ab"]
# These consist of observed rates, which are 0 or 1 in ranges with few rows.
BY_RATES = ["isotonic", "histogram", "venn_abers"]
BY_WEIGHT = [key for key in METHODS if not score_methods()[key].weighs_evidence]
GRID = np.concatenate([[0.0, 5e-324, 1e-300, 1e-15], np.linspace(0.01, 0.99, 99), [1 - 1e-15, 1.0]])

every = pytest.mark.parametrize("key", members(METHODS))
every_fitted = pytest.mark.parametrize("key", members(FITTED))


def made(key: str) -> Calibrator:
    method = calibrator(key)
    return method.set_params(random_state=0) if "random_state" in method.get_params() else method


def counted(y, scores, times):
    """Cells of rows that each came several times, as an aggregation counts them."""
    cells = ScoreCells.from_arrays(y, scores, times)
    return ScoreCells(
        cells.score, cells.weight, cells.weight, cells.positive, cells.weight, cells.positive
    )


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    z = rng.normal(-0.5, 1.5, 600)
    scores = np.round(1 / (1 + np.exp(-(1.8 * z + 0.4))), 3)  # Rounded scores have ties.
    return scores, (rng.random(600) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.fixture(scope="module")
def fitted(data):
    """Fits a calibrator to the data, once for all tests, which leave it as it is."""
    return cache(lambda key: made(key).fit(*data))


def assert_probabilities(p):
    assert p.dtype == np.float64
    assert np.isfinite(p).all()
    assert (p >= 0.0).all()
    assert (p <= 1.0).all()


@every
def test_counts_are_repeated_rows(key, data):
    scores, y = data
    times = np.random.default_rng(1).integers(1, 4, len(y))
    fitted = made(key).fit_cells(counted(y, scores, times)).predict(GRID)
    repeated = made(key).fit(np.repeat(scores, times), np.repeat(y, times)).predict(GRID)
    assert fitted == pytest.approx(repeated, abs=1e-8)


@pytest.mark.parametrize("key", members(BY_WEIGHT))
def test_weights_are_repeated_rows(key, data):
    scores, y = data
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = made(key).fit(scores, y, weight).predict(GRID)
    repeated = made(key).fit(np.repeat(scores, weight), np.repeat(y, weight)).predict(GRID)
    assert weighted == pytest.approx(repeated, abs=1e-8)


@every
def test_order_of_rows_does_not_matter(key, data, fitted):
    scores, y = data
    order = np.random.default_rng(2).permutation(len(y))
    there = fitted(key).predict(GRID)
    assert made(key).fit(scores[order], y[order]).predict(GRID) == pytest.approx(there, abs=1e-8)


@every
def test_fit_and_fit_cells_agree(key, data, fitted):
    scores, y = data
    from_cells = made(key).fit_cells(ScoreCells.from_arrays(y, scores))
    assert from_cells.predict(GRID) == pytest.approx(fitted(key).predict(GRID), abs=1e-8)
    assert from_cells.n_rows_ == len(y)


@every
def test_fitting_again_gives_the_same_map(key, data):
    fitted = made(key).fit(*data)
    first = fitted.predict(GRID)
    assert fitted.fit(*data).predict(GRID).tolist() == first.tolist()


HARD = {
    "certain scores": ([0.0, 0.0, 0.3, 0.7, 1.0, 1.0], [0, 1, 0, 1, 0, 1]),
    "only certain scores": ([0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0, 0, 1, 0, 1, 1]),
    "two scores": ([0.2] * 5 + [0.7] * 5, [0, 0, 0, 0, 1, 0, 1, 1, 1, 0]),
    "two rows": ([0.2, 0.7], [0, 1]),
    "two rows, falling": ([0.2, 0.7], [1, 0]),
    "two rows, tied": ([0.4, 0.4], [0, 1]),
    "separated": (np.linspace(0.01, 0.99, 40), np.arange(40) >= 20),
    "separated in part": ([0.1, 0.2, 0.5, 0.5, 0.8, 0.9], [0, 0, 0, 1, 1, 1]),
    "falling": (np.linspace(0.01, 0.99, 40), np.arange(40) < 20),
    "constant": ([0.7] * 10, [0, 1] * 5),
    "constant zero": ([0.0] * 10, [0, 1] * 5),
    "constant one half": ([0.5] * 10, [0, 0, 0, 0, 1] * 2),
    "tiny": ([1e-300, 2e-300, 1e-250, 3e-250, 1e-5, 0.4], [0, 0, 1, 0, 1, 1]),
    "all tiny": (np.arange(1, 21) * 1e-300, np.arange(20) % 3 == 0),
    "subnormal": ([5e-324, 1e-320, 1e-310, 0.9], [0, 1, 0, 1]),
    "nearly one": (1 - np.arange(1, 21) * 1e-15, np.arange(20) % 3 == 0),
    "narrow": (0.5 + np.arange(20) * 1e-9, np.arange(20) % 3 != 0),
    "one far away": (np.r_[np.full(50, 1e-3), 1.0], np.r_[np.arange(50) < 5, True]),
    "one positive": (np.linspace(0.0, 0.5, 200), np.arange(200) == 150),
    "one negative": (np.linspace(0.0, 1.0, 200), np.arange(200) != 40),
}


@every
@pytest.mark.parametrize("case", HARD)
def test_hard_data_give_probabilities(key, case):
    scores, y = map(np.asarray, HARD[case])
    fitted = made(key).fit(scores, y)
    p = fitted.predict(GRID)
    assert_probabilities(p)
    if fitted.monotone:
        assert (np.diff(p) >= -1e-12).all()
    assert_probabilities(fitted.predict(scores))
    assert isinstance(fitted.formula(), str)
    assert np.isfinite(fitted.knots()).all()


@every_fitted
@pytest.mark.parametrize("case", ["constant", "constant one half", "two rows, tied"])
def test_constant_scores_stay_between_their_bounds(key, case):
    scores, y = map(np.asarray, HARD[case])
    p = made(key).fit(scores, y).predict(scores)
    assert len(set(p.tolist())) == 1


@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(0, 6).map(lambda i: i / 6), st.floats(0, 1)),
            st.booleans(),
            st.floats(1e-3, 1e3),
        ),
        min_size=2,
        max_size=25,
    )
)
@pytest.mark.parametrize("key", members(MONOTONE))
def test_any_data_give_a_monotone_map(key, rows):
    scores, y, weight = map(np.array, zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    p = made(key).fit(scores, y, weight).predict(GRID)
    assert_probabilities(p)
    assert (np.diff(p) >= -1e-9).all()


@pytest.mark.parametrize("key", members(k for k in MONOTONE if k in FITTED and k != "clip"))
def test_falling_truth_is_never_told_as_rising(key):
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    y = rng.random(3000) < 1 - scores
    p = made(key).fit(scores, y).predict(GRID[4:-2])
    assert p.max() - p.min() < 0.03
    assert p.mean() == pytest.approx(y.mean(), abs=0.02)


@pytest.mark.parametrize("key", PARAMETRIC)
def test_parametric_maps_fall_to_the_base_rate_and_say_so(key, texts):
    fitted = made(key).fit([0.1, 0.2, 0.8, 0.9, 0.95], [1, 1, 0, 0, 0])
    assert fitted.constant_
    assert fitted.predict(GRID) == pytest.approx(np.full(len(GRID), 0.4))
    texts.shown(fitted.formula())


@every
def test_single_precision(key, data):
    scores, y = data
    single = made(key).fit(scores.astype(np.float32), y).predict(GRID.astype(np.float32))
    double = made(key).fit(scores.astype(np.float32).astype(np.float64), y)
    assert_probabilities(single)
    assert single == pytest.approx(double.predict(GRID.astype(np.float32).astype(float)), abs=0)


@every
@pytest.mark.parametrize(("n", "centre"), [(60, 0.0), (200, -0.5), (200, -4.0), (2000, 4.0)])
def test_no_score_becomes_certain(key, n, centre):
    rng = np.random.default_rng(3)
    truth = 1 / (1 + np.exp(-rng.normal(centre, 1.5, n)))
    y = rng.random(n) < truth
    for loss in ("log", "brier") if "loss" in made(key).get_params() else ("",):
        if key == "splinecalib" and loss == "brier":
            continue  # The paper fits a ridge regression of the outcome and clips it to [0, 1].
        fitted = made(key).set_params(**({"loss": loss} if loss else {})).fit(truth, y)
        p = fitted.predict(np.linspace(0.001, 0.999, 999))
        assert ((p > 0.0) & (p < 1.0)).all()
        if key in BY_RATES:
            # The value is at most as extreme as twice as many rows of one outcome would give.
            assert p.min() > 0.5 / (n + 1 / y.mean())
            assert 1 - p.max() > 0.5 / (n + 1 / (1 - y.mean()))


@every
@pytest.mark.parametrize("label", [0, 1])
def test_one_class(key, label):
    method = made(key)
    if method.needs_both_classes:
        with pytest.raises(ValueError, match=f"^{type(method).__name__} .* {label}\\.$"):
            method.fit([0.2, 0.4, 0.6], [label] * 3)
    else:
        assert_probabilities(method.fit([0.2, 0.4, 0.6], [label] * 3).predict(GRID))


@every
@pytest.mark.parametrize(
    ("scores", "y", "weight"),
    [
        ([], [], None),
        ([0.2, np.nan], [0, 1], None),
        ([0.2, 1.1], [0, 1], None),
        ([0.2, 0.3], [0, 2], None),
        ([0.2, 0.3], [0.0, np.nan], None),
        ([0.2, 0.3], [0, 1, 1], None),
        ([[0.2], [0.3]], [0, 1], None),
        ([0.2, 0.3], [0, 1], [1.0, 0.0]),
        ([0.2, 0.3], [0, 1], [1.0]),
        (["0.2", "0.3"], [0, 1], None),
    ],
)
def test_bad_input_is_refused_in_a_sentence(key, scores, y, weight, texts):
    with texts.raises(ValueError, f"{scores}, {y}, {weight}") as refusal:
        made(key).fit(scores, y, weight)
    assert str(refusal.value).endswith(".")


@every
def test_predict_refuses_what_it_cannot_map(key, fitted, texts):
    for bad in ([0.2, np.nan], [-0.1], [1.5]):
        with texts.raises(ValueError, str(bad)):
            fitted(key).predict(bad)
    with pytest.raises(NotFittedError):
        made(key).predict([0.5])


@every_fitted
def test_a_failed_fit_leaves_no_calibrator(key, data):
    method = made(key).fit(*data)
    with pytest.raises(ValueError, match=type(method).__name__):
        method.fit([0.2, 0.4], [1, 1])
    assert vars(method) == vars(made(key))
    for use in (lambda: method.predict([0.5]), method.formula, method.to_map):
        with pytest.raises(NotFittedError):
            use()


def test_missing_groups_are_rows_by_themselves(data, texts):
    scores, y = data[0][:60], data[1][:60]
    groups = np.arange(60) // 3
    named = [None if i < 9 else ("site", group) for i, group in enumerate(groups)]
    groups[:9] = np.arange(100, 109)
    by_name, by_number = (made("platt").fit(scores, y, groups=of) for of in (named, groups))
    assert by_name.formula() == by_number.formula()
    with texts.raises(ValueError):
        made("platt").fit(scores, y, groups=groups[1:])


def test_a_calibrator_is_printed_in_one_line():
    members = ("uncalibrated", "platt", "logistic", "spline", "beta", "isotonic", "temperature")
    text = repr(calibrator("stack", members=members))
    assert text.startswith("Stack(")
    assert "\n" not in text


@every
def test_pickle(key, fitted):
    original = fitted(key)
    copy = pickle.loads(pickle.dumps(original))
    assert copy.predict(GRID).tolist() == original.predict(GRID).tolist()
    assert copy.formula() == original.formula()


@every
def test_follows_the_rules_of_scikit_learn(key, data):
    method = made(key)
    before = method.get_params()
    method.fit(*data)
    assert method.get_params() == before
    assert clone(method).get_params() == before
    assert not [name for name in vars(clone(method)) if name.endswith("_")]
    signature = inspect.signature(type(method)).parameters
    assert set(before) == set(signature)
    public = [name for name in vars(method) if not name.startswith("_")]
    assert {name for name in public if not name.endswith("_")} == set(before)


@every
def test_formula_is_words_with_numbers(key, fitted):
    formula = fitted(key).formula()
    # Only the formula of the identity has no number.
    assert key == "uncalibrated" or any(c.isdigit() for c in formula)
    assert "nan" not in formula


@every
def test_knots_are_increasing_scores(key, fitted):
    knots = fitted(key).knots()
    assert_probabilities(knots)
    assert (np.diff(knots) >= 0).all()


@every
def test_documentation(key):
    method = score_methods()[key]
    text = inspect.getdoc(method.create)
    assert doctest.DocTestParser().get_examples(text)
    assert "References" in text or key == "uncalibrated"
    assert method.label
    assert method.summary.endswith(".")


def test_ranks_are_unique_but_for_curves_of_two_parameters():
    ranks = {key: method.simplicity for key, method in score_methods().items()}
    assert ranks["platt"] == ranks.pop("logistic")
    assert len(set(ranks.values())) == len(ranks)
    assert set(Settings().methods) <= set(METHODS)


def test_order_of_simplicity_is_that_of_the_definitions():
    order = ["uncalibrated", "temperature", "platt", "logistic", "beta", "ispline", "spline"]
    ranks = [
        score_methods()[key].simplicity for key in [*order, "isotonic"] if key in score_methods()
    ]
    assert ranks == sorted(ranks)


@every
def test_parameters_that_are_not_given_are_as_documented(key):
    method = calibrator(key)
    assert method.get_params() == documented_defaults(type(method))


@every
def test_what_was_fitted_is_noted(key, data):
    scores, y = data
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    fitted = made(key).fit(scores, y, weight)
    assert fitted.n_rows_ == len(y)
    assert fitted.fitted_range_ == (scores.min(), scores.max())
    assert fitted.fitted_base_rate_ == pytest.approx((weight @ y / weight.sum(),))


VARIANTS = {
    "splinecalib, brier": ("splinecalib", {"loss": "brier"}),
    "splinecalib, none": ("splinecalib", {"transform": "none"}),
    "splinecalib, logit": ("splinecalib", {"transform": "logit", "n_knots": 9}),
    "spline, monotone": ("spline", {"monotone": True, "epsilon": 0.01}),
    "pwl, brier": ("pwl", {"loss": "brier", "n_keypoints": 4}),
    "ispline, two knots": ("ispline", {"n_knots": 2, "epsilon": 0.01}),
    "histogram, plain": ("histogram", {"n_bins": 4, "strategy": "uniform", "shrink": False}),
    "isotonic, plain": ("isotonic", {"shrink": False}),
    "ks_spline, plain": ("ks_spline", {"n_knots": 3, "shrink": False}),
    "clip, given": ("clip", {"p_min": 0.05}),
    "prior_shift, given": ("prior_shift", {"r": 0.5}),
} | {key: (key, {}) for key in METHODS}
FALLING = np.array([0.1, 0.2, 0.6, 0.8, 0.9, 0.95]), np.array([1, 1, 1, 0, 0, 0])


@pytest.mark.parametrize("name", VARIANTS)
def test_formulas_say_what_was_fitted(name, data, texts):
    key, parameters = VARIANTS[name]
    for scores, y in (data, FALLING):
        texts(made(key).set_params(**parameters).fit(scores, y).formula())


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("uncalibrated", 0),
        ("temperature", 1),
        ("clip, given", 0),
        ("clip", 1),
        ("intercept", 1),
        ("platt", 2),
        ("logistic", 2),
        ("beta_ab", 2),
        ("beta_am", 2),
        ("beta", 3),
        ("histogram, plain", 4),
        ("ks_spline, plain", 3),
        ("pwl, brier", 4),
    ],
)
def test_parameters_are_counted(name, n, data):
    key, parameters = VARIANTS[name]
    assert made(key).set_params(**parameters).fit(*data).n_parameters() == n


def test_parameters_of_smooth_and_of_constant_curves(data):
    isotonic, spline = made("isotonic").fit(*data), made("spline").fit(*data)
    assert isotonic.n_parameters() == len(np.unique(IsotonicRegression().fit_transform(*data)))
    # A spline has at least the two parameters of a line.
    assert 2.0 <= spline.n_parameters() < len(spline.knots_)
    assert made("venn_abers").fit(*data).n_parameters() != 0


# A row has the last values that are allowed, and the first that are refused.
LIMITS = [
    ("clip", "p_min", (1e-300, 0.4999), (0.0, 0.5)),
    ("histogram", "n_bins", (1,), (0,)),
    ("intercept", "target_mean", (1e-12, 1 - 1e-12), (0.0, 1.0)),
    ("ispline", "n_knots", (0,), (-1,)),
    ("ispline", "epsilon", (1e-12, 0.4999), (0.0, 0.5)),
    ("ks_spline", "n_knots", (2,), (1,)),
    ("prior_shift", "r", (1e-300, 1e300), (0.0, np.inf)),
    ("prior_shift", "base_rate", (1e-12, 1 - 1e-12), (0.0, 1.0)),
    ("pwl", "n_keypoints", (2,), (1,)),
    ("spline", "epsilon", (1e-12, 0.4999), (0.0, 0.5)),
    ("splinecalib", "epsilon", (1e-12, 0.4999), (0.0, 0.5)),
    ("splinecalib", "n_knots", (2,), (1,)),
    ("splinecalib", "least_lambda", (1e-300, 1e300), (0.0, np.inf)),
]


@pytest.mark.parametrize(("key", "name", "allowed", "refused"), LIMITS)
def test_parameters_are_allowed_up_to_their_limits(key, name, allowed, refused):
    scores, y = np.linspace(0.1, 0.9, 40), np.arange(40) % 3 == 0
    for value in allowed:
        assert_probabilities(calibrator(key, **{name: value}).fit(scores, y).predict(scores))
    for value in refused:
        with pytest.raises(ValueError, match=name):
            calibrator(key, **{name: value}).fit(scores, y)

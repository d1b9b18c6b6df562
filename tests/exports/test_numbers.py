"""Every calibrator gives the numbers of `predict` in every form, within 1e-12."""

import numpy as np
import pytest

from calib.calibrators import CALIBRATORS, calibrator, score_methods
from calib.exports import TARGETS, describe
from calib.exports.file_formats import choices_for, content_of, engine_of, note_for
from calib.exports.score_conversion import Conversion
from tests.rare import REPRESENTATIVES, common_first, members

N = 4_000
TEXTS = (*(("sql", d) for d in ("duckdb", "sqlite")), ("python", ""), ("javascript", ""))
FORMS = (*TEXTS, ("onnx", ""))
each_form = pytest.mark.parametrize(("form", "dialect"), FORMS)


def drawn_scores():
    rng = np.random.default_rng(1)
    tails = [10.0 ** -rng.uniform(0, 300, N // 8), 1.0 - 10.0 ** -rng.uniform(0, 16, N // 8)]
    return np.concatenate([rng.random(N - 2 * (N // 8)), *tails])


def given_by(made, form, dialect, scores):
    """What a file gives for scores, by its engine."""
    target = next(target for target in TARGETS.values() if target.key == form)
    choices = choices_for(made, dialect or None, "scores", None)
    return engine_of(target, choices)[1](content_of(made, target, note_for(made, choices)), scores)


def assert_equal(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("key", members(score_methods()))
@each_form
def test_every_engine_gives_what_is_predicted(key, form, dialect, fit):
    scores = drawn_scores()
    assert_equal(given_by(describe(fit(key)), form, dialect, scores), fit(key).predict(scores))


OF_MATRICES = [(key, form) for key in CALIBRATORS if key != "ks_spline" for form in FORMS]


@pytest.mark.parametrize(
    ("key", "form"),
    common_first(OF_MATRICES, [p for p in OF_MATRICES if p[0] in REPRESENTATIVES]),
    # Without ids pytest would use numbers that depend on the order of imports.
    ids=lambda part: part if isinstance(part, str) else "-".join(filter(None, part)),
)
def test_every_engine_gives_the_rows_of_a_matrix(key, form, fit):
    fitted = fit(key, matrix=True)
    rows = np.random.default_rng(2).dirichlet(np.full(4, 0.3), N // 20)
    assert_equal(given_by(describe(fitted), *form, rows), fitted.predict(rows))


@pytest.mark.parametrize("key", members(score_methods()))
def test_onnx_gives_nan_for_what_is_no_score(key, fit):
    scores = np.array([0.5, np.nan, np.inf, -np.inf, 1.5, 0.2])
    given = given_by(describe(fit(key)), "onnx", "", scores)
    assert np.isnan(given).tolist() == [False, True, True, True, True, False]
    assert_equal(given[[0, -1]], fit(key).predict(scores[[0, -1]]))


@pytest.mark.parametrize("key", members(key for key in CALIBRATORS if key != "ks_spline"))
def test_onnx_gives_nan_for_rows_that_are_not_allowed(key, fit):
    rows = np.full((7, 4), 0.25)
    rows[1:6, 0] = [np.nan, np.inf, 0.2, 0.26, 0.2505]
    given = given_by(describe(fit(key, matrix=True)), "onnx", "", rows)
    assert np.isnan(given).all(axis=1).tolist() == [False, True, True, True, True, False, False]
    used = [0, 5, 6]
    assert_equal(given[used], fit(key, matrix=True).predict(rows[used]))


@pytest.mark.parametrize("parameters", [
    {"transform": "none"}, {"transform": "logit"}, {"loss": "brier"},
])  # fmt: skip
def test_other_axes_and_links_are_exported_too(parameters, rows):
    fitted = calibrator("splinecalib", n_knots=20, **parameters).fit(*rows)
    scores = drawn_scores()
    for form in FORMS:
        assert_equal(given_by(describe(fitted), *form, scores), fitted.predict(scores))


def test_constant_functions_are_exported_too(rows):
    scores, y = rows
    drawn = drawn_scores()
    for key in ("platt", "beta", "isotonic", "ispline", "temperature"):
        fitted = calibrator(key).fit(scores, 1 - y)
        for form in FORMS:
            assert_equal(given_by(describe(fitted), *form, drawn), fitted.predict(drawn))


def test_a_steep_curve_does_not_overflow():
    """The log-odds of Platt's curve are in the millions, where e^x is not a number."""
    scores, y = 0.5 + np.linspace(-1e-6, 1e-6, 400), np.arange(400) >= 200
    fitted = calibrator("platt").fit(scores, y)
    assert abs(fitted.slope_) > 1e5
    ends = np.array([0.0, 0.2, 0.8, 1.0])
    for form in FORMS:
        assert_equal(given_by(describe(fitted), *form, ends), fitted.predict(ends))


CONVERSIONS = {
    ("none", True): lambda p: 1.0 - p,
    ("percent", False): lambda p: 100.0 * p,
    ("percent", True): lambda p: 100.0 - 100.0 * p,
    ("tenths", False): lambda p: 10.0 * p,
    ("thousandths", False): lambda p: 1000.0 * p,
    ("logit", False): lambda p: np.log(p / (1.0 - p)),
    ("logit", True): lambda p: np.log((1.0 - p) / p),
    ("exp", False): np.log,
    ("exp", True): lambda p: np.log(1.0 - p),
    ("clip", False): lambda p: p,
}


@pytest.mark.parametrize(
    ("transform", "swap"), common_first(CONVERSIONS, [("logit", False), ("percent", True)])
)
@pytest.mark.parametrize("key", members(["beta", "isotonic", "platt"]))
def test_a_conversion_is_the_first_step_of_every_form(key, transform, swap, fit):
    p = np.random.default_rng(3).uniform(0.01, 0.99, 500)
    raw = CONVERSIONS[transform, swap](p)
    made = describe(fit(key), conversion=Conversion(transform, swap))
    expected = fit(key).predict(p)
    # Converted scores are rounded, and calibrators are steep in places.
    np.testing.assert_allclose(made.predict(raw), expected, rtol=1e-9)
    for form in FORMS:
        assert_equal(given_by(made, *form, raw), made.predict(raw))


@pytest.mark.parametrize("transform", ["softmax", "normalize"])
def test_a_conversion_of_rows_is_the_first_step_of_every_form(transform, fit):
    rows = np.random.default_rng(2).dirichlet(np.full(4, 2.0), 100)
    raw = np.log(rows) + 3.0 if transform == "softmax" else 7.0 * rows
    fitted = fit("vector", matrix=True)
    made = describe(fitted, conversion=Conversion(transform))
    for form in FORMS:
        assert_equal(given_by(made, *form, raw), fitted.predict(rows))

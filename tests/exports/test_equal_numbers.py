"""Every calibrator in every form gives the fitted calibrator's own numbers, to the last bit."""

import numpy as np
import pytest

from calib.calibrators import CALIBRATORS, calibrator, score_methods
from calib.calibrators.forms import ON_ARRAYS, within
from calib.exports import TARGETS, describe
from calib.exports.document import ulps
from calib.exports.targets import choices_for, content_of, engine_of
from tests.rare import common_first

N = 4_000
TEXTS = (*(("sql", d) for d in ("duckdb", "sqlite")), ("python", ""), ("javascript", ""))
FORMS = (*TEXTS, ("onnx", ""))
each_form = pytest.mark.parametrize(("form", "dialect"), FORMS)


def drawn_scores():
    rng = np.random.default_rng(1)
    tails = [10.0 ** -rng.uniform(0, 300, N // 8), 1.0 - 10.0 ** -rng.uniform(0, 16, N // 8)]
    return np.concatenate([rng.random(N - 2 * (N // 8)), *tails])


def largest_ulp(fitted, form, dialect, scores, expected):
    target = next(target for target in TARGETS.values() if target.key == form)
    made = describe(fitted)
    choices = choices_for(made, dialect or None, "scores", None)
    found = engine_of(target, choices)[1](content_of(made, target, choices), scores)
    return ulps(expected, found).max()


@pytest.mark.parametrize("key", score_methods())
def test_the_map_as_data_gives_the_bits_that_are_predicted(key, fit):
    scores = drawn_scores()
    again = within(ON_ARRAYS, fit(key).to_map(), scores)
    assert again.tolist() == fit(key).predict(scores).tolist()


@each_form
@pytest.mark.parametrize("key", score_methods())
def test_every_engine_gives_the_bits_that_are_predicted(key, form, dialect, fit):
    scores = drawn_scores()
    assert largest_ulp(fit(key), form, dialect, scores, fit(key).predict(scores)) == 0


OF_MATRICES = [(key, form) for key in CALIBRATORS if key != "ks_spline" for form in FORMS]
# In all engines those with a form of their own for matrices, and one of the one-vs-rest form.
IN_ALL = {key for key, method in CALIBRATORS.items() if method.own_matrix} | {"isotonic"}
IN_EACH = {("python", ""), ("onnx", "")}


@pytest.mark.parametrize(
    ("key", "form"),
    common_first(OF_MATRICES, [p for p in OF_MATRICES if p[0] in IN_ALL or p[1] in IN_EACH]),
    # Else numbers, which follow the order in which calibrators were imported.
    ids=lambda part: part if isinstance(part, str) else "-".join(filter(None, part)),
)
def test_every_engine_gives_the_rows_of_a_matrix(key, form, fit):
    fitted = fit(key, matrix=True)
    rows = np.random.default_rng(2).dirichlet(np.full(4, 0.3), N // 20)
    made = describe(fitted)
    expected = made.predict(rows)
    assert expected == pytest.approx(fitted.predict(rows), rel=1e-11, abs=1e-300)
    assert largest_ulp(fitted, *form, rows, expected) == 0


@pytest.mark.parametrize("parameters", [
    {"transform": "none"}, {"transform": "logit"}, {"loss": "brier"},
])  # fmt: skip
def test_other_axes_and_links_are_exported_too(parameters, rows):
    fitted = calibrator("splinecalib", n_knots=20, **parameters).fit(*rows)
    scores = drawn_scores()
    for form, dialect in (("python", ""), ("sql", "duckdb"), ("onnx", "")):
        assert largest_ulp(fitted, form, dialect, scores, fitted.predict(scores)) == 0


def test_constant_maps_are_exported_too(rows):
    scores, y = rows
    for key in ("platt", "beta", "isotonic", "ispline", "temperature"):
        fitted = calibrator(key).fit(scores, 1 - y)
        drawn = drawn_scores()
        for form, dialect in FORMS:
            assert largest_ulp(fitted, form, dialect, drawn, fitted.predict(drawn)) == 0

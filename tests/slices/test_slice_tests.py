"""Tests of calibration in each slice, compared with values of other libraries and with counts."""

from collections import Counter

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import calib
import calib.analysis.groups
import calib.analysis.verdict
from calib.analysis.slices import Slicing, slice_by, slice_gaps, slice_tests, sliced_rows
from calib.analysis.verdict import adjusted, calibration_tests
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.views import rows_by_code
from calib.metrics import (
    goodness_of_fit,
    hosmer_lemeshow_test,
    ks_test,
    kuiper_test,
    regression,
    spiegelhalter_test,
)
from calib.metrics.cumulative import ks_error
from calib.numerics import poisson_binomial
from calib.reports.contents.codec import encode
from calib.reports.contents.slices_periods_decisions import parts_of
from calib.uncertainty import fit_line
from calib.words.slices import heading, sentence
from tests.rare import rare

RNG = np.random.default_rng(8)
Z = RNG.normal(0, 1.5, 3000)
Y = (RNG.random(3000) < expit(0.5 * Z)).astype(int)
P = expit(Z)
SITE = RNG.choice(list("nsw"), 3000)
PREDICTIONS = calib.Predictions.from_arrays(Y, P, columns={"site": SITE})
CUT = slice_by({"site": SITE}, ["site"])


@pytest.mark.parametrize("n_groups", [3, 40_000])
def test_rows_of_a_group_keep_their_order(n_groups):
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, n_groups, 2000)
    view = calib.Predictions.from_arrays(Y[:2000], P[:2000]).view()
    parts = rows_by_code(view, codes, n_groups)
    assert list(parts) == sorted(set(codes.tolist()) - {-1})
    for code, rows in parts.items():
        assert rows.score.tolist() == P[:2000][codes == code].tolist()


def test_slices_of_slope_one_half_are_miscalibrated_without_a_gap(texts):
    view = PREDICTIONS.view()
    gaps, tests = slice_gaps(view, view.score, CUT), slice_tests(view, view.score, CUT)
    assert not gaps.significant().any()
    assert tests.significant().all()
    for i, name in enumerate(tests.names):
        x, y = logit(P[name == SITE]), Y[name == SITE]
        fit = LogisticRegression(C=np.inf, tol=1e-10).fit(x[:, None], y)
        assert tests.slope[i] == pytest.approx(fit.coef_[0, 0], abs=1e-5)
        assert tests.slope_low[i] < 0.5 < tests.slope_high[i]
        order = np.argsort(x)
        walk = np.cumsum((y - expit(x))[order]) / len(y)
        assert tests.ks[i] == pytest.approx(np.abs(walk).max())
    texts(f"{heading(tests, ['site'])}. {sentence(tests, gaps)}")


def test_the_p_value_is_the_smallest_of_the_verdict_after_both_corrections():
    score = np.clip(P + 0.02, 0.01, 0.99)
    y = (np.random.default_rng(1).random(3000) < P).astype(int)
    view = calib.Predictions.from_arrays(y, score).view()
    tests = slice_tests(view, view.score, CUT)
    p_values = {}
    for name in tests.names:
        rows = y[name == SITE], score[name == SITE]
        by_test = [ks_test(*rows), kuiper_test(*rows), spiegelhalter_test(*rows)]
        by_test.append(hosmer_lemeshow_test(*rows))
        line = calib.metrics.calibration_slope_intercept(*rows)
        p_values[name] = 5 * min(*(test.p_value for test in by_test), line.p_value)
    np.testing.assert_allclose(tests.p_value, [min(p_values[name], 1.0) for name in tests.names])
    for name, test in zip(tests.names, tests.test, strict=True):
        rows = ScoreCells.from_arrays(y[name == SITE], score[name == SITE])
        assert 5 * calibration_tests(rows)[test].p_value == pytest.approx(p_values[name])
    smallest = min(p_values.values())
    assert tests.p_adjusted.min() == pytest.approx(3 * smallest)
    assert tests.frame()["slice"].iloc[0] == min(p_values, key=p_values.__getitem__)


def test_a_report_is_like_those_of_earlier_versions_without_the_names_of_tests():
    analysis = calib.analyze(PREDICTIONS, {"methods": ("platt",)})
    (part,) = parts_of(PREDICTIONS, analysis).slices
    assert part.tests["platt"].test == ()
    assert "test" not in encode(part.tests["platt"])


@rare
def test_calibrated_slices_are_seldom_called_miscalibrated():
    rng, n_draws = np.random.default_rng(5), 40
    rejected = 0
    for _ in range(n_draws):
        score = rng.beta(2, 4, 400)
        view = calib.Predictions.from_arrays(rng.random(400) < score, score).view()
        codes = rng.integers(0, 3, 400)
        cut = Slicing(("a",), ("x", "y", "z"), codes)
        rejected += slice_tests(view, view.score, cut).significant().any()
    # The rate is at most 5%, with three standard deviations of the draws.
    assert rejected / n_draws < 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_draws)


def test_copies_of_rows_in_clusters_are_no_evidence():
    rng, five = np.random.default_rng(0), np.repeat(np.arange(150), 8)
    score = rng.random(150)
    y = rng.random(150) < score
    alone = calib.Predictions.from_arrays(y[five], score[five]).view()
    clustered = calib.Predictions.from_arrays(y[five], score[five], group=five).view()
    whole = Slicing.whole(len(five))
    assert slice_tests(alone, alone.score, whole).significant().all()
    tests = slice_tests(clustered, clustered.score, whole)
    assert not tests.significant().any()
    by_row = slice_tests(alone, alone.score, whole)
    wide, narrow = (table.slope_high - table.slope_low for table in (tests, by_row))
    assert (wide > 2 * narrow).all()


def test_counts_give_the_numbers_of_rows():
    settings = {"methods": ("platt",)}
    counted = calib.aggregate(PREDICTIONS, ["site"])
    tables = []
    for data in (PREDICTIONS, counted):
        cut = sliced_rows(data, calib.analyze(data, settings).held_out, ["site"])
        view = cut.held_out.row_view("platt")
        tables.append(slice_tests(view, view.score, cut.scored).frame().set_index("slice"))
    rows, counts = tables
    counts = counts.loc[rows.index]
    for name in ("rows", "slope", "slope_low", "slope_high", "ks", "p_value", "p_adjusted"):
        np.testing.assert_allclose(counts[name], rows[name], rtol=1e-7, err_msg=name)


def test_slices_with_few_rows_are_shown_and_not_tested(texts):
    codes = np.repeat([0, 1], [2975, 25])
    view = PREDICTIONS.view()
    tests = slice_tests(view, view.score, Slicing(("a",), ("many", "few"), codes))
    assert np.isnan(tests.p_adjusted).tolist() == [False, True]
    assert tests.p_adjusted[0] == tests.p_value[0]
    assert np.isfinite(tests.ks).all()
    assert tests.test[0]
    assert not tests.test[1]
    few = slice_tests(view.rows(np.arange(20)), view.score[:20], Slicing.whole(20))
    texts(heading(few, ["a"]))


def test_calibrated_slices_are_no_finding(texts):
    y = (np.random.default_rng(3).random(3000) < P).astype(int)
    view = calib.Predictions.from_arrays(y, P).view()
    tests = slice_tests(view, view.score, CUT)
    texts(heading(tests, ["site"]))
    assert sentence(tests, slice_gaps(view, view.score, CUT)) == ""


def test_the_chart_counts_and_shades_what_the_heading_counts():
    """Slices whose means are right are miscalibrated all the same."""
    view = PREDICTIONS.view()
    gaps, tests = slice_gaps(view, view.score, CUT), slice_tests(view, view.score, CUT)
    n = int(tests.significant().sum())
    assert n > int(gaps.significant().sum())
    chart = calib.plot.slices({"uncalibrated": gaps}, {"uncalibrated": tests})
    assert sum(layer.uid.startswith("marked") for layer in chart.data) == n
    assert heading(tests, ["site"]).startswith(f"{n} of {len(tests)} slices")


@pytest.mark.parametrize("weighted", [False, True])
def test_tests_that_share_a_simulation_give_the_same_values_alone(weighted):
    rng = np.random.default_rng(9)
    score = rng.random(50)
    weight = rng.exponential(size=50) + 0.1 if weighted else None
    cells = ScoreCells.from_arrays(rng.random(50) < score**2, score, weight)
    tests = calibration_tests(cells)
    alone = {
        "ks": ks_test(cells),
        "kuiper": kuiper_test(cells),
        "hosmer_lemeshow": hosmer_lemeshow_test(cells),
    }
    for key, test in alone.items():
        assert test.null == "simulation, 4,999 draws"
        assert tests[key].p_value == pytest.approx(test.p_value, abs=1e-12)


def test_a_slice_is_simulated_and_its_line_fitted_once(monkeypatch):
    """A thousand slices of 50 rows are waited for."""
    calls = Counter()

    def counted(module, name):
        real = getattr(module, name)

        def count(*given, **named):
            calls[name] += 1
            return real(*given, **named)

        monkeypatch.setattr(module, name, count)

    for module in (poisson_binomial, goodness_of_fit):
        counted(module, "draw_noise")
    for module in (calib.analysis.groups, calib.analysis.verdict, regression):
        counted(module, "fit_line")
    rng = np.random.default_rng(9)
    score = rng.random(150)
    rows = Predictions.from_arrays(rng.random(150) < score, score).view()
    slice_tests(rows, rows.score, Slicing(("a",), tuple("abc"), np.arange(150) % 3))
    assert calls == {"draw_noise": 3, "fit_line": 3}


def test_a_large_slice_is_tested_in_cells_as_all_rows_are():
    rng = np.random.default_rng(3)
    score = rng.beta(2.0, 3.0, 120_000)
    outcome = rng.random(len(score)) < score**1.02
    rows = Predictions.from_arrays(outcome, score).view()
    tests = slice_tests(rows, score, Slicing.whole(len(score)))
    exact = rows.cells()
    expected = adjusted(calibration_tests(exact, fit_line(exact)))
    assert np.log(tests.p_value[0]) == pytest.approx(np.log(min(expected.values())), abs=0.02)
    assert tests.ks[0] == pytest.approx(ks_error(exact), abs=1.0 / len(score))

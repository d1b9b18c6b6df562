import json

import numpy as np
import pytest

from calib.analysis import analyze
from calib.analysis.periods import Periods
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from calib.data.slicing import Slicing
from calib.reports import Report
from calib.reports.contents.disclosure import (
    MIN_ROWS,
    _distant_points,
    _merged_bars,
    aggregated,
    coarse_score,
    merge_small,
    merged_periods,
    merged_slices,
)
from tests.reports.conftest import MOMENT, overconfident


@pytest.fixture(scope="module")
def small():
    """So few rows for so many bins that most bins are too small to leave."""
    outcome, score = overconfident(150, seed=3)
    settings = Settings(methods=("platt", "isotonic"), n_bins=60, strategy="uniform")
    return analyze(Predictions.from_arrays(outcome, score), settings)


@pytest.fixture(scope="module")
def weighted():
    """With weights a quantile edge is the score of a row."""
    outcome, score = overconfident(400, seed=4)
    weight = np.random.default_rng(4).random(400) + 0.5
    return analyze(Predictions.from_arrays(outcome, score, weight), Settings(methods=("platt",)))


def numbers(value) -> list[float]:
    """Every number anywhere in a JSON value."""
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("kind", ["small", "weighted"])
def test_no_score_of_a_row_leaves(kind, request):
    made = request.getfixturevalue(kind)
    leaving = np.array(numbers(json.loads(Report.from_analysis(made).json())))
    for key in ("uncalibrated", "platt"):
        for score in made.held_out.scores[key]:
            assert np.abs(leaving - score).min() > 1e-8


def test_no_score_of_a_row_is_printed(small):
    report = Report.from_analysis(small, created=MOMENT)
    printed = report.html() + report.markdown()
    # The last digit is left out, because it may be printed rounded.
    assert not [s for s in small.held_out.scores["uncalibrated"] if f"{s:.7f}"[:-1] in printed]


def test_bins_of_fewer_than_ten_rows_are_merged(small):
    before, after = small.uncalibrated.reliability, aggregated(small).uncalibrated.reliability
    assert before.rows.min() < MIN_ROWS <= after.rows.min()
    assert after.rows.sum() == before.rows.sum() == 150
    assert after.positive.sum() == pytest.approx(before.positive.sum())
    assert after.positive @ np.ones(len(after.rows)) == pytest.approx(after.rows @ after.observed)


def test_the_largest_gap_is_that_of_the_merged_bins(small, analysis, texts):
    kept = aggregated(small).uncalibrated
    assert kept.metrics["mce"].value == np.abs(kept.reliability.gap).max()
    texts.shown(aggregated(small).warnings)
    assert aggregated(analysis).warnings == analysis.warnings
    assert aggregated(analysis).uncalibrated.metrics == analysis.uncalibrated.metrics


def test_bins_that_are_large_enough_stay(analysis):
    before, after = analysis.uncalibrated.reliability, aggregated(analysis).uncalibrated.reliability
    for name in ("rows", "mean_score", "observed", "low", "high", "band_low", "band_high"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), rtol=1e-12)


def test_points_of_a_cumulative_curve_are_ten_rows_apart(small, analysis):
    for of_rows, n in ((small, 150), (analysis, 800)):
        for method in aggregated(of_rows).methods.values():
            rows = method.cumulative.fractile * n
            assert np.diff(rows).min() > MIN_ROWS - 1e-6
            assert rows[0] == 0
            assert rows[-1] == pytest.approx(n)


def test_a_cumulative_curve_keeps_its_extreme(analysis):
    curve = aggregated(analysis).uncalibrated.cumulative
    extreme = np.abs(curve.difference).max()
    assert extreme == pytest.approx(analysis.uncalibrated.ks.statistic, rel=1e-12)


def test_neighbours_are_merged_until_all_are_large_enough():
    rows = np.random.default_rng(1).integers(1, 30, size=200).astype(float)
    runs = merge_small(rows)
    assert all(rows[run].sum() >= MIN_ROWS for run in runs)
    np.testing.assert_array_equal(np.concatenate([rows[run] for run in runs]), rows)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([3, 0, 0, 200], [0, 0, 0, 203]),
        ([4, 5, 6, 0, 90], [5, 5, 5, 0, 90]),
        ([20, 0, 30], [20, 0, 30]),
    ],
)
def test_small_bars_are_levelled_or_join_a_large_one(rows, expected):
    rows = np.array(rows, dtype=float)
    np.testing.assert_allclose(_merged_bars(rows, rows), expected)


def test_a_report_needs_ten_rows(texts):
    predictions = Predictions.from_arrays([0, 1] * 4, np.linspace(0.1, 0.9, 8))
    few = analyze(predictions, Settings(methods=()))
    with texts.raises(ValueError):
        Report.from_analysis(few)


def test_a_report_is_not_made_from_a_report(report, texts):
    with texts.raises(ValueError):
        Report.from_analysis(report.analysis)


@pytest.mark.parametrize(("rows", "merged"), [(MIN_ROWS, False), (MIN_ROWS - 1, True)])
def test_ten_rows_are_shown_and_nine_are_not(rows, merged):
    score = np.repeat([0.2, 0.8], [rows, 20])
    outcome = np.arange(len(score)) % 2
    settings = Settings(methods=(), n_bins=2, strategy="uniform")
    before = analyze(Predictions.from_arrays(outcome, score), settings)
    assert before.uncalibrated.reliability.rows.tolist() == [rows, 20]
    after = aggregated(before)
    assert after.uncalibrated.reliability.rows.tolist() == ([rows + 20] if merged else [rows, 20])
    assert (len(after.warnings) > len(before.warnings)) == merged


@pytest.mark.parametrize(
    ("rows", "kept", "codes"),
    [
        ((12, 20, 5, 30, 15), ("a to b", "c", "d"), [-1, 0, 0, 1, 2]),
        ((9, 20, 5, 30, 15), ("a to b", "c"), [-1, 0, 0, 1, -1]),  # The 15 rows go with the 9.
        ((10, 9, 20, 1, 10), ("a to b", "c to d"), [-1, 0, 0, 1, 1]),
        ((3, 40, 0, 0, 0), None, None),
        ((0, 3, 3, 2, 1), None, None),
        ((0, 3, 3, 2, 2), ("a to d",), [-1, 0, 0, 0, 0]),
    ],
)
def test_periods_of_fewer_than_ten_rows_are_joined_or_left_out(rows, kept, codes):
    """The first number is that of the rows without a time."""
    number = np.arange(-1, 4)
    cut = Periods("month", tuple("abcd"), np.array([4, 5, 7, 9]), np.repeat(number, rows))
    merged = merged_periods(cut)
    if kept is None:
        assert merged is None
        return
    assert merged.names == kept
    np.testing.assert_array_equal(merged.codes, np.repeat(codes, rows))
    first = [np.flatnonzero(np.array(codes[1:]) == i)[0] for i in range(len(kept))]
    np.testing.assert_array_equal(merged.position, np.array([4, 5, 7, 9])[first])


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        ((10, 50, 30), []),
        ((9, 50, 30), [0, 2]),  # Otherwise the 9 rows could be computed from the others.
        ((9, 1, 50), [0, 1]),
        ((9, 0, 8, 50), [0, 2]),
        ((4, 5), [0, 1]),
    ],
)
def test_slices_of_fewer_than_ten_rows_are_one_of_at_least_ten(rows, merged):
    names, codes = tuple("abcd"[: len(rows)]), np.repeat(np.arange(len(rows)), rows)
    cut, n = merged_slices(Slicing(("x",), names, codes))
    assert n == len(merged)
    np.testing.assert_array_equal(cut.codes, np.where(np.isin(codes, merged), len(rows), codes))
    assert cut.names == (names if not merged else (*names, f"Others ({n} slices)"))


@pytest.mark.parametrize(
    ("score", "printed"),
    [
        (0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.123456, 0.123), (0.876544, 0.877),
        (0.1, 0.1), (0.0999, 0.0999), (0.09994, 0.0999), (0.9994999, 0.9995),
        (0.99999876543, 0.99999877), (1.23456e-7, 1.23e-7), (4e-16, 0.0),
    ],
)  # fmt: skip
def test_a_score_has_three_digits_of_its_distance_from_the_nearer_end(score, printed):
    assert coarse_score(score) == printed


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([0, 10, 20, 30, 40], [0, 1, 2, 3, 4]),
        ([0, 10, 19, 29, 39], [0, 1, 3, 4]),  # The extremes stay, and points nearer to them go.
        ([0, 9, 18, 27, 36], [0, 2, 4]),  # No extreme stays nine rows from an end.
        ([0, 10, 19, 30, 39], [0, 1, 4]),
        ([0, 3, 6, 9], [0, 3]),
    ],
)
def test_points_that_are_ten_rows_apart_stay_and_extremes_before_others(rows, kept):
    difference = np.zeros(len(rows))
    difference[1], difference[-2] = -1.0, 1.0
    assert _distant_points(np.array(rows, dtype=float), difference) == kept

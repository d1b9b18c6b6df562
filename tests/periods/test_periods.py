"""Periods against pandas' calendar, and their numbers against the metrics of each alone."""

import numpy as np
import pandas as pd
import pytest

from calib.analysis.periods import cut_periods, period_table
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.metrics import calibration_slope_intercept, ks_test


def days(n: int, span: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    seconds = rng.integers(0, span * 86_400, n).astype("timedelta64[s]")
    return (np.datetime64("2019-12-20") + seconds).astype("datetime64[us]")


@pytest.mark.parametrize(
    ("unit", "alias"),
    [("day", "D"), ("week", "W"), ("month", "M"), ("quarter", "Q"), ("year", "Y")],
)
def test_dates_are_cut_as_pandas_cuts_them(unit, alias):
    values = days(2000, 300)
    cut = cut_periods(values, unit)
    peer = pd.Series(values).dt.to_period(alias)
    codes, distinct = pd.factorize(peer, sort=True)
    np.testing.assert_array_equal(cut.codes, codes)
    numbers = np.array([p.ordinal for p in distinct])
    np.testing.assert_array_equal(cut.position, numbers - numbers[0])
    starts = {
        "week": [f"week of {p.start_time.date()}" for p in distinct],
        "quarter": [f"{p.year} Q{p.quarter}" for p in distinct],
    }
    assert list(cut.names) == starts.get(unit, [str(p) for p in distinct])


@pytest.mark.parametrize(
    ("n", "span", "unit"), [(20_000, 20, "day"), (20_000, 200, "week"), (9_000, 900, "month")]
)
def test_the_unit_is_the_shortest_that_can_be_read(n, span, unit):
    assert cut_periods(days(n, span)).unit == unit


@pytest.mark.parametrize(
    ("first", "unit"),
    [
        ([f"2024-{m:02d}-01" for m in range(1, 9)], "month"),
        (["2024-01-31", "2024-02-29", "2024-03-31"], "month"),
        (["2023-01-01", "2023-07-01", "2024-04-01"], "quarter"),
        (["2022-01-01", "2024-01-01"], "year"),
        (["2024-01-01", "2024-01-15", "2024-01-22"], "week"),
        (["2024-01-01", "2024-01-02"], "day"),
        (["2024-01-01"], "day"),
    ],
)
def test_dates_that_name_longer_periods_are_cut_in_those(first, unit):
    values = np.repeat(np.array(first, dtype="datetime64[us]"), 200)
    assert cut_periods(values).unit == unit
    # The unit that a person chooses is not changed.
    assert cut_periods(values, "day").unit == "day"


def test_seasons_keep_their_gaps_and_missing_times_are_set_aside():
    cut = cut_periods(np.array([2021.0, 2019.0, np.nan, 2021.0]))
    assert (cut.unit, cut.names, cut.position.tolist()) == ("value", ("2019", "2021"), [0, 2])
    assert cut.codes.tolist() == [1, 0, -1, 1]
    assert cut.n_missing == 1
    assert cut_periods(np.array(["2024-Q2", "2023-Q4"])).names == ("2023-Q4", "2024-Q2")
    nat = np.array(["2024-01-01", "NaT"], dtype="datetime64[us]")
    assert cut_periods(nat, "year").codes.tolist() == [0, -1]


def test_numbers_that_are_no_seasons_are_cut_in_ranges():
    cut = cut_periods(np.random.default_rng(0).random(1200))
    assert cut.unit == "range"
    assert np.bincount(cut.codes).tolist() == [100] * 12
    # Three digits are enough to tell these names apart.
    ends = [end for name in cut.names for end in name.split(" to ")]
    assert ends == [f"{float(end):.3g}" for end in ends]


def test_refusals(texts):
    with texts.raises(ValueError):
        cut_periods(days(10, 10), "hour")
    with texts.raises(ValueError):
        cut_periods(np.array([np.nan, np.nan]))
    with texts.raises(ValueError):
        cut_periods(days(20_000, 1000), "day")


def made(n: int = 1500):
    rng = np.random.default_rng(3)
    score, weight = rng.random(n), rng.uniform(0.5, 2, n)
    time = rng.integers(2015, 2020, n).astype(float)
    time[::50] = np.nan
    # Scores are calibrated until 2017, and too high after.
    outcome = rng.random(n) < np.where(time > 2017, score**2, score)
    return Predictions.from_arrays(outcome, score, weight).view(), time


def test_each_period_has_the_numbers_of_its_rows_alone():
    view, time = made()
    table = period_table(view, view.score, cut_periods(time), confidence_level=0.9)
    assert table.n_missing == 30
    for i, year in enumerate(range(2015, 2020)):
        rows = view.rows(time == year)
        cells = ScoreCells.from_arrays(rows.outcome, rows.score, rows.weight)
        fit = calibration_slope_intercept(cells, confidence_level=0.9)
        assert (table.rows[i], table.positives[i]) == (len(rows), rows.outcome.sum())
        assert table.base_rate[i] == pytest.approx(np.average(rows.outcome, weights=rows.weight))
        assert table.mean_score[i] == pytest.approx(np.average(rows.score, weights=rows.weight))
        for name in ("slope", "slope_low", "slope_high", "intercept", "intercept_high"):
            assert getattr(table, name)[i] == pytest.approx(getattr(fit, name), rel=1e-9)
        test = ks_test(cells)
        assert table.ks[i] == pytest.approx(test.statistic, abs=1e-14)
        assert table.ks_p_value[i] == pytest.approx(test.p_value, rel=1e-9)
    assert (table.ks_p_adjusted[3:] < 0.05).all()
    assert (table.ks_p_adjusted[:3] > 0.05).all()
    assert table.frame()["period"].tolist() == ["2015", "2016", "2017", "2018", "2019"]


def test_small_or_one_sided_periods_are_shown_without_a_slope():
    view = Predictions.from_arrays([1, 1, 0, 1], [0.4, 0.9, 0.1, 0.3]).view()
    table = period_table(view, view.score, cut_periods(np.array([1, 1, 2, 2])))
    assert table.few.all()
    assert np.isnan(table.slope[0])
    assert np.isnan(table.ks_p_adjusted).all()


def test_periods_without_scored_rows_are_left_out(texts):
    view, time = made()
    cut = cut_periods(time)
    chosen = np.flatnonzero(time != 2016)
    part = view.rows(chosen)
    assert "2016" not in period_table(part, part.score, cut.rows(chosen)).names
    nobody = np.flatnonzero(np.isnan(time))
    part = view.rows(nobody)
    with texts.raises(ValueError):
        period_table(part, part.score, cut.rows(nobody))


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    view, time = made()
    five = np.repeat(np.arange(len(view)), 5)
    copied = Predictions.from_arrays(
        view.outcome[five], view.score[five], view.weight[five], group=five
    ).view()
    one = period_table(view, view.score, cut_periods(time))
    by_cluster = period_table(copied, copied.score, cut_periods(time[five]))
    for name in ("base_rate", "slope", "intercept"):
        width, single = (
            getattr(table, f"{name}_high") - getattr(table, f"{name}_low")
            for table in (by_cluster, one)
        )
        # One width uses the model's standard errors, the other those that the rows show.
        np.testing.assert_allclose(width, single, rtol=0.02 if name == "base_rate" else 0.2)
    assert (by_cluster.ks_p_value[:3] > 0.02).all()
    assert (by_cluster.ks_p_value[3:] < 0.05).all()
    assert (period_table(view, view.score, cut_periods(time)).ks_p_value == one.ks_p_value).all()

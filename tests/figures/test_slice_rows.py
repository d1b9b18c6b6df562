"""Rows of slices: what they draw of the numbers, and of names that are HTML."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.figures.slice_rows import (
    NOT_TESTED,
    RowsFrame,
    Scores,
    SliceRow,
    TimeAxis,
    slice_rows,
)
from calib.numerics.intervals import Estimate
from calib.words.verdicts import SHORT_TEST_NAMES

KS = Estimate(0.1, 0.06, 0.14)
HOSTILE = "<b>bold</b><img src=http://evil.test>"
FRAME = RowsFrame("Slice", "95%", "Uncalibrated", "Platt", "positive", "Recalibrate")


def scores(low: float, high: float, p: float, observed: float = 0.3) -> Scores:
    rng = np.random.default_rng(0)
    score = rng.random(400)
    curve = reliability_curve(ScoreCells.from_arrays(rng.random(400) < score, score), n_bins=5)
    middle = (low + high) / 2.0
    return Scores(Estimate(middle, low, high), observed, observed - middle, KS, p, "line", curve)


def row(name: str = "north", **changes) -> SliceRow:
    made = SliceRow(name, 400, 120, scores(0.01, 0.05, 0.001), scores(-0.02, 0.02, 0.9))
    return replace(made, **changes)


def test_names_stay_text():
    hostile = row(HOSTILE, action=HOSTILE, opens=HOSTILE)
    drawn = slice_rows([hostile], replace(FRAME, notes=[HOSTILE]))
    assert "evil.test" in drawn
    assert "<img" not in drawn


def cells(drawn: str, kind: str) -> str:
    """What stands in the cells of one kind."""
    return "".join(re.findall(rf"<div role=cell class={kind}.*?(?=<div role=cell|$)", drawn))


def test_only_a_difference_that_is_part_of_the_error_has_its_colour():
    off, mean_right = row(), row(before=scores(-0.02, 0.02, 0.001))
    for shown, n, ring in (
        (off, 2, False),
        (mean_right, 0, True),
        (row(before=scores(0.01, 0.05, 0.2)), 0, False),
    ):
        drawn = slice_rows([shown], FRAME)
        differences = cells(drawn, "differences")
        bars = re.findall(r'<(?:line|circle) class="(?:bar )?now error"', differences)
        assert len(bars) == n
        # A ring says that the error is elsewhere than in the mean, and the legend explains it.
        assert ('<circle class="now elsewhere"' in differences) == ring
        assert ('<i class="elsewhere"></i>' in drawn) == ring
    # The test finds an error all the same.
    assert '<div class="now error">' in slice_rows([mean_right], FRAME)


def test_the_error_has_its_interval_and_the_p_value_the_name_of_its_test():
    tests = cells(slice_rows([row(after=None)], FRAME), "tests")
    assert "10.0%" in tests
    assert "6.0% to 14.0%" in tests
    # The axis ends at 15%.
    (ends,) = re.findall(r'<line class="bar now error" x1="(.*?)%" x2="(.*?)%"', tests)
    assert [float(end) for end in ends] == pytest.approx([40.0, 93.33])
    assert f"({SHORT_TEST_NAMES['line']})" in tests
    few = replace(scores(0.01, 0.05, math.nan), test="")
    assert NOT_TESTED in cells(slice_rows([row(before=few, after=None)], FRAME), "tests")
    # The name of a test that finds nothing would say nothing.
    calm = cells(slice_rows([row(before=scores(0.01, 0.05, 0.2), after=None)], FRAME), "tests")
    assert SHORT_TEST_NAMES["line"] not in calm


def test_the_printed_difference_is_that_of_the_printed_rates():
    shown = scores(0.0, 0.1, 0.01, observed=0.39149)
    shown = replace(shown, mean_score=0.25551)
    drawn = slice_rows([row(before=shown, after=None)], FRAME)
    (difference,) = re.findall(r"<tspan class=value>(.*?)<", drawn)
    assert difference == "+13.5"


def test_a_slice_without_another_calibrator_has_one_bar_and_one_line():
    drawn = slice_rows([row(after=None)], FRAME)
    for kind in ("differences", "tests"):
        assert len(re.findall(r'<line class="bar ', cells(drawn, kind))) == 1
    assert 'class="line after"' not in drawn


@pytest.mark.parametrize("is_split", [False, True])
def test_dots_since_a_change_are_marked_but_not_the_period_that_holds_it(is_split):
    rates = np.full(4, 0.3)
    timed = row(
        over_time=rates,
        half=np.full(4, 0.02),
        before=replace(scores(0.01, 0.05, 0.001), predicted=rates - 0.1),
        after=replace(scores(-0.02, 0.02, 0.9), predicted=rates),
    )
    time = TimeAxis(("a", "b", "c", "d"), "By period", 2, is_split)
    drawn = slice_rows([timed], replace(FRAME, time=time))
    assert len(re.findall(r'<circle class="error" cx', drawn)) == 2 - is_split
    assert len(re.findall(r'class="step after"', drawn)) == 2 - is_split
    assert f'<line class=change x1="{62.5 if is_split else 50:.2f}%"' in drawn


def test_a_period_without_rows_is_left_free():
    rates = np.array([0.3, np.nan, 0.2])
    before = replace(scores(0.01, 0.05, 0.001), predicted=rates)
    timed = row(over_time=rates, half=np.full(3, 0.02), before=before, after=None)
    time = TimeAxis(("a", "b", "c"), "By period")
    drawn = slice_rows([timed], replace(FRAME, time=time))
    assert len(re.findall("<rect class=band", drawn)) == 2
    assert "nan" not in drawn


def test_days_whose_outcomes_may_not_be_final_are_hatched_in_every_strip():
    rates = np.full(4, 0.3)
    timed = row(over_time=rates, half=np.full(4, 0.02), after=None)
    timed = replace(timed, before=replace(timed.before, predicted=rates))
    time = TimeAxis(("a", "b", "c", "d"), "By period", young=3.5)
    drawn = slice_rows([timed, timed], replace(FRAME, time=time))
    assert len(re.findall(r'<rect class=young x="87.50%" y="\d+" width="12.50%"', drawn)) == 2
    assert '<i class="young"></i>' in drawn
    final = slice_rows([timed], replace(FRAME, time=TimeAxis(time.names, "By period")))
    assert "young" not in final

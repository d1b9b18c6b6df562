"""Rows of slices: what they draw of the numbers, and of names that are HTML."""

import re
from dataclasses import replace

import numpy as np
import pytest

from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.figures.slice_rows import RowsFrame, Scores, SliceRow, TimeAxis, slice_rows
from calib.numerics.intervals import Estimate

HOSTILE = "<b>bold</b><img src=http://evil.test>"
FRAME = RowsFrame("Slice", "95%", "Uncalibrated", "Platt", "positive", "Recalibrate")


def scores(low: float, high: float, p: float, observed: float = 0.3) -> Scores:
    rng = np.random.default_rng(0)
    score = rng.random(400)
    curve = reliability_curve(ScoreCells.from_arrays(rng.random(400) < score, score), n_bins=5)
    middle = (low + high) / 2.0
    return Scores(Estimate(middle, low, high), observed, observed - middle, 0.1, p, curve)


def row(name: str = "north", **changes) -> SliceRow:
    made = SliceRow(name, 400, 120, scores(0.01, 0.05, 0.001), scores(-0.02, 0.02, 0.9))
    return replace(made, **changes)


def test_names_stay_text():
    hostile = row(HOSTILE, action=HOSTILE, opens=HOSTILE)
    drawn = slice_rows([hostile], replace(FRAME, notes=[HOSTILE]))
    assert "evil.test" in drawn
    assert "<img" not in drawn


def test_only_a_difference_that_is_part_of_the_error_has_its_colour():
    off, mean_right = row(), row(before=scores(-0.02, 0.02, 0.001))
    for shown, n in ((off, 2), (mean_right, 0), (row(before=scores(0.01, 0.05, 0.2)), 0)):
        bars = re.findall(
            r'<(?:line|circle) class="(?:bar )?now error"', slice_rows([shown], FRAME)
        )
        assert len(bars) == n
    # The test finds an error all the same.
    assert '<div class="now error">' in slice_rows([mean_right], FRAME)


def test_the_printed_difference_is_that_of_the_printed_rates():
    shown = scores(0.0, 0.1, 0.01, observed=0.39149)
    shown = replace(shown, mean_score=0.25551)
    drawn = slice_rows([row(before=shown, after=None)], FRAME)
    (difference,) = re.findall(r"<tspan class=value>(.*?)<", drawn)
    assert difference == "+13.5"


def test_a_slice_without_another_calibrator_has_one_bar_and_one_line():
    drawn = slice_rows([row(after=None)], FRAME)
    assert len(re.findall(r'<line class="bar ', drawn)) == 1
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

from dataclasses import replace

import numpy as np
import pytest

from calib.analysis.decisions import Costs, NetBenefit, cost_curves, decide, net_benefit
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.words.decisions import useful
from tests.figures.drawn import COSTS, METHODS, benefit, cost


def test_cost_curves_and_their_lowest_points_are_drawn(analysis, trace):
    figure = cost(analysis).figure
    curves, table = cost_curves(analysis.held_out, COSTS), decide(analysis.held_out, COSTS)
    for key in METHODS:
        drawn = trace(figure, f"cost {key}")
        np.testing.assert_array_equal(drawn.x, curves.threshold)
        np.testing.assert_array_equal(drawn.y, curves.cost[key])
        lowest = trace(figure, f"hindsight {key}")
        assert lowest.y[0] == table.methods[key].hindsight_cost
        assert lowest.x[0] == table.methods[key].hindsight
        words = [trace(figure, f"hindsight {other}").text for other in METHODS]
        assert f"{lowest.y[0]:.3f}" in " ".join(text[0] for text in words if text)
    assert set(trace(figure, "threshold").x) == {0.25}
    assert trace(figure, "treat all").y[0] == table.treat_all
    low, high = figure.layout.yaxis.range
    assert low <= min(curve.min() for curve in curves.cost.values())
    assert max(table.treat_all, table.treat_none) < high


def test_a_capacity_has_no_threshold_of_its_own_and_marks_where_it_is_reached(analysis, trace):
    costs = Costs(1, 3, 0.1)
    figure, table = cost(analysis, costs).figure, decide(analysis.held_out, costs)
    uids = [drawn.uid for drawn in figure.data]
    assert not [uid for uid in uids if uid.startswith(("threshold", "hindsight"))]
    for key in METHODS:
        mark = trace(figure, f"capacity {key}")
        assert (mark.x[0], mark.y[0]) == (
            table.methods[key].threshold,
            table.methods[key].cost.value,
        )


def test_net_benefit_is_drawn_beside_all_and_none(analysis, trace):
    chart = benefit(analysis)
    curves = net_benefit(analysis.held_out)
    for key in METHODS:
        np.testing.assert_array_equal(trace(chart.figure, f"benefit {key}").y, curves.benefit[key])
    np.testing.assert_array_equal(trace(chart.figure, "treat all").y, curves.treat_all)
    assert set(trace(chart.figure, "treat none").y) == {0.0}
    assert set(trace(chart.figure, "threshold").x) == {0.25}


GRID = np.linspace(0.0, 1.0, 201).round(3)[:-1]


def falls_short(*thresholds: float, base_rate: float = 0.4) -> NetBenefit:
    """Net benefit that is below the better of flagging all and none at some thresholds only."""
    treat_all = base_rate - (1 - base_rate) * GRID / (1 - GRID)
    short = np.isin(GRID, thresholds)
    benefit = np.maximum(treat_all, 0.0) - 0.25 * short
    return NetBenefit(GRID, {"uncalibrated": benefit}, treat_all, base_rate)


@pytest.mark.parametrize(
    ("thresholds", "said"),
    [
        ((), "at all thresholds"),
        (GRID[GRID > 0], "at no threshold"),
        (GRID[GRID > 0.9], "at thresholds up to 90%"),
        (GRID[(GRID > 0) & (GRID < 0.1)], "at thresholds of at least 10%"),
        (GRID[(GRID > 0) & ((GRID < 0.1) | (GRID > 0.9))], "at thresholds from 10% to 90%"),
        ([0.7], "at all thresholds, except 1 of 200 tested"),
        (GRID[(GRID > 0.01) & (GRID < 0.99)], "at 5 of 200 tested thresholds"),
        ([0.2, 0.7, 0.995], "at thresholds up to 99%, except 2 of 199 tested"),
    ],
)
def test_thresholds_at_which_flagging_blindly_is_not_better_are_said(thresholds, said):
    assert useful(falls_short(*thresholds), ["uncalibrated"]).endswith(f"useful {said}")


ALL, MIDDLE = (), GRID[(GRID > 0) & ((GRID < 0.1) | (GRID > 0.9))]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            ALL,
            ALL,
            "at all thresholds, before and after calibration",
        ),
        (
            MIDDLE,
            ALL,
            "at thresholds from 10% to 90%; after calibration at all thresholds",
        ),
        (
            MIDDLE,
            GRID[GRID > 0.95],
            "at thresholds from 10% to 90%; after calibration up to 95%",
        ),
        (
            GRID[GRID > 0],
            MIDDLE,
            "at no threshold; after calibration at thresholds from 10% to 90%",
        ),
        (MIDDLE, None, "at thresholds from 10% to 90%"),
    ],
)
def test_the_title_says_the_useful_thresholds_before_and_after_calibration(before, after, said):
    curves, keys = falls_short(*before), ["uncalibrated"]
    if after is not None:
        keys.append("platt")
        calibrated = falls_short(*after).benefit["uncalibrated"]
        curves = replace(curves, benefit={**curves.benefit, "platt": calibrated})
    assert str(said) in useful(curves, keys)


def test_the_line_below_the_title_says_the_rows(analysis):
    held_out, n_rows = analysis.held_out, analysis.data.n_rows
    table = decide(held_out, COSTS)
    for chart in (
        cost_chart(cost_curves(held_out, COSTS), table, METHODS, n_rows=n_rows),
        net_benefit_chart(net_benefit(held_out), METHODS, n_rows=n_rows),
    ):
        assert chart.heading.details.startswith(f"{n_rows:,} rows · ")

import math

import numpy as np

from calib.analysis.decisions import Costs, cost_curves, decide, net_benefit
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


def test_alternative_text_says_where_acting_blindly_is_better(analysis, texts):
    curves = net_benefit(analysis.held_out)
    blind = np.maximum(curves.treat_all, 0)
    worse = curves.threshold[curves.benefit["uncalibrated"] < blind - 1e-9]
    assert not math.isnan(worse.sum())
    alt = benefit(analysis).alt
    if len(worse):
        assert f"from {worse.min():g} to {worse.max():g}" in alt
    else:
        texts.shown(alt)

import numpy as np
import pytest

from calib.analysis.decisions import Costs, cost_curves, decide, expected_counts, net_benefit
from calib.analysis.decisions.curves import cheapest_errors, error_shares, expected_shares
from tests.expanded import expanded


@pytest.mark.parametrize("name", ["held_out", "weighted", "tied"])
def test_net_benefit_is_vickers_formula(name, request):
    held_out = request.getfixturevalue(name)
    curves = net_benefit(held_out)
    rows, scores = expanded(held_out)
    weight = rows.weights
    for key, benefit in curves.benefit.items():
        for i in (0, 1, 60, 100, 151, 199):
            t = curves.threshold[i]
            flagged = scores[key] >= t
            tp = weight[flagged & rows.outcome].sum() / weight.sum()
            fp = weight[flagged & ~rows.outcome].sum() / weight.sum()
            assert benefit[i] == pytest.approx(tp - fp * t / (1 - t), abs=1e-12)


def test_at_zero_everyone_is_treated_and_the_benefit_is_the_base_rate(held_out):
    curves = net_benefit(held_out)
    base_rate = held_out.cells["uncalibrated"].base_rate
    assert curves.treat_all[0] == pytest.approx(base_rate)
    assert curves.benefit["platt"][0] == pytest.approx(base_rate)
    # If the threshold equals the base rate, treating all has no net benefit.
    assert np.interp(base_rate, curves.threshold, curves.treat_all) == pytest.approx(0, abs=1e-4)


def test_cost_curves_pass_through_the_decision(held_out):
    costs = Costs(3, 7)
    curves, table = cost_curves(held_out, costs), decide(held_out, costs)
    at = int(np.flatnonzero(curves.threshold == 0.3)[0])
    for key, decision in table.methods.items():
        assert curves.cost[key][at] == pytest.approx(decision.cost.value)
        assert curves.cost[key].min() >= decision.hindsight_cost - 1e-12
        assert curves.cost[key][0] == pytest.approx(table.treat_all)
    assert (curves.treat_all, curves.treat_none) == (table.treat_all, table.treat_none)


def test_a_method_is_worse_than_the_better_of_flagging_all_and_none(held_out):
    curves = net_benefit(held_out)
    base_rate = held_out.cells["uncalibrated"].base_rate
    below_all = curves.benefit["uncalibrated"] < curves.treat_all - 1e-9
    below_none = curves.benefit["uncalibrated"] < -1e-9
    # Flagging all is the better alternative up to the base rate.
    all_is_better = curves.threshold < base_rate
    worse_than_all = curves.threshold[below_all & all_is_better]
    worse_than_none = curves.threshold[below_none & ~all_is_better]
    assert len(worse_than_none)
    np.testing.assert_array_equal(curves.worse_than_all("uncalibrated"), worse_than_all)
    np.testing.assert_array_equal(curves.worse_than_none("uncalibrated"), worse_than_none)


@pytest.mark.parametrize("name", ["held_out", "weighted", "tied"])
def test_error_shares_count_rows_and_the_cheapest_contain_the_lowest_cost(name, request):
    held_out = request.getfixturevalue(name)
    rows, scores = expanded(held_out)
    weight, total = rows.weights, rows.weights.sum()
    for key, cells in held_out.cells.items():
        errors = error_shares(cells, np.array([0.0, 0.2, 0.3, 1.0, np.inf]))
        for i, t in enumerate(errors.threshold):
            flagged = scores[key] >= t
            missed = weight[~flagged & rows.outcome].sum() / total
            assert errors.missed[i] == pytest.approx(missed, abs=1e-12)
            alarms = weight[flagged & ~rows.outcome].sum() / total
            assert errors.false_alarms[i] == pytest.approx(alarms, abs=1e-12)
        best = cheapest_errors(cells)
        for costs in (Costs(), Costs(1, 20), Costs(15, 1), Costs(3, 7)):
            spent = costs.false_negative * best.missed + costs.false_positive * best.false_alarms
            decision = decide(held_out, costs).methods[key]
            assert spent.min() == pytest.approx(decision.hindsight_cost, abs=1e-12)


@pytest.mark.parametrize("name", ["held_out", "weighted", "tied"])
def test_expected_shares_are_sums_of_scores_of_the_rows_that_are_flagged(name, request):
    held_out = request.getfixturevalue(name)
    thresholds = np.array([0.0, 0.2, 0.5, 0.999, 1.0])
    for key in held_out.scores:
        shares = expected_shares(held_out, key, thresholds)
        for share, threshold in zip(shares, thresholds, strict=True):
            counts = expected_counts(held_out, threshold)
            total = held_out.rows.weights.sum()
            assert total * share == pytest.approx(counts.expected[key], abs=1e-9)

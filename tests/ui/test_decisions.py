"""Sentences about decisions: each says what the numbers beside it say, and no more."""

from dataclasses import replace

import pytest

from calib.analysis.decisions import Costs, Decision, DecisionTable, ExpectedCounts
from calib.numerics.estimate import Estimate
from calib.text import between, signed
from calib.ui.pages.decisions.page import (
    counts_sentence,
    decision_sentence,
    flagged_sentence,
    headline,
    rule,
)

# Half of 2,000 rows are flagged, of which 900 are positive; 100 positives are missed.
BEFORE = Decision(
    threshold=0.5,
    tie_share=1.0,
    true_positives=900.0,
    false_positives=100.0,
    false_negatives=100.0,
    true_negatives=900.0,
    cost=Estimate(0.1),
    change=Estimate(0.0, 0.0, 0.0),
    net_benefit=Estimate(0.4),
    hindsight=0.4,
    hindsight_cost=0.09,
)
SHOWN = ("uncalibrated", "platt")


def decided(change: Estimate, costs: Costs | None = None) -> DecisionTable:
    after = replace(
        BEFORE,
        true_positives=920.0,
        false_negatives=80.0,
        cost=Estimate(0.1 + change.value),
        change=change,
    )
    return DecisionTable(costs or Costs(), {"uncalibrated": BEFORE, "platt": after}, 0.5, 0.5, 0.95)


def test_decisions_of_a_thousand_rows_before_and_after_calibration():
    table = decided(Estimate(-0.01, -0.02, 0.001))
    assert flagged_sentence(table, SHOWN, weighted=False) == (
        "of 1,000 rows you would flag 500 and miss 50 positives; after calibration 510 and 40"
    )
    alone = headline(table, SHOWN[:1], weighted=False)
    assert alone == "At 50%, of 1,000 rows you would flag 500 and miss 50 positives."
    assert "1,000 rows, counted by weight, you" in flagged_sentence(table, SHOWN, weighted=True)
    by_capacity = replace(table, costs=Costs(1, 1, 0.5))
    said = headline(by_capacity, SHOWN, weighted=False)
    assert said.startswith("If the highest 50% are flagged, calibration does not change")


def test_equal_numbers_are_said_once():
    table = replace(decided(Estimate(0.0)), methods=dict.fromkeys(SHOWN, BEFORE))
    said = flagged_sentence(table, SHOWN, weighted=False)
    assert said.endswith("flag 500 and miss 50 positives, before and after calibration")


def test_rare_positives_are_counted_in_more_rows():
    rare = replace(BEFORE, true_positives=9.0, false_negatives=1.0, true_negatives=1890.0)
    table = replace(decided(Estimate(0.0)), methods={"uncalibrated": rare})
    said = headline(table, SHOWN[:1], weighted=False)
    assert said == "At 50%, of 10,000 rows you would flag 545 and miss 5 positives."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Estimate(-0.01, -0.02, 0.001), "does not change your decisions significantly"),
        (Estimate(-0.01, -0.02, -0.001), "makes your decisions significantly better"),
        (Estimate(0.01, 0.001, 0.02), "makes your decisions significantly worse"),
    ],
)
def test_the_change_of_the_cost_is_said_with_its_interval(change, said):
    assert headline(decided(change), SHOWN, weighted=False) == f"At 50%, calibration {said}."
    size = signed(1000 * change.value, 1)
    bounds = between(1000 * change.low, 1000 * change.high, 1, sign=True)
    judged = "not significant" if "not" in said else "significant"
    assert decision_sentence(decided(change), SHOWN, weighted=False) == (
        "Of 1,000 rows you would flag 500 and miss 50 positives; after calibration 510 and 40: "
        f"a change of {size} wrong decisions (95% CI {bounds}), {judged}."
    )


def test_costs_that_are_not_equal_are_no_number_of_decisions():
    table = decided(Estimate(-0.01, -0.02, 0.001), Costs(1, 4))
    alone = decision_sentence(table, SHOWN[:1], weighted=False)
    assert alone == "Cost of errors per 1,000 rows: 100.0."
    said = decision_sentence(table, SHOWN, weighted=False)
    assert said.endswith(": a change of −10.0 in cost (95% CI −20.0 to +1.0), not significant.")


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (Costs(), "The threshold of 50% follows from your costs (1 : 1 unless you change them)."),
        (Costs(1, 4), "The threshold of 20% follows from your costs (4 : 1)."),
        (Costs(1, 4, 0.1), "The 10% of rows with the highest scores are flagged."),
    ],
)
def test_the_rule_says_where_the_threshold_comes_from(costs, said):
    assert rule(decided(Estimate(0.0), costs)) == said


@pytest.mark.parametrize(
    ("low", "high", "rows", "said"),
    [
        (0.5, 1.0, 30, "The 30 rows with a score of at least 50%"),
        (0.0, 0.5, 30, "The 30 rows with a score of at most 50%"),
        (0.2, 0.5, 30, "The 30 rows with a score from 20% to 50%"),
        (0.0, 1.0, 30, "All 30 rows"),
        (0.2, 0.3, 0, "No row has a score from 20% to 30%."),
    ],
)
def test_counts_name_their_rows_and_judge_both_methods(low, high, rows, said):
    expected = {"uncalibrated": 15.0, "platt": 12.4}
    excess = {"uncalibrated": Estimate(-3.0, -5.0, -1.0), "platt": Estimate(-0.4, -2.0, 1.2)}
    counts = ExpectedCounts(low, high, rows, float(rows), 12.0, expected, excess)
    sentence = counts_sentence(counts, SHOWN)
    counted = (
        ": 12 were positive; uncalibrated scores expect 15.0 (too many), calibrated ones 12.4."
    )
    assert sentence == said + counted * (rows > 0)
    if rows:
        weighed = counts_sentence(replace(counts, weight=50.0), SHOWN)
        assert "(weight 50): weight 12 was positive" in weighed
        many = replace(counts, expected={"uncalibrated": 757.4, "platt": 99.96})
        assert "scores expect 757" in counts_sentence(many, SHOWN)

"""Sentences about decisions: each says what the numbers beside it say, and no more."""

from dataclasses import replace

import pytest

from calib.analysis.decisions import Costs, Decision, DecisionTable, ExpectedCounts
from calib.numerics.estimate import Estimate
from calib.ui.pages.decisions import cost_sentence, counts_sentence, headline, rule

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


@pytest.mark.parametrize(
    ("change", "ending"),
    [
        (Estimate(-0.01, -0.02, 0.001), "; after calibration 510 and 40, not a significant diffe"),
        (Estimate(-0.01, -0.02, -0.001), "; after calibration 510 and 40, significantly better."),
        (Estimate(0.01, 0.001, 0.02), "; after calibration 510 and 40, significantly worse."),
    ],
)
def test_decisions_of_a_thousand_rows_and_whether_calibration_changes_them(change, ending):
    said = headline(decided(change), SHOWN, weighted=False)
    assert said.startswith("Of 1,000 rows you would flag 500 and miss 50 positives")
    assert ending in said
    alone = headline(decided(change), SHOWN[:1], weighted=False)
    assert alone == "Of 1,000 rows you would flag 500 and miss 50 positives."
    assert "counted by weight" in headline(decided(change), SHOWN, weighted=True)


def test_equal_numbers_are_said_once():
    table = decided(Estimate(0.0, -0.01, 0.01))
    same = replace(table, methods=dict.fromkeys(SHOWN, BEFORE))
    said = headline(same, SHOWN, weighted=False)
    assert said.endswith("flag 500 and miss 50 positives, before and after calibration.")
    better = replace(BEFORE, change=Estimate(-0.001, -0.002, -0.0005))
    other = replace(table, methods={"uncalibrated": BEFORE, "platt": better})
    assert headline(other, SHOWN, weighted=False).endswith("500 and 50, significantly better.")


def test_rare_positives_are_counted_in_more_rows():
    rare = replace(BEFORE, true_positives=9.0, false_negatives=1.0, true_negatives=1890.0)
    table = replace(decided(Estimate(0.0)), methods={"uncalibrated": rare})
    said = headline(table, SHOWN[:1], weighted=False)
    assert said == "Of 10,000 rows you would flag 545 and miss 5 positives."


def test_the_cost_of_the_rows_is_said_with_its_change():
    change = Estimate(-0.01, -0.02, 0.001)
    said = cost_sentence(decided(change), SHOWN)
    assert said.startswith("Wrong decisions per 1,000 rows: 100.0, after Platt scaling (on scores)")
    assert said.endswith("90.0 (change −10.0, 95% CI −20.0 to +1.0).")
    assert cost_sentence(decided(change, Costs(1, 4)), SHOWN[:1]) == (
        "Cost of errors per 1,000 rows: 100.0."
    )


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (Costs(), "The threshold 0.5 follows from your costs (1 : 1 unless you change them)."),
        (Costs(1, 4), "The threshold 0.2 follows from your costs (4 : 1)."),
        (Costs(1, 4, 0.1), "The 10% of rows with the highest scores are flagged."),
    ],
)
def test_the_rule_says_where_the_threshold_comes_from(costs, said):
    assert rule(decided(Estimate(0.0), costs)) == said


@pytest.mark.parametrize(
    ("low", "high", "rows", "said"),
    [
        (0.5, 1.0, 30, "Among the 30 rows with a score of at least 0.5, uncalibrated"),
        (0.0, 0.5, 30, "Among the 30 rows with a score of at most 0.5, uncalibrated"),
        (0.2, 0.5, 30, "Among the 30 rows with a score from 0.2 to 0.5, uncalibrated"),
        (0.0, 1.0, 30, "Among all 30 rows, uncalibrated"),
        (0.2, 0.3, 0, "No row has a score from 0.2 to 0.3."),
    ],
)
def test_counts_name_their_rows_and_judge_both_methods(low, high, rows, said):
    expected = {"uncalibrated": 15.0, "platt": 12.4}
    excess = {"uncalibrated": Estimate(-3.0, -5.0, -1.0), "platt": Estimate(-0.4, -2.0, 1.2)}
    counts = ExpectedCounts(low, high, rows, float(rows), 12.0, expected, excess)
    sentence = counts_sentence(counts, SHOWN)
    assert sentence.startswith(said)
    if rows:
        assert "expect 15.0 positives; 12 were observed: too many. Platt" in sentence
        assert sentence.endswith("expects 12.4: not significantly different.")
        weighed = counts_sentence(replace(counts, weight=50.0), SHOWN)
        assert "(weight 50), uncalibrated" in weighed

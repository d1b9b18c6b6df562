"""Sentences about decisions: each says what the numbers beside it say, and no more."""

import re
from dataclasses import replace

import pytest

from calib.analysis.decisions import Costs, Decision, DecisionTable, ExpectedCounts
from calib.numerics.intervals import Estimate
from calib.text import between, signed
from calib.words.decisions import (
    advice,
    change_sentence,
    decision_sentence,
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
    missed = 100.0 + 2000.0 * change.value
    after = replace(
        BEFORE,
        true_positives=1000.0 - missed,
        false_negatives=missed,
        cost=Estimate(0.1 + change.value),
        change=change,
    )
    return DecisionTable(costs or Costs(), {"uncalibrated": BEFORE, "platt": after}, 0.5, 0.5, 0.95)


def test_decisions_of_a_thousand_rows_before_and_after_calibration(texts):
    table = decided(Estimate(-0.01, -0.02, 0.001))
    texts(decision_sentence(table, SHOWN, weighted=False))
    alone = headline(table, SHOWN[:1], weighted=False)
    texts(alone)
    texts.shown(decision_sentence(table, SHOWN, weighted=True))
    by_capacity = replace(table, costs=Costs(1, 1, 0.5))
    said = headline(by_capacity, SHOWN, weighted=False)
    texts.shown(said)


def test_equal_numbers_are_said_once(texts):
    table = replace(decided(Estimate(0.0)), methods=dict.fromkeys(SHOWN, BEFORE))
    said = decision_sentence(table, SHOWN, weighted=False)
    texts.shown(said)


def test_rare_positives_are_counted_in_more_rows(texts):
    rare = replace(BEFORE, true_positives=9.0, false_negatives=1.0, true_negatives=1890.0)
    table = replace(decided(Estimate(0.0)), methods={"uncalibrated": rare})
    said = headline(table, SHOWN[:1], weighted=False)
    texts(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Estimate(-0.01, -0.02, 0.001), "not significant"),
        (Estimate(-0.01, -0.02, -0.001), "significant"),
        (Estimate(0.01, 0.001, 0.02), "significant"),
    ],
)
def test_the_change_of_the_cost_is_said_with_its_interval(change, said):
    # Costs of at least 100 have no decimals.
    size = signed(1000 * change.value, 0)
    bounds = between(1000 * change.low, 1000 * change.high, 0, sign=True)
    made = change_sentence(decided(change), SHOWN)
    assert all(fact in made for fact in (str(size), bounds))
    assert made.endswith(f"), {said}.")


@pytest.mark.parametrize(
    ("costs", "facts"),
    [
        (Costs(), "100 of 1,000 decisions are wrong"),
        # 50 positives are missed, with 50 false alarms.
        (Costs(1, 4), "errors cost 250 per 1,000 rows"),
    ],
)
def test_the_headline_has_the_cost_before_and_after_calibration(costs, facts):
    table = decided(Estimate(-0.01, -0.02, 0.001), costs)
    alone, both = (headline(table, shown, weighted=False) for shown in (SHOWN[:1], SHOWN))
    assert alone.endswith(f", {facts}.")
    assert facts in both
    assert both.endswith(f" and {90 if costs == Costs() else 210} after calibration.")
    assert not change_sentence(table, SHOWN[:1])
    said = headline(table, SHOWN, weighted=True, planned=True)
    assert ("weight" in said) == (costs == Costs())


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


TOO_MANY, FITS = Estimate(-30.0, -50.0, -10.0), Estimate(-4.0, -20.0, 12.0)
NOT, BETTER = Estimate(-0.01, -0.02, 0.001), Estimate(-0.01, -0.02, -0.001)
WORSE = Estimate(0.01, 0.001, 0.02)


def flagged(before: Estimate = TOO_MANY, after: Estimate = FITS, rows: int = 1000, **changed):
    """The rows that are flagged before calibration, of which 900 are positive."""
    expected = {key: 900.0 - each.value for key, each in zip(SHOWN, (before, after), strict=True)}
    excess = dict(zip(SHOWN, (before, after), strict=True))
    counts = ExpectedCounts(0.5, 1.0, rows, float(rows), 900.0, expected, excess)
    return replace(counts, **changed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (NOT, "There is no evidence that calibration improves decisions at this threshold."),
        (BETTER, "Decide by the calibrated scores."),
        (WORSE, "Decide by the uncalibrated scores."),
    ],
)
def test_the_advice_follows_from_the_cost(change, said):
    assert advice(decided(change), flagged(FITS), SHOWN) == said
    assert not advice(decided(change), flagged(FITS), SHOWN[:1])


@pytest.mark.parametrize(
    ("before", "after", "corrects"),
    [(TOO_MANY, FITS, True), (FITS, FITS, False), (TOO_MANY, TOO_MANY, False)],
)
def test_calibration_is_advised_where_only_calibrated_scores_expect_the_right_number(
    before, after, corrects
):
    advised = advice(decided(NOT), flagged(before, after), SHOWN)
    assert ("estimate how many are positive" in advised) == corrects


def test_flagged_rows_are_the_sum_of_the_rounded_parts():
    # 392.4 positives and 66.4 false alarms of 1,000 rows: the sum would be rounded to 459.
    parts = {"true_positives": 784.8, "false_positives": 132.8, "true_negatives": 982.4}
    table = replace(decided(NOT), methods={"uncalibrated": replace(BEFORE, **parts)})
    said = decision_sentence(table, SHOWN[:1], weighted=False)
    assert [int(n) for n in re.findall(r" (\d+) ", said)] == [458, 50]

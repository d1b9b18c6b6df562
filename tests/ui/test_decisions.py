"""Sentences about decisions: each says what the numbers beside it say, and no more."""

from types import SimpleNamespace

import pytest

from calib.analysis.decisions import Costs, DecisionTable, ExpectedCounts
from calib.numerics.estimate import Estimate
from calib.ui.pages.decisions import counts_sentence, verdict

BY_CAPACITY = Costs(1.0, 1.0, 0.1)


def decided(change: Estimate, costs: Costs = BY_CAPACITY, cost: float = 1.2705) -> DecisionTable:
    spent = (Estimate(cost), Estimate(cost + change.value))
    methods = {
        key: SimpleNamespace(n_flagged=80.0, cost=each, change=change)
        for key, each in zip(("uncalibrated", "platt"), spent, strict=True)
    }
    return DecisionTable(costs, methods, 1.5, 1.5, 0.95)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Estimate(0.0, 0.0, 0.0), "flags the same rows as the uncalibrated scores"),
        (Estimate(0.0, -0.002, 0.002), "stays 1.2705 (0.0000, 95% CI"),
        (Estimate(1e-9, -0.002, 0.002), "stays 1.2705 (0.0000, 95% CI"),
        (Estimate(-0.01, -0.02, 0.001), "changes from 1.2705 to 1.2605 (−0.0100"),
        (Estimate(0.01, 0.001, 0.02), "changes from 1.2705 to 1.2805 (+0.0100"),
    ],
)
def test_a_cost_moves_in_words_only_where_its_printed_number_moves(change, said):
    sentence = verdict(decided(change), ("uncalibrated", "platt"), weighted=False)
    assert said in sentence
    assert "chance" not in sentence
    significant = change.low > 0 or change.high < 0
    if change.low < change.high:
        assert sentence.endswith("is significant." if significant else "is not significant.")


def test_rows_are_counted_and_weights_are_not_called_rows(texts):
    assert "the **80** rows" in verdict(decided(Estimate(0.0)), ("uncalibrated",), weighted=False)
    weighed = verdict(decided(Estimate(0.0)), ("uncalibrated",), weighted=True)
    texts.shown(weighed)
    counts = ExpectedCounts(0.5, 1.0, 3, 30.0, 12.0, {}, {})
    texts.shown(counts_sentence(counts, ()))

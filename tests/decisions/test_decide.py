"""Decisions against scikit-learn's confusion matrix, and against brute force."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold

from calib.analysis.decisions import Costs, decide
from calib.calibrators import calibrator
from calib.crossfit.fitting import cross_fit
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions
from tests.expanded import expanded
from tests.rare import rare

COSTS = Costs(false_positive=1.0, false_negative=4.0)


@pytest.mark.parametrize("name", ["held_out", "weighted"])
def test_counts_and_cost_are_those_of_the_confusion_matrix(name, request):
    held_out = request.getfixturevalue(name)
    rows, scores = expanded(held_out)
    total = len(rows) if rows.weight is None else rows.weight.sum()
    for key, decision in decide(held_out, COSTS).methods.items():
        assert decision.threshold == 0.2
        matrix = confusion_matrix(rows.outcome, scores[key] >= 0.2, sample_weight=rows.weight)
        tn, fp, fn, tp = matrix.ravel()
        assert decision.true_negatives == pytest.approx(tn)
        assert decision.false_positives == pytest.approx(fp)
        assert decision.false_negatives == pytest.approx(fn)
        assert decision.true_positives == pytest.approx(tp)
        assert decision.n_flagged == pytest.approx(tp + fp)
        assert decision.flagged_share == pytest.approx((tp + fp) / total)
        assert decision.missed_share == pytest.approx(fn / total)
        assert decision.cost.value == pytest.approx((fp + 4 * fn) / total)
        assert decision.net_benefit.value == pytest.approx((tp - fp * 0.2 / 0.8) / total)


def test_net_benefit_and_cost_say_the_same_in_other_units(held_out):
    table = decide(held_out, COSTS)
    base_rate = held_out.cells["uncalibrated"].base_rate
    for decision in table.methods.values():
        assert decision.net_benefit.value == pytest.approx(base_rate - decision.cost.value / 4.0)


def _added_variance(rows, seed: int) -> float:
    """Variance of the mean cost by the calibrators of five folds."""
    costs = []
    for train, _ in StratifiedKFold(5, shuffle=True, random_state=seed).split(
        rows.score, rows.outcome
    ):
        fitted = calibrator("platt").fit(rows.score[train], rows.outcome[train])
        flagged = fitted.predict(rows.score) >= 0.2
        costs.append(np.where(rows.outcome, 4.0 * ~flagged, 1.0 * flagged))
    return np.var(costs, axis=0).sum() * 5 / len(rows) ** 2


def test_the_change_is_paired(held_out):
    table = decide(held_out, COSTS)
    rows, scores = expanded(held_out)

    def spent(key: str) -> np.ndarray:
        flagged = scores[key] >= 0.2
        return np.where(rows.outcome, 4.0 * ~flagged, 1.0 * flagged)

    difference = spent("platt") - spent("uncalibrated")
    change = table.methods["platt"].change
    assert change.value == pytest.approx(difference.mean())
    # The two sides of an interval of skewed values differ. Together they are as wide as Student's
    # interval from the variance of the rows and of the folds' calibrators, of which the latter is
    # a mean over partitions: single ones differ by a factor of four.
    added = np.mean([_added_variance(rows, seed) for seed in range(6)])
    width = 2 * 1.96 * np.sqrt(difference.var(ddof=1) / len(difference) + added)
    assert change.high - change.low == pytest.approx(width, rel=0.03)
    # These scores are overconfident, and the threshold is in a range where that costs.
    assert change.high < 0
    unchanged = table.methods["uncalibrated"].change
    assert (unchanged.value, unchanged.low, unchanged.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("costs", [COSTS, Costs(1, 1), Costs(1000, 1)])
def test_hindsight_is_the_best_of_all_thresholds(held_out, costs):
    rows, _ = expanded(held_out)
    decision = decide(held_out, costs).methods["uncalibrated"]

    def cost(threshold: float) -> float:
        flagged = rows.score >= threshold
        return np.where(
            rows.outcome, costs.false_negative * ~flagged, costs.false_positive * flagged
        ).mean()

    lowest = min(cost(t) for t in [*np.unique(rows.score), np.inf])
    assert decision.hindsight_cost == pytest.approx(lowest)
    assert cost(decision.hindsight) == pytest.approx(lowest)
    assert decision.hindsight_cost <= decision.cost.value + 1e-12


def test_scores_that_separate_weighted_rows_cost_nothing_in_hindsight():
    for n in range(20, 60):
        score = np.where(np.arange(n) < n // 3, 0.2, 0.7)
        rows = Predictions.from_arrays(score > 0.5, score, np.full(n, 7.3))
        held_out = cross_fit(rows, Settings(view="class:1", methods=()))
        decision = decide(held_out, COSTS).methods["uncalibrated"]
        assert 0.0 <= decision.hindsight_cost < 1e-12
        assert decision.hindsight == 0.7


@pytest.mark.parametrize("capacity", [0.01, 0.1, 1 / 3, 1.0])
@pytest.mark.parametrize("name", ["held_out", "tied", "weighted"])
def test_a_capacity_is_filled_exactly_and_from_the_top(name, capacity, request):
    held_out = request.getfixturevalue(name)
    rows, scores = expanded(held_out)
    weight = rows.weights
    for key, decision in decide(held_out, Costs(1, 4, capacity)).methods.items():
        score = scores[key]
        assert decision.n_flagged == pytest.approx(capacity * weight.sum())
        flagged = decision.flag(score)
        assert weight @ flagged == pytest.approx(capacity * weight.sum())
        assert (flagged[score > decision.threshold] == 1).all()
        assert (flagged[score < decision.threshold] == 0).all()
        assert len(np.unique(flagged[score == decision.threshold])) == 1


@rare
def test_ties_under_a_capacity_count_as_the_average_over_lots(tied):
    rows, _ = expanded(tied)
    score, outcome = rows.score, rows.outcome
    decision = decide(tied, Costs(1, 4, 0.1)).methods["uncalibrated"]
    rng = np.random.default_rng(0)
    flagged = []
    for _ in range(4000):
        order = np.lexsort((rng.random(len(score)), -score))
        flagged.append(outcome[order[:300]].sum())
    error = np.std(flagged) / np.sqrt(len(flagged))
    assert decision.true_positives == pytest.approx(np.mean(flagged), abs=4 * error)


def test_extremes_and_table(held_out):
    table = decide(held_out, COSTS)
    base_rate = held_out.cells["uncalibrated"].base_rate
    assert table.treat_all == pytest.approx(1 - base_rate)
    assert table.treat_none == pytest.approx(4 * base_rate)
    frame = table.frame()
    assert frame.index.tolist() == ["uncalibrated", "platt", "isotonic"]
    assert frame.loc["platt", "cost"] == table.methods["platt"].cost.value

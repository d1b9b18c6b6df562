"""When calibration changed: against brute force, and how often chance is called a change."""

from itertools import combinations

import numpy as np
import pytest

import calib
from calib.analysis.periods import cut_periods, period_change, timed_rows
from calib.data.predictions import Predictions
from tests.rare import rare

N_SETS = 200
# A rate of at most 5%, with three standard deviations of the number of sets.
MAX_FALSE_ALARMS = 0.05 + 3 * np.sqrt(0.05 * 0.95 / N_SETS)


def changed(period, score, outcome, **more):
    view = Predictions.from_arrays(outcome, score, **more).view()
    return period_change(view, view.score, cut_periods(period))


def drifting(rng, n=6000, first=18, last=24, shift=0.08):
    """Scores that are right, but too low from period `first` to before period `last`, of 24."""
    period, score = rng.integers(0, 24, n), rng.beta(2, 5, n)
    off = (period >= first) & (period < last)
    return period, score, rng.random(n) < np.clip(score + shift * off, 0, 1)


@rare
def test_the_stretch_and_its_p_value_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    period, score = rng.integers(0, 6, 900), rng.beta(2, 5, 900)
    outcome = rng.random(900) < score + 0.1 * (period == 4)
    change = changed(period, score, outcome)
    residual = outcome - score
    within = sum(
        (residual[period == j] - residual[period == j].mean()).var()
        * len(j_rows) ** 2
        / (len(j_rows) - 1)
        for j in range(6)
        for j_rows in [np.flatnonzero(period == j)]
    )
    phi = within / (score * (1 - score)).sum()
    stretches = [pair for pair in combinations(range(7), 2) if pair != (0, 6)]

    def ratio(contribution, pair):
        inside = (period >= pair[0]) & (period < pair[1])
        error = phi * sum(
            (score * (1 - score))[side].sum() / side.sum() ** 2 for side in (inside, ~inside)
        )
        return abs(contribution[inside].mean() - contribution[~inside].mean()) / np.sqrt(error)

    ratios = {pair: ratio(residual, pair) for pair in stretches}
    best = max(ratios, key=ratios.__getitem__)
    assert np.flatnonzero(change.wrong).tolist() in (
        list(range(*best)),
        [j for j in range(6) if j not in range(*best)],
    )
    spread = np.sqrt(phi * score * (1 - score))
    drawn = [
        max(ratio(spread * rng.standard_normal(900), pair) for pair in stretches)
        for _ in range(1000)
    ]
    expected = np.mean(np.array(drawn) >= ratios[best])
    assert change.p_value == pytest.approx(expected, abs=0.05)
    inside = np.isin(period, np.flatnonzero(change.wrong))
    assert change.mean_score == pytest.approx(score[inside].mean())
    assert change.observed_else == pytest.approx(outcome[~inside].mean())


def calibrated(rng, n, period):
    score = rng.beta(2, 5, n)
    return score, rng.random(n) < score, None


def rare_events(rng, n, period):
    score = rng.beta(1, 50, n)
    return score, rng.random(n) < score, None


def too_low_in_all_periods(rng, n, period):
    score = 0.1 * rng.beta(1, 50, n)
    return score, rng.random(n) < 10 * score, None


def overconfident(rng, n, period):
    log_odds = rng.normal(0, 6, n)
    return 1 / (1 + np.exp(-log_odds)), rng.random(n) < 1 / (1 + np.exp(-log_odds / 4)), None


def rising_base_rate(rng, n, period):
    score = 1 / (1 + np.exp(-rng.normal(-4, 1, n) - period / 4))
    return score, rng.random(n) < score, None


def clusters_over_three_periods(rng, n, period):
    group = 20 * period + rng.integers(0, 60, n)
    effect = rng.uniform(-0.25, 0.25, 20 * 12 + 60)[group]
    score = rng.uniform(0.3, 0.7, n)
    return score, rng.random(n) < score + effect, group


@rare
@pytest.mark.parametrize(
    "made",
    [
        calibrated,
        rare_events,
        too_low_in_all_periods,
        overconfident,
        rising_base_rate,
        clusters_over_three_periods,
    ],
)
def test_chance_is_seldom_called_a_change(made):
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(N_SETS):
        period = rng.integers(0, 12, 2000)
        score, outcome, group = made(rng, 2000, period)
        alarms += changed(period, score, outcome, group=group).significant()
    assert alarms / N_SETS < MAX_FALSE_ALARMS


@pytest.mark.parametrize(("first", "last"), [(18, 24), (0, 5), (9, 14)])
def test_a_change_is_found_with_its_periods(first, last):
    rng, n_sets, hits = np.random.default_rng(2), 40, 0
    for _ in range(n_sets):
        change = changed(*drifting(rng, first=first, last=last))
        wrong = np.flatnonzero(change.wrong)
        near = abs(wrong.min() - first) <= 1 and abs(wrong.max() + 1 - last) <= 1
        hits += change.significant() and near and change.observed > change.mean_score
    assert hits >= 0.85 * n_sets


def test_all_periods_but_a_stretch_can_be_wrong():
    rng = np.random.default_rng(3)
    period, score = rng.integers(0, 12, 9000), rng.beta(2, 5, 9000)
    right = (period >= 4) & (period < 8)
    change = changed(period, score, rng.random(9000) < np.where(right, score, score + 0.15))
    assert np.flatnonzero(~change.wrong).tolist() == [4, 5, 6, 7]


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    rng, five = np.random.default_rng(8), np.repeat(np.arange(1500), 5)
    period, score, outcome = drifting(rng, 1500, shift=0.09)
    one = changed(period, score, outcome)
    copied = changed(period[five], score[five], outcome[five], group=five)
    assert 0.01 < one.p_value < 0.6
    assert copied.p_value == pytest.approx(one.p_value, abs=0.02)
    assert changed(period[five], score[five], outcome[five]).p_value < 0.01


def test_neither_the_order_of_rows_nor_a_common_weight_matters():
    rng = np.random.default_rng(5)
    period, score, outcome = drifting(rng, 3000)
    change, order = changed(period, score, outcome), rng.permutation(3000)
    shuffled = changed(period[order], score[order], outcome[order])
    weighted = changed(period, score, outcome, sample_weight=np.full(3000, 2.5))
    for other in (shuffled, weighted):
        assert other.p_value == change.p_value
        assert (other.wrong == change.wrong).all()
        assert other.observed == pytest.approx(change.observed)


def test_counts_give_the_change_of_rows():
    rng = np.random.default_rng(6)
    period, score, outcome = drifting(rng, 3000)
    # Text is counted by its values, and numbers by their ranges.
    columns = {"period": np.char.add("week ", np.char.zfill(period.astype(str), 2))}
    data = calib.Predictions.from_arrays(outcome, score.round(2), columns=columns)
    counted = calib.aggregate(data, ["period"])
    changes = []
    for given in (data, counted):
        held_out = calib.analyze(given, {"methods": ()}).held_out
        held_out, periods = timed_rows(given, held_out, "period")
        view = held_out.row_view("uncalibrated")
        changes.append(period_change(view, view.score, periods))
    rows, counts = changes
    assert counts.p_value == rows.p_value
    assert (counts.wrong == rows.wrong).all()


def test_rows_without_a_time_are_left_out():
    rng = np.random.default_rng(7)
    period, score, outcome = drifting(rng, 3000)
    time = np.where(np.arange(3000) % 10 == 0, np.nan, period)
    kept = ~np.isnan(time)
    missing, alone = (
        changed(time, score, outcome),
        changed(period[kept], score[kept], outcome[kept]),
    )
    assert missing.p_value == alone.p_value


@pytest.mark.parametrize(
    ("period", "score"),
    [
        (np.zeros(100), np.full(100, 0.5)),  # There is one period.
        (np.arange(20) % 2, np.full(20, 0.5)),  # Each period expects five rows of an outcome.
        (np.arange(100) % 2, np.zeros(100)),  # The scores say that no outcome varies.
    ],
)
def test_too_few_rows_are_not_compared(period, score):
    outcome = np.arange(len(period)) % 4 < 2
    change = changed(period, score, outcome)
    assert np.isnan(change.p_value)
    assert not change.significant()
    assert not change.wrong.any()

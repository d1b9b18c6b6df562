"""Intervals of AUC: against DeLong's variance, published ones, and what they must hold."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from calib.data.predictions import Predictions
from calib.metrics import auc
from calib.metrics.ranking import auc_difference, auc_estimate, row_auc, row_auc_within


def drawn(n, seed=0, mean=-0.5, **more):
    rng = np.random.default_rng(seed)
    score = expit(rng.normal(mean, 1.0, n))
    return Predictions.from_arrays(rng.random(n) < score, score, **more).view()


def delong(outcome, *scores):
    """Standard error of AUC, or of the difference of two, from all pairs."""
    parts = []
    for chosen, other in ((outcome, ~outcome), (~outcome, outcome)):
        means = [
            ((s[chosen][:, None] > s[other]) + 0.5 * (s[chosen][:, None] == s[other])).mean(axis=1)
            for s in scores
        ]
        change = means[0] if len(means) == 1 else means[1] - means[0]
        parts.append(change.var(ddof=1) / chosen.sum())
    return math.sqrt(sum(parts))


def contributions(rows, score):
    return row_auc(rows.__class__(rows.outcome, score).cells(), rows.outcome, score)


def test_many_rows_have_delongs_standard_error():
    rows = drawn(4000)
    estimate = auc_estimate(rows)
    assert estimate.value == auc(rows.cells())
    half = 1.96 * delong(rows.outcome, rows.score)
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=0.02)


def test_perfect_ranks_have_newcombes_interval():
    """The bound is as published for A = B = 10 rows without overlap, with Student's quantile."""
    rows = Predictions.from_arrays([0] * 10 + [1] * 10, np.linspace(0.1, 0.9, 20)).view()
    estimate = auc_estimate(rows)
    low, z = estimate.low, t.ppf(0.975, 20)
    others = 9.0
    variance = low * (1 - low) * (1 + others * ((1 - low) / (2 - low) + low / (1 + low))) / 100
    assert (estimate.value, estimate.high) == (1.0, 1.0)
    assert (1.0 - low) / math.sqrt(variance) == pytest.approx(z, rel=1e-6)
    mirrored = Predictions.from_arrays([1] * 10 + [0] * 10, np.linspace(0.1, 0.9, 20)).view()
    assert auc_estimate(mirrored).high == pytest.approx(1.0 - low, abs=1e-6)
    assert (auc_estimate(mirrored).value, auc_estimate(mirrored).low) == (0.0, 0.0)


def test_two_positives_hold_what_is_promised():
    rng, held = np.random.default_rng(0), []
    # AUC is P(N(1, 1) > N(0, 1)), because scores shift by their variance between the classes.
    truth = 0.760250
    for _ in range(400):
        score = expit(np.append(rng.normal(0.0, 1.0, 198), rng.normal(1.0, 1.0, 2)))
        rows = Predictions.from_arrays([0] * 198 + [1] * 2, score).view()
        estimate = auc_estimate(rows)
        held.append(estimate.low <= truth <= estimate.high)
    assert 0.91 <= np.mean(held) <= 0.99


def test_a_difference_is_paired():
    rows = drawn(3000)
    noisy = rows.score * (0.8 + 0.2 * np.random.default_rng(1).random(3000))
    contribution, reference = contributions(rows, noisy), contributions(rows, rows.score)
    estimate = auc_difference(rows, contribution, reference)
    half = 1.96 * delong(rows.outcome, rows.score, noisy)
    assert estimate.high - estimate.low == pytest.approx(2 * half, rel=0.02)
    assert estimate.value == pytest.approx(contribution.mean() - reference.mean())
    assert estimate.high - estimate.low < 0.5 * (auc_estimate(rows).high - auc_estimate(rows).low)


def test_a_difference_of_two_positives_has_one_degree_of_freedom_and_of_one_none():
    rng = np.random.default_rng(2)
    for positives in (1, 2):
        outcome = np.arange(1000) < positives
        rows = Predictions.from_arrays(outcome, rng.random(1000)).view()
        contribution, other = contributions(rows, rng.random(1000)), contributions(rows, rows.score)
        estimate = auc_difference(rows, contribution, other)
        assert math.isnan(estimate.low) == (positives == 1)
        if positives == 2:
            half = (
                t.ppf(0.975, 1)
                * np.sqrt(np.square(contribution - other)[outcome].sum() * 2.0)
                / 1000
            )
            assert estimate.low == pytest.approx(max(-1.0, estimate.value - half), abs=0.05)


def test_a_difference_of_few_rows_has_delongs_standard_error_and_satterthwaites_freedom():
    """The classes' variances differ, and so do the numbers of rows that they rest on."""
    rows = drawn(60, seed=3, mean=-1.5)
    outcome = rows.outcome
    contribution = contributions(rows, np.random.default_rng(1).random(60))
    estimate = auc_difference(rows, contribution, contributions(rows, rows.score))
    change = contribution - contributions(rows, rows.score)
    change = change - change.mean()
    slow = total = variance = 0.0
    for chosen in (outcome, ~outcome):
        n, squares = chosen.sum(), np.square(change[chosen])
        # This many equal squares, less one, would vary as much.
        few = squares.sum() ** 2 / (squares @ squares) - 1.0
        variance += (change**2)[chosen].sum() / 60**2 * n / (n - 1)
        slow, total = slow + 1.0 / (n**2 * few), total + 1.0 / n
    assert outcome.sum() < 20
    half = t.ppf(0.975, total**2 / slow) * math.sqrt(variance)
    assert estimate.high - estimate.value == pytest.approx(half, rel=1e-9)
    assert estimate.value - estimate.low == pytest.approx(half, rel=1e-9)
    # The two classifiers are independent. DeLong's variance does not contain the mean of the rows.
    assert math.sqrt(variance) == pytest.approx(
        delong(outcome, rows.score, np.random.default_rng(1).random(60)), rel=0.05
    )


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    single = drawn(500)
    five = np.repeat(np.arange(500), 5)
    copies = Predictions.from_arrays(single.outcome[five], single.score[five], group=five).view()
    unnamed = Predictions.from_arrays(copies.outcome, copies.score).view()
    one, clustered, bold = (auc_estimate(of) for of in (single, copies, unnamed))
    assert clustered.high - clustered.low == pytest.approx(one.high - one.low, rel=0.05)
    assert bold.high - bold.low == pytest.approx((one.high - one.low) / math.sqrt(5), rel=0.05)
    contribution, reference = (
        contributions(single, s) for s in (single.score**2, single.score.round(1))
    )
    paired = auc_difference(single, contribution, reference)
    copied = auc_difference(copies, contribution[five], reference[five])
    assert copied.high - copied.low == pytest.approx(paired.high - paired.low, rel=0.05)


def test_weights_that_differ_widen_and_equal_ones_do_nothing():
    rows = drawn(3000)
    equal = drawn(3000, sample_weight=np.full(3000, 5.0))
    assert auc_estimate(equal).low == pytest.approx(auc_estimate(rows).low, abs=1e-9)
    uneven = np.random.default_rng(0).exponential(size=3000) ** 2 + 1e-3
    effective = uneven.sum() ** 2 / (uneven @ uneven) / 3000
    estimate = auc_estimate(drawn(3000, sample_weight=uneven))
    plain = auc_estimate(rows)
    ratio = (estimate.high - estimate.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(1.0 / math.sqrt(effective), rel=0.15)


def test_one_class_has_no_area():
    rows = Predictions.from_arrays([1, 1], [0.2, 0.4]).view()
    assert math.isnan(auc_estimate(rows).value)
    nothing = np.full(2, math.nan)
    np.testing.assert_array_equal(row_auc(rows.cells(), rows.outcome, rows.score), nothing)
    assert math.isnan(auc_difference(rows, nothing, nothing).value)


def test_variance_that_the_rows_do_not_show_is_added_and_grows_with_clusters():
    single = drawn(400)
    contribution, other = (
        contributions(single, single.score**2),
        contributions(single, single.score.round(1)),
    )
    four = np.repeat(np.arange(400), 4)
    copies = Predictions.from_arrays(single.outcome[four], single.score[four], group=four).view()
    for rows, at, effect in ((single, np.arange(400), 1.0), (copies, four, 4.0)):
        without = auc_difference(rows, contribution[at], other[at])
        estimate = auc_difference(rows, contribution[at], other[at], added_variance=1e-4)
        halves = [one.high - one.value for one in (without, estimate)]
        added = halves[1] ** 2 - halves[0] ** 2
        # The variance of copies is 4 times as large, up to n / (n - 1) of clusters and of rows.
        assert added == pytest.approx(1.959964**2 * 1e-4 * effect, rel=3e-3)


def test_bounds_of_a_difference_stay_within_what_areas_can_differ_by():
    outcome = np.array([0, 1, 0, 1, 0, 1])
    rows = Predictions.from_arrays(outcome, [0.1, 0.9, 0.2, 0.3, 0.8, 0.7]).view()
    right, wrong = (
        contributions(rows, np.array(s))
        for s in ([0.1, 0.9, 0.2, 0.8, 0.6, 0.7], [0.9, 0.1, 0.2, 0.3, 0.8, 0.7])
    )
    up, down = auc_difference(rows, right, wrong), auc_difference(rows, wrong, right)
    assert (up.high, down.low) == (1.0, -1.0)
    assert up.low == -down.high > -1.0


def test_folds_are_ranked_apart_and_count_by_their_pairs():
    rng = np.random.default_rng(6)
    score, outcome = rng.random(90).round(1), rng.random(90) < 0.4
    weight, fold = rng.uniform(0.5, 2.0, 90), np.repeat([0, 1, 2, 3], [20, 30, 30, 10])
    outcome[80:] = True  # This fold has only one class.
    rows = Predictions.from_arrays(outcome, score, weight).view()
    pairs = areas = 0.0
    for number in range(3):
        y, s, w = (array[fold == number] for array in (outcome, score, weight))
        n_pairs = w[y].sum() * w[~y].sum()
        pairs, areas = (
            pairs + n_pairs,
            areas + n_pairs * roc_auc_score(y, s, sample_weight=w),
        )
    result = row_auc_within(rows, fold)
    assert weight @ result / weight.sum() == pytest.approx(areas / pairs)
    assert (result[80:] == 0.0).all()
    assert np.isnan(row_auc_within(rows.rows(np.arange(80, 90)), np.zeros(10))).all()

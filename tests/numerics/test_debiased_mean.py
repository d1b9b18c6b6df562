"""The debiased mean against refitted lines, PPI++ against ppi-python, kappa against its papers."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binomtest
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score

from calib.numerics.debiased_mean import (
    debiased_mean,
    exact_interval,
    kappa,
    logit_interval,
    prediction_powered_mean,
)
from tests.rare import rare

# Results of ppi_mean_pointestimate and ppi_mean_ci(alpha=0.05) of ppi-python 0.2.3 on the data of
# `judged`: seed, labels, other rows, effect, pass rate; estimate, lower and upper bound. The weight
# is at its upper end, inside, and at its lower end.
PPI_PYTHON = [
    (1, 50, 400, 0.5, 0.5, 0.39625499999999997, 0.30553165364119667, 0.48697834635880327),
    (2, 80, 1000, 0.8, 0.9, 0.9282899695058969, 0.8833745816512087, 0.9732053573605851),
    (3, 60, 100, -0.4, 0.6, 0.5833333333333334, 0.4585877316869159, 0.7080789349797508),
]


def judged(seed, n, n_others, effect, rate):
    """Outcomes and scores, of which the first n are labelled."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n + n_others) < rate).astype(float)
    m = np.clip(0.5 + effect * (y - 0.5) + 0.3 * rng.standard_normal(n + n_others), 0, 1)
    return y, m.round(3)


def labelled(y, n):
    return np.where(np.arange(len(y)) < n, y, np.nan)


@pytest.mark.parametrize("case", PPI_PYTHON)
def test_ppi_is_that_of_ppi_python(case):
    y, m = judged(*case[:5])
    n = case[1]
    estimate, _ = prediction_powered_mean(y[:n], m[:n], m[n:])
    np.testing.assert_allclose(
        [estimate.value, estimate.low, estimate.high], case[5:], rtol=0, atol=1e-12
    )


def test_a_weight_of_0_is_the_mean_of_the_labels_and_of_1_is_ppi():
    y, m = judged(1, 50, 400, 0.5, 0.5)
    assert prediction_powered_mean(y[:50], m[:50], m[50:], weight=0.0)[0].value == y[:50].mean()
    one = prediction_powered_mean(y[:50], m[:50], m[50:], weight=1.0)[0].value
    assert one == pytest.approx(m[50:].mean() + (y[:50] - m[:50]).mean(), abs=1e-15)


def test_equal_scores_get_no_weight():
    y = np.array([1.0, 0.0, 1.0])
    assert prediction_powered_mean(y, np.full(3, 0.7), np.full(5, 0.7))[1] == 0.0


def variance_by_refits(y, m, n, group):
    """Squared standard error, from a line that is fitted again without each cluster."""
    slope = np.polyfit(m[:n], y[:n], 1)[0]
    sums = {}
    for i in range(len(m)):
        part = slope * (m[i] - m.mean()) / len(m)
        if i < n:
            others = (group[:n] != group[i]).nonzero()[0]
            part += (y[i] - np.polyval(np.polyfit(m[others], y[others], 1), m[i])) / n
        sums[group[i]] = sums.get(group[i], 0.0) + part
    return sum(value**2 for value in sums.values())


@pytest.mark.parametrize("size", [1, 4])
def test_the_mean_is_of_a_line_and_its_error_of_lines_without_each_cluster(size):
    y, m = judged(1, 60, 100, 0.5, 0.6)
    group = np.arange(160) // size
    fit = debiased_mean(m, labelled(y, 60), None if size == 1 else group)
    slope, intercept = np.polyfit(m[:60], y[:60], 1)
    assert fit.slope == pytest.approx(slope)
    assert fit.estimate.value == pytest.approx(intercept + slope * m.mean())
    # Clusters end where the labels end, so residuals and scores are in the same clusters.
    assert fit.error**2 == pytest.approx(variance_by_refits(y, m, 60, group))
    assert fit.n_units == 60 // size
    mean, error = fit.estimate.value, fit.error
    half = student.ppf(0.975, fit.n_units - 2) * error / (mean * (1 - mean))
    for bound, sign in ((fit.estimate.low, -1), (fit.estimate.high, 1)):
        assert math.log(bound / (1 - bound)) == pytest.approx(
            math.log(mean / (1 - mean)) + sign * half
        )


def test_each_row_a_cluster_is_no_clusters():
    y, m = judged(2, 80, 100, 0.5, 0.6)
    plain, rows = (debiased_mean(m, labelled(y, 80), g) for g in (None, np.arange(180)[::-1]))
    assert rows.error == pytest.approx(plain.error, rel=1e-12)
    assert rows.estimate.low == pytest.approx(plain.estimate.low, rel=1e-12)


def test_copied_rows_in_clusters_are_not_more_evidence():
    y, m = judged(2, 80, 100, 0.5, 0.6)
    outcome = labelled(y, 80)
    once = debiased_mean(m, outcome)
    thrice = debiased_mean(np.tile(m, 3), np.tile(outcome, 3), np.tile(np.arange(180), 3))
    assert thrice.error == pytest.approx(once.error)
    assert thrice.estimate.high == pytest.approx(once.estimate.high)


def test_the_unit_of_the_scores_and_the_order_of_the_rows_do_not_matter():
    y, m = judged(2, 80, 100, 0.5, 0.6)
    outcome, order = labelled(y, 80), np.random.default_rng(0).permutation(180)
    one = debiased_mean(m, outcome).estimate
    for other in (debiased_mean(3 - 7 * m, outcome), debiased_mean(m[order], outcome[order])):
        assert other.estimate.value == pytest.approx(one.value)
        assert other.estimate.low == pytest.approx(one.low)


def test_equal_scores_leave_the_mean_of_the_labels():
    fit = debiased_mean(np.full(100, 0.7), labelled(np.tile([0.0, 1.0, 1.0, 1.0], 25), 40))
    assert fit.slope == 0.0
    assert fit.estimate.value == 0.75
    assert fit.score_variance == 0.0


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_equal_labels_have_the_exact_interval(label):
    y, m = judged(2, 50, 100, 0.5, 0.6)
    mean = debiased_mean(m, labelled(np.full(len(y), label), 50)).estimate
    exact = binomtest(int(50 * label), 50).proportion_ci(method="exact")
    assert mean.value == label
    np.testing.assert_allclose([mean.low, mean.high], [exact.low, exact.high])


def test_a_judge_without_a_contradiction_may_still_be_wrong():
    """The squared residuals add up to at least 1, so that 50 agreeing labels prove little."""
    y = np.tile([0.0, 1.0], 5000)
    fit = debiased_mean(y, labelled(y, 50))
    assert fit.label_variance == pytest.approx(1 / 50)
    assert 0.03 < fit.estimate.high - fit.estimate.value < 0.06


def two_rates(rng, n_labels):
    """Rows of a judge that is right in 99%, at a pass rate of 0.97."""
    passed = rng.random(2000) < 0.97
    score = np.where(rng.random(2000) < 0.99, passed, ~passed).astype(float)
    return score, labelled(passed.astype(float), n_labels)


def test_two_scores_have_the_interval_of_two_rates():
    score, outcome = two_rates(np.random.default_rng(3), 200)
    fit, known = debiased_mean(score, outcome), ~np.isnan(outcome)
    squares = np.full(2, student.ppf(0.975, np.inf) ** 2 * fit.score_variance)
    total = 0.0
    for value in (0.0, 1.0):
        share, of = (score == value).mean(), outcome[known & (score == value)]
        rate, ends = of.mean(), beta(of.sum() + 0.5, len(of) - of.sum() + 0.5)
        low, high = (
            (0.0 if rate == 0.0 else ends.ppf(0.025)),
            (1.0 if rate == 1.0 else ends.ppf(0.975)),
        )
        squares += np.square(share * (np.array([low, high]) - rate))
        total += share * rate
    assert fit.estimate.value == pytest.approx(total)
    wider = student.ppf(0.975, 198) / student.ppf(0.975, np.inf)
    expected = np.clip(total + np.array([-1.0, 1.0]) * wider * np.sqrt(squares), 0.0, 1.0)
    np.testing.assert_allclose([fit.estimate.low, fit.estimate.high], expected)


@rare
@pytest.mark.parametrize("n_labels", [50, 100, 200])
def test_a_judge_that_is_nearly_always_right_leaves_the_truth_in_the_interval(n_labels):
    rng, inside = np.random.default_rng(n_labels), 0
    for _ in range(500):
        fit = debiased_mean(*two_rates(rng, n_labels))
        inside += fit.estimate.low <= 0.97 <= fit.estimate.high
    # A share of 94% has a standard error of 1.1 points.
    assert inside >= 0.94 * 500


def test_fewer_than_three_labels_are_refused(texts):
    with texts.raises(ValueError):
        debiased_mean(np.linspace(0, 1, 9), labelled(np.ones(9), 2))


def test_a_mean_of_0_or_1_has_a_finite_interval():
    low, high = logit_interval(1.0, 0.01, 50, 0.95)
    assert 0.5 < low < 0.99 < high == 1.0


def test_the_exact_interval_is_that_of_scipy():
    for successes, n in ((0, 10), (3, 29), (29, 29)):
        exact = binomtest(successes, n).proportion_ci(0.9, method="exact")
        np.testing.assert_allclose(exact_interval(successes / n, n, 0.9), [exact.low, exact.high])


def table(both, first, second, neither):
    counts = (both, first, second, neither)
    return (
        np.repeat([True, True, False, False], counts),
        np.repeat([True, False, True, False], counts),
    )


@pytest.mark.parametrize("counts", [(45, 15, 25, 15), (25, 35, 5, 35), (10, 0, 2, 90)])
def test_kappa_and_the_variance_of_fleiss_cohen_and_everitt(counts):
    """Their equation 13, written out for two classes, of a table with a row more in each cell."""
    estimate = kappa(*table(*counts), confidence_level=0.9)
    assert estimate.value == pytest.approx(cohen_kappa_score(*table(*counts)))
    n, k = sum(counts) + 4, cohen_kappa_score(*table(*(one + 1 for one in counts)))
    p = (np.array(counts, dtype=float).reshape(2, 2) + 1) / n
    row, column = p.sum(1), p.sum(0)
    chance = float(row @ column)
    a = sum(p[i, i] * (1 - (row[i] + column[i]) * (1 - k)) ** 2 for i in range(2))
    b = (1 - k) ** 2 * sum(p[i, 1 - i] * (column[i] + row[1 - i]) ** 2 for i in range(2))
    variance = (a + b - (k - chance * (1 - k)) ** 2) / ((1 - chance) ** 2 * (n - 1))
    half = student.ppf(0.95, n - 1) * math.sqrt(variance)
    np.testing.assert_allclose([estimate.low, estimate.high], [k - half, min(k + half, 1)])


def test_kappa_of_copied_rows_in_clusters_has_the_same_interval():
    first, second = table(45, 15, 25, 15)
    once = kappa(first, second)
    thrice = kappa(np.tile(first, 3), np.tile(second, 3), np.tile(np.arange(100), 3))
    assert thrice.low == pytest.approx(once.low)
    assert thrice.high == pytest.approx(once.high)


def test_full_agreement_is_no_proof():
    estimate = kappa(*table(25, 0, 0, 25))
    assert estimate.value == estimate.high == 1.0
    assert 0.75 < estimate.low < 0.85


def test_a_constant_judge_has_kappa_0_and_one_answer_for_all_has_none():
    assert kappa(*table(40, 10, 0, 0)).value == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(kappa(*table(50, 0, 0, 0)).value)
    assert kappa(*table(0, 25, 25, 0)).value == -1.0

"""Errors of every class, where scores are tied, weighted, on edges, or all certain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calib.data.predictions import Predictions
from calib.data.views import ScoreMatrix
from calib.metrics import expected_calibration_error, ks_error
from calib.metrics.by_class import class_errors, class_table


def classwise(rows, **options):
    matrix = ScoreMatrix(rows.score_matrix, rows.outcome, rows.weight, rows.group)
    return class_table(matrix, rows.class_names, **options)


@given(st.data(), st.sampled_from([1, 2, 5, 15]))
def test_same_as_the_binary_metrics(data, n_bins):
    n, m = data.draw(st.integers(1, 30)), data.draw(st.integers(2, 4))
    counts = st.lists(st.integers(0, 5), min_size=m, max_size=m).filter(any)
    rows = np.array(data.draw(st.lists(counts, min_size=n, max_size=n)), dtype=float)
    # There are many ties, and many scores on the edges of bins.
    scores = rows / rows.sum(axis=1, keepdims=True)
    label = np.array(data.draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n)))
    weight = np.array(data.draw(st.lists(st.floats(0.1, 9.0), min_size=n, max_size=n)))
    for used in (None, weight):
        result = class_errors(ScoreMatrix(scores, label, used), n_bins)
        for k in range(m):
            y, s = label == k, scores[:, k]
            ece = expected_calibration_error(y, s, sample_weight=used, n_bins=n_bins)
            assert result.ece[k] == pytest.approx(ece, abs=1e-12)
            assert result.ks[k] == pytest.approx(ks_error(y, s, sample_weight=used), abs=1e-12)


def test_the_noise_floor_is_the_mean_ece_of_calibrated_classes():
    rng = np.random.default_rng(3)
    scores = rng.dirichlet([6.0, 3.0, 0.8, 0.02], 400)
    values = [
        class_errors(
            ScoreMatrix(scores, (scores.cumsum(axis=1) > rng.random(400)[:, None]).argmax(1)), 15
        )
        for _ in range(400)
    ]
    expected = np.mean([errors.ece for errors in values], axis=0)
    np.testing.assert_allclose(values[0].ece_noise_floor[:3], expected[:3], rtol=0.05)
    np.testing.assert_allclose(values[0].ece_noise_floor, expected, rtol=0.25)


@pytest.mark.parametrize("by_cluster", [False, True])
def test_the_errors_of_a_class_by_loops_over_its_rows(by_cluster):
    rng = np.random.default_rng(4)
    scores = rng.dirichlet([2.0, 1.0, 0.5], 80).round(1)
    scores /= scores.sum(axis=1, keepdims=True)
    label, weight = rng.integers(0, 3, 80), rng.uniform(0.5, 2.0, 80)
    group = rng.integers(0, 9, 80) if by_cluster else None
    result = class_errors(ScoreMatrix(scores, label, weight, group), 4)
    share = weight / weight.sum()
    for k in range(3):
        y, s = label == k, scores[:, k]
        variance = share**2 @ (s * (1 - s))
        assert result.base_rate[k] == pytest.approx(share @ y)
        assert result.mean_score[k] == pytest.approx(share @ s)
        assert result.sigma[k] == pytest.approx(np.sqrt(variance))
        effect, residual = 1.0, share * (y - s)
        if by_cluster:
            pairs = sum(
                residual[i] * residual[j]
                for i in range(80)
                for j in range(80)
                if i != j and group[i] == group[j]
            )
            effect = max(1.0, 1.0 + pairs / variance)
        assert result.effect[k] == pytest.approx(effect)
        floor = 0.0
        for low, high in ((-1.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)):
            inside = (s > low) & (s <= high)
            normal = np.sqrt(2 / np.pi * (share[inside] ** 2 @ (s[inside] * (1 - s[inside]))))
            floor += min(normal, 2 * share[inside] @ s[inside])
        assert result.ece_noise_floor[k] == pytest.approx(floor * np.sqrt(effect))


def test_certain_scores_of_clusters_have_no_design_effect():
    scores = np.eye(2)[[0, 1] * 10]
    rows = ScoreMatrix(scores, np.zeros(20, dtype=int), None, np.arange(20) // 5)
    result = class_errors(rows, 4)
    assert result.effect.tolist() == [1.0, 1.0]


def test_worst_class_first_with_its_evidence():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([2.0, 2.0, 2.0], 3000)
    true = scores * [1.0, 1.0, 0.3]  # Class 2 occurs far less often than predicted.
    true /= true.sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) > rng.random(3000)[:, None]).argmax(axis=1)
    names = ("red", "green", "blue")
    frame = classwise(Predictions.from_arrays(label, scores, class_names=names)).frame()
    assert frame["class"].iloc[0] == "blue"
    assert frame.index[0] == 2
    assert frame["bias"].iloc[0] < -0.1
    assert frame["p_value"].iloc[0] < 1e-9
    assert frame["n_rows"].sum() == 3000


@pytest.mark.parametrize("concentration", [0.02, 0.2])
def test_calibrated_classes_are_seldom_called_off(concentration):
    # If scores are near 0 or 1, few rows are uncertain, of rare classes too.
    rng = np.random.default_rng(1)
    values = []
    for _ in range(300):
        scores = rng.dirichlet(concentration * np.array([60.0, 30.0, 8.0, 1.0]), 400)
        label = (scores.cumsum(axis=1) > rng.random(400)[:, None]).argmax(axis=1)
        values.append(classwise(Predictions.from_arrays(label, scores)).p_value)
    share = (np.array(values) < 0.05).mean()
    assert share < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1200)


def test_holm_over_the_classes_that_are_judged():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([8.0, 4.0, 3.0, 0.05], 1000)
    label = (scores.cumsum(axis=1) > rng.random(1000)[:, None]).argmax(axis=1)
    table = classwise(Predictions.from_arrays(label, scores))
    judged = ~table.few
    expected = holm(table.p_value[judged])
    assert table.index[table.few].tolist() == [3]
    assert np.isnan(table.p_adjusted[table.few]).all()
    assert table.p_adjusted[judged] == pytest.approx(expected)


def holm(p_value):
    """Holm's adjustment in the words of its definition."""
    order = np.sort(p_value)
    return [
        min(1.0, max((len(order) - j) * order[j] for j in range(np.searchsorted(order, p) + 1)))
        for p in p_value
    ]


def test_a_class_that_never_comes_but_is_expected_is_judged():
    scores = np.tile([0.6, 0.3, 0.1], (500, 1))
    label = np.tile([0, 0, 1], 167)[:500]
    table = classwise(Predictions.from_arrays(label, scores))
    place = table.index.tolist().index(2)
    assert not table.few[place]
    assert table.p_adjusted[place] < 1e-9
    assert table.bias[place] == pytest.approx(-0.1)


def clustered(rng, n_clusters, size, *, n_classes=4):
    """Calibrated rows of clusters that share half of what decides their scores and their class."""
    group = np.repeat(np.arange(n_clusters), size)

    def shared():
        noise = rng.normal(size=(len(group), n_classes))
        return np.sqrt(0.5) * (rng.normal(size=(n_clusters, n_classes))[group] + noise)

    log_odds = 1.5 * shared()
    scores = np.exp(log_odds) / np.exp(log_odds).sum(axis=1, keepdims=True)
    gumbel = -np.log(-np.log(norm.cdf(shared())))
    return (log_odds + gumbel).argmax(axis=1), scores, group


def test_calibrated_clusters_are_seldom_called_off():
    rng, by_cluster, unnamed = np.random.default_rng(5), [], []
    for _ in range(75):
        label, scores, group = clustered(rng, 300, 10)
        by_cluster.append(classwise(Predictions.from_arrays(label, scores, group=group)).p_value)
        unnamed.append(classwise(Predictions.from_arrays(label, scores)).p_value)
    # The tolerance is for 5% of 300, with a standard deviation of 1.3%.
    assert np.mean(np.array(by_cluster) < 0.05) < 0.085
    assert np.mean(np.array(unnamed) < 0.05) > 0.15


def test_wrong_classes_of_clusters_are_found():
    label, scores, group = clustered(np.random.default_rng(0), 300, 10)
    wrong = scores**2 / (scores**2).sum(axis=1, keepdims=True)
    table = classwise(Predictions.from_arrays(label, wrong, group=group))
    assert (table.p_adjusted < 0.01).all()


def test_few_clusters_have_no_p_value():
    rng = np.random.default_rng(0)
    for n_clusters in (1, 6):
        label, scores, group = clustered(rng, n_clusters, 60)
        rows = Predictions.from_arrays(label, scores, group=group)
        assert np.isnan(classwise(rows).p_value).all()


def test_few_rows_have_no_p_value():
    table = classwise(Predictions.from_arrays([0, 1], [[0.5, 0.5], [0.2, 0.8]]))
    assert np.isnan(table.p_value).all()


def test_n_bins_must_be_positive(texts):
    with texts.raises(ValueError):
        classwise(Predictions.from_arrays([0, 1], [0.5, 0.8]), n_bins=0)


def constant(n, score, positives, **more):
    """Binary rows of one score, the first of which are positive."""
    return Predictions.from_arrays(np.arange(n) < positives, np.full(n, score), **more)


def p_value_of(rows):
    table = classwise(rows)
    # The two classes of a binary problem have opposite gaps.
    assert table.p_value[0] == pytest.approx(table.p_value[1], rel=1e-9)
    return table.p_value[0]


def beyond(x):
    """P(sup |B| > x) of Brownian motion on [0, 1], by reflection."""
    return 4 * sum((-1) ** k * norm.cdf(-(2 * k + 1) * x) for k in range(20))


def freedman(gap, variance, largest):
    return min(1.0, 2 * np.exp(-(gap**2) / (2 * (variance + largest * gap / 3))))


@pytest.mark.parametrize(
    ("score", "variance", "by_limit"), [(0.5, 25.5, True), (0.425, 24.9262, False)]
)
def test_rows_in_doubt_worth_25_coin_flips_have_the_limit_and_fewer_the_bound(
    score, variance, by_limit
):
    n, positives = 102, 61
    gap = (positives - n * score) / n
    sigma = np.sqrt(n * score * (1 - score)) / n
    assert (n * sigma) ** 2 == pytest.approx(variance, abs=1e-3)
    expected = beyond(gap / sigma) if by_limit else freedman(gap, sigma**2, 1 / n)
    assert p_value_of(constant(n, score, positives)) == pytest.approx(expected, rel=1e-9)


def test_a_bound_on_a_p_value_is_at_most_1():
    assert p_value_of(constant(102, 0.425, 43)) == 1.0


def test_classes_have_15_bins_unless_another_number_is_asked_for():
    rows = constant(20, 0.5, 10)
    assert (classwise(rows).n_bins, classwise(rows, n_bins=4).n_bins) == (15, 4)


def test_a_heavy_row_is_a_large_step():
    weight = np.where(np.arange(400) == 0, 10.0, 1.0)
    share = weight / 409.0
    gap = share[:244].sum() - 0.5
    expected = freedman(gap, 0.25 * (share**2).sum(), 10.0 / 409.0)
    assert 0.01 < expected < 0.1
    result = p_value_of(constant(400, 0.5, 244, sample_weight=weight))
    assert result == pytest.approx(expected, rel=1e-9)


def test_a_hundred_rows_have_a_p_value_and_99_have_none():
    assert p_value_of(constant(100, 0.4, 60)) < 0.01
    assert np.isnan(classwise(constant(99, 0.4, 60)).p_value).all()


@pytest.mark.parametrize(("n_clusters", "judged"), [(102, True), (98, False)])
def test_clusters_in_doubt_count_as_25_coin_flips_too(n_clusters, judged):
    # Clusters have three equal rows, and half of them are positive: 3 times the variance, and no
    # gap.
    group = np.repeat(np.arange(n_clusters), 3)
    rows = constant(3 * n_clusters, 0.5, 3 * n_clusters // 2, group=group)
    assert np.isfinite(classwise(rows).p_value).tolist() == [judged, judged]


@pytest.mark.parametrize(
    ("came", "expected", "few"), [(30, 5, False), (5, 30, False), (29, 29, True)]
)
def test_a_class_of_which_30_rows_came_or_were_expected_is_judged(came, expected, few):
    # There are 256 rows. The mean score is a little higher, because sums of shares are rounded.
    table = classwise(constant(256, (expected + 1e-6) / 256, came))
    assert dict(zip(table.index.tolist(), table.few.tolist(), strict=True)) == {0: False, 1: few}

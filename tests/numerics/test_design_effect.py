import numpy as np
import pytest
from scipy.stats import chi2

from calib.numerics.resampling import ClusterSums, DesignEffect, design_effect


def drawn(rng, n_clusters, size, shared):
    """Rows of three standard normal numbers; a cluster shares part of some of them."""
    common = rng.normal(size=(n_clusters, 1, 3)) * np.sqrt(shared)
    separate = rng.normal(size=(n_clusters, size, 3)) * np.sqrt(1.0 - np.asarray(shared))
    return common + separate


def effect_of(rows):
    flat = rows.reshape(-1, rows.shape[-1])
    scale = len(flat) * np.eye(rows.shape[-1])
    return design_effect(scale, scale, ClusterSums(rows.sum(axis=1), flat.T @ flat, len(rows)))


@pytest.mark.parametrize("shared", [(0.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.9, 0.0, 0.0)])
def test_it_is_what_the_covariance_of_the_sum_says(shared):
    effect = effect_of(drawn(np.random.default_rng(0), 20_000, 8, shared))
    spread = 1.0 + 7.0 * np.array(shared)
    assert effect.mean == pytest.approx(spread.mean(), rel=0.03)
    assert effect.freedom == pytest.approx(spread.sum() ** 2 / (spread @ spread), rel=0.03)


def test_freedom_and_mean_stay_within_their_bounds():
    rng = np.random.default_rng(1)
    for _ in range(50):
        effect = effect_of(drawn(rng, 4, 2, (0.0, 0.0, 0.0)))
        assert effect.mean >= 1.0 - 1e-12
        assert 1.0 <= effect.freedom <= 3.0


def test_units_of_the_moments_play_no_part():
    rows = drawn(np.random.default_rng(2), 50, 4, (0.3, 0.0, 0.6))
    mixed = rows @ np.array([[1.0, 0.2, 0.0], [0.0, 10.0, 0.0], [3.0, 0.0, 0.01]])
    flat = mixed.reshape(-1, 3)
    scale = 200 * np.linalg.multi_dot([flat.T, flat]) / 200
    plain = rows.reshape(-1, 3)
    known = plain.T @ plain
    same = design_effect(known, known, ClusterSums(rows.sum(axis=1), known, 50))
    effect = design_effect(scale, scale, ClusterSums(mixed.sum(axis=1), flat.T @ flat, 50))
    assert effect.mean == pytest.approx(same.mean)
    assert effect.freedom == pytest.approx(same.freedom)


def test_many_clusters_of_even_effect_give_a_scaled_chi_square():
    effect = DesignEffect(2.0, 3.0, 3, 100_000)
    assert effect.p_value(16.0) == pytest.approx(chi2.sf(8.0, 3), rel=1e-3)
    assert effect.of_independent_rows(16.0) == pytest.approx(8.0)


def test_an_uneven_effect_is_taken_back_to_the_mean_and_variance_of_independent_rows():
    # If only one of four directions varies, 8 chi-square(1) corresponds to
    # 8 + 4 (chi-square(4) - 4).
    effect = DesignEffect(2.0, 1.0, 4, 100)
    assert effect.of_independent_rows(8.0 + 2.0 * 2.0 * 3.0) == pytest.approx(4.0 + 3.0)


def test_freedom_of_a_few_clusters_is_that_of_their_pairs():
    rng = np.random.default_rng(4)
    sums = rng.normal([2.0, 0.0, 0.0], size=(4, 3))
    pairs = [(one, two) for one in range(4) for two in range(4) if one != two]
    between = sum(sums[i] @ sums[i] * (sums[j] @ sums[j]) for i, j in pairs)
    aligned = sum((sums[i] @ sums[j]) ** 2 for i, j in pairs)
    effect = design_effect(np.eye(3), np.eye(3), ClusterSums(sums, np.eye(3), 4))
    assert 1.0 < effect.freedom < 3.0
    assert effect.freedom == pytest.approx(between / aligned, rel=1e-12)


def test_two_clusters_have_a_p_value_and_one_has_none():
    # F has one degree of freedom in numerator and denominator, so P(F > x) is
    # 1 - 2 atan(sqrt(x)) / pi.
    expected = 1.0 - 2.0 * np.arctan(np.sqrt(3.0)) / np.pi
    assert DesignEffect(2.0, 1.0, 1, 2).p_value(6.0) == pytest.approx(expected)
    assert np.isnan(DesignEffect(2.0, 1.0, 1, 1).p_value(6.0))


def test_independent_rows_are_corrected_by_the_eigenvalues():
    rng = np.random.default_rng(5)
    scale, variance = (np.cov(rng.normal(size=(3, 20)) * [[1.0], [3.0], [0.2]]) for _ in range(2))
    spread = np.linalg.eigvals(np.linalg.solve(scale, variance)).real
    effect = design_effect(scale, variance)
    assert effect.mean == pytest.approx(spread.mean())
    assert effect.freedom == pytest.approx(spread.sum() ** 2 / (spread @ spread))
    x = 4.0 * spread.mean()
    assert effect.p_value(3.0 * x) == pytest.approx(
        chi2.sf(4.0 * effect.freedom, effect.freedom), rel=1e-9
    )
    # The mean of a known variance may be below 1; clusters only add to it.
    assert design_effect(scale, 0.25 * scale).mean == pytest.approx(0.25)
    none = ClusterSums(np.zeros((4, 3)), np.zeros((3, 3)), 4)
    assert design_effect(scale, variance, none).mean == pytest.approx(effect.mean)

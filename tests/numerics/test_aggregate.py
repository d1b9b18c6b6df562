"""Buckets keep every sum, and their number within bounds."""

import numpy as np
import pytest

from calib.numerics.few_cells import into_buckets


@pytest.mark.parametrize("shape", [(1.0, 1.0), (0.05, 0.05), (20.0, 1.0)])
def test_sums_are_kept(shape):
    rng = np.random.default_rng(0)
    x = np.sort(rng.beta(*shape, 20_000))
    weight = rng.random(20_000) + 0.1
    positive = weight * (rng.random(20_000) < 0.3)
    buckets = into_buckets(x, weight, positive, 500)
    assert len(buckets.x) <= 500
    assert buckets.weight.sum() == pytest.approx(weight.sum(), rel=1e-12)
    assert buckets.positive.sum() == pytest.approx(positive.sum(), rel=1e-12)
    assert buckets.x @ buckets.weight == pytest.approx(x @ weight, rel=1e-12)
    assert np.diff(buckets.x).min() >= -1e-15  # in order, up to the rounding of means


def test_neither_a_peak_nor_a_tail_is_lumped_together():
    x = np.concatenate([np.linspace(0.0, 1e-3, 9_000), np.linspace(0.01, 1.0, 1_000)])
    buckets = into_buckets(x, np.ones(10_000), np.zeros(10_000), 200)
    assert buckets.weight.max() <= 110
    assert np.diff(buckets.x).max() <= 0.02


def test_few_cells_stay_as_they_are():
    x = np.array([0.1, 0.1, 0.2])
    buckets = into_buckets(x, np.ones(3), np.zeros(3), 3)
    assert buckets.x.tolist() == [0.1, 0.1, 0.2]

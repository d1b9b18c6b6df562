"""Buckets keep every sum, and their number within bounds."""

import numpy as np
import pytest

from calib.numerics.few_cells import bucket_starts, into_buckets


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
    assert np.diff(buckets.x).min() >= -1e-15  # Means are rounded.


def test_neither_a_peak_nor_a_tail_is_lumped_together():
    x = np.concatenate([np.linspace(0.0, 1e-3, 9_000), np.linspace(0.01, 1.0, 1_000)])
    buckets = into_buckets(x, np.ones(10_000), np.zeros(10_000), 200)
    assert buckets.weight.max() <= 110
    assert np.diff(buckets.x).max() <= 0.02


def test_few_cells_stay_as_they_are():
    x = np.array([0.1, 0.1, 0.2])
    buckets = into_buckets(x, np.ones(3), np.zeros(3), 3)
    assert buckets.x.tolist() == [0.1, 0.1, 0.2]


def test_half_of_the_cuts_are_even_and_half_hold_equal_weight():
    rng = np.random.default_rng(3)
    x = np.sort(rng.beta(0.3, 1.0, 300).round(3))
    weight = rng.integers(1, 4, 300)
    reached = np.cumsum(weight)
    expected = set()
    for j in range(10):
        expected.add(int(np.flatnonzero(x >= x[0] + (x[-1] - x[0]) * (j / 10))[0]))
        # Whole numbers find the cell in which the j-th tenth of the rows ends without rounding.
        expected.add(int(np.flatnonzero(10 * reached > j * reached[-1])[0]))
    for unit in (1.0, 0.1, 1 / 3):
        assert bucket_starts(x, weight * unit, 20).tolist() == sorted(expected)
    assert bucket_starts(x, np.ones(300), 300).tolist() == list(range(300))
    assert len(bucket_starts(x, np.ones(300), 299)) < 300
    nearly_0 = np.arange(793) * 5e-324 * 1000
    starts = bucket_starts(nearly_0, np.ones(793), 512)
    assert starts[0] == 0
    assert starts[-1] < 793


def test_a_bucket_is_at_the_mean_of_its_cells_and_a_single_cell_stays_where_it_is():
    rng = np.random.default_rng(4)
    x, weight = np.sort(rng.random(60)) ** 8, rng.random(60) + 0.1
    square = rng.random(60)
    buckets = into_buckets(x, weight, weight * (np.arange(60) % 3 == 0), 40)
    ends = np.append(buckets.starts[1:], 60)
    rows = buckets.row_weight(square)
    alone = 0
    for at, (start, end) in enumerate(zip(buckets.starts, ends, strict=True)):
        inside = slice(start, end)
        assert buckets.x[at] == pytest.approx(
            np.average(x[inside], weights=weight[inside]), rel=1e-14
        )
        assert rows[at] == pytest.approx(square[inside].sum() / weight[inside].sum())
        if end - start == 1:
            alone += 1
            assert buckets.x[at] == x[start]
    assert 0 < alone < len(buckets.x)

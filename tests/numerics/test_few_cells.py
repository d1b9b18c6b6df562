"""Buckets of neighbouring cells: their means stay within them."""

import numpy as np

from calib.numerics.few_cells import bucket_means, bucket_starts, into_buckets


def test_no_mean_is_outside_of_its_bucket():
    rng = np.random.default_rng(2)
    for _ in range(200):
        n = int(rng.integers(2, 400))
        # Neighbours differ by a few roundings, so the mean of most buckets is at an end of them.
        x = np.cumsum(rng.choice([0.0, 2.0**-54, 0.01], n)) + rng.random()
        weight = rng.lognormal(0.0, 2.0, n)
        starts = bucket_starts(x, weight, 8)
        mean = bucket_means(x, weight, starts)
        last = x[np.append(starts[1:], n) - 1]
        assert (mean >= x[starts]).all()
        assert (mean <= last).all()
        exact = np.add.reduceat(weight * x, starts) / np.add.reduceat(weight, starts)
        np.testing.assert_allclose(mean, exact, rtol=1e-14)
        if n > 8:
            np.testing.assert_array_equal(into_buckets(x, weight, weight, 8).x, mean)

"""Isotonic fits of unsorted rows against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib.numerics import isotonic
from calib.numerics.isotonic import isotonic_steps, shrink_certain
from tests.rare import rare

ROWS = st.lists(
    st.tuples(st.integers(0, 64), st.booleans(), st.sampled_from([1.0, 1.0, 2.0, 0.3])),
    min_size=1,
    max_size=80,
)


def test_blocks_that_are_equal_up_to_rounding_are_one():
    # 0.1 + 0.2 of 0.9 is above 1/3 by rounding, and 0.3 of 0.9 is 1/3.
    weight = np.full(4, 0.45)
    positive = np.array([0.15, 0.15, 0.1 + 0.05, 0.15 * (1.0 + 2.0**-52)])
    first, last, rate, total = isotonic_steps(np.array([0.1, 0.2, 0.3, 0.4]), positive, weight)
    assert (first.tolist(), last.tolist()) == ([0.1], [0.4])
    assert rate == pytest.approx([1 / 3])
    assert total == pytest.approx([1.8])


def assert_is_the_fit(score, positive, weight):
    first, last, rate, total = isotonic_steps(score, positive, weight)
    fitted = IsotonicRegression().fit(score, positive / weight, weight)
    at = np.searchsorted(last, score)
    assert rate[at] == pytest.approx(fitted.predict(score), abs=1e-12)
    assert (first[at] <= score).all()
    assert total == pytest.approx(np.bincount(at, weight), rel=1e-12)
    assert set(first) | set(last) <= set(score)


@pytest.mark.parametrize("buckets", [4, 16, 65_536])
@given(rows=ROWS)
def test_buckets_do_not_change_the_fit(buckets, rows):
    score, y, weight = map(np.array, zip(*rows, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isotonic, "N_BUCKETS", buckets)
        assert_is_the_fit(score / 64, y * weight, weight)
        assert_is_the_fit(score / 64, y.astype(float), np.ones(len(y)))


@rare
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows(weighted):
    rng = np.random.default_rng(0)
    score = rng.random(200_000)
    weight = rng.random(len(score)) + 0.5 if weighted else np.ones(len(score))
    assert_is_the_fit(score, weight * (rng.random(len(score)) < score**2), weight)


def test_a_rate_is_certain_up_to_the_rounding_of_its_weights():
    rates, weights = np.array([1e-16, 0.2, 1.0 - 2.0**-53]), np.array([8.0, 5.0, 1.0])
    exact = shrink_certain(np.array([0.0, 0.2, 1.0]), weights, 0.5)
    np.testing.assert_array_equal(shrink_certain(rates, weights, 0.5), exact)

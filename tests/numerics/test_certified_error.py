"""Certified error rates: against MAPIE, and against the binomial distribution of SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from calib.numerics.monitoring import (
    certified,
    certified_range,
    decimal_between,
    error_bound,
    first_tested_count,
    most_errors,
    smallest_passing_count,
)

# How many thresholds passed in BinaryClassificationController of MAPIE 1.6.0: risk precision,
# fwer_method "fixed_sequence", confidence_level 0.9, target_level 1 - max_error. Its grid are the
# distinct scores of `rows_of` in decreasing order, from `first_of` rows on.
# By seed: the numbers for max_error 0.05, 0.1 and 0.2.
MAPIE = (
    *((0, 32, 63), (0, 46, 80), (1, 28, 84), (16, 42, 89)),
    *((0, 1, 65), (2, 68, 70), (25, 80, 81), (33, 89, 90)),
)
# MAPIE multiplies a rounded error rate by the rows and rounds up, so that it often counts one error
# more. It then certifies less, here for these seeds and limits.
ROUNDED_UP = {(0, 0.1), (1, 0.05), (1, 0.1), (2, 0.05), (4, 0.1), (5, 0.05)}
CASES = [
    (seed, limit, passed)
    for seed, of_seed in enumerate(MAPIE)
    for limit, passed in zip((0.05, 0.1, 0.2), of_seed, strict=True)
]


def rows_of(seed):
    """Rows and errors by threshold, the strictest first."""
    rng = np.random.default_rng(seed)
    n = (300, 500, 1000, 2000)[seed % 4]
    score = np.round(rng.beta(3, 1, n), 2)
    outcome = rng.random(n) < score ** (0.5, 0.25)[seed // 4]
    grid = np.unique(score)[::-1]
    rows = (score >= grid[:, None]).sum(axis=1)
    return rows, ((score >= grid[:, None]) & ~outcome).sum(axis=1)


def first_of(n_rows, limit):
    """Three times the smallest count that can pass, but at most half of the rows if these can."""
    least = smallest_passing_count(limit, 0.1)
    return max(least, min(3 * least, n_rows // 2))


@pytest.mark.parametrize(("seed", "limit", "passed"), CASES)
def test_as_many_thresholds_pass_as_in_mapie(seed, limit, passed):
    rows, errors = rows_of(seed)
    first = first_of(int(rows[-1]), limit)
    exact = len(certified_range(errors, rows, limit, 0.1, first))
    assert exact > passed if (seed, limit) in ROUNDED_UP else exact == passed
    # The same thresholds pass if errors are counted as MAPIE counts them.
    rounded_up = np.ceil(rows * (1.0 - (rows - errors) / rows)).astype(np.int64)
    assert len(certified_range(rounded_up, rows, limit, 0.1, first)) == passed


@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(0, 0.2)), min_size=1, max_size=40),
    st.sampled_from([0.02, 0.05, 0.1, 0.3]),
    st.sampled_from([0.01, 0.05, 0.2]),
    st.integers(1, 400),
)
def test_tests_go_on_until_the_first_fails(steps, limit, alpha, first):
    counts = np.array([count for count, _ in steps])
    rows = counts.cumsum()
    errors = np.floor(counts * np.array([share for _, share in steps])).astype(int).cumsum()
    passed = []
    for position in range(len(rows)):
        if rows[position] < first:
            continue
        if binom.cdf(errors[position], rows[position], limit) > alpha:
            break
        passed.append(position)
    assert list(certified_range(errors, rows, limit, alpha, first)) == passed


@pytest.mark.parametrize("limit", [0.01, 0.02, 0.05, 0.1, 0.5])
@pytest.mark.parametrize("alpha", [0.01, 0.025, 0.05, 0.125])
def test_the_smallest_count_passes_without_an_error_and_one_less_does_not(limit, alpha):
    least = smallest_passing_count(limit, alpha)
    assert binom.cdf(0, least, limit) <= alpha + 1e-15 < binom.cdf(0, least - 1, limit)
    assert (most_errors(least, limit, alpha), most_errors(least - 1, limit, alpha)) == (0, -1)


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("errors", [1, 2, 5])
def test_the_smallest_count_with_errors_passes_and_one_less_does_not(limit, errors):
    least = smallest_passing_count(limit, 0.05, errors)
    assert binom.cdf(errors, least, limit) <= 0.05 < binom.cdf(errors, least - 1, limit)


def test_counts_beyond_those_of_bdtr_are_found():
    """Without an error (1 - r)^n = d."""
    assert smallest_passing_count(1e-12, 0.05) == pytest.approx(2.995732273553991e12, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "first"), [(60, 59), (464, 59), (465, 93), (619, 93), (620, 124), (100_000, 124)]
)
def test_the_start_has_room_for_the_errors_that_a_fifth_of_the_rows_can_pass_with(n, first):
    """59, 93 and 124 rows pass at 5% with no, one and two errors."""
    assert [binom.cdf(errors, rows, 0.05) <= 0.05 for errors, rows in ((1, 93), (2, 124))] == [
        True,
        True,
    ]
    assert first_tested_count(n, 0.05, 0.05) == first


def test_rows_of_which_the_first_test_has_half_have_one_sequence_with_the_whole_level():
    assert 0.95**59 <= 0.05 < 0.95**58
    tests = certified(np.zeros(118, int), np.arange(1, 119), 0.05, 0.05)
    assert set(tests.level.tolist()) == {0.05}
    assert tests.passed.start == 58


def test_the_second_sequence_has_a_twentieth_of_the_level():
    """Of the first rows 10 are errors, which the first sequence does not pass with."""
    errors = np.minimum(np.arange(1, 1001), 10)
    tests = certified(errors, np.arange(1, 1001), 0.05, 0.05)
    first = first_tested_count(1000, 0.05, 0.0475)
    assert binom.cdf(10, first, 0.05) > 0.0475
    assert binom.cdf(10, 500, 0.05) <= 0.0025
    assert (tests.starts, tests.passed) == ((first - 1, 499), range(499, 1000))
    np.testing.assert_allclose(np.unique(tests.level), [0.0025, 0.0475], rtol=1e-12)


def test_the_most_errors_are_the_last_that_pass():
    allowed = most_errors(400, 0.05, 0.05)
    assert binom.cdf(allowed, 400, 0.05) <= 0.05 < binom.cdf(allowed + 1, 400, 0.05)


def test_the_bound_is_that_of_clopper_and_pearson():
    errors, rows = np.array([0, 3, 12, 7]), np.array([59, 177, 400, 7])
    expected = [*beta.ppf(0.95, errors[:3] + 1, rows[:3] - errors[:3]), 1.0]
    np.testing.assert_allclose(error_bound(errors, rows, 0.05), expected, rtol=1e-12)


def test_a_bound_within_the_limit_is_a_passed_test():
    rows = np.arange(1, 500)
    errors = np.minimum(rows // 30, rows)
    passed = binom.cdf(errors, rows, 0.05) <= 0.05
    np.testing.assert_array_equal(error_bound(errors, rows, 0.05) <= 0.05, passed)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_number_between_two_scores_is_between_them(one, other):
    low, high = min(one, other), max(one, other)
    between = decimal_between(low, high)
    assert low < between < high if between is not None else high - low < 1e-15


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.3])
def test_the_end_of_a_long_sequence_is_that_of_exact_tests(limit):
    """Most of its tests are decided by a bound of their p-value."""
    rng = np.random.default_rng(0)
    error = np.linspace(0, 3 * limit, 60_000)
    errors, rows = (rng.random(60_000) < error).cumsum(), np.arange(1, 60_001)
    exact = binom.cdf(errors, rows, limit) <= 0.05
    first = first_tested_count(60_000, limit, 0.05)
    passed = certified_range(errors, rows, limit, 0.05, first)
    assert passed.start == first - 1
    assert passed.stop == passed.start + np.argmin(exact[passed.start :])
    assert len(passed) > 20_000

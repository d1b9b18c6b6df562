"""Edges against a count of the rows, sums against a plain grouping of them."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.analysis.slices.calibration import bin_of, bin_rows
from calib.calibrators.histogram import Histogram
from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.data.views import ScoreMatrix
from calib.metrics.by_class import class_errors
from calib.numerics.binning import bin_cells, bin_edges, equal_weights, quantiles

RNG = np.random.default_rng(5)
SCORES = st.lists(
    st.one_of(st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.floats(0.0, 1.0)), min_size=1, max_size=60
)


def cells_of(score, weight=None):
    outcome = np.arange(len(score)) % 2 == 0
    return ScoreCells.from_arrays(outcome, score, weight)


def quantile_by_hand(score, share):
    """Definition 2 of Hyndman and Fan on rows, the share an exact fraction."""
    score, position = sorted(score), share * len(score)
    if position.denominator == 1 and 0 < position < len(score):
        return (score[int(position) - 1] + score[int(position)]) / 2.0
    return score[max(ceil(position), 1) - 1]


@given(SCORES, st.integers(1, 20), st.data())
def test_quantiles_are_those_of_the_rows_that_weights_stand_for(score, n, data):
    shares = [Fraction(k, n) for k in range(n + 1)]
    level = np.array([float(share) for share in shares])
    size = len(score)
    weight = np.array(data.draw(st.lists(st.integers(1, 4), min_size=size, max_size=size)))
    rows = np.repeat(score, weight)
    expected = [quantile_by_hand(rows, share) for share in shares]
    for cells in (cells_of(rows), cells_of(score, weight), cells_of(score, weight * 0.3)):
        np.testing.assert_array_equal(quantiles(cells, level), expected)


def test_quantiles_are_numpys_of_definition_2():
    score, level = RNG.random(257), np.linspace(0.0, 1.0, 33)  # Floats have these levels exactly.
    expected = np.quantile(score, level, method="averaged_inverted_cdf")
    np.testing.assert_array_equal(quantiles(cells_of(score), level), expected)


@given(SCORES, st.integers(1, 20))
def test_quantile_edges(score, n_bins):
    inner = [quantile_by_hand(score, Fraction(k, n_bins)) for k in range(1, n_bins)]
    expected = np.unique([0.0, *inner, 1.0])
    np.testing.assert_array_equal(bin_edges(cells_of(score), n_bins, "quantile"), expected)


@pytest.mark.parametrize("decimals", [1, 2, 16])
def test_fd_edges_are_numpys(decimals):
    score = RNG.beta(0.5, 2.0, 700).round(decimals)
    expected = np.histogram_bin_edges(score, "fd")
    np.testing.assert_array_equal(bin_edges(cells_of(score), 3, "fd"), expected)


def test_fd_of_one_score_and_of_no_spread_are_numpys():
    for score in (np.full(4, 0.3), np.array([0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9])):
        expected = np.histogram_bin_edges(score, "fd")
        np.testing.assert_array_equal(bin_edges(cells_of(score), 3, "fd"), expected)


def test_fd_stays_finite_where_half_of_the_scores_nearly_coincide():
    score = np.concatenate([[0.0, 1.0], 0.5 + 1e-12 * np.arange(8)])
    assert len(bin_edges(cells_of(score), 3, "fd")) == 10_001


def test_weighted_quantiles_invert_the_weighted_ecdf():
    score, weight = RNG.random(300).round(2), RNG.random(300) + 0.1
    level = np.linspace(0.01, 0.99, 40)
    # All definitions by the ECDF agree, because no level is met exactly.
    expected = np.quantile(score, level, weights=weight, method="inverted_cdf")
    np.testing.assert_array_equal(quantiles(cells_of(score, weight), level), expected)


def test_equal_weights_of_any_size_are_no_weights():
    score = RNG.random(300).round(2)
    cells = cells_of(score, np.full(300, 0.1))
    assert equal_weights(cells)
    np.testing.assert_array_equal(
        bin_edges(cells, 7, "quantile"), bin_edges(cells_of(score), 7, "quantile")
    )
    assert not equal_weights(cells_of(score, np.where(score > 0.5, 1.0, 1.01)))


@given(SCORES, st.integers(1, 12), st.sampled_from(["uniform", "quantile", "fd"]))
def test_sums_are_those_of_the_rows(score, n_bins, strategy):
    score = np.array(score)
    weight = 0.5 + np.arange(len(score)) % 3
    outcome = np.arange(len(score)) % 2 == 0
    cells = ScoreCells.from_arrays(outcome, score, weight)
    bins = bin_cells(cells, n_bins, strategy)
    edges = bin_edges(cells, n_bins, strategy)
    number = (edges[1:-1] < score[:, None]).sum(axis=1)
    occupied = np.unique(number)
    assert bins.n_empty == len(edges) - 1 - len(occupied)
    for position, b in enumerate(occupied):
        inside = number == b
        w = weight[inside]
        assert bins.rows[position] == inside.sum()
        assert bins.weight[position] == pytest.approx(w.sum())
        assert bins.weight_sq[position] == pytest.approx((w**2).sum())
        assert bins.mean_score[position] == pytest.approx(w @ score[inside] / w.sum(), abs=1e-12)
        assert bins.observed[position] == pytest.approx(w @ outcome[inside] / w.sum(), abs=1e-12)


def test_bins_are_right_closed_and_the_first_left_closed():
    bins = bin_cells(cells_of([0.0, 0.5, 0.5, 0.75, 1.0]), 2, "uniform")
    np.testing.assert_array_equal(bins.rows, [3, 2])


@pytest.mark.parametrize(
    ("n_bins", "strategy"),
    [
        (0, "uniform"),
        (5, "kmeans"),
    ],
)
def test_errors_are_sentences(n_bins, strategy, texts):
    with texts.raises(ValueError):
        bin_edges(cells_of([0.2, 0.4]), n_bins, strategy)


def test_a_fractional_number_of_bins_is_refused():
    with pytest.raises(TypeError):
        bin_edges(cells_of([0.2, 0.4]), 2.5, "uniform")


@pytest.mark.parametrize("edge", [0.2, 0.4, 0.6000000000000001, 0.8])
def test_a_score_that_is_an_edge_up_to_rounding_is_the_edge_wherever_bins_are_made(edge):
    near = edge + 4 * np.spacing(edge)
    exact, moved = (np.array([0.1, 0.3, 0.5, score, 0.7, 0.9]) for score in (edge, near))
    one, other = cells_of(exact), cells_of(moved)
    for strategy in ("uniform", "quantile"):
        bins, again = (bin_cells(cells, 5, strategy) for cells in (one, other))
        np.testing.assert_array_equal(bins.rows, again.rows)
        np.testing.assert_allclose(bins.observed, again.observed)
    curve = reliability_curve(other, n_bins=5, strategy="uniform")
    at = bin_of(curve, near)
    assert at == bin_of(curve, edge)
    assert 3 in bin_rows(curve, at, moved)
    histogram = Histogram(n_bins=5, strategy="uniform").fit(exact, np.arange(6) % 2)
    assert histogram.predict([near]) == histogram.predict([edge])


def test_a_score_beyond_the_rounding_of_an_edge_is_above_it():
    bins = bin_cells(cells_of([0.1, 0.5 + 1e-14, 0.9]), 2, "uniform")
    np.testing.assert_array_equal(bins.rows, [1, 2])


def test_classes_of_a_matrix_have_the_bins_of_their_scores():
    label = np.arange(30) % 3
    exact = np.tile([[0.2, 0.3, 0.5], [0.4, 0.2, 0.4], [0.1, 0.3, 0.6]], (10, 1))
    moved = exact * (1.0 + 2.0**-52)
    one, other = (
        class_errors(ScoreMatrix.from_arrays(label, each), 5).ece for each in (exact, moved)
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)

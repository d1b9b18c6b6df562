"""The histogram of scores."""

import numpy as np

from calib.numerics.binning import score_histogram


def test_numpys_counts_away_from_the_edges():
    rng = np.random.default_rng(2)
    score, weight = np.sort(rng.random(500)), rng.random(500)
    expected = np.histogram(score, bins=50, range=(0, 1), weights=weight)[0]
    np.testing.assert_allclose(score_histogram(score, weight), expected, atol=1e-12)


def test_a_score_on_an_edge_counts_below_it():
    bars = score_histogram(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 4.0]))
    assert (bars[0], bars[24], bars[25], bars[49]) == (1.0, 2.0, 0.0, 4.0)

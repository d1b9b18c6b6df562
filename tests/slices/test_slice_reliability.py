"""The reliability diagram of one slice: that of its rows, and by cluster where some are named."""

import dataclasses

import numpy as np
import pytest

from calib.analysis.slices import slice_reliability
from calib.curves.reliability import reliability_curve
from calib.data.predictions import Predictions

RNG = np.random.default_rng(3)
SCORE = RNG.random(1200)
OUTCOME = RNG.random(1200) < SCORE
MEMBER = np.arange(1200) % 2 == 0


def test_it_is_the_curve_of_the_slices_own_rows():
    rows = Predictions.from_arrays(OUTCOME, SCORE).view()
    curve = slice_reliability(rows, SCORE**2, MEMBER, n_bins=5)
    alone = Predictions.from_arrays(OUTCOME[MEMBER], SCORE[MEMBER] ** 2).view()
    expected = reliability_curve(alone.cells(), n_bins=5)
    for field in dataclasses.fields(expected):
        np.testing.assert_array_equal(getattr(curve, field.name), getattr(expected, field.name))


def test_copies_that_are_named_as_clusters_carry_no_more_evidence():
    copies = np.repeat(np.arange(1200), 6)
    clustered = Predictions.from_arrays(OUTCOME[copies], SCORE[copies], group=copies).view()
    single = Predictions.from_arrays(OUTCOME, SCORE).view()
    by_cluster = slice_reliability(clustered, clustered.score, MEMBER[copies], n_bins=5)
    by_row = slice_reliability(single, SCORE, MEMBER, n_bins=5)
    for low, high in (("low", "high"), ("band_low", "band_high")):
        width, expected = (getattr(of, high) - getattr(of, low) for of in (by_cluster, by_row))
        assert np.mean(width / expected) == pytest.approx(1.0, abs=0.1)


def test_a_slice_has_15_quantile_bins_unless_others_are_asked_for():
    rows = Predictions.from_arrays(OUTCOME, SCORE).view()
    curve = slice_reliability(rows, SCORE, MEMBER)
    expected = slice_reliability(rows, SCORE, MEMBER, n_bins=15, strategy="quantile")
    np.testing.assert_array_equal(curve.high_edge, expected.high_edge)
    assert len(curve.rows) == 15

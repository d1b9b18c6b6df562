"""Calibration per centre, against the formulas of each centre alone."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import calib
from calib.analysis.centres import centres
from calib.data.predictions import Predictions
from calib.data.slicing import slice_by
from calib.data.views import BinaryView
from calib.metrics import calibration_slope_intercept, intercept_at_slope_1
from calib.uncertainty.new_group import between_groups

RNG = np.random.default_rng(4)
CENTRE = np.repeat(np.array(list("ABCDEF")), [150, 200, 250, 300, 350, 400])
SCORE = RNG.uniform(0.02, 0.6, len(CENTRE))
SHIFT = RNG.normal(0.0, 0.4, 6)[np.searchsorted(list("ABCDEF"), CENTRE)]
OUTCOME = RNG.random(len(CENTRE)) < expit(logit(SCORE) + SHIFT)


def table(chosen):
    rows = BinaryView(OUTCOME[chosen], SCORE[chosen])
    return centres(rows, slice_by({"centre": CENTRE[chosen]}, ["centre"]))


def test_each_centre_has_its_own_numbers():
    found = table(np.ones(len(CENTRE), dtype=bool))
    observed, expected, errors = [], [], []
    for name in "ABCDEF":
        inside = np.isin(CENTRE, name)
        y, s = OUTCOME[inside], SCORE[inside]
        row = found.frame().loc[name]
        assert (row["rows"], row["positives"]) == (len(y), y.sum())
        assert row["ratio"] == pytest.approx(y.sum() / s.sum())
        assert row["intercept"] == pytest.approx(intercept_at_slope_1(y, s))
        assert row["slope"] == pytest.approx(calibration_slope_intercept(y, s).slope)
        observed.append(y.sum())
        expected.append(s.sum())
        errors.append((1 - y.mean()) / y.sum())
    alone = between_groups(np.log(np.divide(observed, expected)), np.array(errors))
    assert found.ratios.tau == pytest.approx(alone.tau, abs=1e-9)
    assert found.ratios.new_group.high == pytest.approx(math.exp(alone.new_group.high), abs=1e-6)
    assert found.intercepts.n_groups == found.slopes.n_groups == 6


def test_next_centre_reads_the_column_of_predictions(texts):
    data = Predictions.from_arrays(OUTCOME, SCORE, columns={"centre": CENTRE})
    public, alone = calib.next_centre(data, "centre"), table(np.ones(len(CENTRE), dtype=bool))
    assert public.ratios.new_group == alone.ratios.new_group
    assert public.names == alone.names
    with texts.raises(ValueError):
        calib.next_centre(data, "hospital")


def test_three_centres_have_a_spread_and_no_interval():
    found = table(np.isin(CENTRE, list("ABC")))
    assert len(found.frame()) == 3
    assert found.ratios.tau >= 0.0
    assert math.isnan(found.ratios.new_group.low)


def test_a_centre_without_a_positive_row_stands_in_the_table_only():
    chosen = np.isin(CENTRE, list("BCDEF")) | ~OUTCOME
    found = table(chosen)
    assert found.frame().loc["A", "ratio"] == 0.0
    assert math.isnan(found.frame().loc["A", "slope"])
    assert found.ratios.n_groups == found.slopes.n_groups == found.intercepts.n_groups == 5

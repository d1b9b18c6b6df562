"""The power that a verdict without evidence states, against theory and against whole verdicts."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

import calib
from calib.analysis.power import gap_design_effect, shift_power
from calib.analysis.verdict import judge
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from tests.rare import rare


@pytest.mark.parametrize("design_effect", [1.0, 4.0])
def test_one_score_is_a_test_of_one_mean(design_effect):
    # All five tests are then one two-sided normal test at 1%, which is a fifth of the 5% in Holm's
    # first step.
    cells = ScoreCells.from_arrays(np.arange(4000) % 2, np.full(4000, 0.5))
    shift = expit(0.1) - 0.5
    sd = np.sqrt(design_effect * 0.25 / 4000)
    expected = norm.sf(norm.isf(0.005) - shift / sd) + norm.cdf(-norm.isf(0.005) - shift / sd)
    power = shift_power(cells, design_effect)
    assert power.power == pytest.approx(expected, abs=0.03)
    assert power.mean_shift == pytest.approx(shift)


@rare
def test_the_power_is_the_share_of_verdicts_that_reject():
    rejected, stated = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        log_odds = rng.normal(-0.5, 1.5, 4000)
        cells = ScoreCells.from_arrays(rng.random(4000) < expit(log_odds + 0.1), expit(log_odds))
        rejected.append(bool(judge(cells).rejected))
        if seed < 5:
            stated.append(shift_power(cells).power)
    # The tolerance is three standard errors of 100 samples.
    assert np.mean(rejected) == pytest.approx(np.mean(stated), abs=0.15)
    assert np.ptp(stated) < 0.05


def test_the_power_depends_on_no_unit_of_weights_and_is_the_same_every_time():
    rng = np.random.default_rng(2)
    score, weight = rng.random(800), rng.gamma(2.0, 1.0, 800)
    outcome = rng.random(800) < score
    one = shift_power(ScoreCells.from_arrays(outcome, score, weight))
    assert shift_power(ScoreCells.from_arrays(outcome, score, 1e6 * weight)).power == one.power
    assert one.power < shift_power(ScoreCells.from_arrays(outcome, score)).power


def test_copies_in_a_cluster_add_no_power():
    rng = np.random.default_rng(3)
    score = rng.uniform(0.2, 0.8, 1000)
    outcome, five = rng.random(1000) < score, np.arange(1000).repeat(5)
    alone = shift_power(ScoreCells.from_arrays(outcome, score)).power
    rows = BinaryView(outcome[five], score[five], group=five)
    assert gap_design_effect(rows) == pytest.approx(5.0, rel=0.01)
    copied = shift_power(rows.cells(), gap_design_effect(rows))
    assert copied.power == pytest.approx(alone, abs=0.01)


def test_scores_of_exactly_0_and_1_have_a_power_too():
    score = np.repeat([0.0, 0.5, 1.0], 300)
    outcome = np.r_[np.zeros(300), np.arange(300) % 2, np.ones(300)]
    assert 0.0 < shift_power(ScoreCells.from_arrays(outcome, score)).power < 1.0


def test_a_verdict_without_evidence_says_what_it_could_have_found(texts):
    rng = np.random.default_rng(0)
    score = rng.uniform(0.05, 0.95, 1000)
    verdict = calib.from_predictions(rng.random(1000) < score, score).verdict
    assert verdict.answer == "no evidence"
    assert verdict.heading == "No evidence of miscalibration"
    assert verdict.finding.startswith("With 1,000 rows, predictions that are ")
    texts(verdict.sentence)
    # The shift is always found with this many rows.
    many = np.full(100_000, 0.5)
    assert "more than 99%" in judge(ScoreCells.from_arrays(np.arange(100_000) % 2, many)).sentence
    # A small effect is written with its digits.
    rare = ScoreCells.from_arrays(np.arange(5000) < 1, np.full(5000, 2e-4))
    texts(shift_power(rare).sentence(), "rare")

"""The sentence beside the sensitivity strip: whether the verdict flips, and where."""

import numpy as np

from calib.analysis import analyze
from calib.crossfit.settings import Settings
from calib.curves.functions import ece_sensitivity
from calib.data.predictions import Predictions
from calib.words.reliability import runs, sensitivity_words

KEY = "uncalibrated"


def scored(n, power):
    """Scores whose outcomes come with probability score^power."""
    rng = np.random.default_rng(2)
    score = rng.beta(1, 1, n)
    outcome = rng.random(n) < score**power
    analysis = analyze(Predictions.from_arrays(outcome, score), Settings(methods=()))
    held_out = analysis.held_out
    return analysis, ece_sensitivity(held_out.cells[KEY], held_out.replicates[KEY])


def words(analysis, found):
    return ". ".join(sensitivity_words(analysis, found, KEY))


def test_a_clear_conclusion_does_not_depend_on_the_bins(texts):
    said = words(*scored(1500, 2.0))
    texts.shown(said)
    texts.shown(said, "words")


def test_no_evidence_does_not_depend_on_them_either(texts):
    analysis, found = scored(300, 1.0)
    assert found.share == 0.0
    said = words(analysis, found)
    texts.shown(said)
    texts.shown(said)
    floor = analysis.uncalibrated.metrics["ece_quantile"].noise_floor
    assert f"(chance level {floor:.1%})" in said


def test_a_weak_conclusion_says_where_it_changes(texts):
    analysis, found = scored(1500, 1.2)
    assert found.flips
    said = words(analysis, found)
    texts.shown(said)
    for curve in (found.quantile, found.uniform):
        assert f"{curve.strategy} bins" in said


def test_one_number_of_bins_of_many_makes_no_conclusion_depend_on_them(texts):
    analysis, found = scored(1500, 1.12)
    assert 0.0 < found.share <= 0.05
    said = words(analysis, found)
    texts.shown(said)
    assert "depends" not in said


def test_neighbouring_numbers_are_one_run():
    assert runs([5, 6, 7, 9, 12, 13]) == ["5 to 7", "9", "12 to 13"]

"""Words on figures: a KS error and its p-value are those of every other place."""

import re

import numpy as np

import calib
from calib.text import p_value, percent
from calib.words.cumulative import sentence
from calib.words.measures import evidence


def calibrated() -> calib.Analysis:
    rng = np.random.default_rng(4)
    score = rng.random(900)
    return calib.from_predictions(rng.random(900) < score, score)


def test_p_values_of_sentences_are_not_adjusted_and_errors_have_one_notation():
    analysis = calibrated()
    scores = analysis.uncalibrated
    ks, unadjusted = scores.ks, p_value(scores.ks.p_value)
    assert unadjusted != p_value(analysis.p_adjusted("uncalibrated")["ks"])
    assert all(fact in evidence(scores) for fact in (f"{percent(ks.statistic)}", str(unadjusted)))
    said = sentence(scores)
    assert all(fact in said for fact in (str(percent(ks.statistic)), f"{unadjusted}"))
    assert re.findall(r"Kuiper error ([\d.]+%) \((.*?)\)", said) == [
        (f"{scores.tests['kuiper'].statistic:.1%}", p_value(scores.tests["kuiper"].p_value))
    ]

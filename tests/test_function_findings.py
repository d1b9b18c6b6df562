"""The sentence about calibration functions: what nearly coincides, and what has bounds."""

import dataclasses

import numpy as np
import pytest

from calib.analysis import analyze
from calib.analysis.method_results import direction, function_findings, title
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions


@pytest.fixture(scope="module")
def analysis():
    """Scores from 0.2 to 0.8, of which a tenth is positive at most and nine tenths at least."""
    rng = np.random.default_rng(3)
    score = rng.uniform(0.2, 0.8, 3000)
    outcome = rng.random(3000) < 0.05 + 0.9 * (score > 0.5)
    return analyze(Predictions.from_arrays(outcome, score), Settings(methods=("platt", "beta")))


def with_curves(analysis, advised="", **curves):
    """The analysis with made-up curves by method."""
    score = analysis.uncalibrated.function.score
    plain = analysis.uncalibrated
    methods = {
        key: dataclasses.replace(
            plain,
            key=key,
            label=key.capitalize(),
            function=dataclasses.replace(plain.function, calibrated=curve(score)),
        )
        for key, curve in curves.items()
    }
    return dataclasses.replace(
        analysis,
        methods={"uncalibrated": plain} | methods,
        recommendation=dataclasses.replace(analysis.recommendation, method=advised),
    )


def step(score):
    return np.where(score > 0.5, 0.97, 0.03)


def test_curves_coincide_over_the_range_of_the_scores_only(analysis, texts):
    def far_outside(score):
        return np.where(score < 0.1, 0.9, step(score))

    same = function_findings(with_curves(analysis, one=step, two=far_outside))
    assert same.close == ("one", "two")
    texts(same.sentence)

    def inside(score):
        return np.where((score > 0.3) & (score < 0.32), 0.9, step(score))

    apart = function_findings(with_curves(analysis, one=step, two=inside))
    assert apart.close == ()
    texts(apart.sentence)


def test_the_distance_is_a_share_of_the_height_of_the_curves(analysis):
    near = with_curves(analysis, one=step, two=lambda s: step(s) - 0.02, three=lambda s: s / 2)
    found = function_findings(near)
    assert found.close == ("one", "two")
    assert "at most 2 points apart" in found.detail
    low = {key: (lambda s, i=i: 0.03 * step(s) + 0.01 * i) for i, key in enumerate(("one", "two"))}
    flat = dataclasses.replace(
        analysis.uncalibrated.function, calibrated=analysis.uncalibrated.function.score * 0.01
    )
    rare = with_curves(analysis, **low)
    methods = rare.methods | {"uncalibrated": dataclasses.replace(rare.uncalibrated, function=flat)}
    assert function_findings(dataclasses.replace(rare, methods=methods)).close == ()


def test_a_set_is_close_only_if_all_of_its_pairs_are(analysis):
    chain = {
        f"m{i}": (lambda s, i=i: np.clip(step(s) + 0.03 * i, 0.0, 1.0) * (s > 0.5))
        for i in range(4)
    }
    close = function_findings(with_curves(analysis, **chain)).close
    values = [float(chain[key](np.array([0.7]))[0]) for key in close]
    assert len(close) >= 2
    assert max(values) - min(values) <= 0.05


def test_bounds_count_only_where_observed_frequencies_lie_beyond_them(analysis, texts):
    narrow = with_curves(analysis, one=lambda s: 0.3 + 0.4 * s)
    assert function_findings(narrow).bounds == {"one": pytest.approx((0.3, 0.7))}
    texts.shown(function_findings(narrow).sentence)
    floor = with_curves(analysis, one=lambda s: 0.3 + 0.7 * s)
    texts.shown(function_findings(floor).sentence)
    wide = with_curves(analysis, one=lambda s: 0.06 + 0.9 * s)
    assert function_findings(wide).bounds == {}


@pytest.mark.parametrize(
    ("curve", "clause"),
    [
        (lambda s: s, "X leaves the scores nearly unchanged"),
        (lambda s: s + 0.1, "X raises the scores"),
        (lambda s: s - 0.1, "X lowers the scores"),
        (lambda s: 0.2 + 0.5 * s, "X raises scores below 40% and lowers others"),
        (lambda s: 2 * s - 0.3, "X lowers scores below 30% and raises others"),
        (
            lambda s: s + 0.1 * np.sin(6 * np.pi * s),
            "X raises some ranges of scores and lowers others",
        ),
    ],
)
def test_a_clause_says_where_a_calibrator_raises_scores(curve, clause):
    score = np.linspace(0.0, 1.0, 201)
    assert direction("X", score, curve(score)) == clause


def test_few_calibrators_have_a_sentence_too(analysis, texts):
    texts(function_findings(with_curves(analysis)).sentence)
    one = function_findings(with_curves(analysis, "one", one=step))
    texts(one.sentence)
    assert one.detail == ""
    unchanged = with_curves(analysis, one=lambda s: s, two=lambda s: s + 0.01)
    texts.shown(function_findings(unchanged).sentence)
    helped = with_curves(analysis, "two", one=lambda s: s, two=step)
    texts.shown(function_findings(helped).sentence)
    apart = with_curves(analysis, "three", one=step, two=step, three=lambda s: s - 0.1)
    texts.shown(function_findings(apart).sentence)


def test_a_title_says_what_the_heading_of_the_page_does_not_say(analysis, texts):
    close = with_curves(analysis, "one", one=step, two=step, three=lambda s: s - 0.1)
    drawn = list(close.methods)
    texts(title(close, drawn))
    texts(title(close, ["uncalibrated", "three"]))
    alone = with_curves(analysis, "one", one=step)
    texts(function_findings(alone).sentence)
    texts(title(alone, list(alone.methods)))
    kept = with_curves(analysis, "uncalibrated", one=step, two=lambda s: s)
    texts(title(kept, list(kept.methods)))
    texts(title(kept, ["uncalibrated"]))


def test_a_title_gives_no_direction_to_scores_that_hardly_change():
    """The heading says "nearly unchanged", so a title of the same method must not say "raises"."""
    rng = np.random.default_rng(0)
    score = rng.uniform(0.05, 0.95, 20_000)
    y = rng.random(20_000) < np.clip(score + 0.02, 0.0, 1.0)
    rows = Predictions.from_arrays(y, score)
    analysis = analyze(rows, Settings(methods=("logistic",)))
    findings = function_findings(analysis)
    assert set(findings.close) == {"uncalibrated", "logistic"}
    function = analysis.methods["logistic"].function
    clause = direction("Logistic", function.score, function.calibrated)
    assert "unchanged" not in clause
    assert title(analysis, ("uncalibrated", "logistic")) != clause

"""The verdict: what the tests say together, and that it agrees with the recommendation."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from scipy.stats import mannwhitneyu, norm

import calib
from calib.analysis import Analysis
from calib.analysis.recommendation import FewRows, Recommendation, recommend, too_few
from calib.analysis.verdict import (
    SIGNIFICANCE,
    Verdict,
    adjusted,
    calibration_tests,
    judge,
)
from calib.analysis.verdicts import verdict_after
from calib.blocks import methods
from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import choose
from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.views import ScoreMatrix
from calib.metrics import TestResult
from calib.metrics.by_class import class_table
from calib.numerics.intervals import Estimate, holm
from calib.text import p_value
from calib.ui.pages.slices.classes import finding
from calib.ui.session.results import classwise as adjusted_table
from calib.words.findings import view_words
from calib.words.verdicts import TEST_NAMES
from tests.rare import common_first, rare

KEEP = Recommendation("uncalibrated", "", ())
NO_ADVICE = Recommendation("", "", ())
USE_BETA = Recommendation("beta", "", ())


def cells(distort, n: int = 5000, seed: int = 5) -> ScoreCells:
    rng = np.random.default_rng(seed)
    truth = expit(rng.normal(0, 1.5, n))
    return ScoreCells.from_arrays(rng.random(n) < truth, distort(truth))


def same(p):
    return p


def alternating() -> tuple[np.ndarray, np.ndarray]:
    """Eight blocks of 125 rows whose gaps alternate in sign."""
    score = np.repeat([0.15, 0.3, 0.35, 0.5, 0.5, 0.65, 0.7, 0.85], 125)
    positives = (31, 25, 56, 50, 75, 69, 100, 94)
    outcome = np.concatenate([np.arange(125) < k for k in positives])
    return outcome, score


def wavy(rng, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    score = rng.random(n)
    return rng.random(n) < np.clip(score + 0.08 * np.sin(4 * np.pi * score), 0, 1), score


def sloped(rng, n: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    score = expit(-0.5 + 1.5 * rng.normal(size=n))
    return rng.random(n) < expit(slope * logit(score)), score


@pytest.mark.parametrize(
    ("distort", "kind"),
    [
        (lambda p: expit(2 * logit(p)), "overconfident"),
        (lambda p: expit(0.5 * logit(p)), "underconfident"),
        (lambda p: expit(logit(p) + 0.5), "too high"),
        (lambda p: expit(logit(p) - 0.5), "too low"),
    ],
)
def test_the_verdict_names_the_distortion(distort, kind, texts):
    verdict = judge(cells(distort))
    assert (verdict.kind, verdict.answer) == (kind, "not calibrated")
    texts(verdict.sentence, kind)
    assert "ks" in verdict.rejected


def test_calibrated_scores_show_no_evidence(texts):
    for advice in (None, KEEP):
        verdict = judge(cells(same), advice=advice)
        assert (verdict.kind, verdict.answer) == ("calibrated", "no evidence")
        texts(verdict.sentence)
        assert verdict.rejected == ()
        texts(verdict.summary)


def test_p_values_are_those_of_holm():
    p_adjusted = adjusted(
        {str(p): TestResult(1.0, p, "") for p in (0.011, 0.02, 0.9, 0.04, np.nan)}
    )
    assert list(p_adjusted.values())[:4] == pytest.approx([0.044, 0.06, 0.9, 0.08])
    assert np.isnan(p_adjusted["nan"])


def test_gaps_that_alternate_are_found_by_the_groups_and_called_uneven(texts):
    outcome, score = alternating()
    tests = calibration_tests(ScoreCells.from_arrays(outcome, score))
    assert tests["ks"].p_value == pytest.approx(0.569, abs=0.03)
    assert tests["hosmer_lemeshow"].p_value == pytest.approx(7e-7, rel=0.1)
    # Scores that are multiples of 0.05 would stand for ranges.
    analysis = calib.analyze(Predictions.from_arrays(outcome, score + 2e-6))
    assert analysis.recommendation.method == "stack"
    assert (analysis.verdict.kind, analysis.verdict.answer) == ("uneven", "not calibrated")
    texts(analysis.verdict.sentence)


def drawn(kind: str, rng, n: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    z = rng.normal(-0.5, 1.5, n)
    truth = {
        "wavy": expit(z + 0.6 * np.sin(3 * z)),
        "step": np.where(expit(z) < 0.4, 0.15, 0.75),
    }
    slope = 1.0 if kind in truth else float(kind)
    return rng.random(n) < truth.get(kind, expit(slope * z - 0.5 * (1 - slope))), expit(z)


@pytest.mark.parametrize(
    ("truth", "kind"),
    common_first(
        [
            ("0.5", "overconfident"),
            ("0.6", "overconfident"),
            ("2", "underconfident"),
            ("wavy", "uneven"),
            ("step", "uneven"),
        ],
        [("0.6", "overconfident"), ("wavy", "uneven")],
    ),
)
def test_the_kind_is_right_in_all_of_40_data_sets(truth, kind):
    draws = [np.random.default_rng([seed, 5000]) for seed in range(40)]
    kinds = Counter(judge(ScoreCells.from_arrays(*drawn(truth, rng))).kind for rng in draws)
    assert kinds == {kind: 40}


def test_both_sides_of_an_error_are_named(texts):
    # Below 0.5, 150 of 1,000 rows are positive instead of 250. Above, 850 are positive instead of
    # 750.
    said = judge(counted((0.25, 1000, 150), (0.75, 1000, 850)))
    texts(said.finding, "words")
    low, middle, high = (0.125, 1000, 250), (0.5, 1000, 300), (0.75, 1000, 750)
    texts(judge(counted(low, middle, high)).finding, "above")
    texts(
        judge(counted((0.0625, 1000, 70), low, middle, high, (0.9375, 1000, 930))).finding,
        "between",
    )
    # The last range is narrow, so "between 62% and 99%" would not be plainer.
    narrow = judge(counted((0.25, 1000, 400), (0.99, 1000, 850), (0.998, 1000, 998)))
    texts.shown(narrow.finding, "words, 2")


def test_three_scores_may_be_uneven():
    # The lowest score is right, the middle one too high, and the highest one too low.
    cells = counted((0.25, 1000, 250), (0.5, 1000, 400), (0.75, 1000, 850))
    assert judge(cells).kind == "uneven"


@pytest.mark.parametrize(
    ("slope", "kind"),
    [
        (-1.0, "reversed"),
        (0.0, "uninformative"),
    ],
)
def test_a_ranking_that_is_reversed_or_tells_nothing_is_said_with_its_auc(slope, kind):
    outcome, score = sloped(np.random.default_rng(1), 4000, slope)
    verdict = judge(ScoreCells.from_arrays(outcome, score))
    assert verdict.kind == kind
    area = mannwhitneyu(score[outcome], score[~outcome]).statistic
    assert f"{area / outcome.sum() / (~outcome).sum():.2f}" in verdict.finding
    # A top label whose confidences all err in one direction is overconfident or underconfident.
    words = view_words("top:1")
    confident = judge(counted((0.5, 500, 250), (0.75, 500, 250)), words=words)
    assert confident.kind == "overconfident"


@pytest.mark.parametrize(
    ("slope", "kind"),
    [
        (Estimate(-0.2, -0.4, -0.001), "reversed"),
        (Estimate(-0.2, -0.4, 0.0), "uninformative"),
        (Estimate(0.2, 0.0, 0.49), "uninformative"),
        (Estimate(0.2, 0.001, 0.49), "overconfident"),
        (Estimate(0.2, 0.0, 0.5), "overconfident"),
    ],
)
def test_a_ranking_is_judged_by_the_interval_of_the_slope(slope, kind):
    assert judge(counted((0.25, 800, 320), (0.75, 800, 480)), slope=slope).kind == kind


@pytest.mark.parametrize(
    ("verdict", "found"),
    [
        (
            Verdict.of("some classes", "not calibrated", {}, "1 class is.", "class a (b): KS 6%"),
            "1 class is. (class a (b): KS 6%)",
        ),
        (
            Verdict.of("calibrated", "no evidence", {}, ""),
            "",
        ),
        (
            Verdict.of("unknown", "inconclusive", {}, "A test rejects (p = 0.01)."),
            "A test rejects (p = 0.01).",
        ),
    ],
)
def test_the_sentence_is_made_of_heading_finding_and_evidence(verdict, found):
    assert verdict.sentence == f"{verdict.heading}. {found}".strip()


def test_the_parts_of_a_made_sentence_are_all_of_it():
    verdict = judge(cells(lambda p: expit(2 * logit(p))))
    assert verdict.sentence == f"{verdict.heading}. {verdict.finding} ({verdict.evidence})"


def test_a_slope_that_only_its_own_tests_see_is_said_in_numbers(texts):
    verdict = judge(ScoreCells.from_arrays(*sloped(np.random.default_rng([200, 0]), 200, 0.5)))
    assert not {"ks", "kuiper"} & set(verdict.rejected)
    assert verdict.kind == "overconfident"
    texts.shown(verdict.sentence)


def test_a_slope_that_clusters_leave_open_names_no_distortion():
    stretched = cells(lambda p: expit(2 * logit(p)))
    assert judge(stretched, slope=Estimate(0.5, 0.3, 0.9)).kind == "overconfident"
    assert judge(stretched, slope=Estimate(0.5, 0.1, 1.2)).kind == "uneven"
    assert judge(stretched, slope=Estimate(0.5)).kind == "uneven"


def test_few_rows_are_inconclusive(texts):
    verdict = judge(cells(same, n=60))
    assert (verdict.kind, verdict.answer) == ("unknown", "inconclusive")
    texts(verdict.sentence)


def test_rows_that_repeat_others_do_not_make_few_rows_many(texts):
    rng = np.random.default_rng(3)
    score = rng.uniform(0.2, 0.8, 150)
    outcome = rng.random(150) < score
    ten = np.arange(150).repeat(10)
    alone = calib.from_predictions(outcome, score).verdict
    copied = calib.from_predictions(outcome[ten], score[ten], group=ten).verdict
    assert alone.answer == copied.answer == "inconclusive"
    texts(alone.sentence, "alone")
    texts(copied.sentence, "copied")
    # If a few rows have almost all weight, the data have the information of few rows.
    heavy = np.where(np.arange(2000) < 100, 1000.0, 1.0)
    many = rng.uniform(0.2, 0.8, 2000)
    weighted = ScoreCells.from_arrays(rng.random(2000) < many, many, heavy)
    assert judge(weighted).answer == "inconclusive"


def test_few_rows_still_show_a_gross_error():
    verdict = judge(cells(lambda p: expit(4 * logit(p) + 3), n=120), advice=NO_ADVICE)
    assert verdict.answer == "not calibrated"


def test_disagreement_with_the_recommendation_is_said(texts):
    wrong, right = cells(lambda p: expit(2 * logit(p))), cells(same)
    kept = judge(wrong, advice=KEEP)
    assert (kept.kind, kept.answer) == ("overconfident", "inconclusive")
    texts.shown(kept.sentence)
    texts.shown(kept.sentence)
    improved = judge(right, advice=USE_BETA)
    assert (improved.kind, improved.answer) == ("unknown", "inconclusive")
    texts(improved.sentence)
    assert judge(wrong, advice=USE_BETA).answer == "not calibrated"


def test_a_top_label_is_over_or_underconfident(texts):
    words = view_words("top:1")
    scored = cells(lambda p: expit(logit(p) + 0.5))
    mean, accuracy = scored.weight @ scored.score / 5000, scored.positive.sum() / 5000
    high = judge(scored, words=words)
    assert high.kind == "overconfident"
    assert all(fact in high.finding for fact in (f"{mean:.1%}", f"{accuracy:.1%}"))
    assert high.evidence.startswith(TEST_NAMES["ks"])
    assert judge(cells(lambda p: expit(logit(p) - 0.5)), words=words).kind == "underconfident"
    few = judge(cells(same, n=60), words=words)
    texts.shown(few.sentence)


def clusters(rng, n: int, slope: float) -> Predictions:
    """Rows in fives that share 30% of the variance of score and outcome."""
    group = np.repeat(np.arange(n // 5), 5)

    def shared():
        return np.sqrt(0.3) * rng.normal(size=n // 5)[group] + np.sqrt(0.7) * rng.normal(size=n)

    score = expit(-0.5 + 1.5 * shared())
    outcome = norm.cdf(shared()) < expit(slope * logit(score))
    return Predictions.from_arrays(outcome, score, group=group)


def simulated(seeds: Iterable[int]) -> list[tuple[str, Predictions]]:
    """Data sets of many kinds and sizes."""
    samples = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        samples += [("wavy", Predictions.from_arrays(*wavy(rng)))]
        for slope, n in ((1.0, 300), (1.0, 1500), (0.6, 150), (0.85, 600), (1.2, 900)):
            samples += [(f"slope {slope}", Predictions.from_arrays(*sloped(rng, n, slope)))]
        outcome, score = sloped(rng, 1500, 1.0)
        samples += [("too high", Predictions.from_arrays(outcome, expit(logit(score) + 0.2)))]
        samples += [("tied", Predictions.from_arrays(outcome, np.ceil(10 * score) / 10 - 0.05))]
        samples += [("clusters", clusters(rng, 1000, slope)) for slope in (1.0, 0.75)]
    return samples


def check_agreement(analysis: Analysis) -> None:
    verdict, advice = analysis.verdict, analysis.recommendation
    scores = analysis.uncalibrated
    # The pages show these tests.
    assert verdict.p_adjusted == analysis.p_adjusted("uncalibrated")
    shown = methods.calibration_tests([scores], [verdict.p_adjusted])
    assert [cells[0].text for cells in shown.rows] == [
        TEST_NAMES[key] for key in verdict.p_adjusted
    ]
    rejects = bool(verdict.rejected)
    assert rejects == (min(verdict.p_adjusted.values()) < SIGNIFICANCE)
    # The recommendation agrees with the losses of the comparison.
    n_rows = analysis.held_out.cells["uncalibrated"].in_effective_rows().total_weight
    nats = {key: n_rows * m.metrics["log_loss"].value for key, m in analysis.methods.items()}
    if advice.method:
        assert nats[advice.method] <= min(nats.values()) + 2.0
    if advice.method not in ("", "uncalibrated"):
        assert nats[advice.method] < nats["uncalibrated"]
        assert CALIBRATORS[advice.method].label in advice.sentence
    # The verdict follows from both, and says if they disagree.
    keeps = advice.method == "uncalibrated"
    if rejects:
        assert verdict.answer == ("inconclusive" if keeps else "not calibrated")
        assert verdict.kind not in ("calibrated", "unknown")
    else:
        assert verdict.answer == ("no evidence" if keeps else "inconclusive")


@rare
@pytest.mark.parametrize("seeds", common_first([range(1), range(1, 3)], [range(1)]))
def test_verdict_tests_and_recommendation_of_simulated_data_agree(seeds):
    answers = Counter()
    for _, predictions in simulated(seeds):
        analysis = calib.analyze(predictions, {"methods": ("platt", "beta", "spline")})
        check_agreement(analysis)
        answers[analysis.verdict.answer] += 1
    assert set(answers) >= {"not calibrated", "no evidence"}


def test_verdicts_of_a_matrix_agree_in_every_view():
    rows = calib.examples.EXAMPLES["digits"].load()
    analysis = None
    for view in ("top:1", "class:3", "within:2"):
        settings = calib.Settings(view=view, methods=("temperature", "isotonic"))
        analysis = calib.analyze(rows, settings, earlier=analysis)
        verdict, results = analysis.verdict, analysis.multiclass.results
        assert analysis.recommendation.method == analysis.multiclass.recommended
        assert results[analysis.multiclass.recommended].differences["log_loss"].high < 0
        assert verdict.p_adjusted == analysis.p_adjusted("uncalibrated")
        assert verdict.answer == ("not calibrated" if verdict.rejected else "inconclusive")


def rejections(draw, times: int) -> float:
    rejected = [
        bool(judge(ScoreCells.from_arrays(*draw(rng))).rejected)
        for rng in np.random.default_rng(0).spawn(times)
    ]
    return float(np.mean(rejected))


@rare
@pytest.mark.parametrize(("n", "times"), common_first([(200, 200), (2000, 1000)], [(200, 200)]))
def test_calibrated_scores_are_rejected_in_at_most_one_of_twenty_data_sets(n, times):
    assert rejections(lambda rng: sloped(rng, n, 1.0), times) <= 0.055


def test_wavy_scores_are_rejected():
    assert rejections(wavy, 50) >= 0.9


@rare
def test_the_tests_together_lose_little_of_the_best_ones_power():
    best = [
        calib.metrics.spiegelhalter_test(*sloped(rng, 200, 0.6)).p_value
        for rng in np.random.default_rng(0).spawn(100)
    ]
    together = rejections(lambda rng: sloped(rng, 200, 0.6), 100)
    assert together >= 0.8 * np.mean(np.array(best) < 0.05)


def estimates(**values: float) -> dict[str, Estimate]:
    return {key: Estimate(value) for key, value in values.items()}


LOSSES = estimates(uncalibrated=0.6, platt=0.501, beta=0.5003, isotonic=0.5)
TO_BEST = {
    "uncalibrated": Estimate(0.1, 0.08, 0.12),
    "platt": Estimate(0.001, 0.0005, 0.0015),
    "beta": Estimate(0.0003, -0.001, 0.0012),
    "isotonic": Estimate(0.0, 0.0, 0.0),
}
CHANGES = {
    "uncalibrated": Estimate(0.0, 0.0, 0.0),
    "platt": Estimate(-0.099, -0.12, -0.08),
    "beta": Estimate(-0.0997, -0.12, -0.08),
    "isotonic": Estimate(-0.1, -0.12, -0.08),
}


def advise(losses, to_best, changes, rows, **settings):
    """The recommendation of the chosen method, without a stack."""
    n_rows = rows.in_effective_rows().total_weight
    chosen = choose(losses, n_rows, {}, tests_reject=settings.get("tests_reject", True))
    return recommend(chosen, losses, to_best, changes, rows, **settings)


# 2 nats of 5,000 rows are 0.0004 per row.
@pytest.mark.parametrize(("beta", "chosen"), [(0.50039, "beta"), (0.50041, "isotonic")])
def test_the_simplest_within_2_nats_of_the_best_is_recommended(beta, chosen):
    losses = LOSSES | {"beta": Estimate(beta)}
    assert advise(losses, TO_BEST, CHANGES, cells(same)).method == chosen


def test_the_reason_names_the_best_and_why_it_is_not_recommended(texts):
    advice = advise(LOSSES, TO_BEST, CHANGES, cells(same))
    texts(advice.sentence)
    texts(advice.reasons[0])


def test_a_difference_without_an_interval_names_none(texts):
    to_best = TO_BEST | {"beta": Estimate(0.0003)}
    (reason,) = advise(LOSSES, to_best, CHANGES, cells(same)).reasons
    texts.shown(reason)
    assert "CI" not in reason


@pytest.mark.parametrize(
    ("n_rows", "weights", "chosen"),
    [
        (2000.0, {"beta": 0.9, "spline": 0.1}, "platt"),
        (1999.0, {"beta": 0.79, "spline": 0.21}, "stack"),
        (1999.0, {"beta": 0.81, "spline": 0.19}, "beta"),
        # A stack has members that were not compared, and may be nearly the uncalibrated scores.
        (1999.0, {"venn_abers": 0.9, "platt": 0.1}, "stack"),
        (1999.0, {"uncalibrated": 0.9, "platt": 0.1}, "stack"),
    ],
)
def test_with_few_rows_it_is_the_stack_or_its_main_member(n_rows, weights, chosen):
    losses = estimates(uncalibrated=0.6, platt=0.5004, beta=0.5002, spline=0.4999, stack=0.5)
    assert choose(losses, n_rows, weights, tests_reject=True) == chosen


@pytest.mark.parametrize(
    ("gain", "tests_reject", "kept"),
    [
        (0.0019, False, True),  # These are 1.9 nats of 1,000 rows.
        (0.0021, False, False),
        (0.0001, True, False),
        (-0.0001, True, True),
    ],
)
def test_with_few_rows_scores_are_kept_unless_the_stack_is_clearly_better(gain, tests_reject, kept):
    losses = estimates(uncalibrated=0.5, beta=0.49, stack=0.5 - gain)
    chosen = choose(losses, 1000.0, {"beta": 0.5, "spline": 0.5}, tests_reject=tests_reject)
    assert chosen == ("uncalibrated" if kept else "stack")


def test_a_stack_that_is_not_the_best_is_explained(texts):
    losses = estimates(uncalibrated=0.6, beta=0.499, stack=0.5)
    to_best = {"stack": Estimate(0.001, -0.001, 0.003), "beta": Estimate(0.0)}
    changes = {"stack": Estimate(-0.1, -0.12, -0.08)}
    advice = recommend("stack", losses, to_best, changes, cells(same, n=1000))
    assert advice.method == "stack"
    texts(advice.reasons[0])


def reasons_with_few_rows(chosen, weights, difference=0.001, **losses):
    """The reasons of the method that is chosen of these losses, and 1,000 rows."""
    losses = estimates(uncalibrated=0.6, **losses)
    assert choose(losses, 1000.0, weights, tests_reject=True) == chosen
    to_best = dict.fromkeys(losses, Estimate(difference, difference - 0.002, difference + 0.002))
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08))
    return recommend(chosen, losses, to_best, changes, cells(same, n=1000)).reasons


def test_the_main_member_of_a_stack_is_not_called_a_mean(texts):
    losses = {"platt": 0.499, "spline": 0.5, "stack": 0.5}
    (reason,) = reasons_with_few_rows("spline", {"spline": 0.9, "platt": 0.1}, **losses)
    assert "mean of" not in reason
    texts(reason)


def test_the_main_member_of_the_best_stack_is_explained(texts):
    losses = {"platt": 0.51, "spline": 0.5, "stack": 0.499}
    (reason,) = reasons_with_few_rows("spline", {"spline": 0.9, "platt": 0.1}, **losses)
    texts(reason)


def test_an_equally_simple_method_is_not_called_simpler(texts):
    losses = {"platt": 0.499, "logistic": 0.5, "stack": 0.5}
    (reason,) = reasons_with_few_rows("logistic", {"logistic": 0.9, "platt": 0.1}, **losses)
    assert "simpler" not in reason
    texts.shown(reason)


def test_a_significant_gain_of_one_method_is_not_called_small(texts):
    losses = estimates(uncalibrated=0.5, beta=0.45, stack=0.501)
    assert choose(losses, 1000.0, {"beta": 0.5, "spline": 0.5}, tests_reject=True) == "uncalibrated"
    changes = dict.fromkeys(losses, Estimate(-0.05, -0.07, -0.03))
    advice = recommend("uncalibrated", losses, changes, changes, cells(same, n=1000))
    assert "small" not in advice.reasons[1]
    texts(advice.reasons[1])


@pytest.mark.parametrize(
    "difference", [Estimate(0.0005, -0.001, 0.002), Estimate(0.0005, 0.0001, 0.0009)]
)
def test_the_runner_up_of_the_best_is_named_with_its_difference(difference, texts):
    losses = estimates(uncalibrated=0.466, beta=0.365, spline=0.3655)
    to_best = {
        "uncalibrated": Estimate(0.1, 0.08, 0.12),
        "beta": Estimate(0.0, 0.0, 0.0),
        "spline": difference,
    }
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08))
    changes["uncalibrated"] = Estimate(0.0, 0.0, 0.0)
    advice = advise(losses, to_best, changes, cells(same))
    assert advice.method == "beta"
    texts(advice.reasons[1])


def test_equal_losses_are_called_the_same(texts):
    losses = estimates(uncalibrated=0.8, platt=0.6868, logistic=0.6868, spline=0.6868)
    to_best = dict.fromkeys(losses, Estimate(1e-15, -3e-12, 4e-12))
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08))
    changes["uncalibrated"] = Estimate(0.0, 0.0, 0.0)
    advice = advise(losses, to_best, changes, cells(same))
    assert advice.reasons[1] in ("Logistic has an equal loss.", "Platt scaling has an equal loss.")
    # The method with the lowest loss is not the simplest.
    losses["spline"] = Estimate(0.6867999999)
    advice = advise(losses, to_best, changes, cells(same))
    (reason,) = advice.reasons
    texts.shown(reason)
    assert reason.endswith(" is simpler.")


@pytest.mark.parametrize(("better", "worse"), [("platt", "logistic"), ("logistic", "platt")])
def test_of_equally_simple_methods_the_better_one_is_recommended(better, worse):
    losses = estimates(uncalibrated=0.6, platt=0.0, logistic=0.0, spline=0.5)
    losses |= {better: Estimate(0.5001), worse: Estimate(0.5002)}
    to_best = dict.fromkeys(losses, Estimate(0.0001, -0.001, 0.0012))
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08))
    changes["uncalibrated"] = Estimate(0.0, 0.0, 0.0)
    assert advise(losses, to_best, changes, cells(same)).method == better


def test_scores_that_nothing_improves_are_kept(texts):
    losses = estimates(uncalibrated=0.5002, platt=0.5)
    to_best = {"uncalibrated": Estimate(0.0002, -0.001, 0.0014), "platt": Estimate(0, 0, 0)}
    changes = {"uncalibrated": Estimate(0, 0, 0), "platt": Estimate(-0.0002, -0.0014, 0.001)}
    advice = advise(losses, to_best, changes, cells(same))
    assert advice.method == "uncalibrated"
    texts(advice.sentence)
    texts(advice.reasons[1])


def test_too_few_of_a_class_recommend_nothing(texts):
    advice = advise(LOSSES, TO_BEST, CHANGES, cells(same, n=60))
    assert advice.method == ""
    texts(advice.sentence)
    texts("\n".join(advice.reasons), "words")


@pytest.mark.parametrize("n", [70, 99])
def test_with_few_rows_of_an_outcome_only_scores_that_tests_reject_are_repaired(n):
    rows = ScoreCells.from_arrays(np.arange(1000) < n, np.full(1000, 0.5))
    advice = advise(LOSSES, TO_BEST, CHANGES, rows, tests_reject=True)
    assert advice.method == "platt"
    assert str(n) in advice.reasons[0]
    advice = advise(LOSSES, TO_BEST, CHANGES, rows, tests_reject=False)
    assert advice.method == ""
    assert advice.reasons == (f"Only {n} positives; at least 100 are needed.",)
    kept = estimates(uncalibrated=0.5, platt=0.51)
    advice = advise(kept, TO_BEST, CHANGES, rows)
    assert advice.method == ""
    reason = f"Only {n} positives, and no calibrator lowers held-out log loss."
    assert advice.reasons == (reason,)


def test_scores_that_were_compared_with_nothing_get_no_recommendation(texts):
    alone = estimates(uncalibrated=0.5)
    advice = advise(alone, alone, alone, cells(same))
    assert advice.method == ""
    texts(advice.sentence)


def test_a_range_that_all_but_reaches_the_lowest_score_is_said_up_to_its_end(texts):
    score = np.r_[np.full(20, 0.05), np.full(480, 0.2), np.full(500, 0.7)]
    outcome = np.r_[np.arange(20) < 1, np.arange(480) < 192, np.arange(500) < 350]
    said = judge(ScoreCells.from_arrays(outcome, score)).sentence
    # The numbers are (20 x 0.05 + 480 x 0.2) / 500 and 193 / 500.
    assert {"20%", "19.4%", "38.6%"} <= set(re.findall(r"\d[\d.]*\d%?", said))
    texts.shown(said)


def test_a_range_is_not_stretched_over_rows_that_err_the_other_way(texts):
    score = np.r_[np.full(960, 0.02), np.full(40, 0.9)]
    outcome = np.r_[np.arange(960) < 60, np.arange(40) < 6]
    said = judge(ScoreCells.from_arrays(outcome, score)).sentence
    # The range ends between the two scores.
    assert {"46%", "2.0%", "6.2%"} <= set(re.findall(r"\d[\d.]*\d%?", said))
    texts.shown(said)


def test_a_single_row_of_an_outcome_is_said_in_the_singular(texts):
    one = ScoreCells.from_arrays([1, 0, 0, 0], [0.4, 0.3, 0.2, 0.1])
    texts(judge(one).sentence)


def test_an_interval_whose_ends_read_the_same_has_more_digits():
    losses = {"uncalibrated": Estimate(0.4901), "spline": Estimate(0.4834)}
    change = Estimate(-0.0067123, -0.0067318, -0.0066931)
    changes = {"uncalibrated": Estimate(0.0), "spline": change}
    to_best = {"uncalibrated": Estimate(0.0067), "spline": Estimate(0.0)}
    sentence = advise(losses, to_best, changes, cells(same, n=5000)).sentence
    assert "change −0.0067, 95% CI −0.00673 to −0.00669" in sentence


def counted(*parts: tuple[float, int, int]) -> ScoreCells:
    """Cells of a score, its rows and its positive rows. Sums of eighths are exact."""
    score, n, positive = zip(*parts, strict=True)
    outcome = np.concatenate([np.arange(a) < b for a, b in zip(n, positive, strict=True)])
    return ScoreCells.from_arrays(outcome, np.repeat(score, n))


def p_values(**values: float) -> dict[str, TestResult]:
    return {key: TestResult(5.0, p, "") for key, p in values.items()}


# Observed minus expected positives are -400, then +100 or +101.
@pytest.mark.parametrize(("positive", "kind"), [(700, "too high"), (701, "underconfident")])
def test_scores_are_too_high_where_three_quarters_of_the_swing_remain(positive, kind):
    assert judge(counted((0.5, 1600, 400), (0.75, 800, positive))).kind == kind


@pytest.mark.parametrize(("positive", "kind"), [(500, "too low"), (499, "overconfident")])
def test_scores_are_too_low_where_three_quarters_of_the_swing_remain(positive, kind):
    rows, flat = counted((0.5, 1600, 1200), (0.75, 800, positive)), Estimate(0.6, 0.5, 0.7)
    assert judge(rows, slope=flat).kind == kind


def said_of(*parts: tuple[float, int, int]) -> str:
    return judge(counted(*parts), slope=Estimate(1.0)).finding


def test_a_twentieth_of_the_rows_and_of_the_swing_is_not_worth_a_range_of_its_own(texts):
    # Observed minus expected positives are +10, then -200: 64 rows are 5% of 1,280, and 10 is 5% of
    # 200.
    assert said_of((0.25, 64, 26), (0.5, 1216, 408)).startswith("Predictions average ")
    texts.shown(said_of((0.25, 64, 27), (0.5, 1216, 408)))
    texts.shown(said_of((0.25, 68, 27), (0.5, 1216, 408)))
    # Observed minus expected positives are -200, then +9.
    assert said_of((0.5, 1216, 408), (0.75, 64, 57)).startswith("Predictions average ")
    texts.shown(said_of((0.5, 1216, 408), (0.75, 64, 59)))
    texts.shown(said_of((0.5, 1216, 408), (0.75, 68, 60)))


def test_a_range_in_the_middle_is_named_with_its_own_averages(texts):
    ends = (0.125, 400, 55), (0.875, 400, 355)
    # There are 300 of 800 positives instead of 425, and 100 of 400 instead of 200.
    texts(said_of(ends[0], (0.5, 600, 200), (0.625, 200, 100), ends[1]))
    texts(said_of(ends[0], (0.5, 400, 100), ends[1]))


@pytest.mark.parametrize(("p", "answer"), [(0.05, "no evidence"), (0.0499, "not calibrated")])
def test_a_p_value_of_5_percent_is_no_rejection(p, answer):
    rows = counted((0.5, 800, 300))
    verdict = judge(rows, p_values(ks=p, line=0.5), slope=Estimate(1.0))
    assert verdict.answer == "no evidence"  # Holm's correction doubles the smaller p-value.
    verdict = judge(rows, p_values(ks=p), slope=Estimate(1.0))
    assert verdict.answer == answer
    assert verdict.rejected == (("ks",) if p < 0.05 else ())


def test_the_evidence_is_a_test_that_rejects():
    tests = p_values(ks=0.05, line=0.001)
    verdict = judge(counted((0.5, 800, 300)), tests, slope=Estimate(0.5, 0.4, 0.6))
    assert (verdict.rejected, verdict.evidence) == (
        ("line",),
        "Slope and intercept χ² 5.0, p = 0.001",
    )
    # Gaps of groups have no direction, so the test of the line is not cited for them.
    tests = p_values(hosmer_lemeshow=0.001, line=0.01)
    verdict = judge(ScoreCells.from_arrays(*alternating()), tests, slope=Estimate(0.5, 0.4, 0.6))
    assert (verdict.kind, verdict.evidence) == ("uneven", "Hosmer-Lemeshow χ² 5.0, p = 0.001")
    verdict = judge(counted((0.5, 800, 300)), p_values(kuiper=0.001), slope=Estimate(1.0))
    assert verdict.evidence == "Kuiper error 500.0%, p = 0.001"


@pytest.mark.parametrize(
    ("slope", "kind", "finding"),
    [
        (Estimate(0.95, 0.92, 0.98), "overconfident", "are too extreme: .* 0.95 instead"),
        (Estimate(0.995, 0.991, 0.999), "overconfident", "are too extreme: .* 0.9950 instead"),
        (Estimate(1.2, 1.1, 1.3), "underconfident", "are not extreme enough: .* 1.20 instead"),
        (
            Estimate(0.9, 0.8, 1.0),
            "uneven",
            "below 50% are too low: .* 30.0% .* too high: .* 70.0%",
        ),
        (
            Estimate(1.1, 1.0, 1.2),
            "uneven",
            "below 50% are too low: .* 30.0% .* too high: .* 70.0%",
        ),
    ],
)
def test_a_slope_is_said_where_its_interval_leaves_1(slope, kind, finding):
    rows = counted((0.25, 800, 240), (0.75, 800, 560))
    verdict = judge(rows, p_values(line=0.001), slope=slope)
    assert verdict.kind == kind
    assert re.search(finding, verdict.finding)


@pytest.mark.parametrize("slope", [Estimate(0.9, 0.8, 1.0), Estimate(1.1, 1.0, 1.2)])
def test_a_slope_that_reaches_1_leaves_the_averages_to_be_said(slope):
    verdict = judge(counted((0.5, 800, 600)), p_values(line=0.001), slope=slope)
    assert verdict.kind == "too low"
    assert verdict.finding.startswith("Predictions average 50.0%, but 75.0% ")


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        (p_values(ks=0.001), "A test rejects calibration"),
        (p_values(ks=0.001, line=0.001), "2 tests reject calibration"),
    ],
)
def test_tests_that_reject_are_counted_where_no_calibrator_helps(tests, said):
    verdict = judge(counted((0.5, 800, 300)), tests, KEEP, slope=Estimate(1.0))
    assert (verdict.answer, verdict.kind) == ("inconclusive", "too high")
    assert verdict.finding.startswith(said)


@pytest.mark.parametrize("rarer", ["positives", "negatives"])
def test_a_hundred_rows_of_an_outcome_are_enough_and_99_are_not(rarer):
    outcome = np.arange(1000) < (100 if rarer == "positives" else 900)
    enough = ScoreCells.from_arrays(outcome, np.full(1000, 0.5))
    fewer = ScoreCells.from_arrays(outcome[1:999], np.full(998, 0.5))
    calm = p_values(ks=0.5)
    assert judge(enough, calm).answer == "no evidence"
    few = judge(fewer, calm)
    assert (few.answer, few.finding.startswith(f"99 {rarer} ")) == ("inconclusive", True)
    calm_advice = advise(LOSSES, TO_BEST, CHANGES, enough, tests_reject=False)
    assert calm_advice.method == "platt"
    assert advise(LOSSES, TO_BEST, CHANGES, fewer, tests_reject=False).reasons == (
        f"Only 99 {rarer}; at least 100 are needed.",
    )


def test_the_number_of_rows_that_tell_is_kish_s_by_the_design_effect():
    # There are 300 positives of weight 1 and 100 of weight 3, which are worth 600^2 / 1200 = 300
    # rows of equal weight.
    weight = np.where(np.arange(4000) % 400 < 100, 3.0, 1.0)
    rows = ScoreCells.from_arrays(np.arange(4000) < 400, np.full(4000, 0.1), weight)
    names = ("positives", "negatives")
    assert too_few(rows, names) is None
    assert too_few(replace(rows, design_effect=3.0), names) is None
    few = too_few(replace(rows, design_effect=4.0), names)
    assert few == FewRows("positives", 75, is_effective=True)
    # A design effect below 1 does not make the rows count for more.
    few = counted((0.5, 1000, 80))
    assert too_few(replace(few, design_effect=0.5), names) == FewRows(
        "positives", 80, is_effective=False
    )
    assert too_few(replace(few, design_effect=1.25), names) == FewRows(
        "positives", 64, is_effective=True
    )
    assert too_few(counted((0.5, 200, 0)), names) == FewRows("positives", 0, is_effective=False)
    assert too_few(counted((0.5, 200, 200)), names) == FewRows("negatives", 0, is_effective=False)


def test_the_reasons_say_why_not_the_method_of_the_lowest_loss():
    rows = cells(same)
    kept = estimates(uncalibrated=0.5003, isotonic=0.5)
    for high, said in ((0.001, "not significant"), (-0.0001, "small")):
        changes = {"uncalibrated": Estimate(0.0), "isotonic": Estimate(-0.0003, -0.002, high)}
        advice = advise(kept, dict.fromkeys(kept, Estimate(0.0003)), changes, rows)
        assert str(said) in advice.reasons[1]
    losses = estimates(uncalibrated=0.5, platt=0.6)
    to_best = {"uncalibrated": Estimate(0.0), "platt": Estimate(0.1, 0.05, 0.15)}
    assert len(advise(losses, to_best, to_best, rows).reasons) == 1
    losses = estimates(uncalibrated=0.6, platt=0.5)
    to_best = {"uncalibrated": Estimate(0.1, 0.05, 0.15), "platt": Estimate(0.0)}
    changes = {"uncalibrated": Estimate(0.0), "platt": Estimate(-0.1, -0.15, -0.05)}
    advice = advise(losses, to_best, changes, rows, level=0.9)
    assert (advice.method, len(advice.reasons)) == ("platt", 1)
    assert "90% CI" in advice.sentence


@pytest.mark.parametrize(
    ("second", "low", "said"),
    [
        ("isotonic", 0.0, "not significantly different; Platt scaling"),
        ("isotonic", 1e-4, "significantly worse."),
        ("logistic", 0.0, "not significantly different."),
    ],
)
def test_a_runner_up_differs_where_its_interval_lies_above_0(second, low, said):
    losses = {"uncalibrated": Estimate(0.6), "platt": Estimate(0.5), second: Estimate(0.501)}
    to_best = {key: Estimate(0.001, low, 0.002) for key in losses} | {"platt": Estimate(0.0)}
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08)) | {"uncalibrated": Estimate(0.0)}
    advice = advise(losses, to_best, changes, cells(same))
    assert advice.method == "platt"
    assert said in advice.reasons[1]


def test_the_runner_up_is_the_next_best_of_all():
    losses = estimates(uncalibrated=0.6, platt=0.5, isotonic=0.503, beta=0.502, spline=0.504)
    to_best = {key: Estimate(loss.value - 0.5, -0.01, 0.01) for key, loss in losses.items()}
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08)) | {"uncalibrated": Estimate(0.0)}
    reason = advise(losses, to_best, changes, cells(same)).reasons[1]
    assert reason.startswith(f"Runner-up: {CALIBRATORS['beta'].label} (")


def test_a_slope_or_groups_that_explain_more_than_the_mean_name_the_kind():
    # With 300 positives in 800 rows of score 0.5, scores are too high.
    rows = counted((0.5, 800, 300))
    steep, none = Estimate(0.5, 0.4, 0.6), Estimate(1.0, 0.9, 1.1)
    assert judge(rows, p_values(line=0.001), slope=none).kind == "too high"
    assert judge(rows, p_values(line=0.001), slope=steep).kind == "overconfident"
    uneven = ScoreCells.from_arrays(*alternating())
    assert judge(uneven, p_values(hosmer_lemeshow=0.001), slope=none).kind == "uneven"
    assert judge(uneven, p_values(hosmer_lemeshow=0.001), slope=steep).kind == "uneven"
    # If the test of the cumulative curve rejects, it decides the kind.
    assert judge(rows, p_values(ks=0.001, line=0.0001), slope=steep).kind == "too high"


def tilted(seed: int = 5, n: int = 12_000, **named: list[str]) -> Predictions:
    """A matrix whose largest scores are right, and whose other two are not."""
    rng = np.random.default_rng(seed)
    right = softmax(rng.normal(0, 1.2, (n, 3)), axis=1)
    label = (rng.random(n)[:, None] > right.cumsum(axis=1)).sum(axis=1)
    order, rows = np.argsort(-right, axis=1), np.arange(n)
    wrong, rest = right.copy(), 1.0 - right.max(axis=1)
    wrong[rows, order[:, 1]], wrong[rows, order[:, 2]] = 0.88 * rest, 0.12 * rest
    changed = wrong.argmax(axis=1) != right.argmax(axis=1)
    wrong[changed] = right[changed]
    return Predictions.from_arrays(label, wrong, **named)


def test_the_name_of_a_class_cuts_no_part_of_the_answer():
    names = ["cat (big)", "dog. (x", "bird) ("]
    plain, named = (
        calib.analyze(rows, {"methods": ()}).verdict
        for rows in (tilted(n=6000), tilted(n=6000, class_names=names))
    )
    assert named.kind == "some classes"
    assert named.finding == plain.finding
    k = int(plain.evidence.removeprefix("class ")[0])
    assert named.evidence == plain.evidence.replace(f"class {k}:", f"class {names[k]}:")
    assert named.sentence == f"{named.heading}. {named.finding} ({named.evidence})"


def test_classes_of_a_matrix_count_although_its_top_label_is_calibrated(texts):
    analysis = calib.analyze(tilted(), {"methods": ("vector",)})
    verdict, classes = analysis.verdict, analysis.multiclass.scored["uncalibrated"].classes
    p_values = [test.p_value for test in analysis.uncalibrated.all_tests.values()]
    assert holm(np.array(p_values)).min() > SIGNIFICANCE
    together = holm(np.concatenate([p_values, classes.tested]))
    assert list(verdict.p_adjusted.values()) == pytest.approx(together)
    n = int((together[5:] < SIGNIFICANCE).sum())
    assert (verdict.kind, verdict.answer) == ("some classes", "not calibrated")
    assert str(n) in verdict.finding
    # The page of the classes counts the same classes.
    table = adjusted_table(classes, analysis, "uncalibrated")
    assert f"{n} of 3 classes are" in finding(table, "uncalibrated")
    assert (
        f"class {table.class_name[int((table.p_adjusted < 0.05).argmax())]}: " in verdict.evidence
    )
    texts(verdict.sentence)


@rare
def test_top_label_and_classes_of_calibrated_matrices_are_rejected_in_one_of_twenty():
    n_rejected, words = 0, view_words("top:1")
    for rng in np.random.default_rng(0).spawn(200):
        scores = softmax(rng.normal(0, 1.5, (1000, 3)), axis=1)
        label = (rng.random(1000)[:, None] > scores.cumsum(axis=1)).sum(axis=1)
        rows = Predictions.from_arrays(label, scores)
        classes = class_table(ScoreMatrix.from_arrays(label, scores), "abc")
        n_rejected += bool(judge(rows.view("top:1").cells(), words=words, classes=classes).rejected)
    assert n_rejected / 200 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_what_is_recommended_has_a_verdict_of_its_own(texts):
    outcome, score = sloped(np.random.default_rng(1), 3000, 0.5)
    analysis = calib.analyze(Predictions.from_arrays(outcome, score), {"methods": ("logistic",)})
    after = analysis.after
    held_out = analysis.held_out.cells["logistic"]
    tests = calibration_tests(held_out)
    assert after.p_adjusted == adjusted(tests)
    assert (after.answer, after.kind) == ("no evidence", "calibrated")
    smallest = p_value(min(after.p_adjusted.values()))
    assert after.notes == (
        f"Held-out scores: 5 tests, smallest {smallest} after Holm's correction.",
    )
    assert analysis.after_sentence.startswith(
        f"After Logistic: {after.summary}. The correction is known to ±"
    )
    assert analysis.after_sentence.endswith(after.notes[0])
    # Without a recommended calibrator, there is no sentence about its scores.
    right = calib.from_predictions(*sloped(np.random.default_rng(1), 3000, 1.0))
    assert (right.recommendation.method, right.after, right.after_sentence) == (
        "uncalibrated",
        None,
        "",
    )


def test_a_view_that_gets_worse_is_said_with_the_best_method_of_that_view(texts):
    analysis = calib.analyze(tilted(), {"methods": ("temperature", "vector", "ks_spline")})
    key, methods = "vector", analysis.methods
    verdict = verdict_after(analysis.held_out, methods, analysis.settings, key, analysis.multiclass)
    errors = {name: method.ks.statistic for name, method in methods.items()}
    best = min(errors, key=errors.__getitem__)
    assert errors[key] > errors["uncalibrated"] > errors[best]
    assert all(
        fact in verdict.notes[1]
        for fact in (
            f"{errors['uncalibrated']:.1%}",
            f"{errors[key]:.1%}",
            str(methods[best].label),
            f"{errors[best]:.1%}",
        )
    )


def test_a_difference_in_the_seventh_decimal_is_equal():
    losses = {"uncalibrated": Estimate(0.6), "platt": Estimate(0.5), "beta": Estimate(0.4999999)}
    tiny = Estimate(1e-7, 0.5e-7, 1.5e-7)
    to_best = dict.fromkeys(losses, tiny) | {"beta": Estimate(0.0)}
    changes = dict.fromkeys(losses, Estimate(-0.1, -0.12, -0.08))
    advice = recommend("platt", losses, to_best, changes, cells(same))
    said = " ".join((advice.sentence, *advice.reasons))
    assert not re.search(r"0\.000000\d", said)
    assert "equal" in said

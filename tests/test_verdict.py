import numpy as np
import pytest
from scipy.special import expit, logit

from calib.cells import ScoreCells
from calib.comparison import Estimate
from calib.verdict import judge, recommend


def cells(distort, n: int = 5000, seed: int = 5) -> ScoreCells:
    rng = np.random.default_rng(seed)
    truth = expit(rng.normal(0, 1.5, n))
    return ScoreCells.from_arrays(rng.random(n) < truth, distort(truth))


@pytest.mark.parametrize(
    ("distort", "kind", "words"),
    [
        (lambda p: p, "calibrated", "No sign of miscalibration"),
        (lambda p: expit(2 * logit(p)), "overconfident", "come true less often than stated"),
        (lambda p: expit(0.5 * logit(p)), "underconfident", "often than stated"),
        (lambda p: expit(logit(p) + 0.5), "too high", "less often than stated"),
        (lambda p: expit(logit(p) - 0.5), "too low", "more often than stated"),
    ],
)
def test_the_verdict_names_the_distortion(distort, kind, words):
    verdict = judge(cells(distort))
    assert verdict.kind == kind
    assert words in verdict.sentence
    assert "KS 0." in verdict.sentence


def test_a_slope_that_clusters_leave_open_names_no_distortion():
    stretched = cells(lambda p: expit(2 * logit(p)))
    assert judge(stretched, slope=Estimate(0.5, 0.3, 0.9)).kind == "overconfident"
    assert judge(stretched, slope=Estimate(0.5, 0.1, 1.2)).kind == "uneven"
    assert judge(stretched, slope=Estimate(0.5)).kind == "uneven"


def test_few_rows_cannot_tell():
    verdict = judge(cells(lambda p: p, n=60))
    assert verdict.kind == "unknown"
    assert verdict.sentence.startswith("Can't tell yet")


def test_few_rows_still_show_a_gross_error():
    verdict = judge(cells(lambda p: expit(4 * logit(p) + 3), n=120))
    assert verdict.kind != "unknown"


def estimates(**values: float) -> dict[str, Estimate]:
    return {key: Estimate(value) for key, value in values.items()}


def test_the_simplest_of_the_equally_good_is_recommended():
    losses = estimates(uncalibrated=0.6, platt=0.501, beta=0.5001, isotonic=0.5)
    differences = {
        "uncalibrated": Estimate(0.1, 0.08, 0.12),
        "platt": Estimate(0.001, 0.0005, 0.0015),
        "beta": Estimate(0.0001, -0.001, 0.0012),
        "isotonic": Estimate(0.0, 0.0, 0.0),
    }
    found = recommend(losses, differences, cells(lambda p: p))
    assert found.method == "beta"
    assert "Use Beta" in found.sentence
    assert any("simpler" in reason for reason in found.reasons)


def test_scores_that_nothing_improves_are_kept():
    losses = estimates(uncalibrated=0.5002, platt=0.5)
    differences = {"uncalibrated": Estimate(0.0002, -0.001, 0.0014), "platt": Estimate(0, 0, 0)}
    found = recommend(losses, differences, cells(lambda p: p))
    assert (found.method, found.sentence) == ("uncalibrated", "Keep the scores as they are.")


def test_too_few_of_a_class_recommend_nothing():
    found = recommend(
        estimates(uncalibrated=0.5, platt=0.4),
        {"uncalibrated": Estimate(0.1, 0.05, 0.15), "platt": Estimate(0, 0, 0)},
        cells(lambda p: p, n=60),
    )
    assert found.method == ""
    assert "Not enough data" in found.sentence

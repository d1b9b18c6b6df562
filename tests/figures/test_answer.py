"""The answer of the Overview: what its table of calibrators says."""

import re
from html import escape

import numpy as np
import pytest

import calib
from calib.calibrators import CALIBRATORS
from calib.figures.answer import calibrators_table, section, summary
from calib.figures.summary import summary_chart
from calib.words.measures import without_band
from calib.words.overview import in_plain_words
from tests.figures.conftest import overconfident
from tests.once import analysed


def test_every_calibrator_has_its_whole_name():
    analysis = calib.analyze(
        calib.examples.EXAMPLES["naive_bayes"].load(), {"methods": ("platt", "beta", "stack")}
    )
    heads = re.findall(r'<th scope="row">(.*?)</th>', calibrators_table(analysis))
    names = {re.sub("<[^>]*>", "", head) for head in heads}
    assert names == {CALIBRATORS[key].label for key in ("platt", "beta", "stack")}


def test_a_band_that_shows_too_little_is_a_sentence():
    for small in (overconfident(28, n_bins=2), overconfident(60, n_bins=20)):
        reason = without_band(small.uncalibrated.reliability)
        assert reason
        assert "band" not in [layer.key for layer in summary_chart(small).layers]
        assert "grey band" not in summary(small)
        assert escape(reason) in summary(small)
    enough = overconfident(600)
    assert "band" in [layer.key for layer in summary_chart(enough).layers]
    assert "grey band" in summary(enough)
    assert "No band" not in summary(enough)


def test_calibration_is_not_said_to_order_rows(texts):
    rng = np.random.default_rng(0)
    outcome, score = rng.random(2000) < 0.3, rng.uniform(0.02, 0.98, 2000)
    analysis = calib.from_predictions(outcome, score)
    assert analysis.verdict.kind == "uninformative"
    said = section(analysis, is_example=False)
    texts.shown(said)
    assert "corrects it" not in said
    # The reverse order is corrected: the calibrator falls.
    outcome = rng.random(2000) < 0.5 - 0.25 * (score - 0.5)
    analysis = calib.from_predictions(outcome, score)
    low, high = analysis.held_out.calibrators[analysis.recommendation.method].predict([0.1, 0.9])
    assert low > high
    assert "but not their order" not in section(analysis, is_example=False)


def test_a_difference_that_rounds_to_nothing_has_a_size(texts):
    advice = analysed("rare_event").recommendation
    texts.shown(" ".join(advice.reasons))


def test_the_recommendation_says_what_calibrated_scores_average_and_what_was_observed():
    analysis = analysed("naive_bayes")
    said = in_plain_words(analysis)
    cells, percents = analysis.held_out.cells["logistic"], re.findall(r"[\d.]+(?=%)", said)
    assert re.fullmatch(
        r"After Logistic, low predictions average \S+, and \S+ were positive; "
        r"high ones \S+ and \S+\.",
        said,
    )

    def averages(part):
        weights = cells.weight[part]
        shares = np.array([cells.score[part] @ weights, cells.positive[part].sum()]) / weights.sum()
        return [f"{100 * share:.1f}" for share in shares]

    cuts = range(100, len(cells.score) - 100)
    assert percents in [averages(slice(cut)) + averages(slice(cut, None)) for cut in cuts]
    # A report holds fewer points of the curves, and says the same.
    assert in_plain_words(calib.report(analysis).analysis) == said
    # If all scores are too high, one average says it.
    said = in_plain_words(analysed("rare_event"))
    assert re.fullmatch(r"After Beta, predictions average \S+, and \S+ were positive\.", said)


def test_the_ks_error_of_rare_events_is_told_of_more_rows():
    """Of 100 rows, 0.0 positives would be predicted and 0.0 observed."""
    p = np.linspace(0.0001, 0.0009, 40_000)
    y = np.arange(len(p)) % 400 == 0
    said = section(calib.analyze(calib.Predictions.from_arrays(y.astype(int), p)), is_example=False)
    found = re.search(r"of every (\S+) rows, scores<br>predict (\S+) positives too few", said)
    assert found is not None
    assert found.groups() == ("1,000", "2.0")


@pytest.mark.parametrize("kind", ["low", "high", "everywhere"])
def test_the_ks_error_is_told_as_positives_per_100_rows(kind: str):
    p = np.linspace(0.01, 0.99, 4000)
    true = {"low": 0.5 * p + 0.25, "high": np.clip(1.6 * p - 0.3, 0, 1), "everywhere": 0.7 * p}
    y = np.random.default_rng(5).random(len(p)) < true[kind]
    added = np.cumsum(y - p) / len(p)
    peak = int(np.abs(added).argmax())
    which = "scores" if kind == "everywhere" else "low scores"
    side = "few" if added[peak] > 0.0 else "many"
    error = f"{100 * abs(added[peak]):.1f} positives too {side}"
    said = f"of every 100 rows, {which}<br>predict {error}<"
    analysis = calib.analyze(calib.Predictions.from_arrays(y.astype(int), p))
    assert said in section(analysis, is_example=False)
    advised = analysis.methods[analysis.recommendation.method]
    ks = [result.ks.statistic for result in (analysis.uncalibrated, advised)]
    # A report holds fewer points of the curves, and says the same.
    assert said in section(calib.report(analysis).analysis, is_example=False)
    assert f"<dd>{ks[0]:.1%} → {ks[1]:.1%}<small>" in section(analysis, is_example=False)

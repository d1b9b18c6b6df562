"""The answer of the Overview: what its table of calibrators says."""

import re
from html import escape

import numpy as np

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
        assert "grey: 95%" not in summary(small)
        assert escape(reason) in summary(small)
    enough = overconfident(600)
    assert "band" in [layer.key for layer in summary_chart(enough).layers]
    assert "grey: 95%" in summary(enough)
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

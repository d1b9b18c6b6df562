"""The answer of the Overview: what its table of calibrators says."""

import re
from html import escape

import numpy as np
import pytest

import calib
from calib.calibrators import CALIBRATORS
from calib.figures.answer import _bar, calibrators, calibrators_table, section, summary
from calib.figures.summary import summary_chart
from calib.words.measures import without_band
from calib.words.overview import Counts, counts
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


def test_the_change_is_told_in_rows_of_low_and_of_high_scores():
    analysis = analysed("naive_bayes")
    low, high = counts(analysis)
    cells = analysis.held_out.cells["uncalibrated"]
    is_low = cells.score <= 0.6
    for one, part in ((low, is_low), (high, ~is_low)):
        total = cells.weight[part].sum()
        assert one.observed == pytest.approx(cells.positive[part].sum() / total)
        assert one.now == pytest.approx(cells.score[part] @ cells.weight[part] / total)
    # Held-out calibrators of the folds differ a little, so a few rows change their order.
    view, scores = analysis.held_out.given_rows, analysis.held_out.row_scores("logistic")
    assert low.after == pytest.approx(scores[view.score <= 0.6].mean(), abs=0.005)
    # A report holds fewer points of the curves, and says the same.
    sentences = [
        [one.sentence("were positive") for one in counts(of)]
        for of in (analysis, calib.report(analysis).analysis)
    ]
    assert sentences[0] == sentences[1]


def test_errors_of_rare_events_are_told_of_more_rows():
    """Of 100 rows, none would be predicted and none observed."""
    (rare,) = counts(analysed("rare_event"))
    assert rare.n * abs(rare.observed - rare.now) >= 2.0
    assert rare.of(rare.observed) != rare.of(rare.now)


@pytest.mark.parametrize(("now", "seen"), [(0.1, 0.2), (0.9, 0.8)])
def test_the_bars_end_at_what_was_predicted_and_the_line_at_what_was_observed(now, seen):
    made = _bar(Counts("rows", 100, seen, now, seen), now, "now", "words")
    cells = re.findall(r'<td class="([^"]*)" width="([\d.]+)%">', made)
    widths = [float(width) for _, width in cells]
    ends = np.cumsum(widths)
    assert ends[-1] == pytest.approx(100.0)
    (line,) = (end for (look, _), end in zip(cells, ends, strict=True) if "seen" in look)
    assert line == pytest.approx(100 * seen)
    (error,) = (width for (look, _), width in zip(cells, widths, strict=True) if "error" in look)
    assert error == pytest.approx(100 * abs(now - seen))
    assert made.count("words") == 1


def test_too_few_rows_have_no_table_of_calibrators():
    few = analysed("ten_rows")
    assert few.verdict.answer == "inconclusive"
    assert calibrators(few) == ""
    assert "<details" in calibrators(analysed("naive_bayes"))

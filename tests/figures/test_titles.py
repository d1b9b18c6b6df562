"""Titles of charts: statements that claim no more than the tests do."""

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.analysis.verdict import KIND_WORDS
from calib.figures import titles
from calib.figures.answer import summary
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.functions import difference_chart, functions_chart
from calib.figures.layers import MAX_TITLE_LETTERS, Heading
from calib.figures.reliability import overlay_chart, reliability_chart
from calib.figures.summary import before_after_chart, summary_chart
from tests.once import analysed
from tests.rare import rare

ONE_SCORE = ("overconfident", "underconfident", "too high", "too low", "uneven")


def with_verdict(**changes):
    analysis = analysed("naive_bayes")
    return replace(analysis, verdict=replace(analysis.verdict, **changes))


def test_the_chart_of_overview_says_what_it_shows_then_its_rows_bins_and_level():
    markup = summary(analysed("naive_bayes"))
    title = "<b>Low predictions are too low, high ones too high</b>"
    assert f"{title}1,797 rows · 15 quantile bins · 95% intervals" in markup
    layout = summary_chart(analysed("naive_bayes")).figure.layout
    assert layout.yaxis.title.text == "Observed frequency"


def test_titles_name_the_method_and_its_own_verdict():
    analysis = analysed("naive_bayes")
    said = "Low predictions are too low, high ones too high"
    assert reliability_chart(analysis).heading.title == said
    after = reliability_chart(analysis, ["logistic"]).heading.title
    assert after == "Logistic: no evidence of miscalibration on average"
    # Platt has no verdict of its own in an analysis, but its tests reject.
    assert titles.reliability(analysis, "platt") == "Evidence of miscalibration"
    assert titles.reliability(analysis, "beta") == titles.ON_AVERAGE


@pytest.mark.parametrize("kind", [*ONE_SCORE, "reversed", "uninformative", "some classes"])
def test_every_kind_of_error_has_a_title_that_no_heading_repeats(kind):
    title = titles.reliability(with_verdict(kind=kind))
    assert title
    assert title.lower() not in KIND_WORDS.get(kind, kind)


def test_without_a_test_of_the_curve_only_the_slope_is_stated():
    p_adjusted = {"ks": 0.5, "kuiper": 0.5, "line": 0.001}
    analysis = with_verdict(kind="overconfident", p_adjusted=p_adjusted)
    assert titles.reliability(analysis) == "Predictions are too extreme"


def test_a_title_claims_no_more_than_the_tests():
    fine = with_verdict(answer="no evidence", kind="calibrated", p_adjusted={"ks": 0.4})
    assert titles.reliability(fine) == "No evidence of miscalibration on average"
    unknown = with_verdict(answer="inconclusive", kind="unknown", p_adjusted={"ks": 0.4})
    assert titles.reliability(unknown) == "Inconclusive: no test rejects calibration"
    few = calib.from_predictions([0, 1, 0, 1] * 5, [0.45, 0.45, 0.55, 0.55] * 5)
    assert few.verdict.answer == "inconclusive"
    assert titles.reliability(few) == titles.TOO_FEW
    rejected = with_verdict(answer="inconclusive", p_adjusted={"ks": 0.001})
    assert titles.reliability(rejected) == "Inconclusive: a test rejects calibration"


@rare
def test_confidences_are_compared_with_the_accuracy():
    analysis = analysed("digits")
    assert analysis.words.top_label
    assert titles.reliability(analysis) == "Accuracy is below confidence"


def test_the_cumulative_difference_is_only_stated_beyond_its_band():
    analysis = analysed("naive_bayes")
    first = cumulative_difference_chart(analysis, ["uncalibrated", "logistic"])
    assert first.heading.title == "The cumulative difference reaches 6.4%"
    inside = cumulative_difference_chart(analysis, ["logistic"]).heading.title
    assert inside == "Logistic: the cumulative difference stays within the band"


def test_the_changes_of_a_loss_are_stated_as_what_the_recommended_calibrator_does():
    analysis = analysed("naive_bayes")
    assert difference_chart(analysis).heading.title == "Logistic lowers log loss by 0.101"
    kept = replace(analysis, recommendation=replace(analysis.recommendation, method="uncalibrated"))
    title = difference_chart(kept).heading.title
    assert title == "6 of 6 calibrators significantly lower log loss"
    brier = difference_chart(analysis, "brier_score").heading.title
    assert brier.startswith("Logistic lowers Brier score by 0.0")
    unclear = replace(analysis.methods["logistic"].differences["log_loss"], high=0.1)
    method = replace(analysis.methods["logistic"], differences={"log_loss": unclear})
    changed = replace(analysis, methods={**analysis.methods, "logistic": method})
    assert difference_chart(changed).heading.title.endswith(", not significantly")


def test_before_and_after_are_two_errors():
    analysis = analysed("naive_bayes")
    title = "KS calibration error falls from 6.4% to 0.7% after Logistic"
    drawn = before_after_chart(analysis, ["uncalibrated", "logistic"])
    assert drawn.heading.title == title
    # A chart without the recommended calibrator does not speak of it.
    assert "Logistic" not in before_after_chart(analysis, ["uncalibrated"]).heading.title


def test_models_are_counted_by_their_verdicts():
    wrong = analysed("naive_bayes").verdict
    fine, unclear = replace(wrong, answer="no evidence"), replace(wrong, answer="inconclusive")
    assert titles.of_models([wrong, wrong]) == "2 of 2 models are not calibrated"
    assert titles.of_models([wrong, fine]) == "1 of 2 models is not calibrated"
    assert titles.of_models([fine, fine]) == "No evidence of miscalibration in any of 2 models"
    assert titles.of_models([fine, unclear]) == "No model is clearly miscalibrated"


def test_an_overlay_states_the_largest_gap():
    curves = {"north": analysed("naive_bayes").uncalibrated.reliability}
    assert overlay_chart(curves).heading.title == "Largest gap: +22.7 points, north"


def test_a_long_title_has_lines_that_fit_on_a_phone():
    assert Heading().lines == []
    assert Heading("Short title").lines == ["Short title"]
    # A long name is not cut, because half of an escaped character would be shown.
    name = "&lt;" * 30
    assert Heading(f"1 of 3 slices by {name} has a significant gap").lines.count(name) <= 1
    assert name in " ".join(Heading(f"1 of 3 slices by {name} has a gap").lines).split()
    label = "Logistic with a long name (on log-odds)"
    named = replace(analysed("naive_bayes").methods["logistic"], label=label)
    analysis = replace(
        analysed("naive_bayes"), methods=dict(analysed("naive_bayes").methods) | {"logistic": named}
    )
    drawn = functions_chart(analysis, list(analysis.methods))
    lines = drawn.heading.lines
    assert " ".join(lines) == "Logistic with a long name raises scores below 57% and lowers others"
    assert [len(line) <= MAX_TITLE_LETTERS for line in lines] == [True, True]
    title, details = drawn.figure.layout.annotations[-2:]
    assert title.text.count("<br>") == 1
    # The lines stand neither in each other nor in the plot.
    assert title.yshift - details.yshift >= 25
    assert details.yshift > 0
    assert np.isclose(
        drawn.top, functions_chart(analysed("naive_bayes"), ["uncalibrated"]).top + 18
    )

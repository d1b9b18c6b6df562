"""Titles of charts: statements that claim no more than the tests do."""

from dataclasses import replace

import pytest

import calib
from calib.figures.answer import summary
from calib.figures.cumulative import cumulative_difference_chart
from calib.figures.functions import difference_chart
from calib.figures.reliability import reliability_chart
from calib.figures.summary import before_after_chart, summary_chart
from calib.words import titles
from calib.words.verdicts import HEADINGS, kind_words
from tests.once import analysed

ONE_SCORE = ("overconfident", "underconfident", "too high", "too low", "uneven")


def with_verdict(**changes):
    analysis = analysed("naive_bayes")
    return replace(analysis, verdict=replace(analysis.verdict, **changes))


def test_the_chart_of_overview_says_what_it_shows_then_its_rows_bins_and_level():
    analysis = analysed("naive_bayes")
    title = f"<b>{titles.summary(analysis)}</b>"
    assert f"{title}1,797 rows · 15 quantile bins · 95% intervals" in summary(analysis)
    layout = summary_chart(analysis).figure.layout
    assert layout.yaxis.title.text == "Observed frequency"


@pytest.mark.parametrize("answer", HEADINGS)
def test_the_chart_of_overview_claims_an_error_only_if_tests_find_one(answer):
    shown = with_verdict(answer=answer)
    is_wrong = answer == "not calibrated"
    assert ("error" in {layer.key for layer in summary_chart(shown).layers}) == is_wrong
    assert ("Orange" in titles.summary(shown)) == is_wrong


def test_titles_name_the_method_and_are_the_headings_of_its_own_verdict():
    analysis = analysed("naive_bayes")
    assert reliability_chart(analysis).heading.title == analysis.verdict.heading
    after = reliability_chart(analysis, ["logistic"]).heading.title
    assert after == f"Logistic. {analysis.after.heading}"
    # Platt has no verdict of its own in an analysis, but its tests reject.
    assert titles.reliability(analysis, "platt") == HEADINGS["not calibrated"]
    assert titles.reliability(analysis, "beta") == HEADINGS["no evidence"]


@pytest.mark.parametrize("kind", [*ONE_SCORE, "reversed", "uninformative", "some classes"])
def test_every_kind_of_error_has_one_heading(kind):
    analysis = with_verdict(kind=kind)
    assert titles.reliability(analysis) == analysis.verdict.heading
    assert analysis.verdict.heading == f"{HEADINGS['not calibrated']}: {kind_words(kind)}"


def test_a_method_without_a_verdict_is_inconclusive_if_there_are_too_few_rows():
    few = calib.from_predictions([0, 1, 0, 1] * 5, [0.45, 0.45, 0.55, 0.55] * 5)
    assert few.verdict.answer == "inconclusive"
    assert {titles.reliability(few, key) for key in few.methods} == {HEADINGS["inconclusive"]}


def test_a_cumulative_difference_is_only_stated_beyond_chance(texts):
    analysis = analysed("naive_bayes")
    first = cumulative_difference_chart(analysis, ["uncalibrated", "logistic"])
    texts(first.heading.title)
    inside = cumulative_difference_chart(analysis, ["logistic"]).heading.title
    texts(inside)


def test_the_changes_of_a_loss_are_stated_as_what_the_recommended_calibrator_does(texts):
    analysis = analysed("naive_bayes")
    texts(difference_chart(analysis).heading.title)
    kept = replace(analysis, recommendation=replace(analysis.recommendation, method="uncalibrated"))
    title = difference_chart(kept).heading.title
    texts(title)
    brier = difference_chart(analysis, "brier_score").heading.title
    texts.shown(brier)
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


def test_models_are_counted_by_their_verdicts(texts):
    wrong = analysed("naive_bayes").verdict
    fine, unclear = replace(wrong, answer="no evidence"), replace(wrong, answer="inconclusive")
    assert titles.of_models([wrong, wrong]).startswith("2 of 2 models ")
    assert titles.of_models([wrong, fine]).startswith("1 of 2 models ")
    assert titles.of_models([fine, fine]).startswith(HEADINGS["no evidence"])
    texts(titles.of_models([fine, unclear]))

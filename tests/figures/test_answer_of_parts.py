"""The badge and the numbers of an answer whose slices or periods do not hold."""

import re
from dataclasses import replace

import pytest

import calib
from calib.analysis.plans import choose_plan
from calib.analysis.summary import Held, Parts
from calib.figures import answer
from calib.figures.summary import summary_chart, summary_lines
from calib.loading.examples import EXAMPLES
from calib.words.overview import counts, log_loss

WRONG, RIGHT = Held("ink", "slice", 4, 5), Held("ink", "slice", 0, 5)
MONTHS = Held("day", "month", 1, 12)


@pytest.fixture(scope="module")
def calibrated():
    return calib.analyze(EXAMPLES["logistic"].load(), {"methods": ("logistic",)})


@pytest.fixture(scope="module")
def corrected():
    return calib.analyze(EXAMPLES["naive_bayes"].load(), {"methods": ("logistic",)})


def pills(analysis, parts: Parts) -> list[str]:
    """The colours of the badges, the main one first."""
    made = answer.section(analysis, is_example=False, parts=parts)
    return [part.split('"')[0] for part in made.split('<span class="pill ')[1:]]


def test_only_scores_that_hold_in_every_part_have_the_green_badge(calibrated):
    assert calibrated.verdict.answer == "no evidence"
    assert pills(calibrated, Parts((RIGHT,))) == ["green"]
    assert pills(calibrated, Parts((RIGHT, MONTHS))) == ["orange"]
    assert pills(calibrated, Parts((WRONG,))) == ["orange"]


def test_a_correction_is_complete_only_if_every_part_holds_after_it(corrected):
    assert corrected.after.answer == "no evidence"
    assert pills(corrected, Parts((WRONG,), (RIGHT,))) == ["red"]
    assert pills(corrected, Parts((WRONG, MONTHS), (RIGHT, MONTHS))) == ["red", "orange"]


@pytest.fixture(scope="module")
def churn():
    rows = EXAMPLES["churn"].load()
    analysis = calib.analyze(rows, {"methods": ("logistic",)})
    return analysis, choose_plan(rows, analysis, "predicted_at")


def test_the_numbers_of_a_change_are_those_of_the_rows_since_then(churn):
    analysis, plan = churn
    made = answer.section(analysis, is_example=False, parts=Parts(plan=plan))
    assert pills(analysis, Parts(plan=plan)) == ["orange"]
    now = plan.cells[1]
    for number in (f"{now.mean_score:.1%}", f"{now.base_rate:.1%}"):
        assert number in made
    rows = f"{now.n_rows:,} rows · 15 quantile bins"
    assert all(rows in drawn for drawn in answer.summaries(analysis, plan).values())
    failing = Parts(before=(MONTHS,), after=(MONTHS,), plan=plan)
    assert pills(analysis, failing) == ["orange", "orange"]


def test_the_printed_losses_of_a_plan_differ_by_the_printed_change(churn):
    said = log_loss(*churn)
    before, after, change = re.findall(r"[−\d]\d*\.\d+", said)[:3]
    assert float(after) - float(before) == pytest.approx(float(change.replace("−", "-")), abs=1e-4)


def test_a_plan_is_told_in_rows_of_its_slice(churn):
    analysis, plan = churn
    (one,) = counts(analysis, plan)
    rows = EXAMPLES["churn"].load()
    chosen = (rows.columns["plan"] == plan.plan.value) & plan.inside
    assert one.observed == pytest.approx(rows.outcome[chosen].mean())
    assert one.now == pytest.approx(rows.scores[chosen].mean())
    assert one.after == pytest.approx(plan.scores[chosen].mean())


def test_the_chart_of_a_change_has_the_rows_since_then_and_those_before_as_hollow_dots(churn):
    analysis, plan = churn
    now, after, earlier = summary_lines(analysis, plan)
    for line, cells in zip((earlier, now, after), plan.cells, strict=True):
        assert line.curve.rows.sum() == cells.n_rows
    drawn = {of.of.key: of for of in summary_chart(analysis, plan).layers if of.key == "dots"}
    assert drawn["earlier"].line is None
    assert set(drawn["earlier"].marker.symbol) == {"circle-open"}
    assert drawn["now"].line is not None


def test_both_axes_of_the_chart_have_one_scale_at_every_width(churn):
    for width in answer.SUMMARY_WIDTHS:
        panels = summary_chart(*churn, width=width).panels
        x, y = panels.axes["x"], panels.axes["y"]
        across = panels.width / (x.range[1] - x.range[0])
        upward = panels.height * (y.domain[1] - y.domain[0]) / (y.range[1] - y.range[0])
        assert across == pytest.approx(upward)


def test_a_correction_is_claimed_only_if_every_column_is_checked(corrected):
    whole = answer.section(corrected, is_example=False, parts=Parts((WRONG,), (RIGHT,)))
    some = answer.section(corrected, is_example=False, parts=Parts((WRONG,), (RIGHT,), unchecked=2))
    assert "corrects it" in whole
    assert "corrects it" not in some


def test_a_correction_that_tests_reject_is_incomplete(corrected):
    # A check that fails need not be of slices.
    others = Parts((RIGHT,), (RIGHT,), others=("Decisions",))
    assert pills(corrected, others) == ["red", "orange"]
    assert "corrects it" not in answer.section(corrected, is_example=False, parts=others)
    rejected = replace(corrected.after, p_adjusted={"ks": 0.001}, answer="not calibrated")
    analysis = replace(corrected, after=replace(rejected, kind="too low"))
    assert pills(analysis, Parts((RIGHT,), (RIGHT,))) == ["red", "orange"]
    assert "corrects" not in answer.section(analysis, is_example=False)

"""Whether an answer holds: each line's words and marks follow from the facts."""

import math
from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import pytest

from calib.analysis.decisions import Costs, decide
from calib.analysis.summary import Held, Parts
from calib.words.checks import (
    FAILS,
    HOLDS,
    OPEN,
    failing,
    of_bins,
    of_decisions,
    of_parts,
    of_ranking,
)
from tests.once import analysed

SLICES = Held("plan", "slice", 2, 5)
MONTHS = Held("day", "month", 1, 12)


def right(held: Held) -> Held:
    return replace(held, wrong=0)


@pytest.mark.parametrize("held", [SLICES, MONTHS])
def test_slices_and_periods_fail_before_and_hold_after(held):
    of_time = held is MONTHS
    line = of_parts(Parts((held,), (right(held),)), of_time=of_time)
    assert (line.now, line.after) == (FAILS, HOLDS)
    counted = f"{held.wrong} of {held.tested}"
    of = f"{counted} months" if of_time else f"plan: {counted}"
    assert f"{of} off → 0" == line.words
    assert line.column == ("" if of_time else "plan")
    line = of_parts(Parts((held,), (held,)), of_time=of_time)
    assert failing([line]) == (line.name,)
    # Nothing is recommended, or nothing was tested.
    assert of_parts(Parts((held,)), of_time=of_time).after == OPEN
    few = replace(held, wrong=0, tested=0)
    for parts in (Parts(), Parts((few,), (few,))):
        line = of_parts(parts, of_time=of_time)
        assert (line.now, line.after) == (OPEN, OPEN)


DEVICES = Held("device", "slice", 3, 3)


def test_a_line_has_the_counts_of_one_column_and_names_it():
    before = (DEVICES, SLICES)
    for after, column in (
        # The column that fails afterwards, then the one that fails most.
        ((right(DEVICES), SLICES), "plan"),
        ((right(DEVICES), right(SLICES)), "device"),
        ((DEVICES, SLICES), "device"),
    ):
        line = of_parts(Parts(before, after), of_time=False)
        now, then = (held[0 if column == "device" else 1] for held in (before, after))
        assert line.column == column
        assert line.words == f"{column}: {now.wrong} of {now.tested} off → {then.wrong}"
        assert line.after == (FAILS if then.wrong else HOLDS)


def test_the_column_of_the_plan_is_named_rather_than_those_that_contain_its_slice():
    since = SimpleNamespace(since=date(2026, 5, 1), plan=SimpleNamespace(column="plan"))
    parts = Parts((DEVICES, SLICES), (right(DEVICES), right(SLICES)), since)
    assert of_parts(parts, of_time=False).column == "plan"
    parts = replace(parts, after=(DEVICES, right(SLICES)))
    assert of_parts(parts, of_time=False).column == "device"


def test_columns_that_were_not_tested_are_not_said_to_hold():
    line = of_parts(Parts((right(SLICES),), (right(SLICES),), unchecked=3), of_time=False)
    assert (line.now, line.after) == (OPEN, OPEN)
    assert "3 columns not tested" in line.about
    line = of_parts(Parts((SLICES,), (right(SLICES),), unchecked=3), of_time=False)
    assert (line.now, line.after) == (FAILS, OPEN)


@pytest.mark.parametrize(
    ("share", "mark"), [(0.0, HOLDS), (0.05, HOLDS), (0.3, OPEN), (0.9, FAILS)]
)
def test_the_mark_of_bins_is_about_the_error_and_not_about_agreement(share, mark):
    found = [SimpleNamespace(share=1.0), SimpleNamespace(share=share)]
    line = of_bins(found)
    assert (line.now, line.after) == (FAILS, mark)
    assert (of_bins(found[1:]).now, of_bins(found[1:]).after) == (mark, OPEN)
    assert (of_bins(()).now, of_bins(()).after) == (OPEN, OPEN)


def test_decisions_have_a_mark_if_their_change_is_significant():
    analysis = analysed("naive_bayes")
    table = decide(analysis.held_out, Costs())
    decision = table.methods["logistic"]
    for low, high, mark in ((-0.2, -0.1, HOLDS), (-0.1, 0.1, OPEN), (0.1, 0.2, FAILS)):
        change = replace(decision.change, low=low, high=high)
        changed = {**table.methods, "logistic": replace(decision, change=change)}
        line = of_decisions(replace(table, methods=changed), "logistic")
        assert (line.now, line.after) == (OPEN, mark)
    assert of_decisions(None, "").after == OPEN


def test_equal_areas_are_said_to_be_equal():
    analysis = analysed("naive_bayes")
    area = analysis.uncalibrated.metrics["auc"].value
    line = of_ranking(analysis, Parts())
    assert line.now == f"{area:.3f}"
    after = analysis.advised.metrics["auc"].value
    assert line.after == ("equal" if f"{after:.3f}" == line.now else f"{after:.3f}")
    unknown = replace(analysis.uncalibrated.metrics["auc"], value=math.nan)
    metrics = {**analysis.uncalibrated.metrics, "auc": unknown}
    methods = {"uncalibrated": replace(analysis.uncalibrated, metrics=metrics)}
    alone = replace(analysis, methods={**analysis.methods, **methods})
    assert of_ranking(alone, Parts()).now == OPEN


def test_no_line_has_more_than_six_words():
    parts = Parts((SLICES, MONTHS), (SLICES, MONTHS))
    analysis = analysed("naive_bayes")
    lines = [
        *(of_parts(parts, of_time=of_time) for of_time in (False, True)),
        *(of_parts(Parts(), of_time=of_time) for of_time in (False, True)),
        of_bins([SimpleNamespace(share=1.0), SimpleNamespace(share=0.05)]),
        of_bins(()),
        of_decisions(decide(analysis.held_out, Costs()), "logistic"),
        of_decisions(None, ""),
        of_ranking(analysis, parts),
    ]
    for line in lines:
        words = [word for word in line.words.split() if word != "→"]
        assert len(words) <= 6, line.words

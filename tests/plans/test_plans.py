"""The plan for scores that changed on a day: the numbers of churn, and files without a change."""

from datetime import date

import numpy as np
import pytest
from scipy.special import expit

import calib
from calib.analysis.plans import choose_plan
from calib.analysis.slices import slice_tests
from calib.data.predictions import Predictions
from calib.data.slicing import slice_by
from calib.loading.examples import EXAMPLES
from calib.metrics.proper import row_log_loss
from tests.rare import rare


@pytest.fixture(scope="module")
def churn():
    rows = EXAMPLES["churn"].load()
    analysis = calib.analyze(rows)
    return rows, analysis, choose_plan(rows, analysis, "predicted_at")


def test_the_prepaid_rows_since_may_are_calibrated(churn):
    rows, analysis, found = churn
    assert (found.plan.kind, found.plan.method) == ("slice since", "logistic")
    assert (found.plan.column, found.plan.value) == ("plan", "prepaid")
    assert found.since == date(2026, 5, 1)
    assert date(2026, 4, 28) <= found.since_low <= found.since <= found.since_high
    assert found.since_high <= date(2026, 5, 4)
    # The page advised these: a fit of all rows, and one of all rows since the change.
    assert found.losses["all rows"] == pytest.approx(0.4844, abs=1e-4)
    assert found.losses["rows since"] == pytest.approx(0.4783, abs=1e-4)
    assert found.loss.value <= 0.4713
    assert found.change.high < 0
    inside = rows.columns["predicted_at"] >= np.datetime64("2026-05-01")
    np.testing.assert_array_equal(found.inside, inside)
    view = analysis.held_out.given_rows.rows(inside)
    loss = row_log_loss(view.outcome, found.scores[inside])
    assert found.loss.value == pytest.approx(loss.mean())


def test_after_the_plan_no_slice_of_the_rows_since_may_rejects(churn):
    rows, analysis, found = churn
    view = analysis.held_out.given_rows.rows(found.inside)
    for column in ("plan", "device"):
        cut = slice_by(rows.columns, [column]).rows(found.inside)
        assert slice_tests(view, view.score, cut).significant().any()
        assert not slice_tests(view, found.scores[found.inside], cut).significant().any()
    assert (found.before.answer, found.now.answer) == ("no evidence", "not calibrated")
    assert found.after.answer == "no evidence"


def changed(shift: float, n: int = 9000, seed: int = 3, always: float = 0.0) -> Predictions:
    """Half a year of rows whose log-odds are shifted from 1 September on."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2026-06-01") + np.arange(n) * 180 // n
    z = rng.normal(-0.5, 1.0, n)
    late = day >= np.datetime64("2026-09-01")
    y = rng.random(n) < expit(z + always + np.where(late, shift, 0.0))
    columns = {"site": rng.choice(["a", "b"], n), "day": day}
    return Predictions.from_arrays(y, expit(z), columns=columns)


def choice(rows: Predictions):
    return choose_plan(rows, calib.analyze(rows, {"methods": ("logistic",)}), "day")


def test_a_file_that_breaks_everywhere_is_calibrated_since_then():
    found = choice(changed(0.6))
    assert (found.plan.kind, found.plan.column) == ("rows since", "")
    assert found.since_low <= date(2026, 9, 1) <= found.since_high
    assert (found.since_high - found.since_low).days <= 10
    assert found.losses["rows since"] < found.losses["all rows"] < found.losses[""]


@pytest.mark.parametrize("always", [0.0, 0.4])
def test_a_file_without_a_change_has_no_plan(always):
    assert choice(changed(0.0, always=always)) is None


def test_an_error_before_the_change_does_not_hide_its_day():
    found = choice(changed(0.7, always=0.4))
    assert found.since_low <= date(2026, 9, 1) <= found.since_high
    assert found.before.answer == "not calibrated"


@rare
def test_the_order_of_the_rows_has_no_effect():
    rows = changed(0.6, 4000)
    order = np.random.default_rng(0).permutation(len(rows))
    columns = {name: values[order] for name, values in rows.columns.items()}
    mixed = Predictions.from_arrays(rows.outcome[order], rows.scores[order], columns=columns)
    one, other = choice(rows), choice(mixed)
    assert one.plan == other.plan
    assert one.loss.value == pytest.approx(other.loss.value, abs=1e-9)
    np.testing.assert_allclose(one.scores[order], other.scores, atol=1e-9)


@pytest.mark.parametrize("kind", ["matrix", "test rows", "no dates"])
def test_rows_that_cannot_be_compared_by_day_have_no_plan(kind):
    rows = changed(0.6, 1000)
    columns = dict(rows.columns)
    if kind == "matrix":
        scores = np.column_stack([1 - rows.scores, rows.scores])
        rows = Predictions.from_arrays(rows.outcome, scores, columns=columns)
    elif kind == "test rows":
        test = np.arange(1000) % 2 == 0
        rows = Predictions.from_arrays(rows.outcome, rows.scores, columns=columns, test=test)
    else:
        columns["day"] = np.arange(1000)
        rows = Predictions.from_arrays(rows.outcome, rows.scores, columns=columns)
    assert choice(rows) is None

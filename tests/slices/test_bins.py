"""Rows of a bin: every row once, in the bin that counts it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib
from calib.analysis.slices import bin_of, bin_rows, row_table, score_in
from calib.crossfit.fitting import cross_fit_scores
from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows

SCORES = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=60
)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@given(scores=SCORES, n_bins=st.integers(2, 20))
def test_the_rows_of_all_bins_are_all_rows_once_as_often_as_the_diagram_counts(
    strategy, scores, n_bins
):
    score = np.array(scores)
    outcome = np.arange(len(score)) % 2
    cells = ScoreCells.from_arrays(outcome, score)
    curve = reliability_curve(cells, n_bins=n_bins, strategy=strategy)
    parts = [bin_rows(curve, i, score) for i in range(len(curve.rows))]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(score)))
    for i, part in enumerate(parts):
        assert len(part) == curve.rows[i]
        assert outcome[part].sum() == curve.positive[i]
        assert {bin_of(curve, s) for s in score[part]} == {i}
        assert bin_of(curve, score_in(curve, i)) == i


def test_a_score_that_remembers_a_bin_is_short():
    cells = ScoreCells.from_arrays([0, 1, 1], [0.123456789, 0.123456799, 0.9])
    curve = reliability_curve(cells, n_bins=2, strategy="uniform")
    assert score_in(curve, 0) == 0.12


def test_a_score_that_remembers_a_bin_is_its_end_if_the_mean_rounds_beyond_it():
    # The sums of the rows before shift the mean of the last row by 8 of its last digits.
    cells = ScoreCells.from_arrays(np.arange(301) % 2, np.append(np.full(300, 0.3), 2 / 3))
    curve = reliability_curve(cells, n_bins=3, strategy="uniform")
    assert bin_of(curve, curve.mean_score[1]) is None
    assert score_in(curve, 1) == 2 / 3


def predictions(**more):
    rng = np.random.default_rng(1)
    score = rng.random(400)
    return calib.Predictions.from_arrays(rng.random(400) < score, score, **more)


def test_a_table_holds_all_that_is_known_of_a_row():
    rng = np.random.default_rng(2)
    weight, group = rng.uniform(1, 2, 400), rng.integers(0, 40, 400)
    site = rng.choice(["north", "south"], 400)
    test = np.arange(400) % 2 == 1
    rows = predictions(
        sample_weight=weight,
        group=group,
        test=test,
        columns={"site": site, "score": np.arange(400)},
        class_names=("stayed", "left"),
        outcome_name="customer",
    )
    held_out = cross_fit_scores(
        CountedRows.of_rows(rows.view()), calib.Settings(methods=("platt",))
    )
    table = row_table(rows, held_out, "platt", np.array([0, 5]))
    assert table["row"].tolist() == [2, 12]
    at = [1, 11]
    assert table["customer"].tolist() == [("stayed", "left")[rows.outcome[i]] for i in at]
    assert table["score"].tolist() == rows.scores[at].tolist()
    assert table["score, platt"].tolist() == held_out.row_scores("platt")[[0, 5]].tolist()
    assert table["weight"].tolist() == weight[at].tolist()
    assert table["site"].tolist() == site[at].tolist()
    assert table["score (column)"].tolist() == at


def test_a_table_without_more_columns_is_short():
    rows = predictions()
    held_out = cross_fit_scores(CountedRows.of_rows(rows.view()), calib.Settings(methods=()))
    table = row_table(rows, held_out, "uncalibrated", np.arange(3))
    assert list(table) == ["row", "outcome", "score"]
    assert table["row"].tolist() == [1, 2, 3]

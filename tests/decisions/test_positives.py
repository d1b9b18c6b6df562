import numpy as np
import pytest
from scipy import stats

from calib.analysis.decisions import expected_by_band, expected_counts
from tests.expanded import expanded


def test_sums_over_the_rows_in_the_range(held_out):
    counts = expected_counts(held_out, 0.2, 0.7)
    rows, scores_of = expanded(held_out)
    inside = (rows.score >= 0.2) & (rows.score <= 0.7)
    assert (counts.rows, counts.observed) == (inside.sum(), rows.outcome[inside].sum())
    for key, scores in scores_of.items():
        assert counts.expected[key] == pytest.approx(scores[inside].sum())
        difference = (rows.outcome - scores)[inside]
        low, high = stats.norm.interval(
            0.95, difference.sum(), stats.sem(difference) * inside.sum()
        )
        excess = counts.excess[key]
        assert (excess.value, excess.low, excess.high) == pytest.approx(
            (difference.sum(), low, high), abs=1e-9
        )


def test_calibrated_scores_expect_what_came(held_out):
    excess = expected_counts(held_out, 0.5, 1.0).excess
    assert excess["uncalibrated"].high < 0
    assert excess["isotonic"].low < 0 < excess["isotonic"].high


def test_weights_count(weighted):
    counts = expected_counts(weighted)
    weight = weighted.rows.weight
    assert counts.weight == pytest.approx(weight.sum())
    assert counts.observed == pytest.approx(weight @ weighted.rows.outcome)


@pytest.mark.parametrize("name", ["held_out", "weighted", "tied"])
def test_bands_hold_each_row_once_and_a_score_at_an_edge_in_the_upper_one(name, request):
    held_out = request.getfixturevalue(name)
    rows, scores_of = expanded(held_out)
    weight = rows.weights
    bands = expected_by_band(held_out)
    assert [band.low for band in bands] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    for band in bands:
        inside = (rows.score >= band.low) & ((rows.score < band.high) | (band.high == 1.0))
        assert band.rows == inside.sum()
        assert band.observed == pytest.approx(weight[inside] @ rows.outcome[inside])
        for key, scores in scores_of.items():
            assert band.expected[key] == pytest.approx(weight[inside] @ scores[inside])
    everything = expected_counts(held_out)
    assert sum(band.rows for band in bands) == everything.rows
    assert sum(band.observed for band in bands) == pytest.approx(everything.observed)


def test_counts_of_chosen_methods_are_those_among_all(held_out):
    chosen = ["uncalibrated", "isotonic"]
    for counted in (
        lambda **only: [expected_counts(held_out, 0.2, 0.7, **only)],
        lambda **only: expected_by_band(held_out, **only),
    ):
        for few, all_ in zip(counted(methods=chosen), counted(), strict=True):
            assert list(few.expected) == chosen
            assert (few.rows, few.observed) == (all_.rows, all_.observed)
            for key in chosen:
                assert few.expected[key] == all_.expected[key]
                assert few.excess[key] == all_.excess[key]


def test_there_must_be_a_band(held_out, texts):
    with texts.raises(ValueError):
        expected_by_band(held_out, 0)


def test_a_range_without_rows_expects_nothing(tied):
    counts = expected_counts(tied, 0.41, 0.42)
    assert (counts.rows, counts.observed, counts.expected["platt"]) == (0, 0.0, 0.0)
    assert counts.frame().loc["platt", "excess"] == 0.0


@pytest.mark.parametrize("bounds", [(0.6, 0.5), (-0.1, 0.5), (0.1, 1.1), (np.nan, 1.0)])
def test_refusals(held_out, bounds, texts):
    with texts.raises(ValueError):
        expected_counts(held_out, *bounds)

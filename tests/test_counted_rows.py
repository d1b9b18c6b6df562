"""Entries that count several rows give the numbers of the rows themselves."""

import dataclasses

import numpy as np
import pytest

from calib.analysis.periods import cut_periods, period_table
from calib.analysis.slices import Slicing, slice_error_rates, slice_gaps
from calib.crossfit.folds import cells_outside_folds, split_into_folds
from calib.crossfit.settings import Settings
from calib.data.aggregating import aggregate_rows
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.uncertainty import slope_estimate

SITES = ("north", "south", "west")


@pytest.fixture(params=["unweighted", "weighted"])
def both(request: pytest.FixtureRequest) -> tuple[BinaryView, Slicing, BinaryView, Slicing]:
    """Rows with ties and their sites, and the same as counted entries."""
    rng = np.random.default_rng(3)
    n = 2000
    score = rng.beta(0.7, 0.9, n).round(1)
    outcome = rng.random(n) < 0.1 + 0.7 * score
    # Rows with the same score and outcome have the same weight, so counts lose nothing.
    weight = None if request.param == "unweighted" else 0.5 + score + outcome
    site = rng.integers(0, 3, n)
    rows = Predictions.from_arrays(outcome, score, weight).view()
    counted = aggregate_rows(rows, {"site": (SITES, site)}).by("site")
    assert len(counted.rows.entries) < 70
    return (
        rows,
        Slicing(("site",), SITES, site),
        counted.rows.entries,
        Slicing(("site",), counted.names, counted.codes),
    )


def numbers(result: object) -> dict[str, np.ndarray]:
    values = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    return {k: v for k, v in values.items() if isinstance(v, np.ndarray | float)}


def agree(one: object, other: object) -> None:
    expected, actual = numbers(one), numbers(other)
    assert expected
    for name, values in expected.items():
        np.testing.assert_allclose(values, actual[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_slope_and_its_interval(both) -> None:
    rows, _, counted, _ = both
    agree(slope_estimate(rows), slope_estimate(counted))


def test_gaps_of_slices(both) -> None:
    rows, cut, counted, few = both
    shrunk = 0.1 + 0.8 * rows.score
    agree(slice_gaps(rows, shrunk, cut), slice_gaps(counted, 0.1 + 0.8 * counted.score, few))


def test_error_rates_of_slices(both) -> None:
    rows, cut, counted, few = both
    agree(
        slice_error_rates(rows, (rows.score >= 0.5) * 1.0, cut),
        slice_error_rates(counted, (counted.score >= 0.5) * 1.0, few),
    )


def test_periods(both) -> None:
    rows, cut, counted, few = both
    agree(
        period_table(rows, rows.score, cut_periods(cut.codes)),
        period_table(counted, counted.score, cut_periods(few.codes)),
    )


@pytest.mark.parametrize("named", [False, True], ids=["drawn folds", "named folds"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("max_scores", [10, 100_000], ids=["on the grid", "exact"])
def test_cells_outside_a_fold_are_those_of_the_rows_outside(named, weighted, max_scores):
    rng = np.random.default_rng(5)
    n = 3000
    score = rng.beta(0.7, 0.9, n).round(3)
    rows = BinaryView(
        rng.random(n) < score,
        score,
        weight=rng.gamma(2.0, 1.0, n) if weighted else None,
        fold=rng.integers(0, 4, n) if named else None,
    )
    counted = CountedRows.of_rows(rows, max_scores=max_scores)
    entries, source = split_into_folds(counted.entries, Settings())
    assert entries.fold is not None
    made = list(cells_outside_folds(entries, counted.cell[source]))
    assert len(made) == len(np.unique(entries.fold)) > 3
    for number, cells in enumerate(made):
        expected = entries.rows(entries.fold != number).cells()
        for name, values in numbers(expected).items():
            if name == "design_effect":
                continue
            actual = getattr(cells, name)
            assert actual == pytest.approx(values, rel=1e-12 if weighted else 0.0, abs=0.0), name
        assert (cells.weight is cells.rows) == (expected.weight is expected.rows)
        # Separated classes are recognised by cells with one outcome, so these must be exact.
        assert np.array_equal(cells.positive >= cells.weight, expected.positive >= expected.weight)


def test_cells_outside_folds_of_clusters_know_their_design_effect():
    rng = np.random.default_rng(6)
    group = np.repeat(np.arange(40), 25)
    score = np.repeat(rng.random(40), 25)
    outcome = np.repeat(rng.random(40), 25) < score
    rows = BinaryView(outcome, score, group=group, fold=group % 4)
    effects = [cells.design_effect for cells in cells_outside_folds(rows, None)]
    assert effects == [rows.rows(group % 4 != k).cells().design_effect for k in range(4)]
    assert max(effects) > 1.0

"""Runs of cells: no edge of a bin lies within one, and nothing is lost on the way."""

import itertools

import numpy as np
import pytest

from calib.data.cells import ScoreCells
from calib.metrics.cumulative import ks_error, kuiper_error
from calib.numerics.arrays import thin_indices
from calib.numerics.binning import bin_edges, bin_starts
from calib.numerics.few_cells import cell_runs
from tests.rare import common_first

RNG = np.random.default_rng(5)
N = 60_000
EVEN = RNG.random(N)
SCORES = {
    "even": EVEN,
    "both ends": np.clip(1.2 * EVEN - 0.1, 0.0, 1.0),
    "near 0": EVEN**9,
    "ten thousandths and more": np.round(EVEN, 5),
}


@pytest.mark.parametrize("name", common_first(SCORES, ["both ends", "near 0"]))
@pytest.mark.parametrize("weighted", common_first([False, True], [True]))
def test_every_bin_is_made_of_whole_runs(name, weighted):
    score = SCORES[name]
    weight = RNG.exponential(size=N) + 0.01 if weighted else None
    cells = ScoreCells.from_arrays(RNG.random(N) < score**1.3, score, weight)
    runs = cell_runs(cells)
    assert len(runs) <= 8192 < len(cells)
    assert not runs.are_cells
    thousandths = np.linspace(0.0, 1.0, 1001)[1:]  # Here 8,192 runs have room for them.
    reached = np.searchsorted(runs.low, thousandths, side="right") - 1
    assert (runs.high[reached] <= thousandths)[reached >= 0].all()
    first = np.searchsorted(cells.score, runs.low)
    for strategy in ("uniform", "quantile"):
        for n_bins in range(2, 101):
            starts = bin_starts(cells.score, bin_edges(cells, n_bins, strategy))
            assert np.isin(starts, [*first, len(cells)]).all()


@pytest.mark.parametrize("most", [8192, 100])  # 100 runs have no room for points of the curve.
def test_sums_and_cumulative_errors_are_those_of_the_cells(most):
    score = SCORES["both ends"]
    weight = RNG.exponential(size=N) + 0.01
    cells = ScoreCells.from_arrays(RNG.random(N) < score**1.3, score, weight)
    runs = cell_runs(cells, most)
    total = weight.sum()
    difference = np.append(0.0, np.cumsum(runs.positive - runs.score_sum)) / total
    assert np.abs(difference).max() == pytest.approx(ks_error(cells), abs=1e-14)
    assert np.ptp(difference) == pytest.approx(kuiper_error(cells), abs=1e-14)
    assert runs.rows.sum() == N
    assert runs.weight_sq.sum() == pytest.approx((weight**2).sum(), rel=1e-13)


def test_few_cells_stay_as_they_are():
    cells = ScoreCells.from_arrays([0, 1, 1, 0], [0.0, 0.5, 1.0, 0.5])
    runs = cell_runs(cells)
    assert runs.are_cells
    np.testing.assert_array_equal(runs.high, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(runs.rows, [1.0, 2.0, 1.0])
    np.testing.assert_array_equal(runs.positive, [0.0, 1.0, 1.0])


def test_so_many_cells_as_are_allowed_stay_as_they_are():
    cells = ScoreCells.from_arrays(RNG.random(N) < EVEN, EVEN)
    assert cell_runs(cells, len(cells)).are_cells
    assert not cell_runs(cells, len(cells) - 1).are_cells


@pytest.mark.parametrize(("n", "most"), [(1000, 101), (102, 101), (5000, 6), (64, 8)])
def test_points_of_a_long_curve_are_its_ends_and_the_extremes_of_equal_runs(n, most):
    curve = np.cumsum(RNG.normal(size=n))
    edges = np.linspace(0, n, (most - 2) // 3 + 1).astype(int)
    expected = {0, n - 1, *edges[:-1].tolist()}
    for start, end in itertools.pairwise(edges):
        run = curve[start:end]
        expected |= {start + int(run.argmin()), start + int(run.argmax())}
    assert thin_indices(curve, most).tolist() == sorted(expected)
    assert thin_indices(curve, n).tolist() == list(range(n))

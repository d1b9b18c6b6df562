"""The bins of all stops at once are those of each stop alone, to the last bit."""

import numpy as np
import pytest

from calib.curves import stops as module
from calib.curves.reliability import BIN_COLUMNS, bin_tests, reliability_curve
from calib.curves.stops import STOPS, bin_stops, stop_intervals
from calib.data.cells import ScoreCells
from calib.numerics.poisson_binomial import calibrated_gap

CHOSEN = [(n, by) for n in (2, 15, 33, 100) for by in ("quantile", "uniform")]


def cells_of(kind):
    rng = np.random.default_rng(3)
    score = rng.beta(0.8, 1.5, 3000)
    weight = None
    if kind == "ties":
        score = score.round(1)
    elif kind == "weights":
        weight = rng.exponential(size=3000) + 0.01
    elif kind == "rare":
        score = np.repeat(score / 300, 5)
    return ScoreCells.from_arrays(rng.random(len(score)) < score, score, weight)


@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "rare"])
def test_each_stop_is_the_diagram_of_its_bins(kind):
    cells = cells_of(kind)
    found = bin_stops(cells, CHOSEN)
    made = stop_intervals(cells, found, 0.9)
    for at, ((n_bins, strategy), part) in enumerate(zip(CHOSEN, found.parts(), strict=True)):
        chosen = {"n_bins": n_bins, "strategy": strategy, "confidence_level": 0.9}
        curve = reliability_curve(cells, **chosen)
        together = reliability_curve(cells, **chosen, band="simultaneous")
        for name in BIN_COLUMNS:
            np.testing.assert_array_equal(getattr(found.bins, name)[part], getattr(curve, name))
        for name in ("low", "high", "band_low", "band_high"):
            np.testing.assert_array_equal(getattr(made, name)[part], getattr(curve, name))
        np.testing.assert_array_equal(made.together_low[part], together.band_low)
        np.testing.assert_array_equal(made.together_high[part], together.band_high)
        p_adjusted = bin_tests(cells, curve).p_adjusted[:-1]
        np.testing.assert_array_equal(made.p_adjusted[part], p_adjusted)
        assert found.worst[at] == curve.worst
        share = curve.weight / cells.total_weight
        assert found.ece[at] == pytest.approx(share @ np.abs(curve.gap), rel=1e-14)
        alone = bin_stops(cells, [(n_bins, strategy)])
        expected = share @ calibrated_gap(cells, alone.bins)
        assert made.chance[at] == pytest.approx(expected, rel=1e-14)
        widths = [np.median(each.band_high - each.band_low) for each in (curve, together)]
        assert [made.band_width[at], made.together_width[at]] == widths


def test_batches_change_nothing(monkeypatch):
    cells = cells_of("plain")
    found = bin_stops(cells, CHOSEN)
    whole = stop_intervals(cells, found)
    monkeypatch.setattr(module, "MAX_ROWS_AT_ONCE", 2000)
    parts = stop_intervals(cells, found)
    for name in ("band_low", "together_low", "chance"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_the_stops_are_those_of_the_control():
    assert {n for n, _ in STOPS} == set(range(2, 101))
    assert len(STOPS) == len(set(STOPS)) == 198

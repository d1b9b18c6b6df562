import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from calib.data.cells import ScoreCells
from calib.numerics.resampling import (
    BENDS,
    cluster_squares,
    curve_design_effect,
    mean_design_effects,
)


def test_squares_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    values, part, group = rng.normal(size=400), rng.integers(0, 5, 400), rng.integers(0, 60, 400)
    squares, n = cluster_squares(values, part, group, 6)
    for k in range(6):
        totals = {
            g: values[(part == k) & (group == g)].sum() for g in set(group[part == k].tolist())
        }
        assert squares[k] == pytest.approx(sum(total**2 for total in totals.values()))
        assert n[k] == len(totals)


def test_copies_count_once():
    values = np.repeat(np.random.default_rng(1).normal(size=3000), 4)
    part, group = np.arange(12_000) % 4 // 4, np.repeat(np.arange(3000), 4)
    assert mean_design_effects(values, part, group, 1)[0] == pytest.approx(4.0, rel=1e-3)
    assert mean_design_effects(values, part, np.arange(12_000), 1)[0] == pytest.approx(
        1.0, abs=1e-3
    )
    assert mean_design_effects(values, part, None, 1)[0] == 1.0


def test_parts_without_spread_take_the_mean_of_the_others():
    residual = np.r_[np.repeat([1.0, -1.0], 50), np.zeros(20)]
    part, group = np.repeat([0, 1], [100, 20]), np.arange(120) // 2
    effect = mean_design_effects(residual, part, group, 3)
    assert effect[0] > 1.9
    assert effect[1] == effect[2] == effect[0]


def test_a_line_over_the_stretches_is_no_bend():
    at = np.arange(10.0)
    np.testing.assert_allclose(BENDS @ (3.0 - 2.0 * at), 0.0, atol=1e-12)
    square = at**2 - (9.0 * at - 12.0)  # The best straight line is subtracted.
    np.testing.assert_allclose(BENDS @ at**2, square, atol=1e-12)
    assert np.trace(BENDS) == pytest.approx(8.0)


@pytest.mark.parametrize("separated", [False, True])
def test_the_design_effect_of_a_curve_by_hand(separated):
    """Residuals of the isotonic fit, by cluster and tenth of the weight, less the best line."""
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(12), 15)
    score = np.sort(rng.random(180)).reshape(12, 15).ravel()  # Scores of a cluster are neighbours.
    shared = rng.normal(size=12)[group]
    outcome = score > 0.4 if separated else 0.8 * shared + rng.normal(size=180) > 1.0 - 2.0 * score
    weight = rng.uniform(0.5, 2.0, 180)
    curve = isotonic_regression(outcome.astype(float), weights=weight).x
    residual = outcome - (outcome.mean() if separated else curve)
    tenth = (10 * (np.cumsum(weight) - 0.5 * weight) / weight.sum()).astype(int)
    line = np.column_stack([np.ones(10), np.arange(10)])
    leverage = np.diag(line @ np.linalg.inv(line.T @ line) @ line.T)
    together = 0.0
    for c in range(12):
        inside = group == c
        sums = np.bincount(tenth[inside], (weight * residual)[inside], minlength=10)
        together += np.linalg.lstsq(line, sums)[1][0]
    alone = (weight * residual) ** 2 @ (1.0 - leverage[tenth])
    assert together > 1.2 * alone
    cells = ScoreCells.from_arrays(outcome, score, weight)
    rows = (score, outcome, weight, weight**2)
    effect = curve_design_effect(cells, *rows, group)
    assert effect == pytest.approx(together / alone, rel=1e-9)
    assert curve_design_effect(cells, *rows, np.arange(180)) == pytest.approx(1.0, abs=1e-9)


def test_rows_that_only_mirror_each_other_have_no_design_effect_below_1():
    score = np.repeat(np.arange(1, 21) / 21, 2)
    outcome = np.arange(40) % 2 == 0
    cells = ScoreCells.from_arrays(outcome, score)
    rows = (score, outcome, np.ones(40), np.ones(40))
    assert curve_design_effect(cells, *rows, np.arange(40) // 2) == 1.0

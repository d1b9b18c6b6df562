"""Log loss over epsilon: the comparison's own numbers, and the rows that are left alone."""

import numpy as np
import pytest

from calib.calibrators import score_methods
from calib.crossfit.cross_fitted import losses
from calib.crossfit.epsilon import (
    EPSILONS,
    by_rule,
    cross_fit_folds,
    epsilon_curve,
    few_cells,
    rows_outside,
    takes_epsilon,
)
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.views import BinaryView


def overconfident(n: int, **columns) -> BinaryView:
    rng = np.random.default_rng(5)
    z = rng.normal(-1.0, 1.5, n)
    score = 1 / (1 + np.exp(-(1.8 * z + 0.4)))
    score[: n // 50] = 0.0
    return BinaryView(rng.random(n) < 1 / (1 + np.exp(-z)), score, **columns)


def by_comparison(view: BinaryView, settings: Settings) -> float:
    """Weighted mean of the comparison's losses, row by row."""
    held_out = cross_fit_scores(CountedRows.of_rows(view), settings)
    return float(np.average(losses(held_out, "spline")["log_loss"], weights=held_out.rows.weights))


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1])
@pytest.mark.parametrize("kind", ["folds", "weights", "groups", "test rows"])
def test_a_point_is_the_log_loss_of_the_comparison(kind, epsilon):
    n = 400
    columns = {
        "folds": {},
        "weights": {"weight": np.random.default_rng(1).uniform(0.5, 2.0, n)},
        "groups": {"group": np.arange(n) // 4},
        "test rows": {"test": np.arange(n) % 3 == 0},
    }[kind]
    view = overconfident(n, **columns)
    settings = Settings(methods=("spline",), n_folds=3, seed=2)
    expected = by_comparison(
        view, Settings(methods=("spline",), n_folds=3, seed=2, epsilon=epsilon)
    )
    assert cross_fit_folds(cross_fit_scores(CountedRows.of_rows(view), settings)).log_loss(
        "spline", epsilon
    ) == pytest.approx(expected, rel=1e-12)


def test_many_rows_in_few_cells_change_no_digit_that_is_shown():
    view = overconfident(40_000)
    settings = Settings(methods=("spline",), n_folds=2, epsilon=1e-4)
    rounds = cross_fit_folds(cross_fit_scores(CountedRows.of_rows(view), settings))
    assert max(len(cells) for pair in rounds.pairs for cells in pair) <= 4200
    assert rounds.log_loss("spline", 1e-4) == pytest.approx(by_comparison(view, settings), abs=1e-5)


def test_few_cells_keep_all_sums_and_every_count_of_rows_outside():
    view = overconfident(20_000, weight=np.random.default_rng(0).uniform(0.5, 2.0, 20_000))
    cells = view.cells()
    few = few_cells(cells, 100)
    assert len(few) <= 100 + 2 * len(EPSILONS)
    for name in ("rows", "weight", "positive", "weight_sq", "positive_sq"):
        assert getattr(few, name).sum() == pytest.approx(getattr(cells, name).sum(), rel=1e-12)
    assert (np.diff(few.score) > 0).all()
    for epsilon in EPSILONS:
        assert rows_outside(few, epsilon) == rows_outside(cells, epsilon), epsilon


def test_epsilon_changes_nothing_until_it_leaves_rows_alone():
    # While all scores are inside, G is a straight line of the log-odds, so the spline is the same
    # up to the search for lambda, which stops at the eighth digit.
    view = overconfident(400)
    inside = BinaryView(view.outcome, np.clip(view.score, 1e-4, 1 - 1e-4))
    rounds = cross_fit_folds(
        cross_fit_scores(CountedRows.of_rows(inside), Settings(methods=(), n_folds=2))
    )
    assert rounds.log_loss("spline", 1e-12) == pytest.approx(
        rounds.log_loss("spline", 1e-6), abs=1e-6
    )


def test_rows_outside_are_counted_with_their_ties():
    score = [0.0, 0.001, 0.001, 0.01, 0.5, 0.99, 0.995, 1.0]
    cells = ScoreCells.from_arrays([0, 1] * 4, score)
    for epsilon in (1e-9, 0.001, 0.005, 0.01, 0.3):
        expected = sum(s < epsilon or s > 1 - epsilon for s in score)
        assert rows_outside(cells, epsilon) == expected, epsilon


def test_a_curve_has_a_point_an_epsilon():
    cells = ScoreCells.from_arrays([0, 1, 1], [0.005, 0.5, 0.9999])
    curve = epsilon_curve("spline", Settings(), cells, lambda epsilon: 1.0 + epsilon)
    np.testing.assert_array_equal(curve.log_loss, 1.0 + curve.epsilon)
    assert (np.diff(curve.epsilon) > 0).all()
    assert curve.swing == pytest.approx(0.3)
    assert curve.n_outside[0] == 0
    assert curve.n_outside[-1] == 2
    assert list(curve.frame().columns) == ["epsilon", "log_loss", "n_outside"]


def test_progress_is_told_before_every_fit():
    calls = []
    rounds = cross_fit_folds(
        cross_fit_scores(CountedRows.of_rows(overconfident(200)), Settings(methods=(), n_folds=3))
    )
    rounds.log_loss("ispline", 0.01, lambda share, text: calls.append((share, text)))
    assert [share for share, _ in calls] == [0.0, 1 / 3, 2 / 3]
    assert calls[0][1] == "I-spline at ε = 0.01"


def test_the_map_by_rule_is_that_of_the_analysis_without_a_chosen_epsilon():
    view = overconfident(300)
    chosen = cross_fit_scores(
        CountedRows.of_rows(view), Settings(methods=("spline",), epsilon=0.1, n_folds=2)
    )
    ruled = cross_fit_scores(CountedRows.of_rows(view), Settings(methods=("spline",), n_folds=2))
    function = by_rule(chosen, ("spline",))["spline"]
    np.testing.assert_array_equal(
        function.calibrated, ruled.calibrators["spline"].predict(function.score)
    )
    assert not np.array_equal(
        function.calibrated, chosen.calibrators["spline"].predict(function.score)
    )


def test_methods_on_the_compact_logit_are_found_in_the_registry():
    assert {key for key in score_methods() if takes_epsilon(key)} == {
        "spline",
        "splinecalib",
        "ispline",
        "stack",
    }

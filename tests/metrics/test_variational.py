"""The variational error against the published definition, known errors and scikit-learn."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

import calib
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.metrics import variational, variational_error, variational_estimate
from calib.numerics.resampling import split_counts
from tests.rare import rare


def drawn(slope, n=5000, shape=0.5, seed=0):
    rng = np.random.default_rng(seed)
    score = np.clip(rng.beta(shape, shape, n), 1e-9, 1.0 - 1e-9)
    return rng.random(n) < expit(slope * logit(score)), score


def by_hand(y, score, fold):
    """mean(sign(g(f) - f) (y - f)), and its parts with g cut at f on one side of 0.5."""
    g = np.empty(len(score))
    for number in np.unique(fold):
        held_out = fold == number
        isotonic = IsotonicRegression(out_of_bounds="clip")
        g[held_out] = isotonic.fit(score[~held_out], y[~held_out]).predict(score[held_out])

    def mean(calibrated):
        return float(np.mean(np.sign(calibrated - score) * (y - score)))

    high = score > 0.5
    over = np.where(high, np.minimum(g, score), np.maximum(g, score))
    under = np.where(high, np.maximum(g, score), np.minimum(g, score))
    return mean(g), mean(over), mean(under)


@pytest.mark.parametrize("slope", [0.4, 1.0, 4.0])
def test_the_published_formula_gives_the_same_in_the_same_folds(slope):
    y, score = drawn(slope, n=2000)
    # Distinct scores: the cells are the rows by score, negative ones first in `split_counts`.
    order = np.argsort(score)
    y, score = y[order].astype(float), score[order]
    counts = np.array([1 - y, y], dtype=np.int64)
    parts = split_counts(counts.ravel(), 5, np.random.default_rng(0)).reshape(5, 2, -1)
    fold = parts.sum(axis=1).argmax(axis=0)
    result = variational_error(y, score)
    expected = by_hand(y, score, fold)
    assert (result.error, result.overconfident, result.underconfident) == pytest.approx(expected)
    assert result.overconfident + result.underconfident == pytest.approx(result.error)


@pytest.mark.parametrize(("slope", "over", "under"), [(0.4, 0.126, -0.001), (4.0, -0.001, 0.128)])
def test_the_parts_are_those_that_the_paper_prints(slope, over, under):
    results = [variational_error(*drawn(slope, seed=seed)) for seed in range(40)]
    for values, printed in (
        ([r.overconfident for r in results], over),
        ([r.underconfident for r in results], under),
    ):
        error = np.std(values) / math.sqrt(len(values))
        assert np.mean(values) == pytest.approx(printed, abs=0.002 + 2.0 * error)


@rare
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_calibrated_scores_have_the_error_0_on_average(n):
    values = [variational_error(*drawn(1.0, n, 2.0, seed), random_state=seed).error
              for seed in range(600)]  # fmt: skip
    assert abs(np.mean(values)) < 3.0 * np.std(values) / math.sqrt(len(values))


def test_the_standard_error_is_that_of_repeated_samples():
    results = [variational_error(*drawn(1.0, 1000, 2.0, seed)) for seed in range(300)]
    spread = np.std([r.error for r in results])
    assert np.mean([r.standard_error for r in results]) == pytest.approx(spread, rel=0.1)
    y, score = drawn(1.0, 1000, 2.0)
    sign = np.ones(1000)  # The variance of y - s does not depend on its sign.
    expected = math.sqrt(variational.SHARED_SIGNS) * np.std(sign * (y - score)) / math.sqrt(1000)
    assert variational_error(y, score).standard_error == pytest.approx(expected, rel=0.02)


def test_the_interval_has_the_level():
    y, score = drawn(0.6, 2000)
    rows = BinaryView(y, score)
    estimate, error = variational_estimate(rows), variational_error(y, score)
    assert estimate.error.value == error.error
    assert estimate.error.high - error.error == pytest.approx(1.959964 * error.standard_error)
    narrow = variational_estimate(rows, confidence_level=0.5).error
    assert narrow.high - narrow.low < 0.5 * (estimate.error.high - estimate.error.low)


def test_equal_rows_are_split_at_random_and_not_together():
    # With one score and a rate of 0.5 the sign of a fold is chance. If equal rows were held out
    # together, each fold would have one outcome, and the error would be -0.5.
    y = np.repeat([0, 1], 500)
    errors = [variational_error(y, np.full(1000, 0.5), random_state=i).error for i in range(50)]
    assert max(map(abs, errors)) < 0.05
    # Here the score is too low everywhere, and each fold sees it.
    assert variational_error(y, np.full(1000, 0.2)).error == pytest.approx(0.3)


def test_a_score_of_one_half_is_in_neither_part():
    result = variational_error(np.repeat([0, 1], [200, 800]), np.full(1000, 0.5))
    assert result.error == pytest.approx(0.3)
    assert result.overconfident == result.underconfident == 0.0


def test_one_row_has_no_other():
    result = variational_error([1], [0.25])
    assert result.error == 0.0
    assert math.isnan(result.standard_error)
    alone = BinaryView(np.array([True, False]), np.array([0.2, 0.4]), group=np.array([3, 3]))
    assert variational_estimate(alone).error.value == 0.0
    assert math.isnan(variational_estimate(alone).error.low)


def test_fewer_than_two_folds_are_refused(texts):
    with texts.raises(ValueError):
        variational_error([0, 1], [0.2, 0.4], n_folds=1)
    rows = BinaryView(np.array([True, False]), np.array([0.2, 0.4]), group=np.array([0, 1]))
    with texts.raises(ValueError):
        variational_estimate(rows, n_folds=1)


def test_clusters_are_held_out_as_a_whole():
    """Copies in other folds would repeat the chance of the rows that are held out."""
    y, score = drawn(1.0, 300, 2.0)
    ten = np.repeat(np.arange(300), 10)
    leaked = variational_estimate(BinaryView(y[ten], score[ten]))
    kept = variational_estimate(BinaryView(y[ten], score[ten], group=ten))
    assert leaked.error.low > 0.05  # With copies in all folds, g is fitted to the same rows.
    assert kept.error.low < 0.0 < kept.error.high
    # Ten copies of a row have no more information than the row.
    single = variational_estimate(BinaryView(y, score))
    width = single.error.high - single.error.low
    assert kept.error.high - kept.error.low == pytest.approx(width, rel=0.1)


def test_the_order_of_clustered_rows_has_no_effect():
    y, score = drawn(0.7, 900)
    rng = np.random.default_rng(1)
    weight, group = rng.exponential(size=900) + 0.1, rng.integers(0, 200, 900)
    order = rng.permutation(900)
    names = rng.permutation(200)
    one = variational_estimate(BinaryView(y, score, weight, group=group))
    other = variational_estimate(
        BinaryView(y[order], score[order], weight[order], group=names[group[order]])
    )
    assert other.error.value == pytest.approx(one.error.value, abs=1e-12)
    assert other.error.low == pytest.approx(one.error.low, abs=1e-12)


def test_a_table_has_its_interval_by_cluster():
    y, score = drawn(0.6, 600)
    four = np.repeat(np.arange(600), 4)
    settings = calib.Settings(methods=(), metrics=("variational_error",))
    rows = calib.Predictions.from_arrays(y[four], score[four], group=four)
    estimate = calib.analyze(rows, settings).uncalibrated.metrics["variational_error"]
    again = variational_estimate(rows.view()).error
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
        (again.value, again.low, again.high)
    )


@pytest.mark.parametrize("slope", [0.4, 1.0, 3.0])
def test_no_monotone_calibrator_saves_more_than_the_kuiper_error_at_any_threshold(slope):
    """Deciding by a score of at least c in place of the threshold t, over all c and t."""
    y, score = drawn(slope, 400, 2.0)
    kuiper = calib.metrics.kuiper_error(y, score)
    most = 0.0
    for t in np.linspace(0.01, 0.99, 99):
        flagged = np.concatenate([score, [2.0]])[:, None] <= score
        cost = (t * ~y * flagged + (1.0 - t) * y * ~flagged).mean(axis=1)
        own = (t * ~y * (score >= t) + (1.0 - t) * y * (score < t)).mean()
        most = max(most, own - cost.min())
    assert 0.0 < most <= kuiper + 1e-12


def test_rows_of_one_score_and_several_weights_are_counted_in_effective_rows():
    cells = ScoreCells.from_arrays([0, 0, 1, 1], [0.5] * 4, [1.0, 3.0, 2.0, 2.0])
    weight = np.array([cells.negative, cells.positive])
    square = np.array([cells.weight_sq - cells.positive_sq, cells.positive_sq])
    # (1 + 3)^2 / (1 + 9) = 1.6 and (2 + 2)^2 / (4 + 4) = 2 rows.
    assert variational._row_counts(weight, square).ravel().tolist() == [2, 2]

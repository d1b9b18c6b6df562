"""Isotonic regression against scikit-learn's, which has the same interpolation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from calib.calibrators.isotonic import Isotonic
from tests.isotonic_peer import shrunken


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 3)), min_size=2))
def test_agrees_with_scikit_learn(rows):
    ticks, y, weight = map(np.array, zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    scores = ticks / 8
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, y, weight)
    grid = np.linspace(0, 1, 41)
    ours = Isotonic(shrink=False).fit(scores, y, weight)
    assert ours.predict(grid) == pytest.approx(theirs.predict(grid), abs=1e-12)


def test_adult(shared):
    train = pd.read_csv(shared / "data/adult/adult_nb_cal.csv")
    test = pd.read_csv(shared / "data/adult/adult_nb_test.csv")
    fitted = Isotonic(shrink=False).fit(train.score, train.y)
    assert log_loss(test.y, fitted.predict(test.score)) == pytest.approx(0.39400, abs=1e-4)


def test_knots_are_block_edges():
    fitted = Isotonic(shrink=False).fit([0.1, 0.4, 0.5, 0.6, 0.9], [0, 1, 1, 0, 1])
    assert fitted.knots().tolist() == [0.1, 0.4, 0.6, 0.9]
    assert fitted.values_ == pytest.approx([0.0, 2 / 3, 2 / 3, 1.0])


# The first value is 1 / (n + 1 / b), and the last 1 - 1 / (n + 1 / (1 - b)), for n rows and base
# rate b.
ENDS = {
    "one row on each end": ([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], 1 / 3, 2 / 3),
    "separated": (np.arange(10) / 10, np.arange(10) >= 4, 1 / (4 + 1 / 0.6), 1 - 1 / (6 + 1 / 0.4)),
    "ties at both ends": ([0.0] * 8 + [0.5, 0.5] + [1.0] * 8, [0] * 8 + [0, 1] + [1] * 8, 0.1, 0.9),
    "one positive, on top": (np.arange(10) / 10, np.arange(10) == 9, 1 / 19, 1 - 1 / (1 + 1 / 0.9)),
    # The value 1 / (1 + 2) would be above the rate of the next block.
    "a next block below it": (np.arange(22) / 22, [0] + [1] + [0] * 9 + [1] * 11, 0.1, None),
    "no certain end": ([0.2, 0.2, 0.7, 0.7, 0.7], [0, 1, 0, 1, 1], 1 / 2, 2 / 3),
    "one block": ([0.2, 0.7], [1, 0], 1 / 2, 1 / 2),
}


@pytest.mark.parametrize("case", ENDS)
def test_certain_ends_are_shrunk_toward_the_base_rate(case):
    scores, y, low, high = ENDS[case]
    fitted = Isotonic().fit(scores, y)
    predicted = fitted.predict([0.0, np.min(scores), np.max(scores), 1.0])
    assert predicted[:2] == pytest.approx([low, low])
    if high is not None:
        assert predicted[2:] == pytest.approx([high, high])
    assert (np.diff(fitted.values_) >= 0.0).all()


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2))
def test_all_else_is_the_textbook_map(rows):
    ticks, y = map(np.array, zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    scores, grid = ticks / 8, np.linspace(0, 1, 41)
    ours, textbook = Isotonic().fit(scores, y), Isotonic(shrink=False).fit(scores, y)
    assert ours.predict(grid) == pytest.approx(shrunken(scores, y, grid), abs=1e-12)
    assert ours.knots().tolist() == textbook.knots().tolist()
    certain = (textbook.values_ == 0.0) | (textbook.values_ == 1.0)
    assert (ours.values_ == textbook.values_)[~certain].all()
    assert ((ours.values_ > 0.0) & (ours.values_ < 1.0)).all()


@pytest.mark.parametrize(("centre", "n"), [(-0.5, 200), (-0.5, 2000), (-5.0, 2000)])
def test_the_log_loss_of_the_population_is_far_below_the_textbook_maps(centre, n):
    # The population is its quantiles with their true rates. The lowest log loss is its entropy.
    rng = np.random.default_rng(0)
    truth = expit(centre + 1.2 * norm.ppf((np.arange(20_000) + 0.5) / 20_000))
    least = -(truth @ np.log(truth) + (1 - truth) @ np.log1p(-truth)) / len(truth)
    excess = np.zeros(2)
    for _ in range(10):
        scores = rng.choice(truth, n)
        y = rng.random(n) < scores
        for place, shrink in enumerate((True, False)):
            p = Isotonic(shrink=shrink).fit(scores, y).predict(truth)
            p = np.clip(p, 2.2e-16, 1 - 2.2e-16)
            loss = -(truth @ np.log(p) + (1 - truth) @ np.log1p(-p)) / len(truth)
            excess[place] += (loss - least) / 10
    assert excess[0] < 0.3 * excess[1]

"""KS spline against probmetrics' repair of the authors' code.

The records ks_spline_* of the reference data come from the authors' own code, which swaps the two
weights of its interpolation; probmetrics interpolates as the paper says. Both fit n points where
ours is the whole curve, 0 included: results differ by the order of 1/n.
"""

import json

import numpy as np
import pandas as pd
import pytest

from calib.calibrators.ks_spline import KSSpline

GRID = np.linspace(0.0, 1.0, 21)


@pytest.mark.parametrize(("name", "n"), [("smooth1000", 1000), ("imbalanced2000", 2000)])
def test_agrees_with_probmetrics(shared, name, n):
    data = pd.read_csv(shared / f"reference/data/{name}.csv")
    records = json.loads((shared / "reference/reference.json").read_text())["calibrators"]
    values = next(
        np.clip(r["values"], 0.0, 1.0)
        for r in records
        if r["dataset"] == name and r["calibrator"] == "probmetrics_cdfspline_natural6"
    )
    ours = KSSpline().fit(data.p, data.y).predict(GRID)
    inside = (data.p.min() <= GRID) & (data.p.max() >= GRID)
    assert ours[inside] == pytest.approx(values[inside], abs=1.0 / n)


def test_perfect_scores_stay():
    # At each score exactly its share of rows is positive, so every gap is 0.
    scores = np.repeat([0.25, 0.5, 0.75], 4)
    y = [1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0]
    assert KSSpline().fit(scores, y).predict(GRID) == pytest.approx(GRID, abs=1e-12)


def test_weights_are_repeats_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    scores, y, weight = rng.random(200).round(2), rng.random(200) < 0.4, rng.integers(1, 5, 200)
    rows = rng.permutation(np.repeat(np.arange(200), weight))
    one = KSSpline().fit(scores, y, weight).predict(GRID)
    assert KSSpline().fit(scores[rows], y[rows]).predict(GRID) == pytest.approx(one, abs=1e-8)


@pytest.mark.parametrize(
    ("scores", "y"), [([0.2, 0.8], [1, 0]), ([0.5, 0.5], [0, 1]), ([0.0, 1.0, 1e-300], [1, 0, 1])]
)
def test_hard_data_give_probabilities(scores, y):
    p = KSSpline().fit(scores, y).predict(GRID)
    assert ((p >= 0.0) & (p <= 1.0)).all()


def test_too_few_knots(texts):
    with texts.raises(ValueError):
        KSSpline(n_knots=1).fit([0.1, 0.2], [0, 1])


def test_knots_are_scores_at_even_fractiles():
    scores = np.linspace(0.0, 1.0, 101)
    fitted = KSSpline().fit(scores, np.arange(101) % 2 == 0)
    assert fitted.knots() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], abs=0.01)
    assert "6 knots" in fitted.formula()


def test_it_goes_no_further_than_the_rows_or_the_score():
    # The spline through a separated sample leaves [0, 1] on both sides.
    scores = np.linspace(0.01, 0.99, 40)
    y = np.arange(40) >= 20
    to_the_ends = KSSpline(shrink=False).fit(scores, y)
    assert to_the_ends.predict([0.3, 0.7]).tolist() == [0.0, 1.0]
    assert "clipped to [0, 1]" in to_the_ends.formula()
    # These are the most extreme values that 40 rows of one outcome would give.
    predicted = KSSpline().fit(scores, y).predict([0.3, 0.7])
    assert predicted == pytest.approx([1 / 42, 41 / 42])

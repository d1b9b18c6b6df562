"""Rows of every odd kind: an analysis, its report and its counts, or a sentence, and no warning."""

import numpy as np
import pandas as pd
import pytest

import calib
from calib.analysis.decisions import Costs, decide
from calib.calibrators import CALIBRATORS
from calib.data.predictions import Predictions
from tests.rare import common_first

METHODS = [key for key, entry in CALIBRATORS.items() if entry.create is not None]
REFUSED = "both classes|2 rows of each class|at least 2, got"


def one_of(rng, kinds):
    return list(kinds.values())[rng.integers(len(kinds))]


def drawn(rng):
    n = int(rng.choice([10, 30, 60, 150, 400]))
    u = rng.random(n)
    scores = {
        "spread": u,
        "labels": (u > rng.random()).astype(float),
        "constant": np.full(n, rng.choice([0.0, 1.0, 0.3, 1e-9])),
        "equal but for rounding": 0.4 + rng.integers(0, 3, n) * rng.choice([1e-16, 1e-8]),
        "two": rng.choice([0.2, 0.7], n),
        "nearly 0": u ** rng.choice([10.0, 100.0]),
        "nearly 1": 1.0 - u**30,
        "hardly above 0": u * 10.0 ** -rng.choice([300.0, 320.0]),
        "rounded": u.round(1),
        "0 and 1 among others": np.where(u < 0.3, 0.0, np.where(u > 0.8, 1.0, u)),
        "single precision": u.astype(np.float32),
    }
    p = one_of(rng, scores)
    outcomes = {
        "calibrated": rng.random(n) < p,
        "reversed": rng.random(n) < 1.0 - p,
        "chance": rng.random(n) < 0.5,
        "two positives": rng.permutation(n) < 2,
        "certain": p > np.median(p),
        "one class": np.zeros(n, bool),
    }
    weights = {
        "none": None,
        "equal": np.full(n, 7.3),
        "random": rng.gamma(1.0, 1.0, n) + 1e-3,
        "of any size": 10.0 ** rng.uniform(-4.0, 4.0, n),
    }
    groups = {
        "none": None,
        "few": rng.integers(0, 4, n),
        "many": rng.integers(0, max(2, n // 3), n),
        "one large": np.where(rng.random(n) < 0.9, 0, np.arange(n)),
        "scores": np.unique(p, return_inverse=True)[1],
    }
    splits = {
        "none": {},
        "test rows": {"test": rng.random(n) < rng.choice([0.1, 0.5, 0.9])},
        "folds": {"fold": rng.integers(0, 3, n)},
    }
    group, split = one_of(rng, groups), one_of(rng, splits)
    return Predictions.from_arrays(
        one_of(rng, outcomes), p, one_of(rng, weights), group=group, **split
    )


# A few of the seeds that `make test-all` adds found most of the defects.
@pytest.mark.parametrize("seed", common_first(range(60), range(3)))
def test_any_rows_are_analysed_or_refused_in_words(seed):
    rng = np.random.default_rng(seed)
    rows = drawn(rng)
    settings = calib.Settings(
        methods=tuple(rng.choice(METHODS, 4, replace=False).tolist()),
        n_bins=int(rng.choice([2, 15, 100])),
        strategy=str(rng.choice(["quantile", "uniform"])),
        confidence_level=float(rng.choice([0.5, 0.95, 0.9999])),
    )
    try:
        analysis = calib.analyze(rows, settings)
    except ValueError as error:
        with pytest.raises(ValueError, match=REFUSED):
            raise error from None
        return
    losses = analysis.table()["log_loss"]
    assert np.isfinite(losses).all()
    decided = decide(analysis.held_out, Costs(false_positive=1.0, false_negative=4.0))
    assert all(decision.hindsight_cost >= 0.0 for decision in decided.methods.values())
    if min(analysis.data.n_rows, analysis.held_out.fitted_on.n_rows) >= 10:
        calib.report(analysis)
    counted = calib.analyze(calib.aggregate(rows), settings)
    assert counted.verdict.kind == analysis.verdict.kind
    # Counts know only the sums of the weights and of their squares per score, outcome and cluster.
    pd.testing.assert_series_equal(counted.table()["log_loss"], losses, rtol=1e-5)

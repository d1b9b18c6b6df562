"""Log-odds beyond the ends of float64's probabilities: nothing depends on their unit."""

import numpy as np
import pytest

import calib
from calib.data.predictions import Predictions
from calib.numerics.far_log_odds import FAR, probabilities
from calib.numerics.transforms import sigmoid

ON_LOG_ODDS = ("temperature", "logistic", "beta", "beta_am")
ON_RANKS = ("venn_abers",)


def logits(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.3, 2.0, n)
    return z, (rng.random(n) < sigmoid(z)).astype(int)


def csv(z, y):
    return "y,z\n" + "\n".join(f"{outcome},{value!r}" for value, outcome in zip(z, y, strict=True))


def test_different_log_odds_have_different_scores_in_their_order():
    z = np.array([-np.inf, -1e5, -900.0, -800.0, -700.0, -50.0, 2.0, 40.0, 45.0, 60.0, 1e5, np.inf])
    scores, far = probabilities(z)
    assert (np.diff(scores) > 0.0).all()
    assert scores == pytest.approx(sigmoid(z), abs=1e-12)
    assert scores[-1] == 1.0
    assert far.of(scores)[1:-1] == pytest.approx(z[1:-1], rel=1e-15)
    assert far.of(scores)[[0, -1]].tolist() == [-1e5, 1e5]


def test_log_odds_that_probabilities_hold_give_the_same_numbers_as_these():
    z, y = logits()
    given, plain = Predictions.from_arrays(y, log_odds=z), Predictions.from_arrays(y, sigmoid(z))
    assert np.abs(z).max() < FAR
    assert given.far is None
    assert given.fingerprint == plain.fingerprint


def test_a_file_of_log_odds_keeps_them():
    z, y = [40.0, 50.0, 60.0, 45.0] * 10, [0, 1, 1, 0] * 10
    loaded = calib.load(csv(z, y), outcome="y", score="z", transform="logit")
    assert calib.metrics.auc(loaded.outcome, loaded.scores) == 1.0
    assert loaded.view().log_odds.tolist() == z
    swapped = calib.load(csv(z, y), outcome="y", score="z", transform="logit", swap=True)
    assert swapped.view().log_odds.tolist() == (-np.array(z)).tolist()


def test_fingerprints_tell_log_odds_apart():
    near, farther = (Predictions.from_arrays([0, 1], log_odds=[40.0, z]) for z in (50.0, 60.0))
    assert np.array_equal(near.scores, farther.scores)
    assert near.fingerprint != farther.fingerprint


@pytest.mark.parametrize("unit", [50.0, 1000.0])
@pytest.mark.parametrize("split", ["folds", "test rows", "clusters"])
def test_the_unit_of_log_odds_makes_no_difference_to_methods_on_them(unit, split):
    z, y = logits()
    settings = calib.Settings(methods=("uncalibrated", *ON_LOG_ODDS, *ON_RANKS))
    others = {
        "folds": {},
        "test rows": {"test": np.arange(len(y)) % 2 == 0},
        "clusters": {"group": np.arange(len(y)) // 3, "fold": np.arange(len(y)) // 3 % 5},
    }[split]
    small, large = (
        calib.analyze(Predictions.from_arrays(y, log_odds=scale * z, **others), settings).table()
        for scale in (1.0, unit)
    )
    columns = ["log_loss", "log_loss_low", "log_loss_high", "brier_score", "auc"]
    same = ["temperature", "logistic", "beta_am"]
    assert large.loc[same, columns].to_numpy() == pytest.approx(
        small.loc[same, columns].to_numpy(), abs=1e-6
    )
    assert large.loc["venn_abers", "auc"] == pytest.approx(small.loc["venn_abers", "auc"])
    assert large.loc["uncalibrated", "auc"] == pytest.approx(small.loc["uncalibrated", "auc"])
    # Beta has other functions of the log-odds, of which a line is the limit.
    assert large.loc["beta", "log_loss"] == pytest.approx(small.loc["beta", "log_loss"], abs=2e-3)
    scored = others.get("test", np.ones(len(y), dtype=bool))
    loss = np.logaddexp(0.0, np.where(y == 1, -unit * z, unit * z))[scored].mean()
    assert large.loc["uncalibrated", "log_loss"] == pytest.approx(loss, rel=1e-9)

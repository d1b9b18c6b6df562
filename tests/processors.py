"""Numbers that must be the same on every processor: ``python -m tests.processors [population]``.

BLAS adds in another order on another processor, and with another number of threads. Both can be
chosen before a process starts, so that a test compares what several processes print.
"""

import dataclasses
import json
import sys

import numpy as np
from scipy.special import expit, softmax

from calib import Predictions, Settings, analyze, calibrator, metrics
from calib.calibrators import CALIBRATORS, multiclass_calibrator, score_methods

GRID = np.linspace(0.0, 1.0, 41)
METHODS = Settings(methods=("logistic", "isotonic", "spline", "pwl"))


def u_shaped(rng, n=1200):
    """Scores without ties, of which the low and the high ones are positive most often."""
    s = rng.random(n)
    return s, rng.random(n) < 0.1 + 3.2 * (s - 0.5) ** 2


def rounded(rng, n=1500):
    s = expit(rng.normal(-1.0, 1.5, n)).round(2)
    return s, rng.random(n) < s**1.5


def rare(rng, n=4000):
    s = expit(rng.normal(-4.0, 1.5, n))
    return s, rng.random(n) < s


def reversed_order(rng, n=800):
    s = expit(rng.normal(0.0, 3.0, n)).astype(np.float32).astype(float)
    return s, rng.random(n) < 1.0 - s


POPULATIONS = {f.__name__: f for f in (u_shaped, rounded, rare, reversed_order)}


def seeded(method):
    return method.set_params(random_state=0) if "random_state" in method.get_params() else method


def flat(result):
    """The numbers of a metric: its own, or those of the fields of its result."""
    values = dataclasses.astuple(result) if dataclasses.is_dataclass(result) else (result,)
    return [float(value) for value in values if not isinstance(value, str)]


def of_scores(name):
    """Every calibrator and metric, and a whole analysis with its verdict."""
    s, y = POPULATIONS[name](np.random.default_rng(5))
    numbers = {}
    for key in score_methods():
        method = seeded(calibrator(key)).fit(s, y)
        p = method.predict(s)
        of_p = metrics.ks_error(y, p), metrics.auc(y, p), metrics.log_loss(y, p)
        numbers[key] = [*method.predict(GRID), *of_p]
        numbers[f"{key}, distinct values"] = len(np.unique(p))
    for key in metrics.score_metrics():
        numbers[key] = flat(getattr(metrics, key)(y, s))
    a = analyze(Predictions.from_arrays(y, s), METHODS)
    numbers["verdict"] = [a.verdict.kind, a.verdict.answer, a.recommendation.method]
    numbers["p"] = list(a.verdict.p_adjusted.values())
    numbers["table"] = a.table().select_dtypes("number").to_numpy().ravel().tolist()
    return numbers


def of_matrix():
    """Every calibrator of score matrices."""
    rng = np.random.default_rng(5)
    truth = softmax(rng.normal(0.0, 1.5, (600, 3)), axis=1)
    y = (truth.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)
    p = softmax(1.7 * np.log(truth), axis=1)
    fitted = {key: seeded(multiclass_calibrator(key)).fit(p, y) for key in CALIBRATORS}
    return {key: method.predict(p[:20]).ravel().tolist() for key, method in fitted.items()}


def main(names):
    numbers = {name: of_scores(name) for name in names or POPULATIONS}
    return numbers if names else numbers | {"matrix": of_matrix()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))

"""What the recommendation for class scores costs: log loss above that of the best single method.

Rows are drawn from six populations of 3 and 10 classes, every method is cross-fitted, and the
calibrator that the rule recommends is applied to fresh rows whose true probabilities are known. So
is every other method, and what other rules would choose.

    python -m benchmarks quality_classes            # the tables of benchmarks/quality.md
    python -m benchmarks.quality_classes --samples 5 --sizes 300 --classes 3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd

from calib.crossfit.cross_fitted import simplest_within
from calib.crossfit.matrix import fit_matrix
from calib.crossfit.matrix_comparison import choose_for_classes
from calib.crossfit.settings import FAST_METHODS, MAX_SIZES, Settings
from calib.data.predictions import Predictions
from calib.metrics.matrix import ROW_METRICS
from calib.numerics.arrays import FloatArray, single_thread
from calib.numerics.class_scores import softmax
from calib.numerics.transforms import MACHINE_EPSILON

SEED = 20_261_130
CLASSES, SIZES, SAMPLES = (3, 10), (100, 300, 1_000, 5_000), 20
N_FRESH, UNIT, SPREAD = 4_000, 1e4, 1.5
DEFAULTS = (*FAST_METHODS, *MAX_SIZES)
METHODS = (*DEFAULTS, *(key for key in ("logistic", "structured", "matrix") if key not in DEFAULTS))
# No other rule may have a mean regret below this share of the recommendation's.
MIN_SHARE = 0.95
# The true probabilities and the scores, of normal log-odds.
Population = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def _softmax(eta: FloatArray) -> FloatArray:
    return softmax(eta.copy())


def _vector(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One slope and one shift per class."""
    m = z.shape[1]
    shift = np.linspace(0.6, -0.6, m)
    return _softmax(z), _softmax((z - shift) / np.linspace(0.6, 1.2, m))


def _confused(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Overconfident, and of two classes a third of the labels are exchanged."""
    truth = _softmax(z)
    truth[:, :2] = truth[:, :2] @ np.array([[0.65, 0.35], [0.35, 0.65]])
    return truth, _softmax(1.3 * z)


def _rare(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Overconfident, and the later classes are rare."""
    uneven = z - 1.2 * np.log(np.arange(1, z.shape[1] + 1))
    return _softmax(uneven), _softmax(1.6 * uneven)


POPULATIONS: Mapping[str, Population] = {
    "calibrated": lambda z: (_softmax(z), _softmax(z)),
    "temperature": lambda z: (_softmax(z), _softmax(2.0 * z)),
    "vector": _vector,
    "confused": _confused,
    "rare classes": _rare,
    "bent": lambda z: (_softmax(z), _softmax(z + 1.5 * np.tanh(z))),
}


def _one_standard_error(of_rows: FloatArray) -> str:
    """The simplest method that is at most one standard error worse than the best, paired."""
    away = of_rows - of_rows[of_rows.mean(axis=1).argmin()]
    beyond = away.mean(axis=1) - away.std(axis=1) / np.sqrt(of_rows.shape[1])
    return simplest_within(0.0, dict(zip(METHODS, np.maximum(beyond, 0.0).tolist(), strict=True)))


def _few_rows(means: dict[str, float], n: int, m: int) -> str:
    """With fewer than 50 rows per class, no method with parameters of single classes."""
    if n >= 50 * m:
        return choose_for_classes(means, n, m)
    safe = {key: means[key] for key in ("uncalibrated", "clip", "temperature")}
    return simplest_within(2.0 / n, safe)


# Other rules take the simplest method within so many nats of the best, and so many per class.
OTHER_RULES: Mapping[str, tuple[float, float]] = {
    "within 2 nats": (2.0, 0.0),
    "within 6 nats": (6.0, 0.0),
    "within 1 nat per class": (0.0, 1.0),
    "lowest log loss": (0.0, 0.0),
}


def _excess(truth: FloatArray, scores: FloatArray) -> float:
    """Mean log loss above that of the true probabilities, in 1e-4."""
    gap = np.log(truth) - np.log(np.maximum(scores, MACHINE_EPSILON))
    return UNIT * float((truth * gap).sum(axis=1).mean())


def sample(name: str, m: int, n: int, number: int) -> dict[str, float | str]:
    """Excess log loss of every method on one sample, and of the choice of every rule."""
    population, place = POPULATIONS[name], list(POPULATIONS).index(name)
    fresh = np.random.default_rng([SEED, place, m]).normal(0.0, SPREAD, (N_FRESH, m))
    true_fresh, fresh_scores = population(fresh)
    rng = np.random.default_rng([SEED, place, m, n, number])
    truth, scores = population(rng.normal(0.0, SPREAD, (n, m)))
    label = (np.log(truth) + rng.gumbel(size=truth.shape)).argmax(axis=1)
    with single_thread():
        rows = Predictions.from_arrays(label, scores)
        fits = fit_matrix(rows, Settings(methods=METHODS, seed=number))
        excess = {
            key: _excess(true_fresh, fitted.predict(fresh_scores))
            for key, fitted in fits.calibrators.items()
        }
        of_rows = ROW_METRICS["log_loss"]
        losses = np.array([of_rows(fits.matrix(key), fits.scored.label) for key in METHODS])
    means = dict(zip(METHODS, losses.mean(axis=1).tolist(), strict=True))
    chosen = {
        "the recommendation": choose_for_classes(means, n, m),
        "with few rows per class only the temperature": _few_rows(means, n, m),
        "within one standard error": _one_standard_error(losses),
    }
    for rule, (nats, per_class) in OTHER_RULES.items():
        chosen[rule] = simplest_within((nats + per_class * m) / n, means)
    by_rule = {f"rule: {rule}": excess[key] for rule, key in chosen.items()}
    return {"population": name, "classes": m, "n": n} | excess | by_rule


def draw(classes: Sequence[int], sizes: Sequence[int], samples: int, jobs: int) -> pd.DataFrame:
    """One row per sample."""
    asked = [
        (name, m, n, number)
        for m in classes
        for n in sizes
        for name in POPULATIONS
        for number in range(samples)
    ]
    with ProcessPoolExecutor(jobs) as pool:
        return pd.DataFrame(list(pool.map(sample, *zip(*asked, strict=True), chunksize=4)))


def regrets(drawn: pd.DataFrame) -> pd.DataFrame:
    """Mean excess over the samples, minus that of the single method that is best on average."""
    means = drawn.groupby(["n", "classes", "population"], sort=False).mean()
    return means.sub(means[list(METHODS)].min(axis=1), axis=0)


def markdown(table: pd.DataFrame, first: str) -> str:
    """A table with one column per number of rows and classes."""
    heads = [f"{n:,} rows, {m} classes" for n, m in table.columns]
    lines = [f"| {' | '.join([first, *heads])} |", "| --- |" + " ---: |" * len(heads)]
    for name, row in zip(table.index, table.to_numpy(), strict=True):
        lines.append(f"| {name} | {' | '.join(f'{value:,.1f}' for value in row)} |")
    return "\n".join(lines)


def report(drawn: pd.DataFrame) -> int:
    """Print the tables of these samples; return how many targets are missed."""
    table = regrets(drawn)
    means = table.groupby(["n", "classes"], sort=False).mean().T.sort_index(axis=1)
    rules = [name for name in means.index if name.startswith("rule: ")]
    print(markdown(means.loc[rules].rename(lambda name: name.removeprefix("rule: ")), "rule"))
    print()
    print(markdown(means.drop(rules), "one method for all"), end="\n\n")
    advised = table[rules[0]].unstack(["n", "classes"]).sort_index(axis=1)
    print(markdown(advised.loc[[p for p in POPULATIONS if p in advised.index]], "population"))
    by_rule = means.loc[rules].mean(axis=1)
    missed = [
        f"{rule.removeprefix('rule: ')} has a lower mean regret, {value:.1f}"
        for rule, value in by_rule.items()
        if value < MIN_SHARE * by_rule[rules[0]]
    ]
    print("\n".join(f"missed: {line}" for line in missed))
    return len(missed)


def main(arguments: Sequence[str] = ()) -> int:
    """Print the tables; return how many targets are missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", type=int, nargs="+", default=CLASSES)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args(arguments)
    return report(draw(chosen.classes, chosen.sizes, chosen.samples, chosen.jobs))


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))

"""Variational error: its means on simulated sets, beside those of ECE, and how often it is covered.

    python -m benchmarks variational

benchmarks/coverage.md quotes the table. The error is a lower bound: a calibrator that is fitted to
few rows does not know every sign. A target is missed if it is above the true error by more than
0.002 and two standard errors on average, if the mean of calibrated scores is that far below 0, or
if the lower end of an interval of 95% is above the true error in more than 4% of the sets.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import beta, norm

from calib.data.views import BinaryView
from calib.metrics import expected_calibration_error, variational_estimate
from calib.numerics.arrays import single_thread

MAX_BIAS, MAX_ABOVE = 0.002, 0.04
# The shape of a symmetric beta distribution, the slope of the true log-odds, rows, and whether the
# rows come in clusters of five with correlated outcomes.
SETS: tuple[tuple[str, float, float, int, bool], ...] = (
    ("Beta(.5, .5), slope .4", 0.5, 0.4, 5_000, False),
    ("Beta(.5, .5), slope 4", 0.5, 4.0, 5_000, False),
    ("Beta(2, 2), calibrated", 2.0, 1.0, 100, False),
    ("Beta(2, 2), calibrated", 2.0, 1.0, 1_000, False),
    ("Beta(2, 2), calibrated", 2.0, 1.0, 10_000, False),
    ("Beta(2, 2), slope .7", 2.0, 0.7, 1_000, False),
    ("Beta(2, 2), slope .7", 2.0, 0.7, 10_000, False),
    ("Beta(2, 2), calibrated, clusters of 5", 2.0, 1.0, 5_000, True),
)


def truth(shape: float, slope: float) -> float:
    """E abs(P(y | s) - s), which is overconfident below slope 1 and underconfident above it."""

    def distance(score: float) -> float:
        return abs(expit(slope * logit(score)) - score) * beta.pdf(score, shape, shape)

    return 2.0 * quad(distance, 0.0, 0.5, limit=200)[0]


def drawn(shape: float, slope: float, n: int, clustered: bool, seed: int) -> BinaryView:
    rng = np.random.default_rng([n, seed])
    score = np.clip(rng.beta(shape, shape, n), 1e-12, 1.0 - 1e-12)
    chance, group = rng.random(n), None
    if clustered:
        group = np.arange(n) // 5
        common = rng.normal(size=n // 5)[group]
        chance = norm.cdf(math.sqrt(0.3) * common + math.sqrt(0.7) * rng.normal(size=n))
    return BinaryView(chance < expit(slope * logit(score)), score, group=group)


def line(
    shape: float, slope: float, n: int, clustered: bool, repetitions: int
) -> tuple[float, ...]:
    """Means of the error, its two parts and ECE of 10 bins; how often its interval covers.

    The last number is the standard error of the first.
    """
    sums, true = np.zeros(7), truth(shape, slope)
    for seed in range(repetitions):
        rows = drawn(shape, slope, n, clustered, seed)
        estimate = variational_estimate(rows, random_state=seed)
        error = estimate.error
        sums += (
            error.value,
            estimate.overconfident.value,
            estimate.underconfident.value,
            expected_calibration_error(rows.cells(), n_bins=10),
            error.low <= true <= error.high,
            error.low <= true,
            error.value**2,
        )
    *means, square = (sums / repetitions).tolist()
    return *means, math.sqrt((square - means[0] ** 2) / repetitions)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks variational")
    parser.add_argument("--repetitions", type=int, default=800)
    repetitions = parser.parse_args(arguments).repetitions
    missed = 0
    print("| scores | rows | true | variational error | over | under | ECE, 10 bins ", end="")
    print("| covered | lower end below |\n|" + " --- |" * 9)
    for name, shape, slope, n, clustered in SETS:
        true = truth(shape, slope)
        *means, covered, below, spread = line(shape, slope, n, clustered, repetitions)
        allowed = MAX_BIAS + 2.0 * spread
        missed += means[0] > true + allowed or (true == 0.0 and means[0] < -allowed)
        missed += below < 1.0 - MAX_ABOVE
        numbers = " | ".join(f"{value:.4f}" for value in (true, *means))
        print(f"| {name} | {n:,} | {numbers} | {covered:.1%} | {below:.1%} |", flush=True)
    return missed


if __name__ == "__main__":
    with single_thread():
        sys.exit(main(sys.argv[1:]))

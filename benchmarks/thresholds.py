"""How often certified thresholds err more than they may, and which share they decide. Simulated.

    python -m benchmarks thresholds

Prints the table of benchmarks/thresholds.md. The truth is that of 200,000 quantiles of the scores.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from calib.analysis.decisions import Certificate, certify
from calib.analysis.decisions.certificate import Sides
from calib.data.predictions import Predictions
from calib.numerics.arrays import BoolArray, FloatArray

QUANTILES = (np.arange(200_000) + 0.5) / 200_000
MAX_ERRORS, CONFIDENCE, N_ROWS = (0.05, 0.1), 0.95, 1000
PER_CLUSTER, CORRELATION = 5, 0.3
Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Population:
    """Scores by their quantile, and the probability that a row with a score is positive."""

    name: str
    score: Function
    truth: Function
    sides: Sides = "above"
    clustered: bool = False

    def draw(self, rng: np.random.Generator, n_rows: int = N_ROWS) -> Predictions:
        """As many independent units as any population has rows: rows, or clusters of them."""
        group = np.repeat(np.arange(n_rows), PER_CLUSTER) if self.clustered else None
        outcome, score = self.rows(rng, n_rows * (PER_CLUSTER if self.clustered else 1))
        return Predictions.from_arrays(outcome, score, group=group)

    def rows(self, rng: np.random.Generator, n: int) -> tuple[BoolArray, FloatArray]:
        """Outcomes and scores of so many rows."""
        score, chance = (self._uniform(n, rng) for _ in range(2))
        score = self.score(score)
        return chance < self.truth(score), score

    def _uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Uniform numbers, which correlate within clusters."""
        if not self.clustered:
            return rng.random(n)
        common = np.repeat(rng.normal(size=n // PER_CLUSTER), PER_CLUSTER)
        return norm.cdf(
            math.sqrt(CORRELATION) * common + math.sqrt(1 - CORRELATION) * rng.normal(size=n)
        )

    def true_errors(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sorted scores, and the error rate of accepting from each, and of rejecting up to each."""
        score = np.sort(self.score(QUANTILES))
        truth = self.truth(score)
        n = np.arange(1, len(score) + 1)
        accepted = np.cumsum((1.0 - truth)[::-1])[::-1] / n[::-1]
        return score, accepted, np.cumsum(truth) / n


def normal(mean: float, spread: float) -> Function:
    """Scores whose log-odds are normal."""
    return lambda u: expit(mean + spread * norm.ppf(u))


def odds(slope: float = 1.0, shift: float = 0.0) -> Function:
    """True log-odds that are linear in those of the score."""
    return lambda s: expit(slope * logit(np.clip(s, 1e-9, 1.0 - 1e-9)) + shift)


def steps(scores: Function) -> Function:
    """Stated confidences in steps of 5%."""
    return lambda u: np.round(20.0 * scores(u)) / 20.0


def wrong_when_sure(score: FloatArray) -> FloatArray:
    """Calibrated, except that 8% of the rows with the highest scores are wrong."""
    return np.where(score > 0.99, 0.92, score)


POPULATIONS = (
    Population("calibrated", normal(2.0, 1.5), odds()),
    Population("overconfident", normal(3.0, 2.0), odds(0.7)),
    Population("underconfident", normal(1.5, 1.0), odds(1.5, 0.3)),
    Population("too high", normal(3.0, 1.5), odds(1.0, -0.5)),
    Population("steps of 5%, calibrated", steps(normal(2.0, 1.5)), odds(0.8, 0.2)),
    Population("steps of 5%, overconfident", steps(normal(3.0, 2.0)), odds(0.5, 0.8)),
    Population("wrong when sure", normal(2.5, 1.5), wrong_when_sure),
    Population("all errors just too frequent", normal(2.0, 1.5), lambda s: np.full(len(s), 0.949)),
    Population("clusters of 5", normal(2.0, 1.5), odds(), clustered=True),
    Population("two sides", normal(0.0, 3.0), odds(), sides="both"),
)


def shares(
    population: Population, repetitions: int, max_error: float
) -> tuple[float, float, float]:
    """Share of the sets that err too often, the mean certified share, and the best possible one."""
    score, accepted, rejected = population.true_errors()
    n_rows, violated, decided = len(score), 0, []

    def exceeds(made: Certificate) -> bool:
        above, below = made.threshold, made.lower_threshold
        first = n_rows if above is None else int(np.searchsorted(score, above))
        last = -1 if below is None else int(np.searchsorted(score, below, side="right")) - 1
        wrong_above = first < n_rows and accepted[first] > max_error
        return bool(wrong_above or (last >= 0 and rejected[last] > max_error))

    for seed in range(repetitions):
        rows = population.draw(np.random.default_rng(seed))
        made = certify(rows, max_error, CONFIDENCE, sides=population.sides, seed=seed)
        violated += exceeds(made)
        decided.append(_true_share(made, score))
    best = best_share(population, max_error)
    return violated / repetitions, float(np.mean(decided)), best


def _true_share(made: Certificate, score: FloatArray) -> float:
    above, below = made.threshold, made.lower_threshold
    accepted = 0 if above is None else len(score) - int(np.searchsorted(score, above))
    rejected = 0 if below is None else int(np.searchsorted(score, below, side="right"))
    return (accepted + rejected) / len(score)


def best_share(population: Population, max_error: float) -> float:
    """The largest share that errs at most so often; thresholds lie between distinct scores."""
    score, accepted, rejected = population.true_errors()
    n = len(score)
    starts = np.flatnonzero((accepted <= max_error) & np.append(True, score[1:] > score[:-1]))
    ends = np.flatnonzero((rejected <= max_error) & np.append(score[1:] > score[:-1], True))
    share = (n - starts[0]) / n if len(starts) else 0.0
    if population.sides == "both" and len(ends):
        share += (ends[-1] + 1) / n
    return min(share, 1.0)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thresholds")
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args(arguments).repetitions
    alpha = 1.0 - CONFIDENCE
    most_violated = alpha + 2.0 * math.sqrt(alpha * CONFIDENCE / repetitions)
    missed = 0
    for max_error in MAX_ERRORS:
        print(
            f"\nAt most {max_error:.0%} errors with {CONFIDENCE:.0%} confidence, {N_ROWS:,} rows:\n"
        )
        print("| population | violated | certified share | best possible | ratio |")
        print("| --- | --- | --- | --- | --- |")
        ratios = []
        for population in POPULATIONS:
            violated, share, best = shares(population, repetitions, max_error)
            missed += violated > most_violated
            ratios.append(share / best if best else math.nan)
            ratio = f"{ratios[-1]:.2f}" if best else "–"
            print(f"| {population.name} | {violated:.1%} | {share:.2f} | {best:.2f} | {ratio} |")
        print(f"\nMean ratio {np.nanmean(ratios):.2f}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))

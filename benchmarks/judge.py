"""How often the intervals of `calib.judge` contain the truth, and how many labels a judge saves.

    python -m benchmarks judge

Prints the table of benchmarks/judge.md. Each set has 2,000 judged rows, of which the first are
labelled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from calib.analysis.judge import judge_rows
from calib.data.judged import JudgedRows
from calib.numerics.arrays import BoolArray, FloatArray
from calib.numerics.debiased_mean import kappa
from calib.numerics.intervals import Estimate

N_ROWS = 2000
PASS_RATES, CORRELATIONS, N_LABELS = (0.5, 0.9), (0.3, 0.6, 0.9), (50, 100, 200)
# A judge that passes or fails, and is right in 99% of the rows. Few rows contradict it.
NEARLY_RIGHT, NEARLY_RIGHT_LABELS = (0.97, 0.828), (20, 50, 100, 200)
MIN_COVERAGE = 0.94
TRUTH_ROWS = 400_000  # From so many rows, the true kappa is within 0.005.


@dataclass(frozen=True)
class Judge:
    """Scores, given whether the row passes, with a correlation to it."""

    name: str
    draw: Callable[[BoolArray, float, float, np.random.Generator], FloatArray]


def graded(
    passed: BoolArray, rate: float, correlation: float, rng: np.random.Generator
) -> FloatArray:
    """Scores between 0 and 1, many of them near an end, and biased: too low if most rows pass."""
    noise = rng.standard_normal(len(passed))
    return expit(2.0 * (noise + _distance(rate, correlation) * (passed - 0.5)))


def _distance(rate: float, correlation: float) -> float:
    """Distance of the mean scores, before they are bounded, that gives the correlation."""
    noise = np.random.default_rng(1).standard_normal(200_000)
    passed = np.arange(200_000) < rate * 200_000

    def excess(distance: float) -> float:
        score = expit(2.0 * (noise + distance * (passed - 0.5)))
        return float(np.corrcoef(score, passed)[0, 1]) - correlation

    return float(brentq(excess, 0.0, 30.0))


def pass_or_fail(
    passed: BoolArray, rate: float, correlation: float, rng: np.random.Generator
) -> FloatArray:
    """Only 0 and 1, each as often as among the labels."""
    both = rate * rate + correlation * rate * (1.0 - rate)
    chance = np.where(passed, both / rate, (rate - both) / (1.0 - rate))
    return (rng.random(len(passed)) < chance).astype(np.float64)


JUDGES = (Judge("graded", graded), Judge("pass or fail", pass_or_fail))


def _contains(estimate: Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


def measure(
    judge: Judge, rate: float, correlation: float, n_labels: int, repetitions: int
) -> dict[str, float]:
    """Shares of sets whose intervals contain the truth, and medians of labels saved and widths."""
    rng = np.random.default_rng([int(100 * rate), int(100 * correlation), n_labels])
    passed = rng.random(TRUTH_ROWS) < rate
    score = judge.draw(passed, rate, correlation, rng)
    true_kappa = kappa(score >= 0.5, passed).value
    passed = rng.random((repetitions, N_ROWS)) < rate
    scores = judge.draw(passed.ravel(), rate, correlation, rng).reshape(passed.shape)
    labelled = np.arange(N_ROWS) < n_labels
    covered = dict.fromkeys(("debiased", "ppi", "labels", "kappa", "refused"), 0)
    saved, widths = list[float](), list[float]()
    for truth, score in zip(passed, scores, strict=True):
        rows = JudgedRows.from_arrays(score, np.where(labelled, truth, np.nan))
        result = judge_rows(rows)
        # The rows that support refuses count with the interval that they would have.
        covered["debiased"] += _contains(result.fit.estimate, rate)
        covered["ppi"] += _contains(result.ppi, rate)
        covered["labels"] += _contains(result.labels_mean, rate)
        covered["kappa"] += _contains(Estimate(0.0, *result.kappa_interval), true_kappa)
        covered["refused"] += not result.supported
        saved.append(result.labels_saved)
        widths.append(result.fit.estimate.high - result.fit.estimate.low)
    shares = {name: number / repetitions for name, number in covered.items()}
    return shares | {"saved": float(np.median(saved)), "width": float(np.median(widths))}


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge")
    parser.add_argument("--repetitions", type=int, default=1000)
    repetitions = parser.parse_args(arguments).repetitions
    print(
        "| judge | pass rate | correlation | labels | debiased | width | labels saved | "
        "labels alone | PPI++ | kappa | refused |"
    )
    print("|" + " --- |" * 11)
    cases = list(product(JUDGES, PASS_RATES, CORRELATIONS, N_LABELS))
    cases += [(JUDGES[1], *NEARLY_RIGHT, n) for n in NEARLY_RIGHT_LABELS]
    missed = 0
    for judge, rate, correlation, n in cases:
        of = measure(judge, rate, correlation, n, repetitions)
        missed += of["debiased"] < MIN_COVERAGE
        print(
            f"| {judge.name} | {rate} | {correlation} | {n} | {of['debiased']:.3f} | "
            f"{of['width']:.3f} | {of['saved']:.0f} | {of['labels']:.3f} | "
            f"{of['ppi']:.3f} | {of['kappa']:.3f} | {of['refused']:.3f} |",
            flush=True,
        )
    return missed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

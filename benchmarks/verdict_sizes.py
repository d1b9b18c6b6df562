"""How often verdicts reject: matrices, right calibrators, and scores that were rounded.

    python -m benchmarks.verdict_sizes --repetitions 500

Prints four tables by simulation, each with the standard error of its shares if they are near
5%. benchmarks/coverage.md quotes them.

    python -m benchmarks.verdict_sizes --repetitions 200 --only rounded
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit, softmax

from calib import Settings, analyze
from calib.analysis.verdict import SIGNIFICANCE, adjusted, calibration_tests, judge
from calib.data.predictions import Predictions
from calib.data.views import ScoreMatrix
from calib.metrics.by_class import class_table
from calib.numerics.arrays import FloatArray
from calib.words.findings import view_words

CALIBRATED = ((3, 1000), (3, 6000), (10, 2000), (10, 10_000), (50, 5000))
ROUNDED_KINDS = ("Beta 0.1", "Beta 0.3", "log-odds normal", "log-normal")
CALIBRATORS = ("logistic", "beta", "spline", "isotonic")


def matrices(n_classes: int, n: int, repetitions: int) -> tuple[float, float, float]:
    """Shares of calibrated matrices of which any test, the top label, or a class is rejected."""
    words, names = view_words("top:1"), [str(k) for k in range(n_classes)]
    counts = np.zeros(3)
    for seed in range(repetitions):
        rng = np.random.default_rng([n_classes, n, seed])
        scores = softmax(rng.normal(0.0, 1.5, (n, n_classes)), axis=1)
        label = (rng.random(n)[:, None] > scores.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
        cells = Predictions.from_arrays(label, scores).view("top:1").cells()
        classes = class_table(ScoreMatrix.from_arrays(label, scores), names)
        rejected = judge(cells, words=words, classes=classes).rejected
        of_class = [key.startswith("class:") for key in rejected]
        counts += (bool(rejected), not all(of_class), any(of_class))
    any_test, top, of_classes = (counts / repetitions).tolist()
    return any_test, top, of_classes


def right_calibrators(method: str, n: int, repetitions: int) -> tuple[int, int]:
    """Recommended calibrators of scores with slope 0.6 that are rejected, and all of them."""
    n_rejected = n_recommended = 0
    for seed in range(repetitions):
        rng = np.random.default_rng([n, seed])
        z = rng.normal(-0.5, 1.5, n)
        rows = Predictions.from_arrays(rng.random(n) < expit(0.6 * z + 0.2), expit(z))
        after = analyze(rows, Settings(methods=(method,))).after
        n_recommended += after is not None
        n_rejected += after is not None and after.answer == "not calibrated"
    return n_rejected, n_recommended


def population(kind: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Scores of full precision: of a beta distribution, or with normal log-odds or logarithms."""
    if kind == "log-odds normal":
        return np.asarray(expit(rng.normal(-0.5, 1.5, n)))
    if kind == "log-normal":
        return np.minimum(np.exp(rng.normal(-3.0, 1.2, n)), 1.0)
    shape = float(kind.removeprefix("Beta "))
    return rng.beta(shape, shape, n)


def rounded(
    kind: str, n: int, slope: float, steps: Sequence[float], repetitions: int
) -> list[float]:
    """Shares of samples that are rejected, for each step of the scores (0: full precision).

    Outcomes are drawn from the scores of full precision, whose log-odds are multiplied by `slope`.
    """
    counts = dict.fromkeys(steps, 0)
    for seed in range(repetitions):
        rng = np.random.default_rng([n, seed])
        score = population(kind, n, rng)
        with np.errstate(divide="ignore"):
            outcome = rng.random(n) < expit(slope * logit(score))
        for step in counts:
            written = np.minimum(step * np.rint(score / step), 1.0) if step else score
            cells = Predictions.from_arrays(outcome, written).view().at_middles().cells()
            p_values = adjusted(calibration_tests(cells)).values()
            counts[step] += any(p < SIGNIFICANCE for p in p_values)
    return [count / repetitions for count in counts.values()]


def rounded_tables(repetitions: int) -> None:
    sizes: dict[float, tuple[int, ...]] = {0.7: (500, 1000), 1.0: (500, 2000, 10_000, 50_000)}
    for slope, steps in ((0.7, (0.0, 0.01, 0.001)), (1.0, (0.0, 0.1, 0.05, 0.01, 0.001))):
        heads = " | ".join(f"step {step:g}" if step else "exact" for step in steps)
        print(f"\nSlope {slope:g}\n\n| scores | rows | {heads} |")
        print(f"| --- {'| ---: ' * (1 + len(steps))}|")
        for kind in ROUNDED_KINDS:
            for n in sizes[slope]:
                shares = rounded(kind, n, slope, steps, repetitions)
                cells = " | ".join(f"{100.0 * share:.1f}" for share in shares)
                print(f"| {kind} | {n:,} | {cells} |", flush=True)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdict_sizes")
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--only", choices=["rounded"])
    given = parser.parse_args(arguments)
    repetitions = given.repetitions
    print(f"Standard error of a share of 5%: {math.sqrt(0.05 * 0.95 / repetitions):.1%}")
    rounded_tables(repetitions)
    if given.only:
        return 0
    print("| classes | rows | any test | top label | classes |\n| --- | --- | --- | --- | --- |")
    for n_classes, n in CALIBRATED:
        shares = " | ".join(f"{share:.1%}" for share in matrices(n_classes, n, repetitions))
        print(f"| {n_classes} | {n:,} | {shares} |", flush=True)
    print("\n| calibrator | rows | rejected | recommended |\n| --- | --- | --- | --- |")
    for method in CALIBRATORS:
        for n in (1000, 5000):
            rejected, recommended = right_calibrators(method, n, max(1, repetitions // 5))
            print(f"| {method} | {n:,} | {rejected} | {recommended} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How often verdicts reject what is calibrated: matrices, and right calibrators. By simulation.

    python -m benchmarks.verdict_sizes --repetitions 500

Prints two tables. docs/uncertainty.md quotes them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, softmax

from calib import Settings, analyze
from calib.analysis.miscalibration import view_words
from calib.analysis.verdict import judge
from calib.data.predictions import Predictions
from calib.data.views import ScoreMatrix
from calib.metrics.by_class import class_table

CALIBRATED = ((3, 1000), (3, 6000), (10, 2000), (10, 10_000), (50, 5000))
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


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdict_sizes")
    parser.add_argument("--repetitions", type=int, default=500)
    repetitions = parser.parse_args(arguments).repetitions
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

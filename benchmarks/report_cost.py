"""What a report costs: its CPU time against that of its analysis, in one run.

    python -m benchmarks.report_cost

Prints the ratio for the first example, the CPU time of a report of a million rows, and that of
`calib verify`. The goals are a ratio of 0.15 and 0.3 seconds.
"""

from __future__ import annotations

import numpy as np

import calib
from benchmarks._clock import cpu_seconds
from calib.data.predictions import Predictions
from calib.reports import verify_report

REPEATS = 7


def main() -> None:
    rows = calib.examples.EXAMPLES["naive_bayes"].load()
    analysis = calib.analyze(rows)
    text = calib.report(analysis).json()
    analyze = cpu_seconds(lambda: calib.analyze(rows), REPEATS)
    report = cpu_seconds(lambda: calib.report(analysis), REPEATS)
    verify = cpu_seconds(lambda: verify_report(text), REPEATS)
    print(f"first example: analyze {analyze:.3f} s, report {report:.3f} s, verify {verify:.3f} s")
    print(f"report / analyze: {report / analyze:.3f}")
    rng = np.random.default_rng(0)
    score = rng.random(1_000_000)
    many = calib.analyze(Predictions.from_arrays(rng.random(len(score)) < score**1.3, score))
    print(f"a million rows: report {cpu_seconds(lambda: calib.report(many), 3):.3f} s")


if __name__ == "__main__":
    main()

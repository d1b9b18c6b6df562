"""How honest the log loss of a chosen plan is, and how often a plan is chosen rightly. Simulated.

    python -m benchmarks plans

Prints the table of benchmarks/plans.md. Each file has a year of days, three plans and three
devices.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import calib
from calib.analysis.plans import choose_plan
from calib.numerics.arrays import FloatArray

DAYS = 365
FIRST_DAY = np.datetime64("2025-09-01")


@dataclass(frozen=True)
class Truth:
    """Where the log-odds of the outcomes differ from those of the scores since the change."""

    name: str
    right: str
    shift: tuple[float, float]
    in_slice: bool = False
    always: float = 0.0


TRUTHS = (
    Truth("no change", "", (0.0, 0.0)),
    Truth("no change, always +0.3", "", (0.0, 0.0), always=0.3),
    Truth("all rows since", "rows since", (0.2, 0.8)),
    Truth("one slice since", "slice since", (0.3, 1.0), in_slice=True),
)


def simulated(truth: Truth, rng: np.random.Generator):
    """The rows of one file, the true probabilities, and the day of the change."""
    per_day = int(rng.integers(20, 61))
    day = np.repeat(np.arange(DAYS), per_day)
    change = int(rng.integers(120, 310))
    plan = rng.choice(["year", "month", "prepaid"], len(day), p=[0.2, 0.4, 0.4])
    device = rng.choice(["android", "ios", "web"], len(day))
    z = rng.normal(-1.5, 1.0, len(day))
    hit = (day >= change) & ((plan == "prepaid") | (not truth.in_slice))
    shift = rng.uniform(*truth.shift) * rng.choice([-1.0, 1.0])
    p = expit(z + truth.always + np.where(hit, shift, 0.0))
    columns = {"plan": plan, "device": device, "day": FIRST_DAY + day}
    y = rng.random(len(day)) < p
    return calib.Predictions.from_arrays(y, expit(z).round(4), columns=columns), p, change


def expected_loss(p: FloatArray, q: FloatArray) -> FloatArray:
    """The mean log loss over the outcomes of rows with true probabilities p."""
    return -(p * np.log(q) + (1.0 - p) * np.log1p(-q))


def measured(truth: Truth, runs: int, seed: int) -> None:
    rng = np.random.default_rng([seed, TRUTHS.index(truth)])
    chosen, inside, fixed, nested = list[bool](), list[bool](), list[float](), list[float]()
    kinds = dict.fromkeys(("none", "all rows", "rows since", "slice since"), 0)
    for _ in range(runs):
        rows, p, change = simulated(truth, rng)
        found = choose_plan(rows, calib.analyze(rows, {"methods": ("logistic",)}), "day")
        kind = "none" if found is None else found.plan.kind
        kinds[kind] += 1
        chosen.append(kind == (truth.right or "none"))
        if found is None or found.calibrator is None:
            continue
        low, high = found.since_low, found.since_high
        inside.append(low <= (FIRST_DAY + change).astype(object) <= high)
        part, raw = found.inside, rows.scores
        hit = part.copy()
        if found.plan.column:
            hit &= rows.columns[found.plan.column] == found.plan.value
        after = raw.copy()
        after[hit] = found.calibrator.predict(raw[hit])
        truth_change = (expected_loss(p, after) - expected_loss(p, raw))[part].mean()
        fixed.append(found.losses[kind] - found.losses[""] - truth_change)
        nested.append(found.change.value - truth_change)

    def mean(values: Sequence[float]) -> str:
        if not values:
            return "–"
        return f"{1e4 * np.mean(values):+.1f} ({1e4 * np.std(values) / math.sqrt(len(values)):.1f})"

    covered = f"{np.mean(inside):.1%}" if inside else "–"
    counts = " | ".join(str(number) for number in kinds.values())
    print(f"| {truth.name} | {counts} | {covered} | {mean(fixed)} | {mean(nested)} |", flush=True)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print("Mean error of the change of log loss in 0.0001, with its standard error:\n")
    kinds = "no plan | all rows | rows since | slice since"
    print(f"| truth | {kinds} | day inside | day and slice fixed | everything inside |")
    print("| --- |" + " --- |" * 7)
    for truth in TRUTHS:
        measured(truth, given.runs, given.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

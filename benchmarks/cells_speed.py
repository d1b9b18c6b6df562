"""What an analysis of counts costs: seconds of the processor, on the clock, and memory.

``python -m benchmarks.cells_speed --against PATH`` measures another checkout too, in the same run:
``git worktree add /tmp/parent 00648f5`` makes one of the last commit that read rows. Each piece of
work has a process of its own. Then an analysis with the stack is compared with one without it, and
with isotonic regression of scikit-learn. At the end calibrators fitted on cells are held against
calibrators fitted on all rows. ``--ratios`` measures only the two comparisons.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from benchmarks._clock import cpu_seconds
from calib import analyze
from calib.calibrators import calibrator
from calib.crossfit.settings import DEFAULT_METHODS, default_settings
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.metrics.proper import row_log_loss
from calib.numerics.arrays import FloatArray

REPEATS = 3
OURS = Path(__file__).parents[1]
# A fit on cells may change the held-out log loss by this. Isotonic regression may have a step at
# every score, and cells have fewer places for steps.
MAX_LOSS_CHANGE = 1e-6
MAX_LOSS_CHANGES = {"isotonic": 5e-6}
N_FITTED = 1_000_000
# An analysis may cost this multiple of one without the stack.
MAX_STACK_RATIO, PAIRS = 1.25, 15
# An analysis may cost as much as so many fits of scikit-learn's isotonic regression.
MAX_ISOTONIC_FITS = 3.5


@dataclass(frozen=True)
class Work:
    """A piece of work, and what it may cost; no goal is infinite."""

    what: str
    n_rows: int
    cpu: float
    wall: float = float("inf")
    peak: float = float("inf")


WORKS = (
    Work("analyze", 1_000_000, cpu=0.8, wall=0.6),
    Work("analyze", 10_000_000, cpu=3.0, peak=1200.0),
    Work("load", 10_000_000, cpu=1.5),
)


def smooth(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Overconfident scores, no two of them equal, and the true frequencies."""
    z = rng.normal(-1.0, 1.5, n)
    return expit(1.8 * z + 0.4), expit(z)


def spikes(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Scores of naive Bayes, which pile up near 0 and 1."""
    z = rng.normal(-1.0, 1.5, n)
    return expit(12.0 * z), expit(z)


def tails(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A quarter of the scores are tied, and a quarter lies between 1e-300 and 0.01."""
    z = rng.normal(-1.0, 1.5, n)
    score, kind = expit(1.3 * z), rng.integers(0, 4, n)
    score = np.where(kind == 0, (np.floor(20.0 * score) + 0.5) / 20.0, score)
    return np.where(kind == 1, 10.0 ** rng.uniform(-300.0, -2.0, n), score), expit(z)


POPULATIONS: tuple[Callable[..., tuple[FloatArray, FloatArray]], ...] = (smooth, spikes, tails)


def write(folder: Path, n_rows: int) -> None:
    """The rows of every piece of work, as arrays and as a Parquet file."""
    rng = np.random.default_rng(0)
    score, truth = smooth(n_rows, rng)
    outcome = (rng.random(n_rows) < truth).astype(np.int64)
    np.savez(folder / f"analyze-{n_rows}.npz", y=outcome, p=score)
    pq.write_table(pa.table({"y": outcome, "p": score}), folder / f"load-{n_rows}.parquet")


def run(checkout: Path, work: Work, folder: Path) -> dict[str, float]:
    """Medians of several processes."""
    suffix = {"analyze": "npz", "load": "parquet"}[work.what]
    file = str(folder / f"{work.what}-{work.n_rows}.{suffix}")
    script = str(OURS / "benchmarks" / "_one_run.py")
    seconds = []
    for _ in range(REPEATS):
        answer = subprocess.run(
            [sys.executable, script, work.what, file],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True,
            text=True,
            check=True,
        )
        seconds.append(json.loads(answer.stdout))
    return {key: float(np.median([one[key] for one in seconds])) for key in seconds[0]}


def costs(against: Path | None) -> int:
    """Print what each piece of work costs; return how many goals are missed."""
    missed = 0
    print("work        rows                CPU s    wall s   peak MB   load")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n_rows in sorted({work.n_rows for work in WORKS}):
            write(folder, n_rows)
        for work in WORKS:
            goal = {"cpu": work.cpu, "wall": work.wall, "peak": work.peak}
            ours = run(OURS, work, folder)
            missed += sum(ours[key] > most for key, most in goal.items())
            _line(work, "here", ours)
            _line(work, "goal", goal)
            if against is not None:
                theirs = run(against, work, folder)
                _line(work, "against", theirs)
                ratios = ", ".join(f"{key} {theirs[key] / ours[key]:.1f}" for key in goal)
                print(f"{'':28s}times as much: {ratios}")
    return missed


def _line(work: Work, which: str, seconds: dict[str, float]) -> None:
    print(
        f"{work.what:8s}{work.n_rows:12,} {which:8s}{seconds['cpu']:9.2f} {seconds['wall']:9.2f} "
        f"{seconds['peak']:9.0f} {os.getloadavg()[0]:6.1f}"
    )


def stack_ratio() -> int:
    """Print the cost of an analysis with the stack against one without; return 1 if too much."""
    rng = np.random.default_rng(0)
    score, truth = smooth(N_FITTED, rng)
    rows = Predictions.from_arrays(rng.random(N_FITTED) < truth, score)
    methods = (DEFAULT_METHODS, tuple(key for key in DEFAULT_METHODS if key != "stack"))
    pairs = [
        [cpu_seconds(lambda keys=keys: analyze(rows, {"methods": keys})) for keys in methods]
        for _ in range(1 + PAIRS)
    ][1:]  # The first pair loads libraries.
    ratio = float(np.median([one / other for one, other in pairs]))
    seconds = ", ".join(f"{value:.2f}" for value in np.median(pairs, axis=0))
    print(f"\nanalyze of {N_FITTED:,} rows with and without the stack: {seconds} CPU s, ", end="")
    print(f"ratio {ratio:.2f}, at most {MAX_STACK_RATIO:g}")
    return int(ratio > MAX_STACK_RATIO)


def isotonic_fits() -> int:
    """Print the cost of an analysis in isotonic fits of scikit-learn; return 1 if too much."""
    rng = np.random.default_rng(0)
    score, truth = smooth(N_FITTED, rng)
    outcome = rng.random(N_FITTED) < truth
    rows = Predictions.from_arrays(outcome, score)
    runs = (lambda: analyze(rows), lambda: IsotonicRegression().fit(score, outcome))
    pairs = [[cpu_seconds(run) for run in runs] for _ in range(1 + PAIRS)][1:]
    ratio = float(np.median([one / other for one, other in pairs]))
    seconds = ", ".join(f"{value:.2f}" for value in np.median(pairs, axis=0))
    print(f"\nanalyze of {N_FITTED:,} rows and an isotonic fit: {seconds} CPU s, ", end="")
    print(f"ratio {ratio:.2f}, at most {MAX_ISOTONIC_FITS:g}")
    return int(ratio > MAX_ISOTONIC_FITS)


def changes_by_cells() -> int:
    """Compare fits on cells with fits on rows; return how many differ by too much."""
    missed = 0
    print(f"\nheld-out log loss of fits on cells minus that of fits on {N_FITTED:,} rows")
    for population in POPULATIONS:
        rng = np.random.default_rng(1)
        fitted_on, held_out = (_drawn(population, rng) for _ in range(2))
        cells = CountedRows.of_rows(fitted_on).entries.cells()
        rows = CountedRows.of_rows(fitted_on, max_scores=10**9).entries.cells()
        settings = default_settings(Predictions.from_arrays(fitted_on.outcome, fitted_on.score))
        print(f"{population.__name__}: {len(cells):,} cells of {len(rows):,} distinct scores")
        for key in settings.methods:
            fits = [calibrator(key).fit_cells(of).predict(held_out.score) for of in (cells, rows)]
            ours, exact = (row_log_loss(held_out.outcome, fit) for fit in fits)
            change, most = float((ours - exact).mean()), MAX_LOSS_CHANGES.get(key, MAX_LOSS_CHANGE)
            missed += abs(change) > most
            print(f"  {key:14s} {change:+10.1e}  at most {most:g}")
    return missed


def _drawn(
    population: Callable[..., tuple[FloatArray, FloatArray]], rng: np.random.Generator
) -> BinaryView:
    score, truth = population(N_FITTED, rng)
    return BinaryView(rng.random(N_FITTED) < truth, score)


def main() -> int:
    """Print the tables; return how many goals are missed."""
    options = argparse.ArgumentParser()
    options.add_argument("--against", type=Path, help="another checkout of this project")
    options.add_argument("--ratios", action="store_true", help="only the two comparisons")
    chosen = options.parse_known_args()[0]
    if chosen.ratios:
        return stack_ratio() + isotonic_fits()
    return costs(chosen.against) + stack_ratio() + isotonic_fits() + changes_by_cells()


if __name__ == "__main__":
    sys.exit(min(main(), 1))

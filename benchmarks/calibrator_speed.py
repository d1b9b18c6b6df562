"""Fitting 1,000,000 and 100,000 rows: CPU time of the packages of the field as a multiple of ours.

Install the peers with ``pip install -r benchmarks/requirements.txt``; rows of missing ones are
skipped. Each fit starts from the arrays of scores and outcomes. One thread. At the end a fit of the
stack on cells is compared with one of the spline.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from benchmarks._clock import cpu_seconds
from calib.calibrators import calibrator
from calib.data.counted import CountedRows
from calib.data.views import BinaryView
from calib.numerics.arrays import single_thread

SIZES = (1_000_000, 100_000)
REPEATS = 5
# A fit of the stack on cells may cost this multiple of the spline's.
MAX_STACK_RATIO = 3.0
KEYS_OF_PAIR, PAIRS = ("stack", "spline"), 15


@dataclass(frozen=True)
class Race:
    """Our method, the peer that it must beat, and by what factor at each size."""

    key: str
    peer: str
    at_least: tuple[float, float]
    fit: Callable[[np.ndarray, np.ndarray], Any]


def _isotonic(scores: np.ndarray, y: np.ndarray) -> Any:
    return IsotonicRegression(out_of_bounds="clip").fit(scores, y)


def _sigmoid(scores: np.ndarray, y: np.ndarray) -> Any:
    return _SigmoidCalibration().fit(scores, y)


def _betacal(scores: np.ndarray, y: np.ndarray) -> Any:
    return importlib.import_module("betacal").BetaCalibration("abm").fit(scores[:, None], y)


def _venn_abers(scores: np.ndarray, y: np.ndarray) -> Any:
    peer = importlib.import_module("venn_abers").VennAbers()
    peer.fit(np.column_stack([1.0 - scores, scores]), y)
    return peer


RACES = (
    Race("isotonic", "scikit-learn IsotonicRegression", (4.0, 6.0), _isotonic),
    Race("platt", "scikit-learn _SigmoidCalibration", (8.0, 6.0), _sigmoid),
    Race("beta", "betacal abm", (8.0, 6.0), _betacal),
    Race("venn_abers", "venn-abers", (50.0, 50.0), _venn_abers),
)


def draw(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Overconfident scores: logit p ~ N(-1, 1.5), score = sigmoid(1.8 logit p + 0.4)."""
    rng = np.random.default_rng(0)
    z = rng.normal(-1.0, 1.5, n_rows)
    return expit(1.8 * z + 0.4), (rng.random(n_rows) < expit(z)).astype(np.int64)


def race(n_rows: int, at: int) -> int:
    """Print the table of one size; return the number of targets that were missed."""
    scores, y = draw(n_rows)
    missed = 0
    print(f"{n_rows:9,} rows, CPU ms of a fit      ours      peer   ratio  at least")
    for one in RACES:
        try:
            with single_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # The other packages give warnings of deprecation.
                theirs = cpu_seconds(lambda one=one: one.fit(scores, y), REPEATS)
        except ModuleNotFoundError as missing:
            print(f"{one.key:12s} skipped: {missing.name} is not installed")
            continue
        ours = cpu_seconds(lambda one=one: calibrator(one.key).fit(scores, y), REPEATS)
        ratio = theirs / ours
        missed += ratio < one.at_least[at]
        print(
            f"{one.key:12s}{one.peer:>18.18s} {1e3 * ours:11.1f} {1e3 * theirs:9.1f} "
            f"{ratio:7.1f} {one.at_least[at]:9.0f}"
        )
    return missed


def stack_ratio() -> int:
    """Print what a fit of the stack costs on the cells of 1,000,000 rows; return 1 if too much."""
    scores, y = draw(SIZES[0])
    cells = CountedRows.of_rows(BinaryView(y > 0, scores)).entries.cells()
    pairs = [
        [cpu_seconds(lambda key=key: calibrator(key).fit_cells(cells)) for key in KEYS_OF_PAIR]
        for _ in range(PAIRS)
    ]
    stack, spline = np.median(pairs, axis=0)
    ratio = float(np.median([one / other for one, other in pairs]))
    print(
        f"{len(cells):9,} cells, CPU ms of a fit: stack {1e3 * stack:.1f}, "
        f"spline {1e3 * spline:.1f}, ratio {ratio:.2f}, at most {MAX_STACK_RATIO:g}"
    )
    return int(ratio > MAX_STACK_RATIO)


def main() -> int:
    """Race at every size; return the number of targets that were missed."""
    missed = sum(race(n_rows, at) for at, n_rows in enumerate(SIZES)) + stack_ratio()
    print(f"load of the machine {os.getloadavg()[0]:.1f}")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))

"""Fitting splines: CPU time of the package that people use today as a multiple of ours.

Same arrays, one run, one thread. Peers that are not installed are named and left out
(pip install -r benchmarks/requirements.txt).
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks._clock import cpu_seconds
from calib.calibrators import calibrator
from calib.numerics.arrays import single_thread
from calib.numerics.transforms import sigmoid

REPEATS = 5
# Each target has our method, the peer, the number of rows, and the smallest promised ratio.
TARGETS = [
    ("spline", "splinecalib", 10_000, 20.0),
    ("spline", "splinecalib", 100_000, 100.0),
    ("spline", "splinecalib", 1_000_000, 400.0),
    ("ks_spline", "probmetrics", 1_000_000, 20.0),
]
Arrays = NDArray[np.float64]


def rows(n: int) -> tuple[Arrays, NDArray[np.bool_]]:
    """Over-confident scores and their outcomes."""
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-1.0, 1.5, n)
    return sigmoid(1.8 * log_odds + 0.4), rng.random(n) < sigmoid(log_odds)


def fit_splinecalib(scores: Arrays, y: NDArray[np.bool_]) -> None:
    """splinecalib 0.0.13 with its defaults."""
    importlib.import_module("splinecalib").SplineCalib().fit(scores, y.astype(int))


def fit_probmetrics(scores: Arrays, y: NDArray[np.bool_]) -> None:
    """The KS authors' spline as probmetrics ships it, on the matrix of both classes' scores."""
    splines = importlib.import_module("probmetrics.calibrators.splines")
    splines.CDFSplineCalibrator().fit(np.column_stack([1.0 - scores, scores]), y.astype(int))


PEERS: dict[str, Callable[[Arrays, NDArray[np.bool_]], None]] = {
    "splinecalib": fit_splinecalib,
    "probmetrics": fit_probmetrics,
}


def works(peer: str) -> bool:
    """Whether a peer is installed with all that it needs."""
    scores, y = rows(100)
    try:
        PEERS[peer](scores, y)
    except ImportError:
        return False
    return True


def compare(key: str, peer: str, n: int) -> tuple[float, float]:
    """CPU seconds of ours and of the peer."""
    scores, y = rows(n)
    calibrator(key).fit(scores, y)  # The first call imports and builds, which is not measured.
    ours = cpu_seconds(lambda: calibrator(key).fit(scores, y), REPEATS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The other package gives warnings.
        theirs = cpu_seconds(lambda: PEERS[peer](scores, y), 1 if n > 10_000 else 3)
    return ours, theirs


def main() -> int:
    """Print the table; return how many promises are missed."""
    missed = 0
    print(f"{'ours':10} {'peer':12} {'rows':>9} {'ours s':>8} {'peer s':>8} {'ratio':>7} promised")
    for key, peer, n, least in TARGETS:
        if not works(peer):
            print(f"{key:10} {peer:12} {n:9,} not compared: {peer} cannot be imported")
            continue
        with single_thread():
            ours, theirs = compare(key, peer, n)
        verdict = "" if theirs / ours >= least else "  MISSED"
        missed += bool(verdict)
        print(
            f"{key:10} {peer:12} {n:9,} {ours:8.4f} {theirs:8.2f} {theirs / ours:7.0f} "
            f"{least:8.0f}{verdict}"
        )
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))

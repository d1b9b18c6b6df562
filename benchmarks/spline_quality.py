"""How near to the true map? Log loss on fresh rows above that of the truth, for splines and peers.

Data A: scores that a logistic map of the log-odds repairs. Data B: over-confident in the middle,
off by a constant factor of the odds in both tails; no logistic map repairs them. The log loss of
200,000 fresh rows is averaged over their outcomes (their true probabilities are known) and seeds.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calib.calibrators import calibrator
from calib.numerics.arrays import single_thread
from calib.numerics.transforms import clip_certain, sigmoid

SEEDS = 20
FRESH = 200_000
SIZES = (1_000, 10_000, 100_000)
MAX_ABOVE_PEER = 1e-4  # The log loss of ours may be above the best peer's by this.
MAX_ABOVE_TRUTH = 3e-4  # With COMPARED_ROWS, ours may be above the truth by this.
COMPARED_ROWS = 10_000
OURS = ("spline", "splinecalib", "ks_spline", "ispline", "pwl")
Arrays = NDArray[np.float64]
Map = Callable[[Arrays], Arrays]
Fit = Callable[[Arrays, NDArray[np.bool_]], Map]


def draw(data: str, n: int, seed: int) -> tuple[Arrays, Arrays, NDArray[np.bool_]]:
    """True probabilities, scores and outcomes."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-1.0, 1.5 if data == "A" else 2.0, n)
    p = sigmoid(log_odds)
    bent = 1.8 * log_odds + 0.4 if data == "A" else log_odds + 2.0 * np.tanh(log_odds)
    return p, sigmoid(bent), rng.random(n) < p


def excess_loss(p: Arrays, q: Arrays) -> float:
    """Mean log loss of q above that of the true p."""
    p, q = clip_certain(p), clip_certain(q)
    return float(np.mean(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))))


def ours(key: str) -> Fit:
    """One of our calibrators."""
    return lambda scores, y: calibrator(key).fit(scores, y).predict


def splinecalib(mode: str) -> Fit:
    """splinecalib with its defaults but for the way in which it searches lambda."""

    def fit(scores: Arrays, y: NDArray[np.bool_]) -> Map:
        made = importlib.import_module("splinecalib").SplineCalib(param_search_mode=mode)
        made.fit(scores, y.astype(int))
        return made.calibrate

    return fit


def betacal(parameters: str) -> Fit:
    """betacal."""

    def fit(scores: Arrays, y: NDArray[np.bool_]) -> Map:
        made = importlib.import_module("betacal").BetaCalibration(parameters)
        return made.fit(scores.reshape(-1, 1), y.astype(int)).predict

    return fit


def isotonic(scores: Arrays, y: NDArray[np.bool_]) -> Map:
    """scikit-learn's isotonic regression."""
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(scores, y).predict


def platt(scores: Arrays, y: NDArray[np.bool_]) -> Map:
    """scikit-learn's sigmoid."""
    from sklearn.calibration import _SigmoidCalibration

    return _SigmoidCalibration().fit(scores, y).predict


def methods() -> dict[str, Fit]:
    """Ours, then every peer that is installed."""
    fits = {key: ours(key) for key in OURS}
    fits |= {"sklearn isotonic": isotonic, "sklearn sigmoid": platt}
    optional = {
        "splinecalib": {f"splinecalib {m}": splinecalib(m) for m in ("fast", "full")},
        "betacal": {f"betacal {p}": betacal(p) for p in ("abm", "am")},
    }
    for package, peers in optional.items():
        if importlib.util.find_spec(package) is None:
            print(f"not compared: {package} is not installed")
        else:
            fits |= peers
    return fits


def mean_excess(data: str, n: int, fits: dict[str, Fit]) -> dict[str, float]:
    """Excess loss of each method, averaged over the seeds."""
    p_fresh, fresh, _ = draw(data, FRESH, seed=10_000)
    total = dict.fromkeys(fits, 0.0)
    for seed in range(SEEDS):
        _, scores, y = draw(data, n, seed)
        for name, fit in fits.items():
            total[name] += excess_loss(p_fresh, fit(scores, y)(fresh)) / SEEDS
    return total


def main() -> int:
    """Print the table; return how many promises are missed."""
    # The other packages give warnings. This is a program and not the library, so it may filter
    # them.
    warnings.simplefilter("ignore")
    fits = methods()
    missed = 0
    for data in ("A", "B"):
        for n in SIZES:
            with single_thread():
                excess = mean_excess(data, n, fits)
            best = min(value for name, value in excess.items() if name not in OURS)
            failed = excess["spline"] > best + MAX_ABOVE_PEER
            failed |= n == COMPARED_ROWS and excess["spline"] > MAX_ABOVE_TRUTH
            missed += failed
            print(f"\ndata {data}, {n:,} rows: log loss above the truth, x 1e-4")
            for name, value in sorted(excess.items(), key=lambda item: item[1]):
                print(f"  {name:20} {value * 1e4:9.2f}")
            print("  spline MISSED its promise" if failed else "  spline keeps its promise")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))

"""Reliability diagrams with bands: CPU time of the field's packages as a multiple of ours.

Same arrays, one run, one thread. Ours draws 1,000 replicates, theirs as many as they do by default,
or 100 where they ask. Peers that are not installed are named and left out
(pip install -r benchmarks/requirements.txt). The consistency band is raced against the method that
calibre and R's reliabilitydiag publish, written plainly: refit outcomes that are drawn anew.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from benchmarks._clock import cpu_seconds
from calib.curves.rate import corp_curve
from calib.curves.reliability import reliability_curve
from calib.data.cells import ScoreCells
from calib.numerics.arrays import single_thread

N_REPLICATES, THEIR_REPLICATES = 1_000, 100
REPEATS = 5
# The second value says how many times as fast as the peer ours must be with this many rows. Ours
# draws replicates of cells, so the ratio grows with the rows, and is promised for the largest.
DIAGRAMS = ((10_000, None), (100_000, None), (1_000_000, 50.0))
CONSISTENCY = (10_000, 100.0)
Arrays = NDArray[np.float64]
Outcomes = NDArray[np.bool_]


def rows(n: int) -> tuple[Outcomes, Arrays]:
    """Over-confident scores and their outcomes."""
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-0.5, 1.5, n)
    return rng.random(n) < expit(log_odds), expit(1.5 * log_odds)


def our_diagram(y: Outcomes, scores: Arrays) -> None:
    """Bins with bars and consistency band, and the isotonic line with its bootstrap band."""
    cells = ScoreCells.from_arrays(y, scores)
    reliability_curve(cells)
    corp_curve(cells, n_replicates=N_REPLICATES)


def model_diagnostics(y: Outcomes, scores: Arrays) -> None:
    """model-diagnostics 1.5.0: the isotonic line with its bootstrap band, on matplotlib's axes."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    axes = importlib.import_module("matplotlib.figure").Figure().subplots()
    importlib.import_module("model_diagnostics.calibration").plot_reliability_diagram(
        y_obs=y.astype(float), y_pred=scores, n_bootstrap=THEIR_REPLICATES, ax=axes
    )


def relplot(y: Outcomes, scores: Arrays) -> None:
    """relplot 1.0.3, nothing drawn: the kernel-smoothed line with its bootstrap band, and smECE."""
    importlib.import_module("relplot").prepare_rel_diagram(scores, y.astype(float))


def our_consistency(y: Outcomes, scores: Arrays) -> None:
    """Exact quantiles of every bin's frequency."""
    reliability_curve(ScoreCells.from_arrays(y, scores))


def drawn_consistency(y: Outcomes, scores: Arrays) -> None:
    """Outcomes drawn from the scores, isotonic regression refitted, percentiles on a grid."""
    rng, grid = np.random.default_rng(0), np.linspace(scores.min(), scores.max(), 100)
    curves = [
        IsotonicRegression().fit(scores, rng.random(len(y)) < scores).predict(grid)
        for _ in range(N_REPLICATES)
    ]
    np.quantile(curves, [0.025, 0.975], axis=0)


PEERS: dict[str, Callable[[Outcomes, Arrays], None]] = {
    "model-diagnostics": model_diagnostics,
    "relplot": relplot,
}


def works(peer: str) -> bool:
    """Whether a peer is installed with all that it needs."""
    try:
        PEERS[peer](*rows(200))
    except ImportError:
        return False
    return True


def race(
    name: str,
    ours: Callable[[Outcomes, Arrays], None],
    theirs: Callable[[Outcomes, Arrays], None],
    n: int,
    least: float | None,
) -> int:
    """Print one line; return 1 if the promise is missed."""
    y, scores = rows(n)
    ours(y, scores)  # The first call imports and builds, which is not measured.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The other package gives warnings.
        seconds = cpu_seconds(lambda: ours(y, scores), REPEATS)
        other = cpu_seconds(lambda: theirs(y, scores))
    missed = least is not None and other / seconds < least
    promised = "" if least is None else f"{least:8.0f}{'  MISSED' if missed else ''}"
    print(f"{name:32} {n:9,} {seconds:8.4f} {other:8.2f} {other / seconds:7.0f} {promised}")
    return int(missed)


def main() -> int:
    """Print the table; return how many promises are missed."""
    missed = 0
    print(f"{'peer':32} {'rows':>9} {'ours s':>8} {'peer s':>8} {'ratio':>7} promised")
    with single_thread():
        for peer, run in PEERS.items():
            if not works(peer):
                print(f"{peer:32} not compared: it cannot be imported")
                continue
            missed += sum(race(peer, our_diagram, run, n, least) for n, least in DIAGRAMS)
        refits = "consistency band by 1,000 refits"
        missed += race(refits, our_consistency, drawn_consistency, *CONSISTENCY)
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))

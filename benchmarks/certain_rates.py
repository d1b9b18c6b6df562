"""What rates of exactly 0 and 1 cost: log loss of the population above the least possible.

Maps are fitted to rows drawn from populations whose true rates are known. Each is taken as in the
textbook (the log loss clips at 2.2e-16), clipped at 1e-3, and shrunk as it is offered for use.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from benchmarks._populations import BY_NAME, POPULATION
from calib.calibrators import calibrator
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, single_thread
from calib.numerics.transforms import clip_certain

DRAWS = {200: 100, 2_000: 50, 20_000: 15}
SHAPES = (
    "calibrated",
    "overconfident",
    "rare, calibrated",
    "rare, overconfident",
    "ties, calibrated",
    "ties, overconfident",
)
METHODS = ("isotonic", "histogram", "ks_spline")
CLIP = 1e-3


def losses(key: str, rows: BinaryView, score: FloatArray, truth: FloatArray) -> list[float]:
    """Log loss above the least: textbook, clipped, shrunk."""
    textbook, shrunk = (
        calibrator(key, shrink=shrink).fit(rows.score, rows.outcome).predict(score)
        for shrink in (False, True)
    )
    calibrated = (textbook, np.clip(textbook, CLIP, 1.0 - CLIP), shrunk)
    return [excess(truth, clip_certain(p)) for p in calibrated]


def excess(p: FloatArray, q: FloatArray) -> float:
    """Mean log loss of q above that of the true p."""
    return float(np.mean(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))))


def main() -> int:
    """Print the table, in units of 1e-4; return how often shrinking loses to the textbook."""
    missed = 0
    print(f"{'':22}" + "".join(f"{key + ': textbook, clipped, shrunk':>44}" for key in METHODS))
    place = norm.ppf((np.arange(POPULATION) + 0.5) / POPULATION)
    for n, draws in DRAWS.items():
        for name in SHAPES:
            shape, rng = BY_NAME[name], np.random.default_rng(0)
            score = shape.score(place)
            sums = np.zeros((len(METHODS), 3))
            for _ in range(draws):
                rows = shape.draw(n, rng)
                if 0 < rows.outcome.sum() < n:
                    sums += [losses(key, rows, score, shape.truth(score)) for key in METHODS]
            sums *= 1e4 / draws
            # Other draws change the losses by about a tenth of a unit.
            missed += int((sums[:, 2] > sums[:, 0] + 0.1).sum())
            cells = "".join(f"{a:20,.1f}{b:12,.1f}{c:12,.1f}" for a, b, c in sums)
            print(f"{n:6,} {name:20}{cells}", flush=True)
    return missed


if __name__ == "__main__":
    with single_thread():
        print("missed:", main())

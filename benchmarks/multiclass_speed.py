"""Fitting score matrices: CPU time of the packages of the field as a multiple of ours.

Install the peers with ``pip install -r benchmarks/requirements.txt``; rows of missing ones are
skipped. Each fit starts from the arrays of scores and labels. One thread.
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
from sklearn.calibration import _TemperatureScaling

from benchmarks._clock import cpu_seconds
from calib.calibrators import multiclass_calibrator
from calib.data.views import ScoreMatrix
from calib.metrics.by_class import class_table
from calib.metrics.matrix import multiclass_metrics
from calib.numerics.arrays import single_thread

REPEATS = 3
STRENGTH = 1e-3


@dataclass(frozen=True)
class Race:
    """Our method, its parameters, the peer, the shape of the scores, and the factor promised."""

    key: str
    parameters: dict[str, Any]
    peer: str
    shape: tuple[int, int]
    at_least: float
    fit: Callable[[np.ndarray, np.ndarray], Any]


def _sklearn(scores: np.ndarray, y: np.ndarray) -> Any:
    return _TemperatureScaling().fit(scores, y)


def _netcal(scores: np.ndarray, y: np.ndarray) -> Any:
    importlib.import_module("torch").set_num_threads(1)
    return importlib.import_module("netcal.scaling").TemperatureScaling().fit(scores, y)


def _dirichletcal(scores: np.ndarray, y: np.ndarray) -> Any:
    full = importlib.import_module("dirichletcal.calib.fulldirichlet").FullDirichletCalibrator
    return full(reg_lambda=STRENGTH, reg_mu=STRENGTH).fit(scores, y)


RACES = (
    Race("temperature", {}, "scikit-learn _TemperatureScaling", (100_000, 100), 5.0, _sklearn),
    Race("temperature", {}, "netcal TemperatureScaling", (100_000, 100), 5.0, _netcal),
    Race(
        "dirichlet",
        {"strength": STRENGTH},
        "dirichletcal FullDirichletCalibrator",
        (10_000, 10),
        10.0,
        _dirichletcal,
    ),
)
ALONE = (
    ("dirichlet", (10_000, 10)),
    ("vector", (100_000, 100)),
    ("matrix", (100_000, 100)),
    ("dirichlet", (100_000, 100)),
    ("ks_spline", (100_000, 100)),
    ("isotonic", (100_000, 100)),
    ("temperature", (50_000, 1_000)),
    ("vector", (50_000, 1_000)),
)


def make(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Scores that are 1.7 times too sure, of classes that are not equally frequent."""
    rng = np.random.default_rng(0)
    z = rng.normal(0.0, 1.5, shape) + rng.normal(0.0, 1.0, shape[1])
    label = (z + rng.gumbel(size=shape)).argmax(axis=1)
    z *= 1.7
    np.exp(z - z.max(axis=1, keepdims=True), out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z, label


def race(entry: Race) -> int:
    """Print one line; return 1 if the promise is missed."""
    scores, label = make(entry.shape)
    method = multiclass_calibrator(entry.key, **entry.parameters)
    ours = cpu_seconds(lambda: method.fit(scores, label), REPEATS)
    name = f"{entry.key:12s} {entry.shape[0]:>7,} x {entry.shape[1]:<5,}"
    try:
        # The first run compiles.
        entry.fit(scores[::10], label[::10])
        theirs = cpu_seconds(lambda: entry.fit(scores, label))
    except ImportError as error:
        print(f"{name} {ours:7.3f} s   {entry.peer}: skipped, {error}")
        return 0
    ratio = theirs / ours
    print(
        f"{name} {ours:7.3f} s   {entry.peer} {theirs:7.2f} s: {ratio:.1f} times ours "
        f"(promised: {entry.at_least:g})",
        flush=True,
    )
    return int(ratio < entry.at_least)


def alone(key: str, shape: tuple[int, int]) -> None:
    """Print the line of a fit that no peer is raced in."""
    scores, label = make(shape)
    seconds = cpu_seconds(lambda: multiclass_calibrator(key).fit(scores, label))
    print(f"{key:12s} {shape[0]:>7,} x {shape[1]:<5,} {seconds:7.2f} s", flush=True)


def main() -> int:
    """Print the table; return how many promises are missed."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    missed = 0
    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The other packages give warnings.
        for entry in RACES:
            missed += race(entry)
        print("Ours alone, fitted once, strengths by cross-validation:")
        for key, shape in ALONE:
            alone(key, shape)
        scores, label = make((50_000, 1_000))
        rows, names = ScoreMatrix(scores, label), [*map(str, range(1_000))]
        print(f"classwise    50,000 x 1,000 {cpu_seconds(lambda: class_table(rows, names)):7.2f} s")
        metrics = cpu_seconds(lambda: multiclass_metrics(label, scores))
        print(f"metrics      50,000 x 1,000 {metrics:7.2f} s")
    return missed


if __name__ == "__main__":
    sys.exit(main())

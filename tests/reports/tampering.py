"""Random analyses, and random single changes of a report."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from calib.analysis.decisions import Costs
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions

Place = tuple[str | int, ...]
METHODS = ("platt", "logistic", "isotonic", "beta", "histogram", "temperature", "spline")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where the values of a JSON document stand."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, item in items:
            yield from leaves(item, (*place, name))
    else:
        yield place


def changed_leaf(data: Any, place: Place, rng: np.random.Generator) -> Any:
    """The same document with another value in one place, of the same kind."""
    made = copy.deepcopy(data)
    folder = made
    for name in place[:-1]:
        folder = folder[name]
    folder[place[-1]] = another(folder[place[-1]], rng)
    return made


def another(value: Any, rng: np.random.Generator) -> Any:
    if value is None:
        return 0.5
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1]))
    if isinstance(value, float):
        return float(value * (1 + rng.choice([1e-6, -1e-6, 0.01])) or 1e-9)
    at = int(rng.integers(0, len(value) + 1))
    letter = rng.choice([letter for letter in LETTERS if value[at : at + 1] != letter])
    return value[:at] + str(letter) + value[at + 1 :]


def random_predictions(
    rng: np.random.Generator,
) -> tuple[Predictions, Settings, Costs | None]:
    """Rows of any size, ties, weights, split or folds, and settings to analyse them with."""
    n = int(rng.integers(60, 1500))
    score = rng.beta(*rng.uniform(0.3, 3.0, 2), n)
    if rng.random() < 0.4:
        score = score.round(int(rng.integers(1, 4)))
    outcome = rng.random(n) < score ** rng.uniform(0.5, 2.0)
    # Each class occurs often enough for folds and a split.
    outcome[:20], outcome[20:40] = True, False
    outcome = outcome[rng.permutation(n)] if rng.random() < 0.2 else outcome
    more: dict[str, Any] = {}
    if rng.random() < 0.3:
        more["sample_weight"] = rng.exponential(size=n) + 0.05
    kind = rng.choice(["drawn folds", "test rows", "folds"])
    if kind == "test rows":
        more["test"] = np.arange(n) % 2 == 0
    elif kind == "folds":
        more["fold"] = rng.choice(["a", "b", "c"], n)
    columns = {"site": rng.choice(["north", "south", "west"], n, p=[0.6, 0.38, 0.02])}
    settings = Settings(
        methods=tuple(map(str, rng.choice(METHODS, int(rng.integers(0, 4)), replace=False))),
        strategy=str(rng.choice(["quantile", "uniform"])),
        n_bins=int(rng.integers(2, 30)),
        seed=int(rng.integers(0, 100)),
        n_folds=int(rng.integers(2, 8)),
        confidence_level=float(rng.choice([0.8, 0.9, 0.95])),
        band=str(rng.choice(["per_bin", "simultaneous"])),
    )
    costs = Costs(false_negative=float(rng.integers(1, 9))) if rng.random() < 0.3 else None
    return Predictions.from_arrays(outcome, score, columns=columns, **more), settings, costs

"""Whether a printed number is traced to its convention: planted conventions, and a known mistake.

    python -m benchmarks conventions

Prints the tables of benchmarks/conventions.md. Planted values are computed row by row, by code that
shares nothing with the search (tests/metrics/row_conventions.py).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks._populations import BY_NAME
from calib.data.predictions import Predictions
from calib.features.conventions.candidates import RULES_OF_EDGES
from calib.features.conventions.result import Convention, Conventions, conventions
from calib.numerics.arrays import BoolArray, FloatArray
from tests.metrics import row_conventions

N_PLANTED, MIN_SHARE = 300, 0.95
N_LISTED = 8  # The pages show this many lines.
MAX_SECONDS, MANY_ROWS = 2.0, 1_000_000
NORMS = ("l1", "l2", "max", "mean", "debiased")
SIZES = (200, 1_000, 10_000)
# These find their own number of bins, or need rows in order, which the other class does not have.
FIXED = ("hundreds", "hundreds_without_last", "distinct")
ORDERED = ("split", "split_unstable", "hundreds", "hundreds_without_last")
THUMBS = ("sturges", "rice", "sqrt", "scott", "doane", "fd")


def stated(n: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    """Stated confidences of a language model in steps of 5%, far too high."""
    score = np.clip(np.round(20 * rng.beta(6.0, 1.5, n)), 0, 20) / 20
    return score, rng.random(n) < true_accuracy(score)


def true_accuracy(confidence: FloatArray) -> FloatArray:
    return 0.05 + 0.25 * confidence**2


def rounded(n: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    score = np.round(rng.beta(0.6, 0.9, n), 2)
    return score, rng.random(n) < score**1.3


def population(name: str) -> Callable[[int, np.random.Generator], tuple[FloatArray, BoolArray]]:
    def draw(n: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        rows = BY_NAME[name].draw(n, rng)
        return rows.score, rows.outcome

    return draw


DATA = {
    "stated confidences": stated,
    "scores of two decimals": rounded,
    **{name: population(name) for name in ("calibrated", "overconfident", "ties, overconfident")},
}


@dataclass(frozen=True)
class Planted:
    """A number that a convention gives, as a tool would print it."""

    predictions: Predictions
    convention: Convention
    text: str


def plant(number: int) -> Planted:
    """A random convention on random rows."""
    rng = np.random.default_rng([31, number])
    name, n = str(rng.choice([*DATA, "three classes"])), int(rng.choice(SIZES))
    if name == "three classes":
        predictions = three_classes(n, rng)
        scores = str(rng.choice(["predicted class", "averaged over all classes"]))
    else:
        score, outcome = DATA[name](n, rng)
        predictions = Predictions.from_arrays(outcome, score)
        words = ["positive class", "predicted class", "averaged over both classes"]
        scores = str(rng.choice(words))
    problems = problems_of(predictions, scores)
    is_mean = len(problems) > 1
    keys = [key for key in row_conventions.BY_KEY if not (is_mean and key in ORDERED)]
    if any(len(np.unique(score)) >= n / 4 for score, _ in problems):
        keys.remove("distinct")
    key = str(rng.choice(keys))
    norm = str(rng.choice(NORMS[:3] if key == "hundreds_without_last" else NORMS))
    treatment = ""
    if key in RULES_OF_EDGES and scores == "positive class" and rng.random() < 0.5:
        treatment = "scores clipped to [0.01, 0.99]"
        problems = [(np.clip(score, 0.01, 0.99), outcome) for score, outcome in problems]
    n_bins = 0 if key in FIXED else bins(problems[0][0], rng)
    cut = row_conventions.BY_KEY[key]
    errors = [row_conventions.error(s, y, cut(s, n_bins), norm) for s, y in problems]
    value, decimals = float(np.mean(errors)), int(rng.choice([3, 4]))
    is_percent = rng.random() < 0.5
    text = f"{100 * value:.{decimals - 2}f}%" if is_percent else f"{value:.{decimals}f}"
    return Planted(predictions, Convention(scores, treatment, key, n_bins, norm), text)


def three_classes(n: int, rng: np.random.Generator) -> Predictions:
    """Overconfident scores of three classes."""
    truth = rng.dirichlet([1.0, 0.7, 0.5], n)
    label = (truth.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    scores = truth**2
    return Predictions.from_arrays(label, scores / scores.sum(axis=1, keepdims=True))


def bins(score: FloatArray, rng: np.random.Generator) -> int:
    """5 to 50 bins, or the number that a rule of thumb gives for these scores."""
    if rng.random() < 0.8:
        return int(rng.integers(5, 51))
    return max(2, len(np.histogram_bin_edges(score, str(rng.choice(THUMBS)))) - 1)


def problems_of(predictions: Predictions, scores: str) -> list[tuple[FloatArray, BoolArray]]:
    """Scores and outcomes of the view that the words name, one pair per class for a mean."""
    matrix, label = predictions.score_matrix, predictions.outcome
    if scores == "predicted class":
        return [(matrix.max(axis=1), matrix.argmax(axis=1) == label)]
    if scores == "positive class":
        return [(predictions.scores, label == 1)]
    return [(matrix[:, k], label == k) for k in range(matrix.shape[1])]


def place(result: Conventions, planted: Convention) -> int:
    """The line of the planted convention, from 1; 0 if it is not listed."""
    lines = (n for n, match in enumerate(result, 1) if planted in match.conventions)
    return next(lines, 0)


def planted_table() -> int:
    """Print how often planted conventions are listed; return whether the target is missed."""
    places: dict[int, list[int]] = {3: [], 4: []}
    lines: dict[int, list[int]] = {3: [], 4: []}
    for number in range(N_PLANTED):
        planted = plant(number)
        result = conventions(planted.predictions, planted.text)
        decimals = result.typed.decimals + (2 if result.typed.is_percent else 0)
        places[decimals].append(place(result, planted.convention))
        lines[decimals].append(len(result))
        if not places[decimals][-1]:
            print("not listed:", planted.convention, planted.text, len(planted.predictions))
    print("| decimals | planted | listed | first line | first eight lines | lines, median |")
    print("| --- | --- | --- | --- | --- | --- |")
    for decimals, found in places.items():
        at = np.array(found)
        shares = (at > 0).mean(), (at == 1).mean(), ((at > 0) & (at <= N_LISTED)).mean()
        listed, first, eight = (f"{100 * share:.1f}%" for share in shares)
        middle = np.median(lines[decimals])
        print(f"| {decimals} | {len(at)} | {listed} | {first} | {eight} | {middle:.0f} |")
    every = np.array(places[3] + places[4])
    print(f"\nListed: {100 * (every > 0).mean():.1f}% of {len(every)}")
    return int((every > 0).mean() < MIN_SHARE)


def last_exam_table() -> int:
    """Print what the code of Humanity's Last Exam gives; return how often it is not named."""
    print("\n| rows | published code | traced | all bins | ours | true error |")
    print("| --- | --- | --- | --- | --- | --- |")
    missed = 0
    for n in (150, 500, 2_500):
        score, outcome = stated(n, np.random.default_rng([31, n]))
        published = row_conventions.calibration_error_of_hle(score, outcome)
        result = conventions(Predictions.from_arrays(outcome, score), f"{published:.3f}")
        named = [match for match in result if "Humanity's Last Exam" in match.codes]
        every_bin = row_conventions.hundreds(score, 0)
        all_bins = row_conventions.error(score, outcome, every_bin, "l2")
        ours = named[0].ours if named else math.nan
        missed += not named
        traced = "yes" if named else "no"
        numbers = f"{all_bins:.3f} | {ours:.3f} | {true_error():.3f}"
        print(f"| {n:,} | {published:.3f} | {traced} | {numbers} |")
    return missed


def true_error() -> float:
    """Root mean square calibration error of the population of stated confidences."""
    score, _ = stated(1_000_000, np.random.default_rng(0))
    return float(np.sqrt(np.mean((score - true_accuracy(score)) ** 2)))


def speed() -> int:
    """Print the seconds for a million rows; return whether they are too many."""
    rng = np.random.default_rng(0)
    score = rng.random(MANY_ROWS)
    missed = 0
    print()
    for name, scores in {"distinct": score, "two decimals": score.round(2)}.items():
        predictions = Predictions.from_arrays(rng.random(MANY_ROWS) < scores, scores)
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            result = conventions(predictions, "0.174")
            seconds.append(time.perf_counter() - start)
        taken = min(seconds)
        missed += int(taken > MAX_SECONDS)
        print(f"{MANY_ROWS:,} rows, {name}: {result.n_tried:,} conventions in {taken:.2f} s")
    return missed


def main() -> int:
    """Print all tables; return how many targets are missed."""
    return planted_table() + last_exam_table() + speed()


if __name__ == "__main__":
    sys.exit(min(main(), 1))

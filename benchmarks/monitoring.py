"""How often a monitor alarms without a reason, and how soon with one. Simulated.

    python -m benchmarks monitoring

Prints the tables of benchmarks/monitoring.md: three years of daily looks at 200 rows a day. Scores
are 200 quantiles of their distribution, so a day is a table of counts, and its increments are a
product of matrices.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.signal import lfilter
from scipy.special import expit, logit
from scipy.stats import norm

from calib.data.file_options import Columns
from calib.features.monitor.rows import Counts, read_days
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.monitoring import (
    day_likelihood,
    e_benjamini_hochberg,
    e_process,
    first_at_least,
    log_increments,
    shiryaev_roberts,
    start_weighted,
)

DAYS, PER_DAY, ALPHA, HORIZON = 1095, 200, 0.05, 30
QUANTILES = (np.arange(200) + 0.5) / 200
RUNS_AT_ONCE = 100
MEAN_DELAY_OF_POSITIVES = 7.0
WINDOW = 30
FIRST_DAY = np.datetime64("2026-01-01")
COLUMNS = Columns(outcome="y", score="p", time="at", arrived="known", positive="1", negative="0")
Truth = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Population:
    """Calibrated scores by their quantiles, the rows of each day, and when outcomes are tested.

    With `tested` "at the horizon", rows have times of arrival, and `read_days` and the counts of a
    monitor decide which are tested; with "on arrival", the days are those of the outcomes.
    Each row occurs `copies` times. The true log-odds of a day differ by a normal effect with the
    standard deviation `day_spread` and the `correlation` of neighbouring days.
    """

    name: str
    score: FloatArray
    seasonal: bool = False
    tested: str = ""
    copies: int = 1
    day_spread: float = 0.0
    correlation: float = 0.0

    def rows(self, rng: np.random.Generator) -> IntArray:
        """Number of rows of each day."""
        if not self.seasonal:
            return np.full(DAYS, PER_DAY // self.copies)
        day = np.arange(DAYS)
        volume = PER_DAY * (1.0 + 0.8 * np.sin(2.0 * np.pi * day / 365.0))
        return rng.poisson(np.where(day % 7 >= 5, 0.2 * volume, volume))

    def counts(self, rng: np.random.Generator, change: int = DAYS, truth: Truth | None = None):
        """Rows by day, outcome and score: shape (days, 2 k), negatives first."""
        k = len(self.score)
        day, at, positive = self._drawn(rng, change, truth)
        if self.tested == "on arrival":
            day = _arrival(rng, day, positive)
            seen = day < DAYS
            day, at, positive = day[seen], at[seen], positive[seen]
        place = (day * 2 + positive) * k + at
        counts = np.bincount(place, minlength=DAYS * 2 * k).reshape(DAYS, 2 * k)
        return self.copies * counts.astype(np.float64)

    def _drawn(self, rng: np.random.Generator, change: int = DAYS, truth: Truth | None = None):
        """The day, the position of the score and the outcome of each row."""
        day = np.repeat(np.arange(DAYS), self.rows(rng))
        at = rng.integers(len(self.score), size=len(day))
        chance = np.stack([self.score, self.score if truth is None else truth(self.score)])
        chance = chance[(day >= change).astype(int), at]
        if self.day_spread:
            chance = expit(logit(chance) + self._day_effects(rng)[day])
        return day, at, rng.random(len(day)) < chance

    def _day_effects(self, rng: np.random.Generator) -> FloatArray:
        """A stationary autoregression of first order."""
        noise = rng.standard_normal(DAYS)
        noise[1:] *= math.sqrt(1.0 - self.correlation**2)
        return self.day_spread * lfilter([1.0], [1.0, -self.correlation], noise)

    def tested_counts(self, rng: np.random.Generator) -> Counts:
        """The counts that a monitor tests on the last day, as read from rows with arrivals."""
        day, at, positive = self._drawn(rng)
        known = _arrival(rng, day, positive)
        rows = pd.DataFrame(
            {
                "y": np.where(known < DAYS, positive.astype(float), np.nan),
                "p": self.score[at],
                "at": FIRST_DAY + day,
                "known": FIRST_DAY + known,
            }
        )
        read = read_days(rows, COLUMNS, HORIZON)
        counts = Counts.of(read.counts.frame(), HORIZON, FIRST_DAY + DAYS - 1)
        return counts.from_to(0, counts.n_mature)


def _arrival(rng: np.random.Generator, day: IntArray, positive: np.ndarray) -> IntArray:
    """Positives are known after a week on average, and negatives at the horizon."""
    wait = rng.exponential(MEAN_DELAY_OF_POSITIVES, len(day)).astype(int)
    return day + np.where(positive, np.minimum(wait, HORIZON), HORIZON)


def sums_of(counts: Counts) -> FloatArray:
    """Sums of each day over its rows: 16 bets, observed minus predicted, its variance."""
    cells = counts.day, counts.score, counts.positive, counts.negative
    p, rows = counts.score, counts.rows
    residual = counts.by_day(counts.positive - rows * p)
    variance = counts.by_day(rows * p * (1.0 - p))
    return np.column_stack([log_increments(*cells, len(counts.days)), residual, variance])


def normal(mean: float, spread: float) -> FloatArray:
    """Scores whose log-odds are normal."""
    return expit(mean + spread * norm.ppf(QUANTILES))


def increments_of_rows(score: FloatArray) -> FloatArray:
    """What one row adds, by outcome and score: 16 bets, observed minus predicted, its variance."""
    k, one = len(score), np.ones(2 * len(score))
    outcome = np.repeat([0.0, 1.0], k)
    both = np.concatenate([score, score])
    bets = log_increments(np.arange(2 * k), both, outcome, one - outcome, 2 * k)
    return np.column_stack([bets, outcome - both, both * (1.0 - both)])


INDEPENDENT = Population("independent rows", normal(0.0, 1.0))
POPULATIONS = (
    INDEPENDENT,
    Population("ties: scores in steps of 5%", np.round(20.0 * normal(0.0, 1.0)) / 20.0),
    Population("rare: 1.7% positive", normal(-4.5, 1.0)),
    Population("seasonal volume, few rows on weekends", normal(0.0, 1.0), seasonal=True),
    *(
        Population(f"positives known earlier, tested {when}", normal(-1.0, 1.0), tested=when)
        for when in ("at the horizon", "on arrival")
    ),
)
# The promise does not hold for these populations, whose rows are not independent.
DEPENDENT = (
    Population("every row twice", normal(0.0, 1.0), copies=2),
    *(
        Population(
            f"days differ by {spread}, correlation {correlation}",
            normal(0.0, 1.0),
            day_spread=spread,
            correlation=correlation,
        )
        for spread, correlation in ((0.1, 0.0), (0.05, 0.9), (0.1, 0.9))
    ),
)


def shifted(by: float) -> Truth:
    """True log-odds that differ from those of the score by a constant."""
    return lambda score: expit(logit(score) + by)


def sloped(slope: float) -> Truth:
    """True log-odds that are a multiple of those of the score."""
    return lambda score: expit(slope * logit(score))


@dataclass(frozen=True)
class Change:
    """A change, and the median delays of a first measurement: mixture and Shiryaev-Roberts."""

    name: str
    day: int
    truth: Truth
    expected: tuple[float, float]


CHANGES = (
    Change("+0.1 from day 180", 180, shifted(0.1), (61, 46)),
    Change("+0.2 from day 180", 180, shifted(0.2), (16, 13)),
    Change("+0.4 from day 180", 180, shifted(0.4), (5, 4)),
    Change("slope 0.8 from day 180", 180, sloped(0.8), (20, 15)),
    Change("slope 0.6 from day 180", 180, sloped(0.6), (5, 4)),
    Change("+0.2 from day 900", 900, shifted(0.2), (22, 14)),
    Change("+0.2 from day 0", 0, shifted(0.2), (7, 14)),
    Change("+0.3 from day 180", 180, shifted(0.3), (math.inf, math.inf)),
)
MIXTURE, FASTER = "start-weighted mixture, 20", "Shiryaev-Roberts, 21,900"
DAILY, TRAILING = "a test at 5% every day", "a trailing 30-day window at 5%"
RULES = (MIXTURE, FASTER, "Shiryaev-Roberts, 7,300", "e-process, 20", DAILY, TRAILING)
MOST_RATIO = 1.2
SIZES = ((0.0, 1.0), (0.0, 0.4), (0.4, 0.6), (0.6, 1.0))


def simulated(
    population: Population, runs: int, seed: int, change: Change | None = None
) -> Iterator[FloatArray]:
    """Sums of each day over its rows, RUNS_AT_ONCE runs at a time: shape (days, runs, 18)."""
    table = increments_of_rows(population.score)
    for start in range(0, runs, RUNS_AT_ONCE):
        sums = []
        for run in range(start, min(start + RUNS_AT_ONCE, runs)):
            rng = np.random.default_rng([seed, run])
            if population.tested == "at the horizon":
                sums.append(sums_of(population.tested_counts(rng)))
                continue
            if change is None:
                counts = population.counts(rng)
            else:
                counts = population.counts(rng, change.day, change.truth)
            sums.append(counts @ table)
        yield np.stack(sums, axis=1)


def alarms(sums: FloatArray) -> dict[str, FloatArray]:
    """The first day of an alarm of each run by each rule; infinite if there is none."""
    bets, residual, variance = sums[..., :16], sums[..., 16], sums[..., 17]
    detector, limit = shiryaev_roberts(bets), math.log(1.0 / ALPHA)
    quantile = norm.ppf(1.0 - ALPHA / 2.0)

    def trailing(values: FloatArray) -> FloatArray:
        upto = np.cumsum(values, axis=0)
        upto[WINDOW:] -= upto[:-WINDOW].copy()
        return upto

    def differs(total: FloatArray, of: FloatArray) -> FloatArray:
        return np.abs(total) > quantile * np.sqrt(np.maximum(of, 1e-12))

    window = differs(trailing(residual), trailing(variance))
    window[: WINDOW - 1] = False
    reached = {
        MIXTURE: start_weighted(bets) >= limit,
        FASTER: detector >= math.log(DAYS / ALPHA),
        "Shiryaev-Roberts, 7,300": detector >= math.log(7300.0),
        "e-process, 20": e_process(bets) >= limit,
        DAILY: differs(residual, variance),
        TRAILING: window,
    }
    return {
        rule: np.where(days.any(axis=0), days.argmax(axis=0), np.inf)
        for rule, days in reached.items()
    }


def false_alarms(runs: int) -> int:
    """Print the share of runs with an alarm although the scores are right."""
    print(f"\nFalse alarms within {DAYS:,} daily looks, {runs:,} runs:\n")
    print(f"| population | {' | '.join(RULES)} |")
    print("| --- |" + " --- |" * len(RULES))
    missed = 0
    for seed, population in enumerate((*POPULATIONS, *DEPENDENT)):
        parts = [alarms(sums) for sums in simulated(population, runs, seed)]
        share = {
            rule: float(np.isfinite(np.concatenate([part[rule] for part in parts])).mean())
            for rule in RULES
        }
        print(f"| {population.name} | {' | '.join(f'{share[r]:.3f}' for r in RULES)} |", flush=True)
        if seed < len(POPULATIONS) - 1:  # The last population is only a warning.
            missed += share[MIXTURE] > ALPHA
            missed += share[FASTER] > ALPHA
    return missed


def delays(runs: int) -> int:
    """Print median delays."""
    print(f"\nMedian delay in days from the change to the alarm, {runs:,} runs:\n")
    head = "change of the log-odds | mixture | Shiryaev-Roberts, 21,900 | 7,300 | e-process"
    print(f"| {head} |")
    print("| --- |" + " --- |" * 4)
    missed = 0
    for seed, change in enumerate(CHANGES):
        days: dict[str, list[FloatArray]] = {rule: [] for rule in RULES}
        for sums in simulated(INDEPENDENT, runs, 100 + seed, change):
            of_rules = alarms(sums)
            for rule in RULES[:4]:
                first = of_rules[rule]
                # A run whose alarm comes before the change says nothing about the delay.
                days[rule].append(first[first >= change.day] - change.day + 1)
        median = {rule: float(np.median(np.concatenate(days[rule]))) for rule in RULES[:4]}
        numbers = " | ".join(f"{median[rule]:.0f}" for rule in RULES[:4])
        print(f"| {change.name} | {numbers} |", flush=True)
        for rule, expected in zip((MIXTURE, FASTER), change.expected, strict=True):
            missed += median[rule] > MOST_RATIO * expected
    return missed


def change_days(runs: int, days: int = 500) -> int:
    """Print how often the interval of the day of a change has it, and its size in days."""
    rng = np.random.default_rng(430)
    looks = ("on the day of the alarm", "30 days later", f"at the end, after {days} days")
    found: dict[str, list[tuple[float, bool, int]]] = {look: [] for look in looks}
    for _ in range(runs):
        shift, per_day = rng.uniform(0.2, 0.8) * rng.choice([-1.0, 1.0]), int(rng.integers(50, 401))
        change, day = int(rng.integers(60, 300)), np.repeat(np.arange(days), per_day)
        step = np.round(10.0 * rng.normal(-1.0, 1.0, len(day)))
        truth = expit(step / 10.0 + np.where(day >= change, shift, 0.0))
        positive = (rng.random(len(day)) < truth).astype(float)
        cells, at = np.unique(np.column_stack([day, step]), axis=0, return_inverse=True)
        y, n = np.bincount(at, positive), np.bincount(at, 1.0 - positive)
        when, score = cells[:, 0].astype(int), expit(cells[:, 1] / 10.0)
        alarm = first_at_least(start_weighted(log_increments(when, score, y, n, days)), 1.0 / ALPHA)
        if alarm is None or alarm < change:
            continue
        for look, end in zip(looks, (alarm + 1, min(days, alarm + 31), days), strict=True):
            seen = when < end
            inside = day_likelihood(when[seen], score[seen], y[seen], n[seen], end).inside()
            found[look].append((abs(shift), bool(inside[change]), int(inside.sum())))
    print(f"\nThe day of {runs} changes of 0.2 to 0.8 log-odds in its 95% interval:\n")
    print("| looked at | all changes | below 0.4 | 0.4 to 0.6 | from 0.6 | days |")
    print("| --- |" + " --- |" * 5)
    missed = 0
    for look, results in found.items():
        size, inside, width = map(np.array, zip(*results, strict=True))
        parts = [inside[(size >= low) & (size < high)] for low, high in SIZES]
        shares = " | ".join(f"{p.mean():.1%} ({np.sqrt(p.var() / len(p)):.1%})" for p in parts)
        print(f"| {look} | {shares} | {np.median(width):.1f} |", flush=True)
        missed += inside.mean() < 1.0 - ALPHA
    return int(missed)


def slices(runs: int, n: int = 20, days: int = 365, per_day: int = 50, change: int = 180) -> int:
    """Print how often the one wrong slice of many is named, and how often others are."""
    table = increments_of_rows(INDEPENDENT.score)[:, :16]
    k, discovered, false, ever = len(INDEPENDENT.score), 0, [], 0
    truth = shifted(0.4)(INDEPENDENT.score)
    for run in range(runs):
        rng = np.random.default_rng([200, run])
        rows = days * n * per_day
        day, of = np.divmod(np.arange(rows) // per_day, n)
        at = rng.integers(k, size=rows)
        wrong = (of == 0) & (day >= change)
        positive = rng.random(rows) < np.where(wrong, truth[at], INDEPENDENT.score[at])
        place = ((day * n + of) * 2 + positive) * k + at
        counts = np.bincount(place, minlength=days * n * 2 * k).reshape(days * n, 2 * k)
        evidence = start_weighted((counts @ table).reshape(days, n, 16))
        looks = np.array([e_benjamini_hochberg(look, ALPHA) for look in evidence])
        discovered += bool(looks[-1, 0])
        false.append(looks[-1, 1:].sum() / max(looks[-1].sum(), 1))
        ever += bool(looks[:, 1:].any())
    print(f"\n{n} slices of {per_day} rows a day, one +0.4 from day {change}, {runs:,} runs:\n")
    print(
        f"Found by day {days}: {discovered / runs:.1%}. False discoveries on that day: "
        f"{np.mean(false):.1%}. Runs with a false discovery on any day: {ever / runs:.1%}."
    )
    return int(np.mean(false) > ALPHA) + int(discovered < 0.95 * runs)


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.monitoring")
    parser.add_argument("--runs", type=int, default=1000, help="runs for false alarms")
    parser.add_argument("--delay-runs", type=int, default=200)
    parser.add_argument("--slice-runs", type=int, default=100)
    chosen = parser.parse_args(arguments)
    parts = false_alarms(chosen.runs), delays(chosen.delay_runs), slices(chosen.slice_runs)
    missed = int(sum(parts)) + change_days(chosen.delay_runs)
    print(f"\nTargets missed: {missed}")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))

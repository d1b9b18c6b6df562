"""Do 95% intervals hold the truth 95% of the time, and do 5% tests reject 5%? By simulation.

Scores and outcomes are drawn anew 1,000 times for each shape of data and number of rows; the truth
is that of the population, 100,000 evenly spaced quantiles of the scores with their true
frequencies. The results are written to docs/uncertainty.md.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import norm

from calib import metrics
from calib.cells import ScoreCells
from calib.comparison import mean_estimate
from calib.curves.corp import corp_curve
from calib.curves.reliability import reliability_curve
from calib.curves.smooth import smooth_curve
from calib.metrics.proper import row_brier, row_log_loss
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import bin_between, bin_edges
from calib.numerics.resampling import percentile_interval, reflected_interval
from calib.numerics.threads import single_thread
from calib.predictions import BinaryView
from calib.uncertainty import (
    Bootstrap,
    Errors,
    Estimate,
    Replicates,
    percentile_estimate,
    replicate,
    resample_rows,
)

PAGE = Path(__file__).parent.parent / "docs" / "uncertainty.md"
LEVEL, SIZE = 0.95, 0.05
N_ROWS = (200, 2_000, 20_000)
REPETITIONS = 1_000
# Fewer resamples and coarser groups than in use, for time: quantiles of 200 draws are a little
# nearer to each other than those of 1,000, and cost about half a point of coverage.
RESAMPLES, GROUPS = 200, 256
# What takes long is repeated less often, with one number of rows.
SLOW_REPETITIONS, SLOW_RESAMPLES, SLOW_ROWS = 100, 100, 2_000
SMOOTH_SHAPES = ("calibrated", "overconfident", "a little too high")
POPULATION, PER_CLUSTER, CORRELATION = 100_000, 5, 0.3
N_BINS, N_RATE_BINS = 15, 10
MARKER = "<!-- measured -->"


@dataclass(frozen=True)
class Shape:
    """One kind of data: the true log-odds are `slope` times the score's, plus `shift`."""

    name: str
    mean: float = -0.5
    spread: float = 1.5
    slope: float = 1.0
    shift: float = 0.0
    ties: bool = False
    clustered: bool = False

    @property
    def calibrated(self) -> bool:
        """Whether scores are true frequencies."""
        return self.slope == 1.0 and self.shift == 0.0

    def score(self, z: FloatArray) -> FloatArray:
        """Scores whose log-odds are normal, or one of ten values."""
        score = expit(self.mean + self.spread * z)
        return (np.floor(10.0 * score) + 0.5) / 10.0 if self.ties else score

    def truth(self, score: FloatArray) -> FloatArray:
        """True frequency at a score."""
        return expit(self.slope * logit(score) + self.shift)

    def draw(self, n: int, rng: np.random.Generator) -> BinaryView:
        """Rows; within a cluster both scores and outcomes go together."""
        if not self.clustered:
            score = self.score(rng.normal(size=n))
            return BinaryView(rng.random(n) < self.truth(score), score)
        group = np.repeat(np.arange(n // PER_CLUSTER), PER_CLUSTER)
        score = self.score(_shared(group, rng))
        outcome = norm.cdf(_shared(group, rng)) < self.truth(score)
        return BinaryView(outcome, score, group=group)


def _shared(group: IntArray, rng: np.random.Generator) -> FloatArray:
    """Standard normal numbers that correlate within a group."""
    common = rng.normal(size=group[-1] + 1)[group]
    return math.sqrt(CORRELATION) * common + math.sqrt(1.0 - CORRELATION) * rng.normal(
        size=len(group)
    )


SHAPES = (
    Shape("calibrated"),
    Shape("overconfident", slope=0.6),
    Shape("underconfident", slope=1.5),
    Shape("a little too high", shift=-0.2),
    Shape("rare, calibrated", mean=-5.0, spread=1.0),
    Shape("rare, overconfident", mean=-5.0, spread=1.0, slope=0.7, shift=-1.0),
    Shape("ties, calibrated", ties=True),
    Shape("ties, overconfident", ties=True, slope=0.6),
    Shape("clusters, calibrated", clustered=True),
    Shape("clusters, overconfident", clustered=True, slope=0.6),
)
BY_NAME = {shape.name: shape for shape in SHAPES}


@dataclass(frozen=True)
class Family:
    """Quantities that are promised, or measured, together: their bounds in percent."""

    title: str
    low: float | None = None
    high: float | None = None


PROMISED = Family("Mean scores, their differences and bin rates", 93.0, 97.0)
ERRORS = Family("Calibration errors, AUC and slope")
LINES = Family("Bands of the lines, at a row's score")
TESTS = Family("Tests", 3.0, 7.0)


def other_map(score: FloatArray) -> FloatArray:
    """A second method to compare with: a fixed map of the scores."""
    return expit(0.7 * logit(score) + 0.2)


def coarse(score: FloatArray) -> FloatArray:
    """A third one, with ties: its AUC is another than that of the scores."""
    return (np.floor(4.0 * score) + 0.5) / 4.0


Point = Callable[[ScoreCells], float]
POINTS: dict[str, Point] = {
    "ECE, uniform": lambda c: metrics.expected_calibration_error(c, n_bins=N_BINS),
    "ECE, quantile": lambda c: metrics.expected_calibration_error(
        c, n_bins=N_BINS, strategy="quantile"
    ),
    "MCE, quantile": lambda c: metrics.expected_calibration_error(
        c, n_bins=N_BINS, strategy="quantile", norm="max"
    ),
    "KS": metrics.ks_error,
    "AUC": metrics.auc,
    "slope": lambda c: metrics.calibration_slope_intercept(c).slope,
}


@dataclass(frozen=True)
class Truth:
    """What intervals should hold: numbers of the population."""

    points: dict[str, float]
    losses: dict[str, float]
    rates: FloatArray
    smooth: float


def population(shape: Shape) -> Truth:
    """Numbers of the population, by the same functions as those of the rows."""
    score = shape.score(norm.ppf((np.arange(POPULATION) + 0.5) / POPULATION))
    cells = _expected(score, shape.truth(score))
    other = _expected(other_map(score), shape.truth(score))
    losses = {}
    for name, metric in (("log loss", metrics.log_loss), ("Brier", metrics.brier_score)):
        losses |= {name: metric(cells), f"{name} difference": metric(other) - metric(cells)}
    points = {name: point(cells) for name, point in POINTS.items()}
    if shape.calibrated:
        points |= dict.fromkeys(("ECE, uniform", "ECE, quantile", "MCE, quantile", "KS"), 0.0)
    tied = _expected(coarse(score), shape.truth(score))
    points["AUC difference"] = metrics.auc(tied) - points["AUC"]
    bins = bin_between(cells, bin_edges(cells, N_RATE_BINS, "uniform"))
    rates = np.full(N_RATE_BINS, np.nan)
    rates[_number(bins.high_edge)] = bins.observed
    return Truth(points, losses, rates, metrics.smooth_calibration_error(cells))


def _expected(score: FloatArray, truth: FloatArray) -> ScoreCells:
    """Cells whose positive weight is its expectation."""
    score, at = np.unique(score, return_inverse=True)
    rows = np.bincount(at).astype(np.float64)
    positive = np.bincount(at, truth)
    return ScoreCells(score, rows, rows, positive, rows, positive)


def _number(high_edge: FloatArray) -> IntArray:
    return np.round(high_edge * N_RATE_BINS).astype(np.int64) - 1


# 1 if the interval holds the truth, or the test rejects; of a band the share of the rows it holds.
Finding = tuple[Family, str, float]


def one_repetition(shape: Shape, truth: Truth, n: int, rng: np.random.Generator) -> list[Finding]:
    """Every interval and every test on one draw of rows."""
    rows = shape.draw(n, rng)
    if not 0 < rows.outcome.sum() < n:
        return []  # the analysis refuses one class
    cells = rows.cells()
    drawn = resample_rows(
        rows,
        cells,
        n_replicates=RESAMPLES,
        most_groups=GROUPS,
        random_state=int(rng.integers(2**32)),
    )
    own, tied = replicate(drawn, rows.score), replicate(drawn, coarse(rows.score))
    clusters = own if shape.clustered else None
    found = [*_losses(rows, truth), *_rates(cells, clusters, truth), *_points(cells, own, truth)]
    found += _change(rows, cells, tied.auc - own.auc, truth)
    if shape.calibrated:
        found += _tests(cells, own, shape)
    return found


def _losses(rows: BinaryView, truth: Truth) -> Iterator[Finding]:
    for name, loss in (("log loss", row_log_loss), ("Brier", row_brier)):
        own = loss(rows.outcome, rows.score)
        change = loss(rows.outcome, other_map(rows.score)) - own
        for what, values in ((name, own), (f"{name} difference", change)):
            yield PROMISED, what, _holds(mean_estimate(values, rows, LEVEL), truth.losses[what])


def _rates(cells: ScoreCells, clusters: Replicates | None, truth: Truth) -> Iterator[Finding]:
    curve = reliability_curve(cells, n_bins=N_RATE_BINS, strategy="uniform", clusters=clusters)
    rate = truth.rates[_number(curve.high_edge)]
    known = np.isfinite(rate) & (curve.rows >= 10)
    for low, high, true in zip(curve.low[known], curve.high[known], rate[known], strict=True):
        yield PROMISED, "bin rate (Wilson)", float(low <= true <= high)


def _points(cells: ScoreCells, drawn: Replicates, truth: Truth) -> Iterator[Finding]:
    errors = {
        "ECE, uniform": drawn.ece(bin_edges(cells, N_BINS, "uniform")),
        "ECE, quantile": drawn.ece(bin_edges(cells, N_BINS, "quantile")),
        "MCE, quantile": drawn.mce(bin_edges(cells, N_BINS, "quantile")),
        "KS": drawn.ks,
    }
    for name, error in errors.items():
        for kind, estimate in _kinds(error, POINTS[name](cells)).items():
            yield ERRORS, f"{name}: {kind}", _holds(estimate, truth.points[name])
    for name, deviation in (("AUC", drawn.auc), ("slope", drawn.slope)):
        estimate = percentile_estimate(POINTS[name](cells), deviation, LEVEL)
        if not math.isnan(estimate.low):
            yield ERRORS, name, _holds(estimate, truth.points[name])


def _kinds(error: Errors, value: float) -> dict[str, Estimate]:
    """The interval in use, and the two that were not taken."""
    low, high = reflected_interval(value, error.deviation, LEVEL)
    return {
        "in use": error.estimate(value, LEVEL),
        "percentile": Estimate(value, *percentile_interval(value, error.deviation, LEVEL)),
        "reflected": Estimate(value, max(0.0, low), max(0.0, high)),
    }


def _change(
    rows: BinaryView, cells: ScoreCells, deviation: FloatArray, truth: Truth
) -> Iterator[Finding]:
    tied = ScoreCells.from_arrays(rows.outcome, coarse(rows.score))
    value = metrics.auc(tied) - metrics.auc(cells)
    estimate = percentile_estimate(value, deviation, LEVEL)
    yield ERRORS, "AUC difference", _holds(estimate, truth.points["AUC difference"])


def _tests(cells: ScoreCells, drawn: Replicates, shape: Shape) -> Iterator[Finding]:
    p_values = {
        "KS": metrics.ks_test(cells).p_value,
        "Kuiper": metrics.kuiper_test(cells).p_value,
        "Spiegelhalter": metrics.spiegelhalter_test(cells).p_value,
        "Hosmer-Lemeshow": metrics.hosmer_lemeshow_test(cells).p_value,
        "likelihood ratio": metrics.calibration_slope_intercept(cells).p_value,
    }
    if shape.clustered:
        # In the place of those above, which nobody is shown then.
        p_values["KS by cluster"] = drawn.ks.p_value(metrics.ks_error(cells))
        p_values["Kuiper by cluster"] = drawn.kuiper.p_value(metrics.kuiper_error(cells))
    for name, p_value in p_values.items():
        if not math.isnan(p_value):
            yield TESTS, name, float(p_value < SIZE)


def _holds(estimate: Estimate, true: float) -> float:
    # A millionth for the population's own grid.
    return float(estimate.low - 1e-6 <= true <= estimate.high + 1e-6)


def simulate(job: tuple[str, int, int]) -> pd.DataFrame:
    """All repetitions of one shape and number of rows: percent by family and quantity."""
    name, n, repetitions = job
    shape = BY_NAME[name]
    truth, found = population(shape), []
    seed = [SHAPES.index(shape), n]
    with single_thread():
        for rng in np.random.default_rng(seed).spawn(repetitions):
            found += [(f.title, what, hit) for f, what, hit in one_repetition(shape, truth, n, rng)]
        if n == SLOW_ROWS:
            for rng in np.random.default_rng([*seed, 1]).spawn(SLOW_REPETITIONS):
                found += [(f.title, what, hit) for f, what, hit in _slow(shape, truth, rng)]
    frame = pd.DataFrame(found, columns=["family", "what", "hit"])
    table = frame.groupby(["family", "what"], sort=False)["hit"].agg(["mean", "size"]).reset_index()
    return table.assign(shape=name, n=n)


def _slow(shape: Shape, truth: Truth, rng: np.random.Generator) -> Iterator[Finding]:
    """The bands of the CORP and the smooth line, and smECE."""
    rows, seed = shape.draw(SLOW_ROWS, rng), int(rng.integers(2**32))
    cells, clusters = rows.cells(), None
    if shape.clustered:
        drawn = resample_rows(rows, cells, n_replicates=RESAMPLES, random_state=seed)
        clusters = replicate(drawn, rows.score)
    corp = corp_curve(cells, n_replicates=RESAMPLES, random_state=seed, clusters=clusters)
    for curve in (corp, smooth_curve(cells, clusters=clusters)):
        low, high = (np.interp(rows.score, curve.score, end) for end in (curve.low, curve.high))
        true = shape.truth(rows.score)
        yield LINES, curve.kind, float(np.mean((low <= true) & (true <= high)))
    if shape.name in SMOOTH_SHAPES:
        bootstrap = Bootstrap(cells, n_replicates=SLOW_RESAMPLES, random_state=seed)
        estimate = bootstrap.estimate(metrics.smooth_calibration_error, kind="error")
        yield ERRORS, "smECE: in use", _holds(estimate, truth.smooth)


@dataclass(frozen=True)
class Known:
    """A promise that cannot be kept, and why."""

    what: tuple[str, ...]
    shapes: str
    n: tuple[int, ...]
    reason: str

    def covers(self, what: str, shape: str, n: int) -> bool:
        """Whether a miss is this one."""
        return what in self.what and shape.startswith(self.shapes) and n in self.n


KNOWN = (
    Known(
        ("KS", "Kuiper", "Spiegelhalter", "Hosmer-Lemeshow", "likelihood ratio"),
        "clusters",
        N_ROWS,
        "takes rows as independent: nobody is shown it where clusters are named",
    ),
    Known(
        ("log loss", "log loss difference", "Brier", "Brier difference", "bin rate (Wilson)"),
        "rare",
        (200,),
        "two or three positives a data set, and none are left out: coverage comes in jumps",
    ),
)


def misses(table: pd.DataFrame, family: Family) -> list[tuple[str, str, int, float]]:
    """What is outside of a family's promise by more than the simulation's own error."""
    if family.low is None or family.high is None:
        return []
    own = table[table["family"] == family.title]
    found = []
    for row in own.itertuples():
        share = 100.0 * row.mean
        noise = 200.0 * math.sqrt(row.mean * (1.0 - row.mean) / row.size)
        if share + noise < family.low or share - noise > family.high:
            found.append((row.what, row.shape, row.n, share))
    return found


def run(repetitions: int) -> pd.DataFrame:
    """Simulate every shape and number of rows, on two cores."""
    jobs = [(shape.name, n, repetitions) for n in reversed(N_ROWS) for shape in SHAPES]
    with ProcessPoolExecutor(2) as pool:
        return pd.concat(pool.map(simulate, jobs), ignore_index=True)


def markdown(table: pd.DataFrame, family: Family) -> str:
    """A family's table: one row a shape and number of rows, promises that are missed in bold."""
    own = table[table["family"] == family.title]
    missed = {(what, shape, n) for what, shape, n, _ in misses(table, family)}
    what = list(dict.fromkeys(w.split(":")[0] for w in own["what"]))
    lines = [f"| data | rows | {' | '.join(what)} |", f"| --- |{' ---: |' * (len(what) + 1)}"]
    for shape in SHAPES:
        for n in N_ROWS:
            here = own[(own["shape"] == shape.name) & (own["n"] == n)]
            if len(here):
                cells = (_cell(here, name, missed) for name in what)
                lines.append(f"| {shape.name} | {n:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(here: pd.DataFrame, name: str, missed: set[tuple[str, str, int]]) -> str:
    parts = []
    for row in here[here["what"].str.split(":").str[0] == name].itertuples():
        text = f"{100.0 * row.mean:.1f}"
        parts.append(f"**{text}**" if (row.what, row.shape, row.n) in missed else text)
    return f"{parts[0]} ({', '.join(parts[1:])})" if len(parts) > 1 else "".join(parts)


def write(table: pd.DataFrame, repetitions: int, seconds: float) -> None:
    """Put the measured tables into the page, between its markers."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARKER)
    parts = [
        f"{MARKER}\n\nMeasured with {repetitions:,} repetitions in {seconds / 60:.0f} minutes."
    ]
    for family in (PROMISED, TESTS, ERRORS, LINES):
        bounds = "" if family.low is None else f" (promised {family.low:g} to {family.high:g})"
        parts.append(f"## {family.title}: percent{bounds}\n\n{markdown(table, family)}")
    PAGE.write_text(head + "\n\n".join(parts) + "\n", encoding="utf-8")


def main(repetitions: int = REPETITIONS) -> int:
    """Simulate, write the page; return how many promises are missed for no known reason."""
    start = time.perf_counter()
    table = run(repetitions)
    seconds = time.perf_counter() - start
    if repetitions == REPETITIONS:
        write(table, repetitions, seconds)
    unexplained = 0
    for family in (PROMISED, TESTS):
        for what, shape, n, share in misses(table, family):
            reason = next((k.reason for k in KNOWN if k.covers(what, shape, n)), "")
            unexplained += not reason
            print(f"{shape}, {n:,} rows: {what} {share:.1f}%  {reason or 'MISSED'}")
    print(f"{len(table)} numbers in {seconds / 60:.1f} minutes; {unexplained} missed promises")
    return unexplained


if __name__ == "__main__":
    sys.exit(min(main(*map(int, sys.argv[1:])), 1))

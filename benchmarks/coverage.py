"""Do 95% intervals hold the truth 95% of the time, and do 5% tests reject 5%? By simulation.

Scores and outcomes are drawn anew 1,000 times for each shape of data and number of rows; the truth
is that of the population. The results are written to benchmarks/coverage.md. Parts of it:

    python -m benchmarks.coverage --tables tests ranks --shapes clusters
    python -m benchmarks.coverage --tables stack --rows 1000 --repetitions 150
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks._populations import (
    BY_NAME,
    N_BINS,
    N_RATE_BINS,
    PER_CLUSTER,
    POINTS,
    SHAPES,
    VERDICT_SHAPES,
    Shape,
    Truth,
    coarse,
    population,
    rate_bin,
)
from calib import analyze, metrics
from calib.analysis import Analysis
from calib.analysis.method_results import Reference
from calib.analysis.verdict import calibration_tests, judge
from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import LOSSES, mean_estimate
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.curves.rate import corp_curve, smooth_curve
from calib.curves.reliability import Band, reliability_curve
from calib.data.cells import ScoreCells
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.metrics.base import TestResult
from calib.metrics.by_cluster import clustered_tests, resampled_test
from calib.metrics.proper import row_brier, row_log_loss
from calib.metrics.ranking import auc_difference, auc_estimate, row_auc
from calib.numerics.arrays import single_thread
from calib.numerics.binning import bin_edges
from calib.numerics.resampling import percentile_interval, reflected_interval
from calib.uncertainty import (
    Bootstrap,
    Errors,
    Estimate,
    Replicates,
    replicate,
    replicate_clusters,
    resample_rows,
    slope_estimate,
)

PAGE = Path(__file__).parent / "coverage.md"
LEVEL, SIZE = 0.95, 0.05
N_ROWS = (200, 2_000, 20_000)
REPETITIONS = 1_000
# The resamples and groups are fewer than in use, to save time. Quantiles of 200 draws are a little
# nearer to each other than those of 1,000, which costs about half a point of coverage.
RESAMPLES, GROUPS = 200, 256
# Slow intervals are repeated less often, with one number of rows.
SLOW_REPETITIONS, SLOW_RESAMPLES, SLOW_ROWS = 100, 100, 2_000
ANSWERED = tuple(
    shape
    for shape in VERDICT_SHAPES
    if shape.calibrated or shape.name in ("a little too high", "wavy", "clusters, slope 0.62")
)
SMOOTH_SHAPES = ("calibrated", "overconfident", "a little too high")
SHOWN = ("platt", "logistic", "isotonic", "beta", "spline")
# The forms of these calibrators fit all shapes of data here. Their values are measured at these
# shares of the scores.
FITTING = ("logistic", "beta", "spline", "isotonic")
AT_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
MARKER = "<!-- measured -->"

# The number is 1 if the interval contains the truth or the test rejects. For a band it is the share
# of rows inside.
Finding = tuple[str, float]


@dataclass(frozen=True)
class Sample:
    """One draw of rows, and what several tables want of it."""

    shape: Shape
    truth: Truth
    rows: BinaryView
    seed: int

    @cached_property
    def cells(self) -> ScoreCells:
        """The rows, counted."""
        return self.rows.cells()

    @cached_property
    def drawn(self) -> Replicates:
        """The rows, resampled."""
        rows = resample_rows(
            self.rows,
            self.cells,
            n_replicates=RESAMPLES,
            max_groups=GROUPS,
            random_state=self.seed,
        )
        return replicate(rows, self.rows.score)

    @property
    def clusters(self) -> Replicates | None:
        """The same where clusters are drawn."""
        return self.drawn if self.shape.clustered else None


def mean_scores(sample: Sample) -> Iterator[Finding]:
    """Log loss and Brier score, and rates of bins."""
    rows, truth = sample.rows, sample.truth
    for name, loss in (("log loss", row_log_loss), ("Brier", row_brier)):
        estimate = mean_estimate(loss(rows.outcome, rows.score), rows, LEVEL)
        yield name, _holds(estimate, truth.losses[name])
    curve = reliability_curve(
        sample.cells, n_bins=N_RATE_BINS, strategy="uniform", clusters=sample.clusters
    )
    rate = truth.rates[rate_bin(curve.high_edge)]
    finite = np.isfinite(rate) & (curve.rows >= 10)
    for low, high, true in zip(curve.low[finite], curve.high[finite], rate[finite], strict=True):
        yield "bin rate (Wilson)", float(low <= true <= high)


def shown(sample: Sample) -> Iterator[Finding]:
    """Differences as `analyze` shows them, of calibrators fitted in folds, or on other rows.

    The truth is the population's difference of the calibrator that is given out: refitted on all
    rows, or fitted on the calibration rows.
    """
    rows, n = sample.rows, len(sample.rows)
    yield from _differences(sample, rows, SHOWN, "{}")
    test = np.arange(n) % (2 * PER_CLUSTER) >= PER_CLUSTER
    yield from _differences(sample, replace(rows, test=test), ("beta",), "{} on test rows")


def stack(sample: Sample) -> Iterator[Finding]:
    """The same of the stack of calibrators."""
    yield from _differences(sample, sample.rows, ("stack",), "{}")


def _differences(
    sample: Sample, rows: BinaryView, methods: tuple[str, ...], name: str
) -> Iterator[Finding]:
    settings = Settings(methods=methods, seed=sample.seed % 2**16)
    try:
        held_out = cross_fit_scores(CountedRows.of_rows(rows), settings, n_replicates=2)
    except ValueError:
        return  # A class has too few rows, and the analysis says so.
    plain = sample.shape.population_losses(sample.shape.quantiles)
    reference = Reference.of(held_out)
    for key, fitted in held_out.calibrators.items():
        if key == "uncalibrated":
            continue
        contributions = reference.contributions(key)
        differences = reference.differences(key, contributions, LEVEL)
        true = sample.shape.population_losses(fitted.predict(sample.shape.quantiles))
        label = name.format(CALIBRATORS[key].label)
        for what in LOSSES:
            yield f"{label}: {what}", _holds(differences[what], true[what] - plain[what])


def values(sample: Sample) -> Iterator[Finding]:
    """A calibrator's value at five scores that are the same in all samples."""
    settings = Settings(methods=FITTING, seed=sample.seed % 2**16)
    try:
        held_out = cross_fit_scores(CountedRows.of_rows(sample.rows), settings, n_replicates=2)
    except ValueError:
        return  # A class has too few rows.
    at = np.quantile(sample.shape.quantiles, AT_SHARES, method="inverted_cdf")
    true = sample.shape.truth(at)
    for key in held_out.calibrators:
        fitted = held_out.calibrators[key].predict(at)
        bounds = held_out.function_interval(key, at, fitted, LEVEL)
        if bounds is None:
            continue
        for share, low, high, truth in zip(AT_SHARES, *bounds, true, strict=True):
            if math.isfinite(low):
                yield f"{CALIBRATORS[key].label}: {share:.0%}", float(low <= truth <= high)


TESTS = {
    "ks": "KS",
    "kuiper": "Kuiper",
    "spiegelhalter": "Spiegelhalter",
    "hosmer_lemeshow": "Hosmer-Lemeshow",
    "line": "likelihood ratio",
}


def tests(sample: Sample) -> Iterator[Finding]:
    """All tests of scores that are calibrated."""
    if not sample.shape.calibrated:
        return
    p_values = {TESTS[key]: test.p_value for key, test in calibration_tests(sample.cells).items()}
    if sample.clusters is not None:
        # These tests replace those above, which are then not shown to anyone.
        shown = _tests_shown(sample).items()
        p_values |= {f"{TESTS[key]} by cluster": test.p_value for key, test in shown}
    for name, p_value in p_values.items():
        if not math.isnan(p_value):
            yield name, float(p_value < SIZE)


def _tests_shown(sample: Sample) -> dict[str, TestResult]:
    """The tests that pages show and the verdict is made of: by cluster where there are any."""
    by_row, clusters = calibration_tests(sample.cells), sample.clusters
    if clusters is None:
        return by_row
    return {
        "ks": resampled_test(by_row["ks"], clusters.ks),
        "kuiper": resampled_test(by_row["kuiper"], clusters.kuiper),
    } | clustered_tests(sample.rows, sample.cells)


def verdicts(sample: Sample) -> Iterator[Finding]:
    """How often a verdict's tests reject together, and each of them alone at 5%."""
    shown = _tests_shown(sample)
    together = bool(judge(sample.cells, shown).rejected)
    yield "false positives" if sample.shape.calibrated else "power", float(together)
    for key, test in shown.items():
        yield f"{TESTS[key]} alone", float(test.p_value < SIZE)


def answers(sample: Sample) -> Iterator[Finding]:
    """What whole analyses answer, and whether tests and recommendation agree."""
    rows = sample.rows
    try:
        analysis = analyze(Predictions.from_arrays(rows.outcome, rows.score, group=rows.group))
    except ValueError:
        return  # An outcome has too few rows for cross-fitting.
    verdict = analysis.verdict
    for answer in ("not calibrated", "no evidence", "inconclusive"):
        yield answer, float(verdict.answer == answer)
    rejects, gains = bool(verdict.rejected), _gains(analysis)
    few = not analysis.recommendation.method
    yield "few rows, no rejection", float(few and not rejects)
    yield "rejection, no gain", float(rejects and not gains and not few)
    yield "gain, no rejection", float(gains and not rejects and not few)
    yield (
        "disagree unsaid",
        float(not few and rejects != gains and verdict.answer != "inconclusive"),
    )


def _gains(analysis: Analysis) -> bool:
    """Whether the comparison shows a calibrator that lowers the log loss significantly."""
    return any(method.differences["log_loss"].high < 0.0 for method in analysis.methods.values())


def ranks(sample: Sample) -> Iterator[Finding]:
    """AUC, calibration slope, and the AUC's change to coarse scores."""
    rows, cells = sample.rows, sample.cells
    tied = replace(rows, score=coarse(rows.score))
    auc, other = (row_auc(of.cells(), of.outcome, of.score) for of in (rows, tied))
    estimates = {
        "AUC": auc_estimate(rows, cells),
        "slope": slope_estimate(rows, cells),
        "AUC difference": auc_difference(rows, other, auc),
    }
    for name, estimate in estimates.items():
        if not math.isnan(estimate.low):
            yield name, _holds(estimate, sample.truth.points[name])


def errors(sample: Sample) -> Iterator[Finding]:
    """Calibration errors: the interval in use, and the two that were not taken."""
    cells, drawn = sample.cells, sample.drawn
    values = {
        "ECE, uniform": drawn.ece(bin_edges(cells, N_BINS, "uniform")),
        "ECE, quantile": drawn.ece(bin_edges(cells, N_BINS, "quantile")),
        "MCE, quantile": drawn.mce(bin_edges(cells, N_BINS, "quantile")),
        "KS": drawn.ks,
    }
    for name, error in values.items():
        for kind, estimate in _kinds(error, POINTS[name](cells)).items():
            yield f"{name}: {kind}", _holds(estimate, sample.truth.points[name])


def _kinds(error: Errors, value: float) -> dict[str, Estimate]:
    low, high = reflected_interval(value, error.deviation, LEVEL)
    return {
        "in use": error.estimate(value, LEVEL),
        "percentile": Estimate(value, *percentile_interval(value, error.deviation, LEVEL)),
        "reflected": Estimate(value, max(0.0, low), max(0.0, high)),
    }


def smooth_errors(sample: Sample) -> Iterator[Finding]:
    """The smooth calibration error, which takes long."""
    if sample.shape.name in SMOOTH_SHAPES:
        bootstrap = Bootstrap(sample.cells, n_replicates=SLOW_RESAMPLES, random_state=sample.seed)
        estimate = bootstrap.estimate(metrics.smooth_calibration_error, kind="error")
        yield "smECE: in use", _holds(estimate, sample.truth.smooth)


def lines(sample: Sample) -> Iterator[Finding]:
    """The bands of the CORP and the smooth line, at the rows' scores."""
    cells, clusters, score = sample.cells, sample.clusters, sample.rows.score
    corp = corp_curve(cells, n_replicates=RESAMPLES, random_state=sample.seed, clusters=clusters)
    for curve in (corp, smooth_curve(cells, clusters=clusters)):
        low, high = (np.interp(score, curve.score, end) for end in (curve.low, curve.high))
        true = sample.shape.truth(score)
        yield curve.kind, float(np.mean((low <= true) & (true <= high)))


def band(sample: Sample) -> Iterator[Finding]:
    """Whether any dot of calibrated scores is outside of the consistency band of either kind."""
    if not sample.shape.calibrated:
        return
    # There are as many resamples as in use, because the extreme ones count here.
    clusters = replicate_clusters(sample.rows, sample.cells, sample.seed)
    kinds: tuple[Band, ...] = ("per_bin", "simultaneous")
    for strategy in ("quantile", "uniform"):
        for kind in kinds:
            curve = reliability_curve(
                sample.cells,
                n_bins=N_BINS,
                strategy=strategy,
                clusters=clusters,
                band=kind,
            )
            # Rates of equal counts may differ by rounding.
            low, high = curve.band_low - 1e-9, curve.band_high + 1e-9
            outside = (curve.observed < low) | (curve.observed > high)
            yield f"{kind.replace('_', ' ')}, {strategy} bins", float(outside.any())


def _holds(estimate: Estimate, true: float) -> float:
    # The grid of the population is exact to a millionth.
    return float(estimate.low - 1e-6 <= true <= estimate.high + 1e-6)


Measure = Callable[[Sample], Iterator[Finding]]


@dataclass(frozen=True)
class Table:
    """Quantities that are promised, or measured, together: their bounds in percent.

    Bounds hold for `promised` if it names any, else for all quantities.
    """

    title: str
    measure: Measure | None = None
    slow: Measure | None = None
    low: float | None = None
    high: float | None = None
    promised: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = SHAPES
    # Slow intervals are repeated at most this often, by number of rows.
    most: Mapping[int, int] = field(default_factory=dict)

    def repetitions(self, n: int, wanted: int) -> int:
        """How often it is measured with so many rows."""
        return min(wanted, self.most.get(n, wanted))


TABLES = {
    "means": Table("Mean scores and bin rates", mean_scores, low=93.0, high=97.0),
    "shown": Table(
        "Differences to the uncalibrated scores as shown: log loss (Brier)",
        shown,
        low=93.0,
        high=100.0,
        most={200: 400, 2_000: 400, 20_000: 60},
    ),
    "stack": Table(
        "Differences of the stack to the uncalibrated scores: log loss (Brier)",
        stack,
        low=93.0,
        high=100.0,
        most={200: 400, 2_000: 400, 20_000: 60},
    ),
    "values": Table(
        "A calibrator's value at the 10% (30%, 50%, 70%, 90%) quantile of the scores",
        values,
        low=93.0,
        high=97.0,
        most={200: 200, 2_000: 200, 20_000: 60},
    ),
    "tests": Table("Tests", tests, low=3.0, high=7.0),
    "verdict": Table(
        "Verdict, false positives and power",
        verdicts,
        low=0.0,
        high=5.5,
        promised=("false positives",),
        shapes=VERDICT_SHAPES,
    ),
    "answers": Table("Verdict, answers of whole analyses", slow=answers, shapes=ANSWERED),
    "ranks": Table("AUC and slope", ranks, low=93.0, high=97.0),
    "errors": Table("Calibration errors", errors, smooth_errors),
    "band": Table(
        "Consistency band, calibrated data sets with any dot outside", band, low=0.0, high=5.5
    ),
    "lines": Table("Bands of the lines, at a row's score", None, lines),
}


def simulate(job: tuple[str, int], tables: Sequence[str], repetitions: int) -> pd.DataFrame:
    """All repetitions of one shape and number of rows: percent by table and quantity."""
    name, n = job
    shape, seed = BY_NAME[name], [VERDICT_SHAPES.index(BY_NAME[name]), n]
    truth = population(shape)
    slow = SLOW_REPETITIONS if n == SLOW_ROWS else 0
    hits_found: list[tuple[str, str, float]] = []
    with single_thread():
        for kind, seeds, count in (("measure", seed, repetitions), ("slow", [*seed, 1], slow)):
            keys = [key for key in tables if shape in TABLES[key].shapes]
            measures = {key: getattr(TABLES[key], kind) for key in keys}
            for number, rng in enumerate(np.random.default_rng(seeds).spawn(count)):
                rows = shape.draw(n, rng)
                if not 0 < rows.outcome.sum() < n:
                    continue  # The analysis refuses data of one class.
                sample = Sample(shape, truth, rows, int(rng.integers(2**32)))
                for key, measure in measures.items():
                    wanted = measure and number < TABLES[key].repetitions(n, count)
                    hits = measure(sample) if measure and wanted else ()
                    hits_found += [(key, what, hit) for what, hit in hits]
    frame = pd.DataFrame(hits_found, columns=["table", "what", "hit"])
    table = frame.groupby(["table", "what"], sort=False)["hit"].agg(["mean", "size"]).reset_index()
    return table.assign(shape=name, n=n)


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
        ("per bin, quantile bins", "per bin, uniform bins"),
        "",
        N_ROWS,
        "holds each dot 95% of the time, not all of them together",
    ),
    Known(
        tuple(f"Isotonic: {share:.0%}" for share in AT_SHARES),
        "",
        (200,),
        "the lowest and the highest step have few rows, and lie nearer to the middle",
    ),
    Known(
        tuple(f"{CALIBRATORS[key].label}: {share:.0%}" for key in FITTING for share in AT_SHARES),
        "rare",
        (200, 2_000),
        "two to twenty positives, fewer in a fold: too few to show how calibrators vary",
    ),
    Known(
        ("log loss", "Brier", "bin rate (Wilson)"),
        "rare",
        (200,),
        "two or three positives a data set, and none are left out: coverage comes in jumps",
    ),
    Known(
        tuple(
            f"{CALIBRATORS[key].label}{rows}: {loss}"
            for key in SHOWN
            for rows in ("", " on test rows")
            for loss in LOSSES
        ),
        "rare",
        (200, 2_000),
        "two to twenty positives, fewer in a fold: too few to show how they vary",
    ),
)


def misses(hits: pd.DataFrame, key: str) -> list[tuple[str, str, int, float]]:
    """What is outside of a table's promise by more than the simulation's own error."""
    promise = TABLES[key]
    if promise.low is None or promise.high is None:
        return []
    missed = []
    for row in hits[hits["table"] == key].itertuples():
        if promise.promised and row.what not in promise.promised:
            continue
        share = 100.0 * row.mean
        # One hit and one miss are added, because 60 of 60 do not show a share of exactly 100%.
        drawn, near = row.size + 2, (row.size * row.mean + 1.0) / (row.size + 2)
        noise = 200.0 * math.sqrt(near * (1.0 - near) / drawn)
        if share + noise < promise.low or share - noise > promise.high:
            missed.append((row.what, row.shape, row.n, share))
    return missed


def run(
    tables: Sequence[str], shapes: Sequence[Shape], repetitions: int, rows: Sequence[int]
) -> pd.DataFrame:
    """Simulate shapes with every number of rows, on two cores."""
    jobs = [(shape.name, n) for n in reversed(rows) for shape in shapes]
    with ProcessPoolExecutor(2) as pool:
        part = partial(simulate, tables=tables, repetitions=repetitions)
        return pd.concat(pool.map(part, jobs), ignore_index=True)


def markdown(hits: pd.DataFrame, key: str) -> str:
    """A table: one row a shape and number of rows, promises that are missed in bold."""
    rows = hits[hits["table"] == key]
    missed = {(what, shape, n) for what, shape, n, _ in misses(hits, key)}
    what = list(dict.fromkeys(w.split(":")[0] for w in rows["what"]))
    lines = [f"| data | rows | {' | '.join(what)} |", f"| --- |{' ---: |' * (len(what) + 1)}"]
    for shape in TABLES[key].shapes:
        for n in sorted(set(rows["n"])):
            here = rows[(rows["shape"] == shape.name) & (rows["n"] == n)]
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


def write(hits: pd.DataFrame, tables: Sequence[str], repetitions: int) -> None:
    """Put the measured tables into the page, in the place of those of the same title."""
    head, _, measured = PAGE.read_text(encoding="utf-8").partition(MARKER)
    parts = [part.strip() for part in measured.split("## ")[1:]]
    sections = {part.partition(": percent")[0]: part for part in parts}
    for key in tables:
        table = TABLES[key]
        of = f" of {', '.join(table.promised)}" if table.promised else ""
        bounds = "" if table.low is None else f" (promised {table.low:g} to {table.high:g}{of})"
        sections[table.title] = (
            f"{table.title}: percent{bounds}\n\n{_times(table, repetitions)}\n\n"
            f"{markdown(hits, key)}"
        )
    page = [sections[table.title] for table in TABLES.values() if table.title in sections]
    text = "\n\n".join([f"{head}{MARKER}", *(f"## {part}" for part in page)])
    PAGE.write_text(text + "\n", encoding="utf-8")


def _times(table: Table, repetitions: int) -> str:
    times = SLOW_REPETITIONS if table.measure is None else repetitions
    if not table.most:
        return f"{times:,} repetitions."
    counts = [f"{table.repetitions(n, times):,} with {n:,} rows" for n in N_ROWS]
    return f"Repetitions: {', '.join(counts)}."


def main(arguments: Sequence[str] = ()) -> int:
    """Simulate, write the page; return how many promises are missed for no known reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--shapes", nargs="+", default=[""], help="how their names begin")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--rows", type=int, nargs="+", default=N_ROWS)
    chosen = parser.parse_args(arguments)
    wanted = dict.fromkeys(shape for key in chosen.tables for shape in TABLES[key].shapes)
    shapes = [shape for shape in wanted if shape.name.startswith(tuple(chosen.shapes))]
    start = time.perf_counter()
    hits = run(chosen.tables, shapes, chosen.repetitions, chosen.rows)
    minutes = (time.perf_counter() - start) / 60.0
    complete = chosen.repetitions == REPETITIONS and tuple(chosen.rows) == N_ROWS
    if complete and len(shapes) == len(wanted):
        write(hits, chosen.tables, chosen.repetitions)
    else:
        for key in chosen.tables:
            print(f"\n{TABLES[key].title}\n\n{markdown(hits, key)}")
    unexplained = 0
    for key in chosen.tables:
        for what, shape, n, share in misses(hits, key):
            reason = next((k.reason for k in KNOWN if k.covers(what, shape, n)), "")
            unexplained += not reason
            print(f"{shape}, {n:,} rows: {what} {share:.1f}%  {reason or 'MISSED'}")
    print(f"{len(hits)} numbers in {minutes:.1f} minutes; {unexplained} missed promises")
    return unexplained


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))

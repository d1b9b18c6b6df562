"""What the recommendation costs: log loss of the population, above that of the best single method.

Rows are drawn from eleven populations, analysed with default settings, and the recommended
calibrator is applied to the whole population. So are every method that was compared, and peers.

    python -m benchmarks quality            # the tables and the picture of benchmarks/quality.md
    python -m benchmarks.quality --samples 5 --sizes 1000 --populations step wavy

splinecalib, betacal and venn-abers take part if they are installed (benchmarks/requirements.txt).
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import beta as beta_law
from scipy.stats import norm
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from calib import Predictions, analyze
from calib.crossfit.settings import DEFAULT_METHODS
from calib.data.views import BinaryView
from calib.figures.axes import log_axis, one
from calib.figures.chart import Chart, draw
from calib.figures.layers import Layer, Subject, method
from calib.figures.svg import to_file
from calib.figures.theme import ADVISED, MethodStyle
from calib.numerics.arrays import FloatArray, single_thread
from calib.numerics.transforms import clip_certain

SEED = 20_261_124
# Peers take most of the time, so they see the first samples only.
SIZES, SAMPLES, PEER_SAMPLES = (200, 1_000, 10_000), 40, 10
# Regret of the recommendation at each size, and of recommending anything on calibrated scores.
GOALS = {200: 60.0, 1_000: 5.0, 10_000: 1.0}
CALIBRATED_GOALS = {200: 20.0}
# From this size on no peer may be better than the recommendation by more than this and 2 SE.
PEERS_FROM, PEER_MARGIN = 1_000, 1.0
N_QUANTILES, UNIT = 4_000, 1e4
PER_CLUSTER, CORRELATION = 5, 0.3
FOLDER = Path(__file__).parent
Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Population:
    """Quantiles of the scores, and the true frequency at a score."""

    name: str
    quantile: Function
    truth: Function
    clustered: bool = False
    weighted: bool = False

    def draw(self, n: int, rng: np.random.Generator) -> BinaryView:
        """Rows. In clusters, scores and outcomes go together; weights are log-normal."""
        group = np.arange(n) // PER_CLUSTER if self.clustered else None
        score = self.quantile(norm.cdf(self._normal(n, rng)))
        outcome = norm.cdf(self._normal(n, rng)) < self.truth(score)
        weight = np.exp(rng.normal(size=n)) if self.weighted else None
        return BinaryView(outcome, score, weight=weight, group=group)

    def _normal(self, n: int, rng: np.random.Generator) -> FloatArray:
        alone = rng.normal(size=n)
        if not self.clustered:
            return alone
        common = rng.normal(size=n)[np.arange(n) // PER_CLUSTER]
        return math.sqrt(CORRELATION) * common + math.sqrt(1.0 - CORRELATION) * alone

    def excess(self, predict: Function) -> float:
        """Log loss of calibrated scores above that of the true frequencies, in 1e-4."""
        score = self.quantile((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)
        p, q = clip_certain(self.truth(score)), clip_certain(predict(score))
        return UNIT * float(np.mean(p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))))


def _normal_log_odds(mean: float, spread: float) -> Function:
    return lambda u: expit(mean + spread * norm.ppf(u))


def _line(slope: float, shift: float) -> Function:
    return lambda s: expit(slope * logit(s) + shift)


def _u_shape(u: FloatArray) -> FloatArray:
    return np.clip(beta_law.ppf(u, 0.3, 0.3), 1e-9, 1.0 - 1e-9)


def _ten_values(u: FloatArray) -> FloatArray:
    return (np.minimum(np.floor(10.0 * u), 9.0) + 0.5) / 10.0


RATES = np.array([0.02, 0.1, 0.12, 0.3, 0.33, 0.35, 0.6, 0.62, 0.9, 0.92])
STEPS = np.array([0.05, 0.3, 0.4, 0.85])
NORMAL = _normal_log_odds(-0.5, 1.5)
POPULATIONS = (
    Population("calibrated", NORMAL, lambda s: s),
    Population("step", lambda u: u, lambda s: STEPS[np.minimum((4.0 * s).astype(int), 3)]),
    Population("wavy", lambda u: u, lambda s: s + 0.08 * np.sin(4.0 * np.pi * s)),
    Population("rare", _normal_log_odds(-5.0, 1.0), _line(0.7, -1.0)),
    Population("u-shape", _u_shape, _line(0.4, 0.2)),
    Population("few scores", _ten_values, lambda s: RATES[np.round(10.0 * s - 0.5).astype(int)]),
    Population("sharp", _normal_log_odds(0.0, 0.4), _line(4.0, 0.3)),
    Population("label noise", _normal_log_odds(-0.5, 2.0), lambda s: 0.08 + 0.84 * s),
    Population("prior shift", NORMAL, _line(1.0, -1.0)),
    Population("clusters", NORMAL, _line(0.6, 0.0), clustered=True),
    Population("weights", NORMAL, _line(0.6, 0.0), weighted=True),
)
BY_NAME = {population.name: population for population in POPULATIONS}


def _two_columns(score: FloatArray) -> FloatArray:
    return np.column_stack([1.0 - score, score])


def _splinecalib(rows: BinaryView) -> Function:
    made = importlib.import_module("splinecalib").SplineCalib()
    made.fit(rows.score, rows.outcome.astype(int))
    return made.calibrate


def _betacal(rows: BinaryView) -> Function:
    made = importlib.import_module("betacal").BetaCalibration("abm")
    return made.fit(rows.score[:, None], rows.outcome, rows.weight).predict


def _venn_abers(rows: BinaryView) -> Function:
    made = importlib.import_module("venn_abers").VennAbers()
    made.fit(_two_columns(rows.score), rows.outcome.astype(int))
    return lambda score: made.predict_proba(_two_columns(score))[0][:, 1]


def _sklearn_isotonic(rows: BinaryView) -> Function:
    made = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    return made.fit(rows.score, rows.outcome, rows.weight).predict


def _sklearn_sigmoid(rows: BinaryView) -> Function:
    return _SigmoidCalibration().fit(rows.score, rows.outcome, rows.weight).predict


# The peers splinecalib and venn-abers take no weights, and no peer takes groups.
PEERS: Mapping[str, tuple[str, Callable[[BinaryView], Function]]] = {
    "splinecalib 0.0.13": ("splinecalib", _splinecalib),
    "betacal 1.1.0": ("betacal", _betacal),
    "venn-abers 1.5.4": ("venn_abers", _venn_abers),
    "scikit-learn isotonic": ("sklearn", _sklearn_isotonic),
    "scikit-learn sigmoid": ("sklearn", _sklearn_sigmoid),
}


def peers() -> list[str]:
    """The peers that are installed."""
    return [name for name, (package, _) in PEERS.items() if importlib.util.find_spec(package)]


def sample(population: str, n: int, number: int) -> dict[str, float | str]:
    """Excess log loss of everything on one sample, and what was recommended."""
    shape = BY_NAME[population]
    seed = [SEED, list(BY_NAME).index(population), n, number]
    rows = shape.draw(n, np.random.default_rng(seed))
    result: dict[str, float | str] = {"population": population, "n": n, "sample": number}
    predictions = Predictions.from_arrays(
        rows.outcome, rows.score, sample_weight=rows.weight, group=rows.group
    )
    with single_thread():
        try:
            analysis = analyze(predictions, {"seed": number})
        except ValueError:  # A sample of rare events may have no or one positive row.
            excess = dict.fromkeys(DEFAULT_METHODS, shape.excess(lambda score: score))
            return result | excess | {"recommended": "", "recommendation": excess["uncalibrated"]}
        calibrators = analysis.held_out.calibrators
        result |= {key: shape.excess(one.predict) for key, one in calibrators.items()}
        chosen = analysis.recommendation.method
        result["recommended"] = chosen
        result["recommendation"] = result[chosen or "uncalibrated"]
        for name in peers() if number < PEER_SAMPLES else ():
            result[name] = shape.excess(PEERS[name][1](rows))
    return result


def draw_samples(
    sizes: Sequence[int], names: Sequence[str], samples: int, jobs: int
) -> pd.DataFrame:
    """One row per sample."""
    asked = [(name, n, number) for n in sizes for name in names for number in range(samples)]
    with ProcessPoolExecutor(jobs) as pool:
        return pd.DataFrame(list(pool.map(sample, *zip(*asked, strict=True), chunksize=4)))


def regrets(drawn: pd.DataFrame) -> pd.DataFrame:
    """Mean excess over the samples, minus that of the single method that is best on average."""
    methods = [key for key in DEFAULT_METHODS if key != "stack"]
    shown = ["recommendation", *DEFAULT_METHODS, *(name for name in peers() if name in drawn)]
    means = drawn.groupby(["n", "population"], sort=False)[shown].mean()
    return means.sub(means[methods].min(axis=1), axis=0)


def worse_than_peers(drawn: pd.DataFrame) -> dict[str, float]:
    """By how much a peer is better than the recommendation, beyond the margin and 2 SE."""
    found = {}
    large = drawn[(drawn["n"] >= PEERS_FROM) & (drawn["sample"] < PEER_SAMPLES)]
    for name in (name for name in peers() if name in drawn):
        for place, rows in large.groupby(["n", "population"], sort=False):
            loss = rows["recommendation"] - rows[name]
            beyond = loss.mean() - PEER_MARGIN - 2.0 * loss.sem()
            if beyond > 0.0:
                found[f"{name}, {place[1]}, n = {place[0]:,}"] = beyond
    return found


def picture(means: pd.DataFrame) -> Chart:
    """Mean regret by the number of rows. Regrets below 0.1 are drawn at 0.1."""
    shown = means.loc[["recommendation", *DEFAULT_METHODS]].clip(lower=0.1)
    sizes = np.array(shown.columns, dtype=np.float64)
    advised = Subject("recommendation", "Recommendation", MethodStyle(ADVISED, "solid", "circle"))
    layers = []
    for key, regret in shown.iterrows():
        of = advised if key == "recommendation" else method(str(key), "platt")
        if key == "platt":
            of = replace(of, style=replace(of.style, color="#56606B", dash="dot"))
        line = of.line(3.0) if of is advised else of.faint_line()
        values = regret.to_numpy()
        layers.append(
            Layer(str(key), sizes, values, of=of, line=line, marker=of.marker(8), legend=True)
        )
    axes = log_axis("Rows", sizes), log_axis("Regret, 1e-4 log loss per row", shown.to_numpy())
    regret = means.loc["recommendation"]
    said = ", ".join(f"{value:.1f} with {n:,} rows" for n, value in regret.items())
    return draw(
        "quality",
        one(*axes, 640, 360),
        layers[::-1],
        f"Mean regret of the recommendation: {said}; of every fixed method it is higher somewhere.",
        title="Log loss above that of the best single method",
        details="mean over eleven populations",
    )


def _markdown(table: pd.DataFrame, first: str) -> str:
    head = f"| {first} | {' | '.join(f'{n:,} rows' for n in table.columns)} |"
    rule = "| --- " * (1 + len(table.columns)) + "|"
    lines = (
        f"| {name} | {' | '.join(f'{value:,.1f}' for value in row)} |"
        for name, row in zip(table.index, table.to_numpy(), strict=True)
    )
    return "\n".join([head, rule, *lines])


def main(arguments: Sequence[str] = ()) -> int:
    """Print the tables; return how many targets are missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--populations", nargs="+", choices=list(BY_NAME), default=list(BY_NAME))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path, help="a CSV file for the samples")
    chosen = parser.parse_args(arguments)
    drawn = draw_samples(chosen.sizes, chosen.populations, chosen.samples, chosen.jobs)
    if chosen.save:
        drawn.to_csv(chosen.save, index=False)
    return report(drawn)


def report(drawn: pd.DataFrame) -> int:
    """Print the tables of these samples; return how many targets are missed."""
    table = regrets(drawn)
    means = table.groupby("n", sort=False).mean().T
    if tuple(means.columns) == SIZES:
        (FOLDER / "quality.svg").write_text(to_file(picture(means)), encoding="utf-8")
    print(_markdown(means, "mean over the populations"), end="\n\n")
    advised = table["recommendation"].unstack("n", sort=False)
    print(_markdown(advised, "the recommendation"), end="\n\n")
    share = drawn.groupby("n", sort=False)["recommended"].value_counts(normalize=True)
    print((100.0 * share.unstack("n", fill_value=0.0, sort=False)).round(0).to_string())
    missed = [
        f"regret {means.loc['recommendation', n]:.1f} at n = {n:,}, goal {goal}"
        for n, goal in GOALS.items()
        if n in means and means.loc["recommendation", n] > goal
    ]
    for n, goal in CALIBRATED_GOALS.items():
        if (n, "calibrated") in table.index:
            worst = table.loc[(n, "calibrated"), "recommendation"]
            missed += [f"{worst:.1f} on calibrated scores"] if worst > goal else []
    missed += [f"{name}: better by {by:.1f}" for name, by in worse_than_peers(drawn).items()]
    print("\n".join(f"missed: {line}" for line in missed))
    return len(missed)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))

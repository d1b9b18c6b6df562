"""Populations whose true calibration is known, and the rows that are drawn from them.

The truth is that of 100,000 evenly spaced quantiles of the scores with their true frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from calib import metrics
from calib.crossfit.cross_fitted import LOSSES
from calib.data.cells import ScoreCells
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import bin_between, bin_edges

POPULATION, PER_CLUSTER, CORRELATION = 100_000, 5, 0.3
N_COARSE_QUANTILES = 4_000
N_BINS, N_RATE_BINS = 15, 10


@dataclass(frozen=True)
class Shape:
    """One kind of data: the true log-odds are `slope` times the score's, plus `shift`.

    Of wavy data scores are uniform, and the true frequency is `wave` sin(4 pi s) above the score.
    """

    name: str
    mean: float = -0.5
    spread: float = 1.5
    slope: float = 1.0
    shift: float = 0.0
    ties: bool = False
    clustered: bool = False
    wave: float = 0.0

    @property
    def calibrated(self) -> bool:
        """Whether scores are true frequencies."""
        return self.slope == 1.0 and self.shift == 0.0 and self.wave == 0.0

    def score(self, z: FloatArray) -> FloatArray:
        """Scores whose log-odds are normal, or one of ten values; of wavy data uniform ones."""
        if self.wave:
            return norm.cdf(z)
        score = expit(self.mean + self.spread * z)
        return (np.floor(10.0 * score) + 0.5) / 10.0 if self.ties else score

    def truth(self, score: FloatArray) -> FloatArray:
        """True frequency at a score."""
        if self.wave:
            return np.clip(score + self.wave * np.sin(4.0 * np.pi * score), 0.0, 1.0)
        return expit(self.slope * logit(score) + self.shift)

    @cached_property
    def quantiles(self) -> FloatArray:
        """Evenly spaced quantiles of the scores: what a calibrator is applied to, many times."""
        return self.score(norm.ppf((np.arange(N_COARSE_QUANTILES) + 0.5) / N_COARSE_QUANTILES))

    def population_losses(self, calibrated: FloatArray) -> dict[str, float]:
        """Log loss and Brier score where these quantiles are calibrated so."""
        truth = self.truth(self.quantiles)
        return {
            name: float(
                np.mean(
                    truth * loss(np.ones(N_COARSE_QUANTILES, dtype=bool), calibrated)
                    + (1.0 - truth) * loss(np.zeros(N_COARSE_QUANTILES, dtype=bool), calibrated)
                )
            )
            for name, loss in LOSSES.items()
        }

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
# A verdict is also measured on gaps that alternate in sign, and on clusters.
VERDICT_SHAPES = (
    *SHAPES,
    Shape("wavy", wave=0.08),
    Shape("clusters, slope 0.62", clustered=True, slope=0.62),
)
BY_NAME = {shape.name: shape for shape in VERDICT_SHAPES}


def coarse(score: FloatArray) -> FloatArray:
    """A fixed second method, with ties: its AUC is another than that of the scores."""
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
    losses = {"log loss": metrics.log_loss(cells), "Brier": metrics.brier_score(cells)}
    points = {name: point(cells) for name, point in POINTS.items()}
    if shape.calibrated:
        points |= dict.fromkeys(("ECE, uniform", "ECE, quantile", "MCE, quantile", "KS"), 0.0)
    tied = _expected(coarse(score), shape.truth(score))
    points["AUC difference"] = metrics.auc(tied) - points["AUC"]
    bins = bin_between(cells, bin_edges(cells, N_RATE_BINS, "uniform"))
    rates = np.full(N_RATE_BINS, np.nan)
    rates[rate_bin(bins.high_edge)] = bins.observed
    return Truth(points, losses, rates, metrics.smooth_calibration_error(cells))


def _expected(score: FloatArray, truth: FloatArray) -> ScoreCells:
    """Cells whose positive weight is its expectation."""
    score, at = np.unique(score, return_inverse=True)
    rows = np.bincount(at).astype(np.float64)
    positive = np.bincount(at, truth)
    return ScoreCells(score, rows, rows, positive, rows, positive)


def rate_bin(high_edge: FloatArray) -> IntArray:
    """Number of the bin of a rate that ends at an edge."""
    return np.round(high_edge * N_RATE_BINS).astype(np.int64) - 1

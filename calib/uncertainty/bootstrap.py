"""Bootstrap intervals of any metric, from resamples of cells."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from calib.data.cells import ScoreCells
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.numerics.arrays import FloatArray
from calib.numerics.estimate import Estimate
from calib.numerics.few_cells import bucket_means, bucket_starts
from calib.numerics.intervals import check_level
from calib.numerics.resampling import (
    draw_cluster_sums,
    draw_noise,
    draw_sums,
    error_interval,
    percentile_interval,
    reflected_interval,
    student_factor,
)

Kind = Literal["percentile", "reflected", "error"]
Statistic = Callable[[ScoreCells], float]
MAX_CELLS = 1000  # More cells are joined into this many runs, whose rows are drawn together.


class Bootstrap:
    """Resamples of the rows of some cells, drawn once for any number of metrics.

    Efron and Tibshirani 1993, An Introduction to the Bootstrap.

    >>> import numpy as np
    >>> from calib.metrics import auc, ks_error
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> bootstrap = Bootstrap.from_arrays(rng.random(2000) < p, p)
    >>> estimate = bootstrap.estimate(auc)
    >>> round(estimate.low, 2), round(estimate.value, 2), round(estimate.high, 2)
    (0.82, 0.84, 0.86)
    >>> bootstrap.estimate(ks_error, kind="error").low
    0.0
    """

    def __init__(
        self, cells: ScoreCells, *, n_replicates: int = 1000, random_state: int = 0
    ) -> None:
        if n_replicates < 1:
            raise ValueError(f"n_replicates must be at least 1, got {n_replicates}.")
        rng = np.random.default_rng(random_state)
        self.cells, few = cells, _into_few(cells)
        negative, negative_sq = few.negative, few.weight_sq - few.positive_sq
        self._few, self._seed, self._n_clusters = few, random_state, 0
        self._positive = draw_sums(few.positive, few.positive_sq, n_replicates, rng)
        self._negative = draw_sums(negative, negative_sq, n_replicates, rng)

    @classmethod
    def from_arrays(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        n_replicates: int = 1000,
        random_state: int = 0,
    ) -> Bootstrap:
        """Resample rows, or their clusters if `group` names the cluster of each row.

        Raises
        ------
        ValueError
            If the arrays differ in length or contain a value that is not allowed.
        """
        rows = Predictions.from_arrays(y_true, y_prob, sample_weight, group=group).view()
        return cls.of_rows(rows, n_replicates=n_replicates, random_state=random_state)

    @classmethod
    def of_rows(
        cls, rows: BinaryView, *, n_replicates: int = 1000, random_state: int = 0
    ) -> Bootstrap:
        """Resample the rows of a view of predictions, or their clusters if it has groups."""
        cells = rows.cells()
        made = cls(cells, n_replicates=n_replicates, random_state=random_state)
        if rows.group is None:
            return made
        few, rng = made._few, np.random.default_rng(random_state)
        starts = bucket_starts(cells.score, cells.weight, MAX_CELLS)
        atom = 2 * (np.searchsorted(cells.score[starts], rows.score, side="right") - 1)
        drawn = draw_cluster_sums(
            rows.group, atom + rows.outcome, rows.weights, 2 * len(few), n_replicates, rng
        )
        made._negative, made._positive = drawn[0::2], drawn[1::2]
        made._n_clusters = len(np.unique(rows.group))
        return made

    def estimate(
        self, metric: Statistic, *, confidence_level: float = 0.95, kind: Kind = "percentile"
    ) -> Estimate:
        """A metric with its interval.

        Parameters
        ----------
        metric : callable
            A function of ScoreCells that returns a number, such as ``calib.metrics.auc`` or
            ``lambda cells: brier_decomposition(cells).discrimination``.
        confidence_level : float
            In (0, 1).
        kind : {"percentile", "reflected", "error"}
            "percentile" if the metric has no bias from noise; "reflected" if noise increases it;
            "error" for calibration errors that can be 0 (ECE, KS, Kuiper, smECE), see
            `calib.numerics.resampling.error_interval`.

        Returns
        -------
        Estimate
            The bounds are NaN if no resample has a value.

        Raises
        ------
        ValueError
            If a parameter is not allowed.
        """
        check_level(confidence_level)
        if kind not in ("percentile", "reflected", "error"):
            raise ValueError(f"kind must be 'percentile', 'reflected' or 'error', got {kind!r}.")
        value, whole = float(metric(self.cells)), float(metric(self._few))
        values = np.array([metric(sample) for sample in self._samples()])
        deviation = values[np.isfinite(values)] - whole
        if not len(deviation) or math.isnan(value):
            return Estimate(value)
        if kind == "percentile":
            return Estimate(value, *percentile_interval(value, deviation, confidence_level))
        if kind == "reflected":
            return Estimate(value, *reflected_interval(value, deviation, confidence_level))
        noise = np.array([metric(cells) for cells in self._noise()])
        bounds = error_interval(value, deviation, noise, confidence_level)
        return Estimate(value, *bounds, float(noise.mean()))

    def _samples(self) -> list[ScoreCells]:
        """The cells of each resample, without cells that were not drawn."""
        few, samples = self._few, []
        unit = few.weight_sq / few.weight
        for drawn in zip(self._positive.T, self._negative.T, strict=True):
            positive, negative = (sums.astype(np.float64) for sums in drawn)
            weight = positive + negative
            kept = weight > 0.0
            if not kept.any():
                continue
            w, q, u = weight[kept], positive[kept], unit[kept]
            samples.append(ScoreCells(few.score[kept], w / u, w, q, w * u, q * u))
        return samples

    def _noise(self) -> list[ScoreCells]:
        """The cells with outcomes of calibrated scores, or with the noise of resampled clusters."""
        few = self._few
        expected = few.weight * few.score
        if self._n_clusters:
            noise = self._clusters_noise()
        else:
            n_replicates = self._positive.shape[1]
            rng = np.random.default_rng([self._seed, 1])
            noise = draw_noise(few.score, few.weight, few.weight_sq, n_replicates, rng)
        return [
            ScoreCells(
                few.score, few.rows, few.weight, expected + column, few.weight_sq, few.weight_sq
            )
            for column in noise.T
        ]

    def _clusters_noise(self) -> FloatArray:
        few, score = self._few, self._few.score[:, None]
        drawn = self._positive * (1.0 - score) - self._negative * score
        total = (self._positive + self._negative).sum(axis=0)
        gap = few.positive - few.weight * few.score
        rng = np.random.default_rng([self._seed, 1])
        factor = student_factor(self._n_clusters, drawn.shape[1], rng)
        return (drawn * (few.total_weight / total) - gap[:, None]) * factor


def _into_few(cells: ScoreCells) -> ScoreCells:
    starts = bucket_starts(cells.score, cells.weight, MAX_CELLS)
    if len(starts) == len(cells):
        return cells
    return cells.joined(starts, bucket_means(cells.score, cells.weight, starts))

"""Classical tests of calibration if rows of one cluster are not independent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from calib.data.cells import ScoreCells
from calib.data.views import BinaryView, log_odds_of
from calib.metrics.base import SlopeIntercept, TestResult
from calib.metrics.goodness_of_fit import (
    MIN_GROUP_VARIANCE,
    ROUNDING,
    all_certain,
    chi_square,
    hosmer_lemeshow_test,
    simulated_gaps,
    spiegelhalter_test,
)
from calib.metrics.regression import line_features, line_spreads, line_test
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.binning import bin_cells, edge_ends
from calib.numerics.logistic import LogisticFit
from calib.numerics.poisson_binomial import (
    N_SIMULATED,
    null_standard_deviation,
    range_by_cluster,
    simulated_p,
    supremum_by_cluster,
)
from calib.numerics.resampling import (
    ClusterSums,
    DesignEffect,
    cluster_effect,
    design_effect,
    unit_sums,
)
from calib.numerics.transforms import sigmoid
from calib.uncertainty import Errors, fit_line

N_GROUPS = 10  # Hosmer and Lemeshow use this many groups.


def clustered_tests(
    rows: BinaryView, cells: ScoreCells | None = None, line: LogisticFit | None = None
) -> dict[str, TestResult]:
    """Spiegelhalter, Hosmer-Lemeshow, and slope and intercept tests for clustered rows.

    The statistics are the same as for independent rows. The null distribution is wider by the
    design effect: F with the second-order correction of Rao and Scott. If a Hosmer-Lemeshow group
    expects few positives or negatives, the null distribution is simulated, and its mean and
    variance are widened by the same factors.

    Parameters
    ----------
    rows : BinaryView
        Rows with clusters.
    cells : ScoreCells, optional
        Cells of the same rows. Default: they are counted from `rows`.
    line : LogisticFit, optional
        Result of `calib.uncertainty.fit_line` on these cells. Default: it is fitted.

    Returns
    -------
    dict of str to TestResult
        Keys: spiegelhalter, hosmer_lemeshow, line. The values are NaN if the test cannot be
        computed, for example with one cluster.

    Raises
    ------
    ValueError
        If the rows have no clusters.

    References
    ----------
    Rao and Scott 1984, doi:10.1214/aos/1176346391; Lumley and Scott 2014, doi:10.1111/anzs.12065
    (likelihood ratios).

    Examples
    --------
    Five copies of each row add no evidence. The test by cluster allows for them, the test of
    independent rows does not:

    >>> import numpy as np
    >>> from calib.data.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(100)
    >>> y, five = rng.random(100) < p, np.repeat(np.arange(100), 5)
    >>> rows = Predictions.from_arrays(y[five], p[five], group=five).view()
    >>> test = clustered_tests(rows)["spiegelhalter"]
    >>> round(test.p_value, 2), test.null
    (0.13, 'Rao-Scott F, 100 clusters')
    >>> round(spiegelhalter_test(y[five], p[five]).p_value, 5)
    1e-05
    """
    if rows.group is None:
        raise ValueError("rows must come in clusters that are named, got rows without a group.")
    cells = cells or rows.cells()
    sums = _Sums.of(rows, rows.group)
    return {
        "spiegelhalter": _spiegelhalter(sums, cells),
        "hosmer_lemeshow": _hosmer_lemeshow(sums, cells),
        "line": _line(sums, cells, line or fit_line(cells)),
    }


def resampled_test(by_row: TestResult, errors: Errors) -> TestResult:
    """The KS or Kuiper test by cluster. Its p-value comes from resampled clusters.

    No p-value is smaller than that of `by_row`, the test for independent rows, because resampled
    clusters hardly vary if few rows are positive.
    """
    p_value = max(by_row.p_value, errors.p_value(by_row.statistic))
    null = f"resampled clusters, {len(errors.noise):,} draws"
    return TestResult(by_row.statistic, p_value, null)


Limit = tuple[Callable[[float, int], float], str]
SUPREMUM: Limit = (supremum_by_cluster, "supremum of Brownian motion")
RANGE: Limit = (range_by_cluster, "range of Brownian motion")


def widened_test(
    by_row: TestResult, rows: BinaryView, cells: ScoreCells, limit: Limit = SUPREMUM
) -> TestResult:
    """The KS test by cluster without resampling: a wider Brownian limit, with Student's tails.

    `by_row` is `calib.metrics.ks_test` of the same rows; or `calib.metrics.kuiper_test`, with the
    limit `RANGE`. The p-value never becomes smaller, and without clusters `by_row` is returned
    unchanged.
    """
    sigma = null_standard_deviation(cells) * cells.total_weight
    if rows.group is None or all_certain(cells):
        return by_row
    sums, (survival, name) = _Sums.of(rows, rows.group), limit
    effect = sums.effect(np.ones((1, len(rows))), np.array([[sigma**2]]))
    error = math.sqrt(effect.mean) * sigma / cells.total_weight
    p_value = survival(by_row.statistic / error, sums.n_clusters)
    null = f"{name}, {sums.n_clusters:,} clusters"
    return TestResult(by_row.statistic, max(by_row.p_value, p_value), null)


def widened_line(rows: BinaryView, fit: SlopeIntercept) -> SlopeIntercept:
    """Slope and intercept with intervals that are widened by the design effect of the clusters.

    The intercept with the slope fixed at 1 does not change. Without clusters `fit` is returned
    unchanged.
    """
    if rows.group is None or not fit.estimable:
        return fit
    features = np.column_stack([np.ones(len(rows)), log_odds_of(rows)])
    rate = sigmoid(features @ np.array([fit.intercept, fit.slope]))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    information = features.T @ (features * (weight * rate * (1.0 - rate))[:, None])
    influence = (features * (weight * (rows.outcome - rate))[:, None]) @ np.linalg.inv(information)
    intercept, slope = (
        math.sqrt(max(1.0, cluster_effect(one, unit_sums(one, rows.group)))) for one in influence.T
    )
    return replace(
        fit,
        slope_error=slope * fit.slope_error,
        slope_low=fit.slope + slope * (fit.slope_low - fit.slope),
        slope_high=fit.slope + slope * (fit.slope_high - fit.slope),
        intercept_error=intercept * fit.intercept_error,
        intercept_low=fit.intercept + intercept * (fit.intercept_low - fit.intercept),
        intercept_high=fit.intercept + intercept * (fit.intercept_high - fit.intercept),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Rows' contributions w (y - s), summed over clusters."""

    score: FloatArray
    residual: FloatArray
    group: IntArray
    n_clusters: int

    @classmethod
    def of(cls, rows: BinaryView, group: IntArray) -> _Sums:
        residual = rows.outcome - rows.score
        if rows.weight is not None:
            residual *= rows.weight
        return cls(rows.score, residual, group, int((np.bincount(group) > 0).sum()))

    def effect(
        self, features: FloatArray, scale: FloatArray, variance: FloatArray | None = None
    ) -> DesignEffect:
        """Design effect of the residuals times each feature; features have the shape (d, n).

        The variance of independent rows is `scale` if it is not given.
        """
        moments = features * self.residual
        sums = np.array([np.bincount(self.group, moment) for moment in moments], dtype=np.float64).T
        clusters = ClusterSums(sums, moments @ moments.T, self.n_clusters)
        return design_effect(scale, scale if variance is None else variance, clusters)

    def effect_between(self, inner: FloatArray, variance: FloatArray) -> DesignEffect:
        """Design effect of the sums of residuals in the groups of rows that have a variance."""
        place = np.searchsorted(edge_ends(inner), self.score)
        table = (int(self.group.max()) + 1, len(variance))
        at = self.group * table[1] + place
        sums = np.bincount(at, self.residual, minlength=table[0] * table[1]).astype(np.float64)
        squares = np.bincount(place, np.square(self.residual), minlength=table[1]).astype(
            np.float64
        )
        varies = variance > 0.0
        clusters = ClusterSums(
            sums.reshape(table)[:, varies], np.diag(squares[varies]), self.n_clusters
        )
        by_row = np.diag(variance[varies])
        return design_effect(by_row, by_row, clusters)


def _spiegelhalter(sums: _Sums, cells: ScoreCells) -> TestResult:
    by_row = spiegelhalter_test(cells)
    s, tilt = cells.score, 1.0 - 2.0 * cells.score
    variance = float(cells.weight_sq @ (np.square(tilt) * s * (1.0 - s)))
    if variance <= 0.0 or all_certain(cells):
        return by_row
    effect = sums.effect(1.0 - 2.0 * sums.score[None], np.array([[variance]]))
    return _corrected(by_row.statistic, by_row.statistic**2, effect)


def _hosmer_lemeshow(sums: _Sums, cells: ScoreCells) -> TestResult:
    by_row = hosmer_lemeshow_test(cells, n_groups=N_GROUPS)
    groups = bin_cells(cells, N_GROUPS, "quantile")
    spread = groups.mean_score * (1.0 - groups.mean_score)
    if math.isinf(by_row.statistic) or spread.max() < ROUNDING:
        return by_row
    squares = np.square(groups.weight) / groups.effective_rows
    variance = np.where(spread < ROUNDING, 0.0, spread * squares)
    effect = sums.effect_between(groups.high_edge[:-1], variance)
    if (groups.effective_rows * spread).min() >= MIN_GROUP_VARIANCE or sums.n_clusters < 2:
        return _corrected(by_row.statistic, by_row.statistic, effect)
    drawn = chi_square(groups, simulated_gaps(cells, groups, random_state=0))
    p_value = simulated_p(effect.of_independent_rows(by_row.statistic), drawn)
    null = f"simulation, {N_SIMULATED:,} draws, {sums.n_clusters:,} clusters"
    return TestResult(by_row.statistic, p_value, null)


def _line(sums: _Sums, cells: ScoreCells, line: LogisticFit | None) -> TestResult:
    by_row = line_test(cells, line)
    if math.isnan(by_row.statistic) or all_certain(cells):
        return by_row
    features = line_features(cells, sums.score)
    return _corrected(
        by_row.statistic, by_row.statistic, sums.effect(features, *line_spreads(cells))
    )


def _corrected(statistic: float, square: float, effect: DesignEffect) -> TestResult:
    null = f"Rao-Scott F, {effect.n_clusters:,} clusters"
    return TestResult(statistic, effect.p_value(square), null)

"""Histogram binning: the observed rate of each bin."""

from __future__ import annotations

import operator
from typing import Literal

import numpy as np

from calib.calibrators.base import Calibrator
from calib.calibrators.forms import Axis, Piecewise
from calib.calibrators.registry import register
from calib.data.cells import ScoreCells
from calib.numerics.arrays import FloatArray
from calib.numerics.binning import bin_between, edge_ends, quantile_cells
from calib.numerics.isotonic import shrink_certain
from calib.numerics.splines import steps


@register(
    "histogram",
    "Histogram",
    simplicity=80,
    summary="Assumes nothing about the shape; each bin gets its observed rate.",
    source="Zadrozny, Elkan 2001",
    aliases="histogram binning, quantile binning",
    weighs_evidence=True,
)
class Histogram(Calibrator):
    """Histogram binning: the calibrated score is the observed rate of the bin of the score.

    Bins are right-closed. The range of a bin without rows is divided at its middle between the
    two neighbouring bins. A rate of 0 or 1 is shrunk towards the base rate b: 0 becomes
    1 / (n + 1 / b) and 1 becomes 1 - 1 / (n + 1 / (1 - b)), where n is the number of rows of the
    bin (an m-estimate).

    Parameters
    ----------
    n_bins : int, default 15
        Largest number of bins, at least 1. Equal scores share a bin, so there can be fewer.
    strategy : {"quantile", "uniform"}, default "quantile"
        Bins of equal weight or of equal width.
    shrink : bool, default True
        If False, the calibrated scores are the observed rates, including 0 and 1.

    Attributes
    ----------
    edges_ : ndarray of shape (b - 1,)
        Edges between the bins.
    rates_, weights_ : ndarray of shape (b,)
        Rate of each bin (shrunk if it is 0 or 1), and weight of each bin in effective rows.

    References
    ----------
    Zadrozny, Elkan 2001, "Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers", ICML (also the m-estimate).

    Examples
    --------
    >>> fitted = Histogram(n_bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 1, 0, 1])
    >>> fitted.formula()
    '2 bins with rates from 0.333 to 0.667'
    >>> fitted.predict([0.0, 0.3, 0.31]).round(3)
    array([0.333, 0.333, 0.667])
    """

    monotone = False

    def __init__(
        self,
        n_bins: int = 15,
        strategy: Literal["quantile", "uniform"] = "quantile",
        shrink: bool = True,
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.shrink = shrink

    def _fit(self, cells: ScoreCells) -> None:
        if operator.index(self.n_bins) < 1:
            raise ValueError(f"n_bins must be at least 1, got {self.n_bins}.")
        if self.strategy not in ("quantile", "uniform"):
            raise ValueError(f"strategy must be 'quantile' or 'uniform', got {self.strategy!r}.")
        level = np.linspace(0.0, 1.0, self.n_bins + 1)
        bins = bin_between(cells, level if self.strategy == "uniform" else _cuts(cells, level))
        self.edges_ = (bins.high_edge[:-1] + bins.low_edge[1:]) / 2.0
        self.rates_, self.weights_ = bins.observed, bins.weight
        if self.shrink:
            self.rates_ = shrink_certain(bins.observed, bins.weight, cells.base_rate)

    def to_map(self) -> Piecewise:
        return Piecewise(Axis(), steps(edge_ends(self.edges_), self.rates_, "right"))

    def n_parameters(self) -> float:
        return len(self.rates_)

    def formula(self) -> str:
        low, high = self.rates_.min(), self.rates_.max()
        return f"{len(self.rates_)} bins with rates from {low:.3g} to {high:.3g}"

    def knots(self) -> FloatArray:
        """Edges between the bins."""
        return self.edges_


def _cuts(cells: ScoreCells, level: FloatArray) -> FloatArray:
    """Lowest scores, between 0 and 1, at which the weighted distribution reaches each level."""
    inner = cells.score[quantile_cells(cells, level[1:-1])]
    return np.concatenate([[0.0], np.unique(inner), [1.0]])

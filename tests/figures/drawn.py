"""Slices, periods and decisions of an Analysis, for the tests of their figures."""

import dataclasses

import numpy as np

from calib.analysis import Analysis
from calib.analysis.decisions import Costs, cost_curves, decide, net_benefit
from calib.analysis.model_comparison import ModelComparison, ModelScores
from calib.analysis.periods import PeriodTable, cut_periods, period_table
from calib.analysis.slices import SliceGaps, Slicing, slice_gaps
from calib.crossfit.comparison import Estimate
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.figures import (
    checkpoint_chart,
    cost_chart,
    net_benefit_chart,
    period_chart,
    slice_chart,
    slice_reliability_chart,
)
from calib.figures.chart import Chart
from calib.numerics.numbered import numbers_of

METHODS = ("uncalibrated", "beta")
COSTS = Costs(1, 3)


def slicing(n: int, names: tuple[str, ...] = ("low", "few", "high")) -> Slicing:
    """Three slices; the second has twenty rows."""
    codes = np.where(np.arange(n) % 2 == 0, 0, 2)
    codes[:20] = 1
    return Slicing(("site",), names, codes)


def gaps(analysis: Analysis, **more) -> dict[str, SliceGaps]:
    held_out = analysis.held_out
    cut = slicing(len(held_out.rows), **more)
    return {key: slice_gaps(held_out.rows, held_out.scores[key], cut) for key in METHODS}


def curves(analysis: Analysis, **more) -> dict[str, ReliabilityCurve]:
    rows = analysis.held_out.rows
    cut = slicing(len(rows), **more)
    return {
        name: reliability_curve(rows.rows(cut.member(i)).cells(), n_bins=5)
        for i, name in enumerate(cut.names)
    }


def periods(analysis: Analysis, first: str = "2019") -> dict[str, PeriodTable]:
    held_out = analysis.held_out
    n = len(held_out.rows)
    year = np.array([first, "2020", "2022", "2023"])[np.arange(n) * 4 // n]
    # Twenty rows of the last year: too few to be judged.
    year[(year == "2023") & (np.arange(n) < n - 20)] = "2022"
    cut = cut_periods(year)
    return {key: period_table(held_out.rows, held_out.scores[key], cut) for key in METHODS}


def cost(analysis: Analysis, costs: Costs = COSTS) -> Chart:
    held_out = analysis.held_out
    return cost_chart(cost_curves(held_out, costs), decide(held_out, costs), METHODS)


def benefit(analysis: Analysis) -> Chart:
    return net_benefit_chart(net_benefit(analysis.held_out), METHODS, threshold=0.25)


def checkpoints(analysis: Analysis, names: tuple[str, ...] = ("step 1", "step 9", "step 10")):
    """Three models made of one: its methods' losses, larger from model to model."""
    methods = ("uncalibrated", "platt", "beta")
    keys = ("log_loss", "brier_score", "ks_error", "ece_quantile")
    models = {}
    for number, name in enumerate(names):
        metrics = {
            method: {
                key: Estimate(*(end + number / 10 for end in dataclasses.astuple(found)))
                for key, found in analysis.methods[method].metrics.items()
                if key in keys
            }
            for method in methods
        }
        models[name] = ModelScores(analysis.data.n_rows, metrics, {}, paired=True)
    columns = tuple(column for column in analysis.columns if column.key in keys)
    numbers = numbers_of(names)
    return ModelComparison(methods, columns, models, numbers, {}, analysis.settings)


BUILDERS = {
    "checkpoints": lambda a: checkpoint_chart(checkpoints(a)),
    "slices": lambda a: slice_chart(gaps(a)),
    "slice reliability": lambda a: slice_reliability_chart(curves(a)),
    "periods": lambda a: period_chart(periods(a)),
    "cost": cost,
    "net benefit": benefit,
}

"""Slices, periods and decisions of an Analysis, for the tests of their figures."""

import dataclasses
import inspect
from collections.abc import Callable
from functools import cache

import numpy as np

from calib.analysis import Analysis, analyze
from calib.analysis.decisions import Costs, cost_curves, decide, net_benefit
from calib.analysis.decisions.certificate import certify_rows
from calib.analysis.model_comparison import ModelComparison, ModelScores
from calib.analysis.periods import PeriodTable, cut_periods, period_table
from calib.analysis.slices import SliceGaps, SliceTests, Slicing, slice_gaps, slice_tests
from calib.crossfit.epsilon import EPSILONS, EpsilonCurve, compare_clipping
from calib.crossfit.settings import Settings
from calib.curves.functions import LambdaPath, ece_sensitivity
from calib.curves.rate import corp_curve, smooth_curve
from calib.curves.reliability import ReliabilityCurve, reliability_curve
from calib.data.predictions import Predictions
from calib.features.monitor.chart import monitor_chart, monitored_slice_chart
from calib.features.monitor.replay import monitor
from calib.features.monitor.result import Monitored
from calib.figures import CHARTS, Chart
from calib.figures.certified_error import certified_error_chart
from calib.figures.cumulative import cumulative_chart, cumulative_difference_chart
from calib.figures.decisions import cost_chart, net_benefit_chart
from calib.figures.functions import (
    adjustments_chart,
    functions_chart,
    matrix_difference_chart,
    sensitivity_chart,
)
from calib.figures.losses import checkpoint_chart, clipping_chart, epsilon_chart, lambda_path_chart
from calib.figures.periods import period_chart
from calib.figures.reliability import overlay_chart, reliability_chart, scores_by_outcome_chart
from calib.figures.slices import slice_chart
from calib.figures.summary import before_after_chart, before_after_panel, class_panel
from calib.numerics.intervals import Estimate
from calib.text import numbers_of

METHODS = ("uncalibrated", "beta")
ALL = ("uncalibrated", "platt", "isotonic", "beta")
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


def judged_slices(analysis: Analysis, **more) -> dict[str, SliceTests]:
    held_out = analysis.held_out
    cut = slicing(len(held_out.rows), **more)
    return {key: slice_tests(held_out.rows, held_out.scores[key], cut) for key in METHODS}


def curves(analysis: Analysis, **more) -> dict[str, ReliabilityCurve]:
    rows = analysis.held_out.rows
    cut = slicing(len(rows), **more)
    return {
        name: reliability_curve(rows.rows(cut.member(i)).cells(), n_bins=5)
        for i, name in enumerate(cut.names)
        if cut.member(i).any()
    }


def periods(analysis: Analysis, first: str = "2019") -> dict[str, PeriodTable]:
    held_out = analysis.held_out
    n = len(held_out.rows)
    year = np.array([first, "2020", "2022", "2023"])[np.arange(n) * 4 // n]
    # The last year has twenty rows, which are too few to judge it.
    year[(year == "2023") & (np.arange(n) < n - 20)] = "2022"
    cut = cut_periods(year)
    return {key: period_table(held_out.rows, held_out.scores[key], cut) for key in METHODS}


@cache
def watched(horizon: int = 20, n_days: int = 200, shift: float = 0.3) -> Monitored:
    """40 rows per day, in two slices; from day 100 on more rows of the second are positive."""
    rng = np.random.default_rng(3)
    day = np.datetime64("2026-01-01") + np.repeat(np.arange(n_days), 40)
    part = np.array(["a", "b"])[np.arange(len(day)) % 2]
    score = rng.uniform(0.1, 0.6, len(day))
    late = (day >= np.datetime64("2026-04-11")) & (part == "b")
    positive = rng.random(len(day)) < score + np.where(late, shift, 0.0)
    rows = Predictions.from_arrays(positive, score, columns={"day": day, "part": part})
    return monitor(rows, time="day", horizon=horizon, slices="part", today=day[-1])


def cost(analysis: Analysis, costs: Costs = COSTS) -> Chart:
    held_out = analysis.held_out
    return cost_chart(cost_curves(held_out, costs), decide(held_out, costs), METHODS)


def certified(analysis: Analysis, sides: str = "above", max_error: float = 0.4) -> Chart:
    rows = analysis.held_out.view("uncalibrated")
    return certified_error_chart(certify_rows(rows, max_error, 0.9, sides=sides))


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
                key: Estimate(*(end + number / 10 for end in dataclasses.astuple(result)))
                for key, result in analysis.methods[method].metrics.items()
                if key in keys
            }
            for method in methods
        }
        models[name] = ModelScores(analysis.data.n_rows, metrics, {}, paired=True)
    columns = tuple(column for column in analysis.columns if column.key in keys)
    numbers = numbers_of(names)
    return ModelComparison(methods, columns, models, numbers, {}, analysis.settings)


def with_spline(analysis: Analysis) -> Analysis:
    """The analysis with a lambda path, made up, of a method "spline"."""
    beta = analysis.methods["beta"]
    path = LambdaPath(np.array([1.0, 0.1]), np.array([0.6, 0.5]), np.array([2.0, 3.5]), 1)
    spline = dataclasses.replace(
        beta, key="spline", function=dataclasses.replace(beta.function, path=path)
    )
    return dataclasses.replace(analysis, methods={**analysis.methods, "spline": spline})


def over_epsilon() -> EpsilonCurve:
    grid = np.array(EPSILONS)
    return EpsilonCurve("spline", grid, 0.5 + grid, np.arange(len(grid), dtype=float), 0.001)


def lines_of(analysis: Analysis):
    cells = analysis.held_out.cells["uncalibrated"]
    return corp_curve(cells, n_replicates=20), smooth_curve(cells)


def sensitivity_of(analysis: Analysis, key: str):
    held_out = analysis.held_out
    return ece_sensitivity(held_out.cells[key], held_out.replicates[key])


@cache
def matrix() -> Analysis:
    """300 rows of three classes."""
    rng = np.random.default_rng(4)
    z = rng.normal([0.6, 0.0, -0.4], 1.0, (300, 3))
    scores = np.exp(2.0 * z)
    predictions = Predictions.from_arrays(
        (z + rng.gumbel(size=z.shape)).argmax(axis=1), scores / scores.sum(axis=1, keepdims=True)
    )
    return analyze(predictions, Settings(view="top:1", methods=("temperature",)))


def matrix_like(analysis: Analysis) -> Analysis:
    """The analysis, and all classes of a matrix whose methods are labelled as its own is."""
    compared = matrix().multiclass
    label = analysis.methods["platt"].label
    results = {k: dataclasses.replace(r, label=label) for k, r in compared.results.items()}
    return dataclasses.replace(analysis, multiclass=dataclasses.replace(compared, results=results))


def needs_an_analysis_alone(chart: Callable[..., Chart]) -> bool:
    parameters = inspect.signature(chart).parameters.values()
    return [p.name for p in parameters if p.default is p.empty] == ["analysis"]


# Every registered chart is drawn in some ways, by the name of its function. A chart that needs only
# an analysis is drawn without an entry here.
SAMPLES: dict[str, tuple[Callable[[Analysis], Chart], ...]] = {
    name: (chart,) for name, chart in CHARTS.items() if needs_an_analysis_alone(chart)
} | {
    "reliability_chart": (
        lambda a: reliability_chart(a, ALL),
        lambda a: reliability_chart(a, ALL, lines=lines_of(a)),
        lambda a: reliability_chart(a, ALL, axis="logit", ring=("platt", 0)),
    ),
    "sensitivity_chart": (lambda a: sensitivity_chart(a, sensitivity_of(a, "platt"), "platt"),),
    "cumulative_chart": (
        lambda a: cumulative_chart(a, "platt"),
        lambda a: cumulative_chart(a, "platt", panels=(3,)),
    ),
    "cumulative_difference_chart": (lambda a: cumulative_difference_chart(a, ALL),),
    "functions_chart": (
        lambda a: functions_chart(a, ALL, highlight_knots=True),
        lambda a: functions_chart(a, ALL, by_rule={"beta": a.methods["beta"].function}),
        lambda a: functions_chart(a, ALL, small=True),
    ),
    "adjustments_chart": (
        lambda a: adjustments_chart(a, ALL, highlight_knots=True),
        lambda a: adjustments_chart(a, ALL, axis="logit"),
    ),
    "before_after_chart": (lambda a: before_after_chart(a, ALL),),
    "before_after_panel": (lambda a: before_after_panel(a, "platt"),),
    "class_panel": (
        lambda a: class_panel(a, "platt", "<b>ant</b>", a.uncalibrated.reliability, 0.1),
    ),
    "matrix_difference_chart": (lambda a: matrix_difference_chart(matrix_like(a)),),
    "clipping_chart": (lambda _: clipping_chart(compare_clipping(matrix().multiclass)),),
    "lambda_path_chart": (lambda a: lambda_path_chart(with_spline(a), "spline"),),
    "epsilon_chart": (lambda a: epsilon_chart(with_spline(a), [over_epsilon()]),),
    "checkpoint_chart": (lambda a: checkpoint_chart(checkpoints(a)),),
    "slice_chart": (lambda a: slice_chart(gaps(a), judged_slices(a)),),
    "scores_by_outcome_chart": (
        lambda a: scores_by_outcome_chart(a.held_out.cells["uncalibrated"]),
    ),
    "overlay_chart": (lambda a: overlay_chart(curves(a)),),
    "period_chart": (lambda a: period_chart(periods(a)),),
    "monitor_chart": (
        lambda _: monitor_chart(watched()),
        lambda _: monitor_chart(watched(), "b"),
        lambda _: monitor_chart(watched(horizon=200, n_days=100)),
    ),
    "monitored_slice_chart": (lambda _: monitored_slice_chart(watched(), "b"),),
    "cost_chart": (cost,),
    "certified_error_chart": (certified, lambda a: certified(a, "both", 0.1)),
    "net_benefit_chart": (benefit,),
}
BUILDERS = {
    f"{name} {i}": build for name, builds in SAMPLES.items() for i, build in enumerate(builds)
}

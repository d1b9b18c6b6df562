"""The paired difference of a loss to that of the uncalibrated scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from calib.analysis import Analysis
from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import MethodMetrics
from calib.figures.axes import padded
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import HOVER_TEXT, Layer, Subject, reference, subject, whiskers
from calib.figures.panels import forest
from calib.figures.words import details
from calib.metrics import matrix_metrics
from calib.text import decimals, escaped, number, plural, with_interval

WIDTH, ROW_HEIGHT = 520, 38
Loss = Literal["log_loss", "brier_score"]
# The axis reaches at most this many times as far from zero as half of the methods do, because a
# single long interval would make dots of all others.
MAX_REACH_RATIO = 8.0
LOSSES = get_args(Loss)


@chart
def difference_chart(analysis: Analysis, metric: Loss = "log_loss") -> Chart:
    """Forest plot of the change of a loss by each calibrator, paired by row. Left is better.

    Calibrators are in the order of log loss, the lowest at the top.

    Parameters
    ----------
    analysis : Analysis
    metric : {"log_loss", "brier_score"}

    Raises
    ------
    ValueError
        If `metric` is not one of the two.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("platt", "beta")})
    >>> figure = calib.plot.differences(analysis)
    >>> figure.layout.xaxis.title.text
    'Log loss change (← better)'
    """
    if metric not in LOSSES:
        raise ValueError(f"metric must be 'log_loss' or 'brier_score', got {metric!r}.")
    label = next(column.label for column in analysis.columns if column.key == metric)
    return _forest(analysis, analysis.methods, metric, label)


@chart
def matrix_difference_chart(analysis: Analysis, metric: Loss = "log_loss") -> Chart:
    """Forest plot of the change of a multiclass loss by each calibrator, paired by row.

    Parameters
    ----------
    analysis : Analysis
        Analysis of a matrix. The view has no effect.
    metric : {"log_loss", "brier_score"}

    Raises
    ------
    ValueError
        If the analysis is not of a matrix.
    """
    if analysis.multiclass is None:
        raise ValueError("analysis must be of a matrix, got one of one score per row.")
    results = analysis.multiclass.results
    return _forest(analysis, results, metric, matrix_metrics()[metric].label)


def _forest(
    analysis: Analysis, methods: Mapping[str, MethodMetrics], metric: Loss, label: str
) -> Chart:
    results = [methods[key] for key in analysis.ranked if key != "uncalibrated"]
    labels = [CALIBRATORS[result.key].label for result in results]
    title = escaped(f"{label} change (← better)")
    whole = [-0.5, len(results) - 0.5]
    zero = Layer("zero", [0.0, 0.0], whole, line=reference(1.25, dash=None))
    return draw(
        "differences",
        forest(
            title,
            _range(results, metric),
            [escaped(label) for label in labels],
            WIDTH,
            ROW_HEIGHT * max(len(results), 1),
        ),
        [
            zero,
            *(
                _row(subject(analysis, result), result, metric, row)
                for row, result in enumerate(results)
            ),
        ],
        f"{label} of each method minus that of the uncalibrated scores, with intervals. "
        f"{analysis.recommendation.sentence}",
        title=escaped(_title(analysis, results, metric, label)),
        details=details(analysis),
        of=(metric, analysis.data.name),
        view=metric,
        left=20 + round(6.8 * max(map(len, labels), default=0)),
    )


def _title(analysis: Analysis, results: Sequence[MethodMetrics], metric: str, label: str) -> str:
    """What the recommended calibrator changes, or else how many calibrators lower the loss."""
    loss = label if label.startswith("Brier") else f"{label[0].lower()}{label[1:]}"
    advised = {result.key: result for result in results}.get(analysis.recommendation.method)
    if advised is None:
        n = sum(result.differences[metric].high < 0.0 for result in results)
        if not n:
            return f"No calibrator significantly lowers {loss}"
        lower = "lowers" if n == 1 else "lower"
        return f"{n} of {plural(len(results), 'calibrator')} significantly {lower} {loss}"
    change = advised.differences[metric]
    size, verb = number(abs(change.value), decimals(change)), "lowers"
    if change.value > 0.0:
        verb = "raises"
    significant = change.high < 0.0 or change.low > 0.0
    chance = "" if significant else ", not significantly"
    return f"{CALIBRATORS[advised.key].short_label} {verb} {loss} by {size}{chance}"


def _row(of: Subject, result: MethodMetrics, metric: str, row: int) -> Layer:
    estimate = result.differences[metric]
    value, low, high = (np.array([e]) for e in (estimate.value, estimate.low, estimate.high))
    return Layer(
        "difference",
        value,
        [row],
        of=of,
        marker=of.marker(10),
        error_x=whiskers(value, low, high, of.style.color, thickness=2.25),
        hovertext=[with_interval(estimate, decimals(estimate), sign=True)],
        hover=HOVER_TEXT,
    )


def _range(results: list[MethodMetrics], metric: str) -> list[float]:
    """The range of zero and all intervals, with a margin. Very long intervals leave it."""
    estimates = [result.differences[metric] for result in results]
    ends = np.array([[0.0, e.value, e.low, e.high] for e in estimates] or [[0.0]])
    far = MAX_REACH_RATIO * float(np.median(np.nanmax(np.abs(ends), axis=1)))
    return padded(np.clip(ends, -far, far), margin=0.08)

"""Words and numbers on figures: escaped names, digits that mean something, evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from html import unescape

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.analysis.model_comparison import BestModel
from calib.analysis.summary import is_error
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.data.views import parse_view
from calib.metrics import METRICS
from calib.numerics.intervals import Estimate
from calib.text import (
    between_percents,
    count,
    decimals,
    escaped,
    interval,
    joined,
    level,
    number,
    p_value,
    percent,
    plural,
    printed_change,
    shortened,
    within_sentence,
)
from calib.words.recommendations import interval_text

# Charts need at least this number of rows. In a wider band, no dot can be outside.
MIN_DRAWN_ROWS, MAX_DRAWN_WIDTH = 10, 0.9
# With fewer rows, or in a band that is wider than half of the axis, a band shows too little.
MAX_BAND_WIDTH = 0.5

KS = METRICS["ks_error"].label
# These metrics are shares, besides the calibration errors with a chance level.
SHARES = ("accuracy", "ece_classwise")

# One sentence on each layer of a reliability diagram, for tooltips and for the glossary.
LAYER_MEANINGS: Mapping[str, str] = {
    "band": "Where the dots of a calibrated model would fall, with the chosen confidence level.",
    "simultaneous": "Where all dots of a calibrated model would fall at once, with the chosen "
    "confidence level.",
    "corp": "The best-fitting non-decreasing curve of the outcomes (isotonic regression).",
    "smooth": "A smoothing spline of the outcomes; its smoothness is chosen by cross-validation.",
}


# Words are escaped for Plotly, so every tag in them is one of the chart's own.
BOLD = re.compile(r"</?b>")


def unmarked(words: str) -> str:
    """Words of a chart as plain text."""
    return unescape(BOLD.sub("", words).replace("<br>", " "))


def details(analysis: Analysis, *more: str) -> str:
    """The second line of a chart's heading: the rows, what else is shown, and the level."""
    at = level(analysis.settings.confidence_level)
    return " · ".join([plural(analysis.data.n_rows, "row"), *more, f"{at} intervals"])


def binning(analysis: Analysis) -> str:
    """How scores are binned."""
    settings = analysis.settings
    return f"{settings.n_bins} {settings.strategy} bins"


def counts_of_each(numbers: Iterable[float], noun: str) -> str:
    """How many rows or bins each of several curves has, such as "352 to 369 rows each"."""
    sizes = sorted({int(n) for n in numbers})
    words = plural(sizes[-1], noun)
    return f"{words} each" if len(sizes) == 1 else f"{count(sizes[0])} to {words} each"


def band_name(curve: ReliabilityCurve) -> str:
    """The consistency band in a legend, whose columns are as wide as its longest name."""
    kind = "consistency" if curve.band == "per_bin" else "simultaneous"
    return f"{level(curve.confidence_level)} {kind} band"


def band_meaning(curve: ReliabilityCurve) -> str:
    """The meaning of the consistency band of a reliability diagram."""
    at = level(curve.confidence_level)
    if curve.band == "per_bin":
        return f"if the model were calibrated, each dot would fall in it {at} of the time"
    return f"if the model were calibrated, all dots at once would fall in it in {at} of samples"


def evidence(method: MethodResult) -> str:
    """The KS calibration error of a method, and the p-value of its test."""
    return f"{KS} {metric_text('ks_error', method.ks.statistic)}, {p_value(method.ks.p_value)}"


def positives(analysis: Analysis) -> str:
    """The name of the rows that the scores predict. A top label is right or wrong."""
    return "right answers" if analysis.words.top_label else "positives"


def is_share(key: str) -> bool:
    """Whether a column of the metric table is a share of rows, or a difference of probabilities."""
    return is_error(key) or key in SHARES


def metric_text(key: str, value: float, digits: int = 4) -> str:
    """A value of a column of the metric table.

    >>> metric_text("ks_error", 0.0642), metric_text("log_loss", 0.3643)
    ('6.4%', '0.3643')
    """
    return percent(value) if is_share(key) else number(value, digits)


def metric_interval(key: str, estimate: Estimate, digits: int = 4) -> str:
    """The bounds of a value of the metric table, or "" if it has none."""
    if not is_share(key) or math.isnan(estimate.low):
        return interval(estimate, digits)
    return between_percents(estimate.low, estimate.high)


def metric_change(
    key: str, before: float, after: float, change: Estimate, digits: int = 4
) -> tuple[str, str]:
    """A change of a column of the metric table and its interval, to so many digits.

    >>> metric_change("accuracy", 0.882, 0.907, Estimate(0.025, 0.01, 0.04))
    ('+2.5 points', '+1.0 to +4.0')
    """
    if is_share(key):
        points = printed_change(100.0 * before, 100.0 * after, 1)
        return f"{points} points", interval(change.scaled(100.0), 1, sign=True)
    return printed_change(before, after, digits), interval(change, digits, sign=True)


def chance_level(key: str, estimate: Estimate, digits: int = 4) -> str:
    """What a calibrated model shows on average, or "" if it is not known.

    >>> chance_level("ks_error", Estimate(0.2, noise_floor=0.0123))
    'chance level 1.2%'
    """
    floor = estimate.noise_floor
    return "" if math.isnan(floor) else f"chance level {metric_text(key, floor, digits)}"


def axis_titles(analysis: Analysis) -> tuple[str, str]:
    """The titles of the x-axis and the y-axis of a reliability diagram.

    A matrix has two conventions: the frequency of one class by its score, and the accuracy of the
    predicted class, the top label, by confidence.
    """
    if analysis.multiclass is None:
        return "Mean predicted probability", "Observed frequency"
    kind, rank = parse_view(analysis.settings.view)
    if kind == "class":
        name = escaped(shortened(analysis.data.positive_name))
        return f"Mean score of {name}", f"Observed frequency of {name}"
    if kind == "within":
        return f"Mean sum of the {rank} largest scores", f"True class among the {rank} first"
    if rank == 1:
        return "Mean confidence (largest score)", "Top-label accuracy"
    return f"Mean score of rank {rank}", f"Accuracy of the class ranked {rank}"


def verdicts(analysis: Analysis, methods: Iterable[str], *, headed: bool = False) -> str:
    """The verdict, and the evidence on every calibrated method among `methods`, in sentences.

    `headed` says whether they stand below the heading of the verdict.
    """
    verdict = analysis.verdict.body if headed else analysis.verdict.sentence
    others = [analysis.methods[key] for key in methods if key != "uncalibrated"]
    sentences = [f"After {method.short_label}: {evidence(method)}." for method in others]
    return " ".join(filter(None, [verdict, *sentences]))


def on_average(estimate: Estimate) -> str:
    """The noise floor of the KS calibration error, in a sentence."""
    floor = metric_text("ks_error", estimate.noise_floor)
    return f"A calibrated model of this size shows {floor} on average."


def undrawn(curve: ReliabilityCurve) -> str:
    """Why no diagram is drawn, or "". In a band that fills the panel, any dot looks calibrated."""
    n = int(curve.rows.sum())
    if n < MIN_DRAWN_ROWS:
        return f"No diagram: {plural(n, 'row')} cannot show a pattern."
    if _band_width(curve) < MAX_DRAWN_WIDTH:
        return ""
    return (
        f"No diagram: with about {plural(n // len(curve.rows), 'row')} per bin the dots of a "
        "calibrated model could lie almost anywhere. Choose fewer bins."
    )


def without_band(curve: ReliabilityCurve) -> str:
    """Why a diagram has no consistency band, in a sentence; "" if it has one."""
    n = int(curve.rows.sum())
    if n < FEW_ROWS:
        return f"No band: {plural(n, 'row')} are too few for one."
    if _band_width(curve) <= MAX_BAND_WIDTH:
        return ""
    return (
        f"No band: with about {plural(n // len(curve.rows), 'row')} per bin, a calibrated model's "
        "dots could lie in more than half of the diagram. Choose fewer bins."
    )


def band_sentence(curve: ReliabilityCurve) -> str:
    """What the grey area of a diagram is, or why there is none."""
    return without_band(curve) or f"Grey: {band_meaning(curve)}."


def _band_width(curve: ReliabilityCurve) -> float:
    return float(np.median(curve.band_high - curve.band_low))


def best_model(best: BestModel) -> str:
    """Which model is best, and whether the others are significantly worse."""
    losses, loss, name = best.log_losses, within_sentence(best.loss), best.name
    lowest = f"{name} has the lowest {loss}, {number(losses[name].value)}"
    if len(losses) > 2 and best.tied:
        return f"{lowest}, tied with {joined(list(best.tied))}"
    second = min(best.differences, key=lambda other: losses[other].value)
    change, at = best.differences[second], best.confidence_level
    if best.tied:
        return (
            f"{joined(list(losses))} are not significantly different in {loss} "
            f"({interval_text(change, at)})"
        )
    digits = decimals(change)
    bounds = interval(change, digits)
    size = f"{number(change.value, digits)}"
    if len(losses) > 2:
        return (
            f"{lowest}, significantly better than {second}, the second best, by {size} "
            f"({level(at)} CI {bounds})"
        )
    return f"{name} is significantly better by {size} {loss} ({level(at)} CI {bounds})"

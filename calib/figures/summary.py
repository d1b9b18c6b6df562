"""The chart of the answer: reliability before and after the recommended calibrator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.crossfit.cross_fitted import MethodMetrics
from calib.curves.reliability import ReliabilityCurve
from calib.figures.axes import LINEAR, PanelAxis
from calib.figures.chart import Chart, chart, draw
from calib.figures.labels import Words, placed
from calib.figures.layers import Layer, Line, Note, Subject, area, band, diagonal, dots, subject
from calib.figures.panels import stacked
from calib.figures.reliability import histogram_layer
from calib.figures.svg import interval_bar
from calib.figures.theme import ADVISED, DOUBT, GREY, faded
from calib.figures.words import axis_titles, verdicts, without_band
from calib.numerics.arrays import FloatArray
from calib.text import escaped, level, percents, shortened

SIDE, GAP, HISTOGRAM = 380, 12, 36


@chart
def summary_chart(analysis: Analysis) -> Chart:
    """Reliability before and after the recommended calibrator, with the error shaded.

    Labels beside the lines name them, the bin with the largest error, and the consistency band. No
    band is drawn of fewer than 30 rows, or if its median width is above 0.5.
    If no calibrator is recommended, the chart shows the uncalibrated scores alone.

    Parameters
    ----------
    analysis : Analysis

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.summary(analysis)
    >>> [note.text for note in figure.layout.annotations][:2]
    ['<b>Uncalibrated</b>', 'says 32%, 55% were positive']
    """
    before, after = analysis.uncalibrated, advised(analysis)
    raw = subject(analysis, before)
    layers = [
        replace(_error(before.reliability), key="error"),
        *_band(before.reliability),
        diagonal(LINEAR, legend=False),
        _dots(raw, before.reliability),
    ]
    rows = [histogram_layer(raw, before.histogram, LINEAR, _unit(analysis), filled=True)]
    if after is not None:
        layers.append(_dots(subject(analysis, after), after.reliability))
    notes, leaders = _labels(analysis, after)
    across, upward = axis_titles(analysis)
    x = LINEAR.axis(across)
    y = LINEAR.axis(upward)
    below = PanelAxis(showticklabels=False, rangemode="tozero")
    return draw(
        "summary",
        stacked(x, [(y, SIDE), (below, HISTOGRAM)], SIDE, GAP, square=True),
        [*layers, *leaders, *rows],
        verdicts(analysis, ["uncalibrated", *([] if after is None else [after.key])]),
        of=(analysis.data.name,),
        notes=notes,
        left=60,
        top=12,
    )


def advised(analysis: Analysis) -> MethodResult | None:
    """The results of the recommended calibrator, or None if none is recommended."""
    key = analysis.recommendation.method
    return None if key in ("", "uncalibrated") else analysis.methods.get(key)


def ranked_results(analysis: Analysis) -> Mapping[str, MethodMetrics]:
    """The results that the recommendation compares. Those of a matrix count all classes."""
    return analysis.methods if analysis.multiclass is None else analysis.multiclass.results


def change_bars(analysis: Analysis) -> dict[str, str]:
    """The change of log loss of each calibrator with its interval, as SVG on one axis.

    The calibrator with the lowest loss is the first.
    """
    changes = {
        key: method.differences["log_loss"]
        for key, method in ranked_results(analysis).items()
        if key != "uncalibrated"
    }
    bounds = [0.0, *(end for one in changes.values() for end in (one.low, one.high, one.value))]
    ends = (float(np.nanmin(bounds)), float(np.nanmax(bounds)))
    advised_key = analysis.recommendation.method
    return {
        key: interval_bar(change, ends, ADVISED if key == advised_key else GREY)
        for key, change in changes.items()
    }


def _unit(analysis: Analysis) -> str:
    return "Weight" if analysis.data.weighted else "Rows"


def _band(curve: ReliabilityCurve) -> list[Layer]:
    if without_band(curve):
        return []
    return [replace(band(curve, LINEAR, legend=False), line=Line(faded(GREY, 0.5), 1))]


def _dots(of: Subject, curve: ReliabilityCurve) -> Layer:
    layer = dots(of, curve, LINEAR)
    marker = layer.marker and replace(layer.marker, size=9.0, sizemode=None, sizeref=None)
    return replace(layer, marker=marker)


def _error(curve: ReliabilityCurve) -> Layer:
    """The area between the bins and the diagonal."""
    x = curve.mean_score
    return replace(area("error", x, x, curve.observed, color=faded(DOUBT, 0.16)), name="Error")


def _labels(analysis: Analysis, after: MethodResult | None) -> tuple[list[Note], list[Layer]]:
    """The words beside the lines, and lines from them to what they name."""
    taken = [_drawn(result.reliability) for result in (analysis.uncalibrated, after) if result]
    return placed(_words(analysis, after), np.concatenate(taken))


def _words(analysis: Analysis, after: MethodResult | None) -> Iterator[Words]:
    curve = analysis.uncalibrated.reliability
    worst = curve.worst
    stated, observed = percents(curve.mean_score[worst], curve.observed[worst], digits=0)
    positive = analysis.words.positive
    name = escaped(shortened(analysis.uncalibrated.label))
    # Without evidence the largest gap is chance, so it is not named.
    miscalibrated = analysis.verdict.answer == "not calibrated"
    gap = (f"says {stated}, {observed} {escaped(positive)}",) if miscalibrated else ()
    yield Words((name, *gap), _points(curve)[[worst]])
    if after is not None:
        held_out = "on unseen rows" if analysis.data.protocol == "folds" else "on test rows"
        name = escaped(f"After {after.label}")
        yield Words((name, f"({held_out})"), _points(after.reliability), colors=(ADVISED,))
    if without_band(curve):
        return
    edges = [
        np.column_stack([curve.mean_score, edge]) for edge in (curve.band_low, curve.band_high)
    ]
    share = level(curve.confidence_level)
    lines = (f"grey band: {share} of a", "calibrated model's dots")
    yield Words(lines, np.concatenate(edges), is_name=False)


def _points(curve: ReliabilityCurve) -> FloatArray:
    return np.column_stack([curve.mean_score, curve.observed])


def _drawn(curve: ReliabilityCurve) -> FloatArray:
    """Points on everything that is drawn of a curve: its line, intervals and band."""
    x = np.linspace(curve.mean_score[0], curve.mean_score[-1], 120)
    edges = () if without_band(curve) else (curve.band_low, curve.band_high)
    lines = [
        np.column_stack([x, np.interp(x, curve.mean_score, y)]) for y in (curve.observed, *edges)
    ]
    share = np.linspace(0.0, 1.0, 12)[:, None]
    height = curve.low + share * (curve.high - curve.low)
    bars = np.column_stack([np.tile(curve.mean_score, len(share)), height.ravel()])
    return np.concatenate([*lines, bars])

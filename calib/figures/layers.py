"""Layers: lines, areas, points and error bars, as plain dictionaries for plotly.

Plotly's own objects check every property as it is set, which takes ten times as long as all else
of a moved slider; `Chart.figure` has them checked where that matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib.analysis.analysis import Result
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import CALIBRATORS
from calib.curves.rate import RateCurve
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.axes import Scale
from calib.figures.theme import BAND, FRAME, GREY, LINE_WIDTH, OUTCOME, MethodStyle, faded, style_of
from calib.figures.words import band_name
from calib.numerics.arrays import BoolArray, FloatArray, IntArray
from calib.text import count, escaped, level, probability, span

Trace = dict[str, Any]
AnyFloats = NDArray[np.floating[Any]]

# Area of a dot that holds all the weight, as a squared diameter in pixels.
FULL_AREA = 30.0**2
SMALLEST_DOT = 5.0
RATES: Mapping[str, tuple[str, str]] = {
    "corp": ("CORP line", "solid"),
    "smooth": ("Smooth line", "dash"),
}
RATE_BAND = faded(OUTCOME, 0.16)
# Hover text of a layer whose points bring their own.
EACH = "<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a layer is about: layers of one subject share their look and react together."""

    key: str
    name: str  # in the legend, harmless for plotly
    style: MethodStyle


def method(shown: Result | str) -> Subject:
    """A method, from its part of an analysis or by its key."""
    named = CALIBRATORS[shown] if isinstance(shown, str) else shown
    return Subject(named.key, escaped(named.label), style_of(named.key))


def layer(
    uid: str,
    x: Any,
    y: Any,
    *,
    mode: str = "lines",
    name: str = "",
    hover: str = "",
    legend: bool = False,
    **options: Any,
) -> Trace:
    """Anything that is drawn.

    Plotly finds the layer again in the next chart by its `uid`. `name` is harmless for Plotly, and
    stands in the legend if `legend` says so. `hover` is the template of the text under the pointer;
    none if empty.
    """
    pointed = {"hovertemplate": hover} if hover else {"hoverinfo": "skip"}
    drawn = {"type": "scatter", "uid": uid, "x": x, "y": y, "name": name, "mode": mode}
    return drawn | {"showlegend": legend} | pointed | options


def curve(
    what: str, of: Subject, x: Any, y: Any, *, width: float = LINE_WIDTH, **options: Any
) -> Trace:
    """A line of a subject."""
    line = {"color": of.style.color, "width": width, "dash": of.style.dash}
    same: dict[str, Any] = {"name": of.name, "legendgroup": of.key, "line": line, "legend": True}
    return layer(f"{what} {of.key}".strip(), x, y, **(same | options))


def points(
    what: str, of: Subject, x: Any, y: Any, *, marker: Mapping[str, Any], **options: Any
) -> Trace:
    """Markers of a subject, which look as `marker` says where they differ from its own."""
    own = {"color": of.style.color, "symbol": of.style.symbol, "opacity": 1.0}
    same = {"name": of.name, "legendgroup": of.key, "mode": "markers"}
    return layer(f"{what} {of.key}".strip(), x, y, marker={**own, **marker}, **(same | options))


def linked(
    what: str, of: Subject, x: Any, y: Any, *, marker: Mapping[str, Any], **options: Any
) -> Trace:
    """Markers of a subject, and a faint line through them."""
    line = {"color": faded(of.style.color, 0.7), "width": 1.5, "dash": of.style.dash}
    same = {"mode": "lines+markers", "line": line}
    return points(what, of, x, y, marker=marker, **(same | options))


def area(
    uid: str, x: AnyFloats, low: AnyFloats, high: AnyFloats, *, color: str = BAND, **options: Any
) -> Trace:
    """What lies between two lines."""
    return layer(
        uid,
        np.concatenate([x, x[::-1]]),
        np.concatenate([low, high[::-1]]),
        fill="toself",
        fillcolor=color,
        line=_edge(color, len(x)),
        **options,
    )


def _edge(color: str, n_places: int) -> dict[str, Any]:
    """The outline of an area: the pale grey one of calibrated scores would not be seen without."""
    if n_places == 1:  # which has no area: a thick stroke
        return {"color": color, "width": 8}
    return {"color": GREY, "width": 1} if color == BAND else {"color": color, "width": 0}


def reference(
    uid: str, x: Any, y: Any, *, width: float = 1.0, dash: str | None = "dot", **options: Any
) -> Trace:
    """A line that others are held against."""
    return layer(uid, x, y, line={"color": GREY, "width": width, "dash": dash}, **options)


def horizontal(uid: str, y: float, x: Any = (0.0, 1.0), **options: Any) -> Trace:
    """A horizontal line."""
    return reference(uid, list(x), [y, y], **options)


def vertical(uid: str, x: float, y: Any, **options: Any) -> Trace:
    """A vertical line."""
    return reference(uid, [x, x], list(y), **options)


def diagonal(
    scale: Scale, name: str = "Perfect calibration", *, legend: bool = True, **options: Any
) -> Trace:
    """Where observed equals predicted."""
    ends, uid = [scale.low, scale.high], "diagonal" + options.get("xaxis", "")
    return reference(uid, ends, ends, name=name, legend=legend, **options)


def whiskers(
    value: FloatArray, low: FloatArray, high: FloatArray, color: str, **look: Any
) -> dict[str, Any]:
    """Intervals around the points of a layer: its `error_x` or `error_y`."""
    return {
        "type": "data",
        "symmetric": False,
        "array": high - value,
        "arrayminus": value - low,
        "color": color,
        "thickness": 1.25,
        "width": 0,
        **look,
    }


def stars(
    of: Subject, x: AnyFloats | IntArray, y: AnyFloats, *, size: int, **options: Any
) -> list[Trace]:
    """What differs significantly after Holm's correction, if something does."""
    if not len(x):
        return []
    name, marker = f"p &lt; {SIGNIFICANCE:g} (Holm)", {"symbol": "star", "size": size}
    return [points("stars", of, x, y, marker=marker, name=name, legend=True, **options)]


def symbols(of: Subject, few: BoolArray) -> list[str]:
    """The symbol of the subject for each point, hollow if there are few rows."""
    return [of.style.hollow if each else of.style.symbol for each in few]


def legend_entry(of: Subject, mode: str = "lines+markers") -> Trace:
    """A subject's line in the legend.

    Dots have no entry of their own: plotly would show the first bin's marker, which may be hollow.
    """
    marker = {"color": of.style.color, "symbol": of.style.symbol, "size": 8}
    return curve("legend", of, [None], [None], mode=mode, marker=marker)


def few_entry(few: Iterable[BoolArray]) -> list[Trace]:
    """What a hollow marker means, if there are some."""
    if not any(each.any() for each in few):
        return []
    marker = {"color": FRAME, "symbol": "circle-open", "size": 8, "line": {"width": 1.25}}
    name = f"&lt; {FEW_ROWS} rows"
    entry = layer("legend few", [None], [None], mode="markers", name=name, marker=marker)
    return [entry | {"showlegend": True}]


def band(curve: ReliabilityCurve, scale: Scale, *, legend: bool = True, **options: Any) -> Trace:
    """The consistency band of a curve, shaded from bin to bin."""
    x, low, high = map(scale.at, (curve.mean_score, curve.band_low, curve.band_high))
    uid = "band" + options.get("xaxis", "")
    return area(uid, x, low, high, name=band_name(curve), legend=legend, **options)


def dots(
    of: Subject, curve: ReliabilityCurve, scale: Scale, *, joined: bool = True, **options: Any
) -> Trace:
    """The bins of a curve: area by weight, interval bars, hollow if a bin has few rows."""
    color = of.style.color
    y, low, high = (scale.at(part) for part in (curve.observed, curve.low, curve.high))
    marker = {
        "symbol": symbols(of, curve.few),
        "size": curve.weight,
        "sizemode": "area",
        # Plotly's unit: twice the weight over the squared diameter in pixels.
        "sizeref": 2.0 * float(curve.weight.sum()) / FULL_AREA,
        "sizemin": SMALLEST_DOT / 2,
        "line": {"width": 1.25, "color": color},
    }
    drawn = points("dots", of, scale.at(curve.mean_score), y, marker=marker, hover=EACH, **options)
    return drawn | {
        "uid": drawn["uid"] + options.get("xaxis", ""),
        "mode": "lines+markers" if joined else "markers",
        "line": {"color": faded(color, 0.6), "width": 1, "dash": of.style.dash},
        "error_y": whiskers(y, low, high, faded(color, 0.7), width=of.style.cap),
        # A click selects a dot. The others keep their look.
        "unselected": {"marker": {"opacity": 1.0}},
        # Which bin was selected: its position in the curve, and the curve's method.
        "customdata": [[position, of.key] for position in range(len(y))],
        "hovertext": describe_bins(curve),
    }


def describe_bins(curve: ReliabilityCurve) -> list[str]:
    """The text for each bin under the pointer."""
    # Python's own numbers are formatted in half of the time of NumPy's.
    edges = zip(curve.low_edge.tolist(), curve.high_edge.tolist(), strict=True)
    sizes = zip(
        curve.rows.tolist(), curve.weight.tolist(), curve.positive.tolist(), curve.few, strict=True
    )
    return [
        f"scores {span(*ends)}<br>"
        f"{count(rows)} rows{'' if rows == weight else f', weight {count(weight)}'}, "
        f"{count(positive)} positive<br>mean score {probability(mean)}, "
        f"observed {probability(observed)} ({probability(low)} to {probability(high)})"
        + (f"<br>fewer than {FEW_ROWS} rows: too few to judge" if few else "")
        for ends, (rows, weight, positive, few), (mean, observed, low, high) in zip(
            edges, sizes, _numbers(curve.mean_score, curve), strict=True
        )
    ]


def rate_layers(curves: Iterable[RateCurve], scale: Scale) -> list[Trace]:
    """Curves of observed frequency without bins: the bands of all, and above them the curves."""
    drawn = tuple(curves)
    return [_rate_band(each, scale) for each in drawn] + [_rate(each, scale) for each in drawn]


def _rate_band(rate: RateCurve, scale: Scale) -> Trace:
    x, low, high = (scale.at(part).astype(np.float32) for part in (rate.score, rate.low, rate.high))
    same = {"name": RATES[rate.kind][0], "legendgroup": rate.kind}
    return area(f"band {rate.kind}", x, low, high, color=RATE_BAND, **same)


def _rate(rate: RateCurve, scale: Scale) -> Trace:
    name, dash = RATES[rate.kind]
    at = level(rate.confidence_level)
    texts = [
        f"score {probability(score)}: observed {probability(observed)}"
        f"<br>{at} CI {probability(low)} to {probability(high)}"
        for score, observed, low, high in _numbers(rate.score, rate)
    ]
    of = Subject(rate.kind, name, MethodStyle(OUTCOME, dash, "circle"))
    x, y = (scale.at(part).astype(np.float32) for part in (rate.score, rate.observed))
    return curve("rate", of, x, y, hovertext=texts, hover=EACH)


def _numbers(
    score: FloatArray, curve: ReliabilityCurve | RateCurve
) -> Iterable[tuple[float, float, float, float]]:
    """Score, observed frequency and its interval of every point, as Python's own numbers."""
    parts = (score, curve.observed, curve.low, curve.high)
    return zip(*(part.tolist() for part in parts), strict=True)

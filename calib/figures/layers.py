"""Layers of a chart: lines, areas, points and error bars, and those that several charts have."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calib.analysis import Analysis
from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import MethodMetrics
from calib.curves.rate import RateCurve
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.axes import Scale
from calib.figures.theme import (
    BAND,
    FRAME,
    GREY,
    LINE_WIDTH,
    OUTCOME,
    RIM,
    Dash,
    MethodStyle,
    faded,
    style_of,
)
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import between_percents, count, escaped, level, percent, span
from calib.words.measures import band_name

AnyFloats = NDArray[np.floating[Any]]
Values = Sequence[float | None] | NDArray[np.number[Any]]

# The area of a dot with all the weight, as a squared diameter in pixels.
FULL_DOT_AREA = 30.0**2
MIN_DOT_SIZE = 5.0
# A name in a title is escaped, and half of "&lt;" would be no character.
WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
HATCH_GAP = 7.0  # Pixels between two lines.
MAX_TITLE_LETTERS = 50  # More letters of a title do not fit beside each other on a phone.
RATES: Mapping[str, tuple[str, Dash]] = {
    "corp": ("CORP line", "solid"),
    "smooth": ("Smooth line", "dash"),
}
RATE_BAND = faded(OUTCOME, 0.16)
# The template of a layer whose points have texts of their own.
HOVER_TEXT = "<b>%{fullData.name}</b><br>%{hovertext}<extra></extra>"


@dataclass(frozen=True, slots=True)
class Line:
    """Look of a line, or of the edge of a marker, which by default has the marker's colour."""

    color: str | None = None
    width: float = LINE_WIDTH
    dash: Dash | None = None
    shape: Literal["hv"] | None = None  # "hv" draws steps.


@dataclass(frozen=True, slots=True, eq=False)
class Marker:
    """Look of markers. A sequence has a value for each point."""

    color: str
    _: KW_ONLY
    symbol: str | Sequence[str] = "circle"
    size: float | Sequence[float] | FloatArray = 8.0
    sizemode: Literal["area"] | None = None
    sizeref: float | None = None
    sizemin: float | None = None
    opacity: float = 1.0
    line: Line | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Intervals around points: their lengths in both directions, and their look in pixels."""

    array: FloatArray
    arrayminus: FloatArray
    color: str
    thickness: float = 1.25
    width: float = field(default=0.0, init=False)  # They have no caps.
    type: str = field(default="data", init=False)
    symmetric: bool = field(default=False, init=False)


@dataclass(frozen=True, slots=True)
class Subject:
    """Layers of one subject, such as a method, share their look and react together."""

    key: str
    name: str  # The name in the legend is escaped for Plotly.
    style: MethodStyle

    def line(self, width: float | None = None) -> Line:
        """Its line."""
        return Line(self.style.color, self.style.width if width is None else width, self.style.dash)

    def faint_line(self) -> Line:
        """A line through many markers."""
        return Line(self.style.color, 1.5, self.style.dash)

    def marker(
        self,
        size: float | Sequence[float] | FloatArray,
        symbol: str | Sequence[str] | None = None,
        line: Line | None = None,
    ) -> Marker:
        """Its marker, or another symbol in its colour, with a rim unless `line` is set."""
        edge = line or Line(RIM, 1)
        return Marker(self.style.color, symbol=symbol or self.style.symbol, size=size, line=edge)


def method(shown: MethodMetrics | str, recommended: str = "") -> Subject:
    """A method, from its part of an analysis or by its key, beside the recommended method."""
    calibrator = CALIBRATORS[shown] if isinstance(shown, str) else shown
    style = style_of(calibrator.key, recommended)
    return Subject(calibrator.key, escaped(calibrator.label), style)


def subject(
    analysis: Analysis, shown: MethodMetrics | str, recommended: str | None = None
) -> Subject:
    """A method in its style, with a strong line if the analysis recommends it."""
    advised = analysis.recommendation.method if recommended is None else recommended
    return method(shown, advised)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Lines, points, words or an area: those of `line`, `marker`, `text` and `fill` that are set.

    `key` and subject identify a layer in a chart. `hover` is the template of the text under
    the pointer. Properties with Plotly's names have Plotly's meaning.
    """

    key: str
    x: Values
    y: Values
    _: KW_ONLY
    panel: int = 0
    of: Subject | None = None
    name: str = ""  # The default is the subject's name.
    legend: bool = False  # Whether the name is in the legend.
    group: str = ""  # Layers of a group react together. The default is the subject.
    hover: str = ""
    hovertext: Sequence[str] | None = None
    customdata: Any = None
    line: Line | None = None
    marker: Marker | None = None
    text: Sequence[str] | None = None
    textposition: str | None = None
    fill: Literal["toself", "tozeroy"] | None = None
    fillcolor: str | None = None
    error_x: Bars | None = None
    error_y: Bars | None = None
    unselected_opacity: float | None = None

    @property
    def label(self) -> str:
        """The name in the legend and under the pointer."""
        return self.name or (self.of.name if self.of else "")

    @property
    def mode(self) -> str:
        """The parts that are drawn, in Plotly's words."""
        drawn = {"lines": self.line, "markers": self.marker, "text": self.text}
        return "+".join(word for word, part in drawn.items() if part is not None)


@dataclass(frozen=True, slots=True)
class Arrow:
    """A vertical arrow of the first panel, from y = 0 to a point, `standoff` pixels before it."""

    x: float
    y: float
    color: str
    standoff: float
    width: float = 1.5


@dataclass(frozen=True, slots=True)
class Note:
    """Words at a point of a panel, escaped for Plotly. <b> is their only tag."""

    x: float
    y: float
    text: str
    xanchor: Literal["left", "right"]
    color: str | None = None
    up: float = 0.0  # Pixels above the point.
    aside: float = 0.0  # Pixels to the right of it.
    panel: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """What a chart shows, as a statement, and the rows, bins and level below it."""

    title: str = ""
    details: str = ""

    @property
    def lines(self) -> list[str]:
        """The title in lines that fit on a phone, all about as long."""
        length = len(self.title)
        if not length:
            return []
        n_lines = math.ceil(length / MAX_TITLE_LETTERS)
        widths = range(math.ceil(length / n_lines), length + 1)
        wrapped = (textwrap.wrap(self.title, width, **WHOLE_WORDS) for width in widths)
        return next(lines for lines in wrapped if len(lines) <= n_lines)


def area(
    key: str,
    x: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    *,
    color: str = BAND,
    of: Subject | None = None,
    name: str = "",
    legend: bool = False,
) -> Layer:
    """The area between two lines."""
    return Layer(
        key,
        np.concatenate([x, x[::-1]]),
        np.concatenate([low, high[::-1]]),
        fill="toself",
        fillcolor=color,
        line=_edge(color, len(x)),
        of=of,
        name=name,
        legend=legend,
    )


def _edge(color: str, n_places: int) -> Line:
    """The outline of an area. The pale grey band would be invisible without one."""
    if n_places == 1:  # The area is empty, so a thick stroke takes its place.
        return Line(color, 8)
    return Line(GREY, 1) if color == BAND else Line(color, 0)


def hatched(
    across: tuple[float, float], upward: Sequence[float], pixels: float, height: float
) -> Layer:
    """Oblique lines over a part of a panel, such as days whose outcomes may not be final.

    `across` are the ends of the part, `upward` those of the y-axis. `pixels` are those of one unit
    across, and `height` those of the panel.
    """
    (left, right), (low, high) = across, upward
    rise = height / pixels  # A line that rises over the whole panel is as long as this.
    start = np.arange(left - rise, right, HATCH_GAP / pixels)
    ends = np.stack([np.maximum(start, left), np.minimum(start + rise, right)])
    heights = low + (ends - start) / rise * (high - low)
    # A line ends at each None.
    x, y = (
        [value for pair in part.T.tolist() for value in (*pair, None)] for part in (ends, heights)
    )
    return Layer("hatched", x, y, name="Outcomes may not be final", line=Line(FRAME, 1))


def reference(width: float = 1.0, dash: Dash | None = "dot") -> Line:
    """The look of a line with which others are compared."""
    return Line(GREY, width, dash)


def diagonal(scale: Scale, name: str = "Perfect calibration", *, legend: bool = True) -> Layer:
    """The line on which observed equals predicted."""
    ends = [scale.low, scale.high]
    return Layer("diagonal", ends, ends, line=reference(), name=name, legend=legend)


def whiskers(
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    color: str,
    *,
    thickness: float = 1.25,
) -> Bars:
    """Intervals around the points of a layer: its `error_x` or `error_y`."""
    return Bars(high - value, value - low, color, thickness)


def symbols(of: Subject, few: BoolArray) -> list[str]:
    """The symbol of the subject for each point, hollow if there are few rows."""
    return [of.style.hollow if has_few else of.style.symbol for has_few in few]


def legend_entry(of: Subject, *, line: bool = True, marker: bool = True) -> Layer:
    """A subject's line and marker in the legend.

    Dots have no entry of their own: Plotly would show the first bin's marker, which may be hollow.
    """
    return Layer(
        "legend",
        [None],
        [None],
        of=of,
        line=of.line() if line else None,
        marker=of.marker(8) if marker else None,
        legend=True,
    )


def few_entry(few: Iterable[BoolArray]) -> list[Layer]:
    """The legend's entry for hollow markers, if there are some."""
    if not any(bins.any() for bins in few):
        return []
    marker = Marker(FRAME, symbol="circle-open", size=8, line=Line(width=1.25))
    name = f"&lt; {FEW_ROWS} rows"
    return [Layer("legend few", [None], [None], name=name, marker=marker, legend=True)]


def band(curve: ReliabilityCurve, scale: Scale, *, legend: bool = True) -> Layer:
    """The consistency band of a curve, shaded from bin to bin."""
    x, low, high = map(scale.at, (curve.mean_score, curve.band_low, curve.band_high))
    return area("band", x, low, high, name=band_name(curve), legend=legend)


def dots(of: Subject, curve: ReliabilityCurve, scale: Scale, *, joined: bool = True) -> Layer:
    """The bins of a curve: area by weight, interval bars, hollow if a bin has few rows."""
    color = of.style.color
    y, low, high = (scale.at(part) for part in (curve.observed, curve.low, curve.high))
    return Layer(
        "dots",
        scale.at(curve.mean_score),
        y,
        of=of,
        line=of.line() if joined else None,
        marker=Marker(
            color,
            symbol=symbols(of, curve.few),
            size=curve.weight,
            sizemode="area",
            # Plotly's unit is twice the weight over the squared diameter in pixels.
            sizeref=2.0 * float(curve.weight.sum()) / FULL_DOT_AREA,
            sizemin=MIN_DOT_SIZE / 2,
            line=Line(RIM, 1.25),
        ),
        error_y=whiskers(y, low, high, faded(color, 0.7)),
        # A click selects a dot. The others keep their look.
        unselected_opacity=1.0,
        # A page learns from these which bin was selected: its position, and the method.
        customdata=[[position, of.key] for position in range(len(y))],
        hovertext=describe_bins(curve),
        hover=HOVER_TEXT,
    )


def describe_bins(curve: ReliabilityCurve) -> list[str]:
    """The text under the pointer for each bin."""
    # Python's numbers are formatted in half of the time of NumPy's.
    edges = zip(curve.low_edge.tolist(), curve.high_edge.tolist(), strict=True)
    sizes = zip(
        curve.rows.tolist(), curve.weight.tolist(), curve.positive.tolist(), curve.few, strict=True
    )
    return [
        f"scores {span(*ends)}<br>"
        f"{count(rows)} rows{'' if rows == weight else f', weight {count(weight)}'}, "
        f"{count(positive)} positive<br>mean score {percent(mean)}, "
        f"observed {percent(observed)} ({between_percents(low, high)})"
        + (f"<br>hollow: fewer than {FEW_ROWS} rows" if few else "")
        for ends, (rows, weight, positive, few), (mean, observed, low, high) in zip(
            edges, sizes, _numbers(curve.mean_score, curve), strict=True
        )
    ]


def rate_layers(curves: Iterable[RateCurve], scale: Scale) -> list[Layer]:
    """Curves of observed frequency without bins, above the bands of all."""
    rates = tuple(curves)
    return [_rate_band(rate, scale) for rate in rates] + [_rate(rate, scale) for rate in rates]


def _rate_subject(rate: RateCurve) -> Subject:
    name, dash = RATES[rate.kind]
    return Subject(rate.kind, name, MethodStyle(OUTCOME, dash, "circle"))


def _rate_band(rate: RateCurve, scale: Scale) -> Layer:
    x, low, high = (scale.at(part).astype(np.float32) for part in (rate.score, rate.low, rate.high))
    return area("band", x, low, high, color=RATE_BAND, of=_rate_subject(rate))


def _rate(rate: RateCurve, scale: Scale) -> Layer:
    of, at = _rate_subject(rate), level(rate.confidence_level)
    texts = [
        f"score {percent(score)}: observed {percent(observed)}"
        f"<br>{at} CI {between_percents(low, high)}"
        for score, observed, low, high in _numbers(rate.score, rate)
    ]
    x, y = (scale.at(part).astype(np.float32) for part in (rate.score, rate.observed))
    return Layer(
        "rate", x, y, of=of, line=of.line(), legend=True, hovertext=texts, hover=HOVER_TEXT
    )


def _numbers(
    score: FloatArray, curve: ReliabilityCurve | RateCurve
) -> Iterable[tuple[float, float, float, float]]:
    """Score, observed frequency and its interval of every point, as Python's own numbers."""
    parts = (score, curve.observed, curve.low, curve.high)
    return zip(*(part.tolist() for part in parts), strict=True)

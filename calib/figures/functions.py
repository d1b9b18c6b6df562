"""Calibration functions over bins of scores, their difference, and the sensitivity of ECE."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.analysis.method_results import function_findings, title
from calib.calibrators import CALIBRATORS
from calib.crossfit.cross_fitted import MethodMetrics
from calib.curves.functions import (
    CalibrationFunction,
    CompactLogitCurve,
    Sensitivity,
    SensitivityCurve,
)
from calib.curves.reliability import ReliabilityCurve
from calib.figures.axes import (
    LINEAR,
    PERCENT_TICKS,
    PHONE_PANEL_WIDTH,
    TIMELINE_WIDTH,
    AxisKind,
    PanelAxis,
    Panels,
    Scale,
    forest,
    one,
    padded,
    scale_for,
    square,
    stacked,
)
from calib.figures.chart import Chart, chart, draw
from calib.figures.labels import Words, placed
from calib.figures.layers import (
    HOVER_TEXT,
    Layer,
    Line,
    Note,
    Subject,
    area,
    diagonal,
    dots,
    few_entry,
    legend_entry,
    reference,
    subject,
    whiskers,
)
from calib.figures.reliability import histogram_layer
from calib.figures.theme import LINE_WIDTH, MethodStyle, faded, style_of
from calib.metrics import matrix_metrics
from calib.numerics.arrays import FloatArray
from calib.text import (
    between_percents,
    decimals,
    escaped,
    level,
    number,
    percent,
    plural,
    significant,
    with_interval,
    within_sentence,
)
from calib.uncertainty import Estimate
from calib.words.measures import binning, details, verdicts

SIDE, SMALL_SIDE, GAP, KNOT_ROW_HEIGHT, HISTOGRAM_HEIGHT = 380, 300, 12, 9, 40
LEAST_SIDE = 214  # Pixels of the small panel where names have the least room.
ADJUSTMENTS_WIDTH, ADJUSTMENTS_HEIGHT = 640, 230
# More labels would cover the curves; then a legend names them.
MAX_LABELS = 5
PALE_LINE = 0.55  # The opacity of curves beside the recommended one.
# The part of a template that names the layer under the pointer.
HOVER_NAME = "<extra>%{fullData.name}</extra>"
Rows = Literal["test", "fitted"]
# The legend's entry is grey, because each faint curve has the colour of its method.
BY_RULE = Subject(
    "by rule", "Automatic ε", MethodStyle("rgba(127, 127, 127, 0.5)", "solid", "circle")
)


def row_words(analysis: Analysis, rows: Rows) -> str:
    """The rows of the dots. Without test rows, calibrators are fitted on all rows and score them.

    >>> import calib
    >>> held_out = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> row_words(calib.analyze(held_out, {"methods": ("beta",)}), "fitted")
    'all rows'
    """
    if analysis.data.protocol != "test rows":
        return "all rows"
    return "the test rows" if rows == "test" else "the calibration rows"


@chart
def functions_chart(
    analysis: Analysis,
    methods: Sequence[str],
    *,
    rows: Rows = "test",
    axis: AxisKind = "linear",
    highlight_knots: bool = False,
    by_rule: Mapping[str, CalibrationFunction] | None = None,
    recommended: str | None = None,
    small: bool = False,
) -> Chart:
    """Calibration functions of methods, with the bins of the uncalibrated scores as dots.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods.
    rows : {"test", "fitted"}
        Rows of the dots: those that are scored, or those on which the calibrators were fitted.
    axis : {"linear", "logit"}
        Scale of both axes. The log-odds axis spreads out probabilities near 0 and 1.
    highlight_knots : bool
        Whether to mark the knots of calibrators in a strip below the chart.
    by_rule : mapping of str to CalibrationFunction, optional
        Functions by method with the automatic epsilon, which are drawn in a faint colour.
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.
    small : bool
        Whether to have short names and to leave out knots and the histogram, for a place beside
        `adjustments_chart`, which has them.

    Raises
    ------
    ValueError
        If `rows` or `axis` is unknown.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("isotonic", "beta")})
    >>> figure = calib.plot.functions(analysis, ["isotonic", "beta"])
    >>> figure.layout.yaxis.title.text
    'Calibrated probability'
    """
    drawn = _Drawn.of(analysis, methods, rows, axis, recommended)
    scale, bins = drawn.scale, drawn.bins
    ends = (scale.low, scale.high)

    def place(function: CalibrationFunction) -> tuple[FloatArray, FloatArray]:
        return scale.at(function.score), scale.at(function.calibrated)

    parts = [(bins.mean_score, part) for part in (bins.observed, bins.low, bins.high)]
    bars = [(scale.at(x), scale.at(y)) for x, y in parts]
    side = LEAST_SIDE if small else SIDE
    notes, leaders = drawn.labels(place, bars, ends, ends, (side, side), short=small)
    has_legend = not notes
    layers = [
        diagonal(scale, "Identity", legend=has_legend),
        dots(drawn.observed, bins, scale, joined=False),
        *drawn.curves(_function, by_rule or {}, legend=has_legend),
        *leaders,
    ]
    if small:
        panels = square(scale.axis("Score"), scale.axis("Calibrated probability"), SMALL_SIDE)
    else:
        layers += drawn.below(highlight_knots)
        upward = scale.axis("Calibrated probability")
        panels = drawn.panels(upward, SIDE, SIDE, highlight_knots, square=True)
    return draw(
        "functions small" if small else "functions",
        panels,
        layers,
        drawn.alt("Lines are calibration functions, dots frequencies"),
        title="Calibration functions" if small else title(analysis, methods),
        details="" if small else details(analysis, binning(analysis)),
        of=(analysis.data.name, rows),
        notes=notes,
        view=axis,
    )


@chart
def adjustments_chart(
    analysis: Analysis,
    methods: Sequence[str],
    *,
    rows: Rows = "test",
    axis: AxisKind = "linear",
    highlight_knots: bool = False,
    by_rule: Mapping[str, CalibrationFunction] | None = None,
    recommended: str | None = None,
) -> Chart:
    """What each calibrator adds to a score, with observed minus predicted of the bins as dots.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods.
    rows : {"test", "fitted"}
        Rows of the dots: those that are scored, or those on which the calibrators were fitted.
    axis : {"linear", "logit"}
        What is added is in points of probability, or in log-odds over the log-odds of the score.
    highlight_knots : bool
        Whether to mark the knots of calibrators in a strip below the chart.
    by_rule : mapping of str to CalibrationFunction, optional
        Functions by method with the automatic epsilon, which are drawn in a faint colour.
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.

    Raises
    ------
    ValueError
        If `rows` or `axis` is unknown.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("isotonic", "beta")})
    >>> figure = calib.plot.adjustments(analysis, ["isotonic", "beta"])
    >>> figure.layout.yaxis.title.text
    'Points added to the score'
    """
    drawn = _Drawn.of(analysis, methods, rows, axis, recommended)
    scale, bins = drawn.scale, drawn.bins
    points = scale.kind == "linear"
    unit = 100.0 if points else 1.0

    def place(function: CalibrationFunction) -> tuple[FloatArray, FloatArray]:
        x, y = scale.at(function.score), scale.at(function.calibrated)
        return x, unit * (y - x)

    def layer(key: str, function: CalibrationFunction, scale: Scale, line: Line) -> Layer:
        x, y = scale.beyond(function.score), scale.beyond(function.calibrated)
        return Layer(
            key,
            x.astype(np.float32) if points else x,
            (unit * (y - x)).astype(np.float32),
            line=line,
            customdata=np.column_stack([function.score, function.calibrated]).tolist(),
            hover="score %{customdata[0]:.4~p}, calibrated %{customdata[1]:.4~p}"
            f"<br>%{{y:+.3~g}} {'points' if points else 'log-odds'}{HOVER_NAME}",
        )

    x = scale.at(bins.mean_score)
    observed, low, high = (
        unit * (scale.at(part) - x) for part in (bins.observed, bins.low, bins.high)
    )
    frequencies = dots(drawn.observed, bins, scale, joined=False)
    color = faded(drawn.observed.style.color, 0.7)
    frequencies = replace(frequencies, y=observed, error_y=whiskers(observed, low, high, color))
    heights = [place(result.function)[1] for result in drawn.results]
    upward = padded(observed, *heights, margin=0.08)
    bars = [(x, part) for part in (observed, low, high)]
    pixels = (ADJUSTMENTS_WIDTH, ADJUSTMENTS_HEIGHT)
    # The names must not cover each other on a phone either.
    narrow = (PHONE_PANEL_WIDTH, ADJUSTMENTS_HEIGHT)
    notes, leaders = drawn.labels(place, bars, (scale.low, scale.high), upward, narrow)
    zero = Layer("zero", [scale.low, scale.high], [0.0, 0.0], line=reference(), name="No change")
    axis_of_added = PanelAxis(
        f"{'Points' if points else 'Log-odds'} added to the score",
        range=upward,
        nticks=7,
        tickformat="~g",
    )
    return draw(
        "adjustments",
        drawn.panels(axis_of_added, *pixels, highlight_knots),
        [
            replace(zero, legend=not notes),
            frequencies,
            *drawn.curves(layer, by_rule or {}, legend=not notes),
            *leaders,
            *drawn.below(highlight_knots),
        ],
        drawn.alt(
            "Lines are calibrated probabilities minus scores, dots frequencies minus mean scores"
        ),
        title=title(analysis, methods),
        details=details(analysis, binning(analysis)),
        of=(analysis.data.name, rows),
        notes=notes,
        view=axis,
    )


Place = Callable[[CalibrationFunction], tuple[FloatArray, FloatArray]]
Curve = Callable[[str, CalibrationFunction, Scale, Line], Layer]


@dataclass(frozen=True, slots=True, eq=False)
class _Drawn:
    """What both charts of calibration functions draw."""

    analysis: Analysis
    methods: Sequence[str]
    bins: ReliabilityCurve
    observed: Subject
    scale: Scale
    recommended: str | None

    @classmethod
    def of(
        cls,
        analysis: Analysis,
        methods: Sequence[str],
        rows: Rows,
        axis: AxisKind,
        recommended: str | None,
    ) -> _Drawn:
        if rows not in get_args(Rows):
            raise ValueError(f"rows must be 'test' or 'fitted', got {rows!r}.")
        bins = analysis.uncalibrated.reliability if rows == "test" else analysis.fitted_reliability
        name = f"Observed in bins of {row_words(analysis, rows)}"
        observed = Subject("rows", name, style_of("uncalibrated"))
        return cls(analysis, methods, bins, observed, scale_for(axis, [bins]), recommended)

    @property
    def results(self) -> list[MethodResult]:
        return [self.analysis.methods[key] for key in self.methods]

    def subject(self, result: MethodResult) -> Subject:
        return subject(self.analysis, result, self.recommended)

    def labels(
        self,
        place: Place,
        bars: Sequence[tuple[FloatArray, FloatArray]],
        across: Sequence[float],
        upward: Sequence[float],
        pixels: tuple[int, int],
        *,
        short: bool = False,
    ) -> tuple[list[Note], list[Layer]]:
        """Names beside the curves and lines from them to the curves, unless there are too many."""
        labels = _labelled(self.analysis, self.methods)
        if len(labels) > MAX_LABELS:
            return [], []
        colors = {result.key: self.subject(result).style.color for result in self.results}
        return _labels(
            self.analysis, labels, colors, place, bars, across, upward, pixels, short=short
        )

    def curves(
        self, curve: Curve, before: Mapping[str, CalibrationFunction], *, legend: bool
    ) -> list[Layer]:
        """The calibrators, and below them those of `before`, with the automatic epsilon."""
        layers = [
            _before(self.subject(result), before[result.key], self.scale, curve)
            for result in self.results
            if result.key in before
        ]
        layers += [legend_entry(BY_RULE, marker=False)] if before else []
        advised = self.analysis.recommendation.method
        # The recommended curve is drawn last, so that no other covers it.
        for result in sorted(self.results, key=lambda result: result.key == advised):
            if result.key != "uncalibrated":
                of = self.subject(result)
                line = of.line()
                if advised and result.key != advised:
                    line = replace(line, color=faded(of.style.color, PALE_LINE))
                layer = curve("map", result.function, self.scale, line)
                layers.append(replace(layer, of=of, legend=legend))
        return layers

    def bent(self, highlight_knots: bool) -> list[MethodResult]:
        return [one for one in self.results if highlight_knots and len(one.function.knots)]

    def below(self, highlight_knots: bool) -> list[Layer]:
        """The histogram of the scores, knots in a panel below it, and the legend of the dots."""
        raw, heights = (
            subject(self.analysis, "uncalibrated"),
            self.analysis.uncalibrated.histogram,
        )
        unit = "Weight" if self.analysis.data.weighted else "Rows"
        knots = [
            _knots(self.subject(result), result.function.knots, row, self.scale)
            for row, result in enumerate(self.bent(highlight_knots))
        ]
        return [
            histogram_layer(raw, heights, self.scale, unit, filled=True),
            *knots,
            legend_entry(self.observed, line=False),
            *few_entry([self.bins.few]),
        ]

    def panels(
        self,
        upward: PanelAxis,
        width: int,
        height: int,
        highlight_knots: bool,
        *,
        square: bool = False,
    ) -> Panels:
        """All panels have one x-axis, so a knot stays under its bend at any width and zoom."""
        rows = PanelAxis(rangemode="tozero", showticklabels=False)
        strip = _strip(len(self.bent(highlight_knots)))
        panels = [(upward, height), (rows, HISTOGRAM_HEIGHT), *strip]
        return stacked(self.scale.axis("Score"), panels, width, GAP, square=square)

    def alt(self, shown: str) -> str:
        return (
            f"{function_findings(self.analysis).sentence}. {shown}, "
            f"{within_sentence(self.observed.name)}. {verdicts(self.analysis, self.methods)}"
        )


def _labelled(analysis: Analysis, methods: Sequence[str]) -> list[tuple[str, ...]]:
    """Keys that share a label: those whose curves nearly coincide, the recommended one first."""
    shown = [key for key in methods if key != "uncalibrated"]
    close = [key for key in function_findings(analysis).close if key in shown]
    groups = [tuple(sorted(close, key=lambda key: key != analysis.recommendation.method))]
    return [*filter(None, groups), *((key,) for key in shown if key not in close)]


def _labels(
    analysis: Analysis,
    labelled: Sequence[tuple[str, ...]],
    colors: Mapping[str, str],
    place: Place,
    bars: Sequence[tuple[FloatArray, FloatArray]],
    across: Sequence[float],
    upward: Sequence[float],
    pixels: tuple[int, int],
    *,
    short: bool,
) -> tuple[list[Note], list[Layer]]:
    """Names beside the curves, and lines from them to the curves."""

    def share(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Positions as shares of the panel."""
        return _share(x, across), _share(y, upward)

    at = np.linspace(0.0, 1.0, 241)
    heights = {
        key: np.interp(at, *share(*place(analysis.methods[key].function)))
        for key in ("uncalibrated", *itertools.chain(*labelled))
    }
    curves = [np.column_stack([at, height]) for height in heights.values()]
    drawn = [np.column_stack(share(*bar)) for bar in bars]
    beside = []
    for keys in labelled:
        others = np.vstack([height for key, height in heights.items() if key not in keys])
        apart = np.abs(others - heights[keys[0]]).min(axis=0)
        # A name stands where its curve is far from the others.
        clear = apart >= np.quantile(apart, 0.75)
        points = np.column_stack([at, heights[keys[0]]])[clear]
        words = _words(analysis, {key: colors[key] for key in keys}, points, short=short)
        beside.append(replace(words, panel=pixels))
    notes, leaders = placed(beside, np.concatenate([*curves, *drawn]))
    return (
        [replace(note, x=_back(note.x, across), y=_back(note.y, upward)) for note in notes],
        [replace(line, x=_back(line.x, across), y=_back(line.y, upward)) for line in leaders],
    )


def _share(values: FloatArray, ends: Sequence[float]) -> FloatArray:
    return (values - ends[0]) / (ends[1] - ends[0])


def _back(share: Any, ends: Sequence[float]) -> Any:
    return ends[0] + share * (ends[1] - ends[0])


def _words(
    analysis: Analysis, colors: Mapping[str, str], points: FloatArray, *, short: bool
) -> Words:
    """The names of curves that nearly coincide, each in the colour of its curve."""
    names = {
        key: CALIBRATORS[key].short_label if short else CALIBRATORS[key].label for key in colors
    }
    lines = {escaped(names[key]): color for key, color in colors.items()}
    first, *others = lines
    is_advised = next(iter(colors)) == analysis.recommendation.method
    if short or not is_advised:
        return Words(tuple(lines), points, is_name=is_advised, colors=tuple(lines.values()))
    near = ["nearly the same:"] if others else []
    return Words(
        (first, "recommended", *near, *others),
        points,
        colors=(lines[first], None, *(None for _ in near), *(lines[name] for name in others)),
    )


def _strip(n_rows: int) -> list[tuple[PanelAxis, int]]:
    """A panel for knots with one row per method, if there are knots."""
    if not n_rows:
        return []
    rows = PanelAxis(
        "Knots",
        range=[n_rows, -1],
        showticklabels=False,
        fixedrange=True,
    )
    return [(rows, KNOT_ROW_HEIGHT * (n_rows + 1))]


def _function(key: str, function: CalibrationFunction, scale: Scale, line: Line) -> Layer:
    """A calibrator on its axes, and its numbers under the pointer."""
    score, calibrated = function.score, function.calibrated
    if scale.kind == "logit":
        return Layer(
            key,
            scale.beyond(score),
            scale.beyond(calibrated),
            line=line,
            customdata=np.column_stack([score, calibrated]).tolist(),
            hover="score %{customdata[0]:.4~p}, calibrated %{customdata[1]:.4~p}" + HOVER_NAME,
        )
    x, y = score.astype(np.float32), calibrated.astype(np.float32)
    return Layer(key, x, y, line=line, hover="score %{x:.4~p}, calibrated %{y:.4~p}" + HOVER_NAME)


def _before(of: Subject, function: CalibrationFunction, scale: Scale, curve: Curve) -> Layer:
    line = Line(faded(of.style.color, 0.35), 2.5 * LINE_WIDTH)
    layer = curve(f"by rule {of.key}", function, scale, line)
    return replace(layer, name=f"{of.name}, automatic ε", group=BY_RULE.key)


def _knots(of: Subject, knots: FloatArray, row: int, scale: Scale) -> Layer:
    return Layer(
        "knots",
        scale.beyond(knots),
        np.full(len(knots), row),
        panel=2,
        of=of,
        customdata=knots,
        marker=of.marker(KNOT_ROW_HEIGHT - 1, "line-ns-open", Line(of.style.color, 1.25)),
        hover="knot at %{customdata:.4~p}" + HOVER_NAME,
    )


@chart
def compact_logit_chart(analysis: Analysis, *, recommended: str | None = None) -> Chart:
    """The compact logit at the epsilon in use, and the identity. Dotted lines mark epsilon.

    Parameters
    ----------
    analysis : Analysis
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.

    References
    ----------
    Lucena 2018, section 5.1, arXiv:1809.07751.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("spline",)})
    >>> calib.plot.compact_logit(analysis).layout.yaxis.title.text
    'Transformed score'
    """
    used = analysis.compact_logit
    whole, ends = [0.0, 1.0], (LINEAR.low, LINEAR.high)
    places = {"epsilon": used.epsilon, "1 − epsilon": 1.0 - used.epsilon}
    dashed = reference(dash="dash")
    layers = [Layer("identity", whole, whole, line=dashed, name="Identity", legend=True)]
    layers += [
        Layer(name, [x, x], ends, line=reference(), name=name, hover=f"{name}<extra></extra>")
        for name, x in places.items()
    ]
    transform = Layer(
        "compact logit",
        used.score.astype(np.float32),
        used.transformed.astype(np.float32),
        name=f"ε = {significant(used.epsilon, 2)}",
        line=Line(subject(analysis, "spline", recommended).style.color),
        hover="score %{x:.4~p}, transformed %{y:.4~p}<extra></extra>",
        legend=True,
    )
    panels = square(LINEAR.axis("Score"), LINEAR.axis("Transformed score"), SMALL_SIDE)
    rule = f" The automatic epsilon is {significant(used.rule, 2)}."
    return draw(
        "compact logit",
        panels,
        [*layers, transform],
        f"They are left unchanged by the compact logit with ε = {significant(used.epsilon, 2)}."
        f"{'' if used.epsilon == used.rule else rule}",
        of=(used.epsilon,),
        title=f"{_outside(used)} outside [ε, 1 − ε]",
        details=f"Compact logit, ε = {significant(used.epsilon, 2)}",
    )


def _outside(used: CompactLogitCurve) -> str:
    return "1 row is" if used.n_outside == 1 else f"{used.n_outside:,} rows are"


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
            _difference_range(results, metric),
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
        f"{label} of each method minus that of the uncalibrated scores, with intervals.",
        title=_title(analysis, results, metric, label),
        details=details(analysis),
        of=(metric, analysis.data.name),
        view=metric,
        left=20 + round(6.8 * max(map(len, labels), default=0)),
    )


def _title(analysis: Analysis, results: Sequence[MethodMetrics], metric: str, label: str) -> str:
    """What the recommended calibrator changes, or else how many calibrators lower the loss."""
    loss = within_sentence(label)
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


def _difference_range(results: list[MethodMetrics], metric: str) -> list[float]:
    """The range of zero and all intervals, with a margin. Very long intervals leave it."""
    estimates = [result.differences[metric] for result in results]
    ends = np.array([[0.0, e.value, e.low, e.high] for e in estimates] or [[0.0]])
    far = MAX_REACH_RATIO * float(np.median(np.nanmax(np.abs(ends), axis=1)))
    return padded(np.clip(ends, -far, far), margin=0.08)


HEIGHT, LEFT = 210, 66
# The colours are of Tol's bright scheme. No method has them, and both can be seen on white and on
# near-black.
STRATEGIES = {
    "quantile": Subject("quantile", "Quantile bins", MethodStyle("#4477AA", "solid", "circle")),
    "uniform": Subject("uniform", "Uniform bins", MethodStyle("#EE6677", "dot", "circle")),
}


@chart
def sensitivity_chart(
    analysis: Analysis, sensitivity: Sensitivity, method: str = "uncalibrated"
) -> Chart:
    """ECE with its interval by number of bins, and the number of bins in use.

    The grey band is the range of ECE of a calibrated model with the strategy in use, the dashed
    line its mean. Hollow points are within that range.

    Parameters
    ----------
    analysis : Analysis
    sensitivity : Sensitivity
        Result of `calib.curves.functions.ece_sensitivity` for the same method.
    method : str
        Key of the method.

    Examples
    --------
    >>> import calib
    >>> from calib.curves.functions import ece_sensitivity
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> cells, resamples = analysis.held_out.cells, analysis.held_out.replicates
    >>> found = ece_sensitivity(cells["uncalibrated"], resamples["uncalibrated"])
    >>> calib.plot.sensitivity(analysis, found).layout.xaxis.title.text
    'Number of bins'
    """
    settings = analysis.settings
    used = getattr(sensitivity, settings.strategy)
    other = sensitivity.uniform if used is sensitivity.quantile else sensitivity.quantile
    result, name = analysis.methods[method], f"{level(used.confidence_level)} if calibrated"
    now = result.metrics[f"ece_{settings.strategy}"]
    bins, none = used.n_bins.astype(float), np.zeros(len(used.noise))
    mean, dashed = "Mean if calibrated", reference(1.25, "dash")
    n_bins = settings.n_bins
    layers = [
        area("noise", bins, none, used.noise, name=name, legend=True),
        Layer("noise floor", used.n_bins, used.noise_floor, line=dashed, name=mean, legend=True),
        _interval(other, 0.14),
        _interval(used, 0.26),
        _line(other),
        _line(used),
        Layer("reference", [n_bins, n_bins], [0.0, 1.0], line=reference()),
        _choice(STRATEGIES[settings.strategy], settings.n_bins, now),
    ]
    return draw(
        "sensitivity",
        _panel(sensitivity, settings.n_bins, now),
        layers,
        f"It is {_range(sensitivity.quantile)} with quantile bins, {_range(sensitivity.uniform)} "
        f"with uniform ones; {percent(now.value)} with {binning(analysis)} as chosen.",
        title=f"ECE of {result.short_label} is {_range(used, other)}",
        details=details(analysis, f"{used.n_bins[0]} to {used.n_bins[-1]} bins of both kinds"),
        of=(analysis.data.name, method),
        view=method,
        left=LEFT,
    )


def _range(*curves: SensitivityCurve) -> str:
    errors = np.concatenate([curve.ece for curve in curves])
    return between_percents(errors.min(), errors.max())


def _interval(curve: SensitivityCurve, alpha: float) -> Layer:
    of, ends = STRATEGIES[curve.strategy], (curve.n_bins.astype(float), curve.low, curve.high)
    color = faded(of.style.color, alpha)
    return area("interval", *ends, color=color, of=of, name=curve.strategy)


def _line(drawn: SensitivityCurve) -> Layer:
    of = STRATEGIES[drawn.strategy]
    numbers = (drawn.n_bins, drawn.ece, drawn.low, drawn.high, drawn.noise_floor)
    texts = [
        f"{n} {of.key} bins: ECE {percent(ece)}"
        f"<br>{level(drawn.confidence_level)} CI {between_percents(low, high)}"
        f"<br>a calibrated model shows {percent(floor)} on average"
        f"<br>{'more than expected by chance' if more else 'within the range expected by chance'}"
        for n, ece, low, high, floor, more in zip(*numbers, drawn.miscalibrated, strict=True)
    ]
    points = ["circle" if more else "circle-open" for more in drawn.miscalibrated]
    return Layer(
        "ece",
        drawn.n_bins,
        drawn.ece,
        of=of,
        line=of.line(),
        marker=of.marker(5, points, Line(of.style.color, 1)),
        hovertext=texts,
        hover="%{hovertext}<extra></extra>",
        legend=True,
    )


def _choice(of: Subject, n_bins: int, now: Estimate) -> Layer:
    choice = Subject("choice", "Current choice", of.style)
    return Layer(
        "",
        [n_bins],
        [now.value],
        of=choice,
        marker=choice.marker(11, "diamond", Line(of.style.color, 1.5)),
        hover="current choice: %{x} bins, ECE %{y:.1%}<extra></extra>",
        legend=True,
    )


def _panel(sensitivity: Sensitivity, n_bins: int, now: Estimate) -> Panels:
    both = (sensitivity.uniform, sensitivity.quantile)
    first = min(n_bins, *(int(curve.n_bins[0]) for curve in both))
    last = max(n_bins, *(int(curve.n_bins[-1]) for curve in both))
    reached = [now.value, *(float(np.max([curve.high, curve.noise])) for curve in both)]
    margin = 0.02 * (last - first) + 0.5
    across = PanelAxis("Number of bins", range=[first - margin, last + margin], nticks=10)
    upward = PanelAxis(
        "ECE", range=[0.0, 1.06 * max(reached) or 1.0], tickformat=PERCENT_TICKS, nticks=5
    )
    return one(across, upward, TIMELINE_WIDTH, HEIGHT)

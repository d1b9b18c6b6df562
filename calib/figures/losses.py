"""Losses over one parameter: lambda, epsilon, the bound of clipping, or checkpoints of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calib.analysis import Analysis, Column, MethodResult
from calib.analysis.model_comparison import ModelComparison
from calib.calibrators import CALIBRATORS
from calib.crossfit.epsilon import Clipping, EpsilonCurve
from calib.curves.functions import LambdaPath
from calib.figures.axes import (
    PanelAxis,
    Panels,
    count_axis,
    log_axis,
    one,
    padded,
    stacked,
    timeline,
)
from calib.figures.chart import TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import (
    HOVER_TEXT,
    Layer,
    Line,
    Subject,
    Values,
    legend_entry,
    method,
    reference,
    subject,
    whiskers,
)
from calib.figures.layers import method as method_of
from calib.figures.theme import MethodStyle, faded, style_of
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate
from calib.text import (
    escaped,
    joined,
    level,
    number,
    percent_with_interval,
    plural,
    shortened,
    significant,
    with_interval,
)
from calib.words.measures import counts_of_each, is_share

LEFT = 74
# Pixels: the width, and the heights of both panels, with the gap between them.
WIDTH, UPPER_HEIGHT, GAP, LOWER_HEIGHT = 460, 220, 16, 84
# Differences of loss. The axis is at least as long as the first, so that noise looks small, and
# losses within the second of the lowest are always drawn.
MIN_LOSS_RANGE, MIN_DRAWN_RANGE = 1e-3, 0.02
OUTSIDE = Subject("outside", "Rows left unchanged", style_of("uncalibrated"))
CLIPPED = Subject("clipped", "Clipped", MethodStyle(style_of("clip").color, "solid", "circle"))


@chart
def lambda_path_chart(analysis: Analysis, method: str, *, recommended: str | None = None) -> Chart:
    """Cross-validated loss of one method by lambda. A large marker shows the lambda in use.

    Parameters
    ----------
    analysis : Analysis
    method : str
        Key of a method with a lambda path.
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.

    Raises
    ------
    ValueError
        If the method has no lambda path.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("spline",)})
    >>> calib.plot.lambda_path(analysis, "spline").layout.yaxis.title.text
    'Cross-validated loss'
    """
    result = analysis.methods[method]
    path = result.function.path
    if path is None:
        raise ValueError(f"method must have a lambda path, got {method!r}.")
    of = subject(analysis, result, recommended)
    across = log_axis("Penalty weight λ (smoother →)", path.lambdas)
    ends, at = _loss_range(path.losses), float(path.lambdas[path.chosen])
    name = f"In use: λ = {significant(at)}"
    layers = [Layer("in use", [at, at], ends, line=reference(1.25), name=name, legend=True)]
    losses = _path("losses", of, path.lambdas, path.losses, path.chosen)
    hover, degrees = "λ = %{x:.3g}<br>loss %{y:.5f}", None
    if len(path.degrees):
        degrees = PanelAxis("d.f.", rangemode="tozero", fixedrange=True, nticks=4)
        layer = _path("degrees", of, path.lambdas, path.degrees, path.chosen)
        text = "λ = %{x:.3g}<br>%{y:.1f} degrees of freedom<extra></extra>"
        layers.append(replace(layer, panel=1, name="Degrees of freedom", hover=text))
        losses = replace(losses, customdata=path.degrees)
        hover += "<br>%{customdata:.1f} degrees of freedom"
    layers.insert(1, replace(losses, hover=f"{hover}<extra></extra>"))
    panels = _over_parameter(across, _loss_axis("Cross-validated loss", ends), degrees)
    file = (analysis.data.name, method)
    return draw(
        "lambda path",
        panels,
        layers,
        _lambda_about(result, path),
        of=file,
        view=method,
        left=LEFT,
        title=_lambda_title(path),
        details=plural(analysis.data.n_rows, "row"),
    )


def _lambda_title(path: LambdaPath) -> str:
    """How far the loss of the lambda in use is above the lowest one."""
    if path.chosen == path.lowest:
        return "The λ in use has the lowest loss"
    return f"The λ in use is {significant(path.excess, 2)} above the lowest loss"


def _lambda_about(result: MethodResult, path: LambdaPath) -> str:
    i = path.chosen
    degrees = f" with {number(path.degrees[i], 1)} degrees of freedom" if len(path.degrees) else ""
    return (
        f"Cross-validated loss of {result.short_label} at {len(path.lambdas)} values of lambda: "
        f"lambda {significant(path.lambdas[i])} is in use{degrees}, loss {number(path.losses[i])}; "
        f"the lowest loss is {number(path.losses.min())}."
    )


@chart
def epsilon_chart(
    analysis: Analysis, curves: Sequence[EpsilonCurve], *, recommended: str | None = None
) -> Chart:
    """Held-out log loss by epsilon. Large markers: the epsilon in use. Lines: automatic epsilons.

    Parameters
    ----------
    analysis : Analysis
    curves : sequence of EpsilonCurve
        At least one curve of a method of the analysis.
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.
    """
    drawn = [_with_use(analysis, curve) for curve in curves]
    ends = _loss_range(*(curve.log_loss for curve in drawn))
    rows = count_axis("Rows outside", float(drawn[0].n_outside.max()), nticks=4)
    first, line = drawn[0], reference(1.25)
    automatic = {at: f"Automatic: ε = {significant(at, 2)}" for at in (c.automatic for c in curves)}
    rules = [
        Layer("rule", [at] * 2, ends, line=line, name=name, legend=True)
        for at, name in automatic.items()
    ]
    hover = "ε = %{x:.2g}<br>log loss %{y:.5f}<extra>%{fullData.name}</extra>"
    losses = [
        replace(
            _path(
                "log loss",
                subject(analysis, curve.key, recommended),
                curve.epsilon,
                curve.log_loss,
                _position(curve, _in_use(analysis, curve)),
            ),
            hover=hover,
            legend=True,
        )
        for curve in drawn
    ]
    at = _position(first, _in_use(analysis, first))
    outside = replace(
        _path("rows", OUTSIDE, first.epsilon, first.n_outside, at),
        panel=1,
        hover="ε = %{x:.2g}<br>%{y:,.0f} rows outside [ε, 1 − ε]<extra></extra>",
    )
    loss = _loss_axis("Held-out log loss", ends)
    panels = _over_parameter(log_axis("ε", curves[0].epsilon), loss, rows)
    layers = [*rules, *losses, outside]
    name = analysis.data.name
    return draw(
        "epsilon",
        panels,
        layers,
        _epsilon_about(analysis, drawn),
        title=_epsilon_title(analysis, drawn),
        details=plural(analysis.data.n_rows, "row"),
        of=(name,),
        left=LEFT,
    )


def _with_use(analysis: Analysis, curve: EpsilonCurve) -> EpsilonCurve:
    """The curve, to which the point in use is added."""
    compact, used = analysis.compact_logit, _in_use(analysis, curve)
    others = curve.epsilon != used
    at = int(np.searchsorted(curve.epsilon[others], used))
    loss = analysis.methods[curve.key].metrics["log_loss"].value
    # The automatic epsilon of another method is a point of the curve.
    is_drawn = used == compact.epsilon
    outside = compact.n_outside if is_drawn else float(curve.n_outside[_position(curve, used)])

    def inserted(values: FloatArray, value: float) -> FloatArray:
        return np.insert(values[others], at, value)

    return replace(
        curve,
        epsilon=inserted(curve.epsilon, used),
        log_loss=inserted(curve.log_loss, loss),
        n_outside=inserted(curve.n_outside, outside),
    )


def _in_use(analysis: Analysis, curve: EpsilonCurve) -> float:
    return analysis.settings.epsilon or curve.automatic


def _position(curve: EpsilonCurve, epsilon: float) -> int:
    return int(np.flatnonzero(curve.epsilon == epsilon)[0])


def _epsilon_title(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
    """How far the loss at the epsilon in use is above the lowest one, at most."""
    excess = max(
        float(curve.log_loss[_position(curve, _in_use(analysis, curve))] - curve.log_loss.min())
        for curve in curves
    )
    if not round(excess, 4):
        return "The ε in use has the lowest log loss"
    most = "up to " if len(curves) > 1 else ""
    return f"The ε in use is {most}{number(excess)} above the lowest log loss"


def _epsilon_about(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
    used = {curve.key: _in_use(analysis, curve) for curve in curves}
    sentences = [
        f"{analysis.methods[curve.key].short_label} is lowest, {number(curve.log_loss.min())}, at "
        f"epsilon {significant(curve.epsilon[curve.log_loss.argmin()], 2)}; at the epsilon in use "
        f"it is {number(curve.log_loss[_position(curve, used[curve.key])])}."
        for curve in curves
    ]
    in_use = joined([significant(epsilon, 2) for epsilon in dict.fromkeys(used.values())])
    return " ".join([f"Held-out log loss over epsilon, {in_use} in use.", *sentences])


@chart
def clipping_chart(clipping: Clipping) -> Chart:
    """Log loss of clipped scores by bound, compared with no clipping and with calibration.

    Parameters
    ----------
    clipping : Clipping
        Result of `calib.compare_clipping`.

    Examples
    --------
    >>> import calib, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1.0, 1.0, 1.0], 600)
    >>> rows = calib.Predictions.from_arrays([rng.choice(3, p=row) for row in p], p)
    >>> compared = calib.compare_multiclass(rows, ("temperature",))
    >>> calib.plot.clipping(calib.compare_clipping(compared)).layout.xaxis.title.text
    'Bound p_min'
    """
    p_min = np.array([bound.p_min for bound in clipping.bounds])
    losses = np.array([bound.log_loss.value for bound in clipping.bounds])
    ends = np.array([p_min.min(), p_min.max()])
    levels = {
        "uncalibrated": clipping.uncalibrated.value,
        clipping.calibrator: clipping.calibrated.value,
    }
    layers = [
        Layer(
            "level",
            ends,
            np.full(2, value),
            of=of,
            line=of.line(),
            hover=f"{of.name}: %{{y:.4f}}<extra></extra>",
            legend=True,
        )
        for of, value in zip(map(method_of, levels), levels.values(), strict=True)
    ]
    clipped = Layer(
        "",
        p_min,
        losses,
        of=CLIPPED,
        line=CLIPPED.line(),
        marker=CLIPPED.marker(9),
        hover="p_min = %{x:g}: %{y:.4f}<extra></extra>",
        legend=True,
    )
    reached = padded(losses, list(levels.values()), margin=0.06)
    upward = PanelAxis("Held-out multiclass log loss", range=reached, nticks=6, tickformat="~g")
    return draw(
        "clipping",
        one(log_axis("Bound p_min", p_min), upward, 380, 240),
        [*layers, clipped],
        f"Held-out multiclass log loss over the bound: {number(clipping.uncalibrated.value)} "
        f"uncalibrated, "
        f"lowest if clipped at {significant(clipping.best.p_min)}.",
        title=_clipping_title(clipping),
        details="held-out, all classes",
        of=(clipping.calibrator,),
        left=70,
    )


def _clipping_title(clipping: Clipping) -> str:
    """The losses of the best bound and of the calibrator."""
    clipped = f"Log loss is {number(clipping.best.log_loss.value)} clipped"
    if clipping.calibrator == "uncalibrated":
        return f"{clipped}, {number(clipping.uncalibrated.value)} unclipped"
    name = CALIBRATORS[clipping.calibrator].short_label
    return f"{clipped}, {number(clipping.calibrated.value)} after {name}"


def _over_parameter(x: PanelAxis, loss: PanelAxis, below: PanelAxis | None = None) -> Panels:
    """A loss over one parameter, and another quantity over it in a lower panel."""
    panels = [(loss, UPPER_HEIGHT), *([] if below is None else [(below, LOWER_HEIGHT)])]
    return stacked(x, panels, WIDTH, GAP)


def _loss_axis(title: str, ends: Sequence[float]) -> PanelAxis:
    return PanelAxis(title, range=ends, nticks=6, tickformat="~g")


def _loss_range(*losses: FloatArray) -> list[float]:
    """The ends of an axis on which low losses can be distinguished.

    At the end of a path a loss may be many times the lowest. It leaves the panel, because it would
    flatten all others.
    """
    values = np.concatenate(losses)
    low, middle, high = (float(np.quantile(values, share)) for share in (0.0, 0.5, 1.0))
    top = min(high, low + max(6.0 * (middle - low), MIN_DRAWN_RANGE))
    aside = 0.08 * (top - low) + max(MIN_LOSS_RANGE - (top - low), 0.0) / 2
    return [low - aside, top + aside]


def _path(key: str, of: Subject, x: Values, y: Values, chosen: int) -> Layer:
    """A line through points. The one in use is larger."""
    sizes, symbols = np.full(len(x), 5.0), ["circle"] * len(x)
    sizes[chosen], symbols[chosen] = 14.0, of.style.symbol
    marker = of.marker(sizes, symbols, Line(width=0))
    return Layer(key, x, y, of=of, line=of.faint_line(), marker=marker)


PANEL_HEIGHT, CHECKPOINT_GAP = 130, 34
MAX_PANELS, MAX_TICKS = 4, 6
# Methods are drawn beside each other, because overlapping intervals are hard to distinguish. The
# distance is a share of the axis.
METHOD_DISTANCE = 0.012
# If the last checkpoint is this many times the first, a linear axis leaves no room for others.
MIN_LOG_RATIO = 30.0


@chart
def checkpoint_chart(comparison: ModelComparison) -> Chart:
    """Metrics of several models or checkpoints, uncalibrated, clipped and calibrated.

    Parameters
    ----------
    comparison : ModelComparison
        Result of `calib.compare_models`.

    References
    ----------
    Lucena 2018, Figure 2, arXiv:1809.07751.

    Examples
    --------
    >>> import calib
    >>> models = calib.examples.EXAMPLES["rounds"].load_models()
    >>> figure = calib.plot.checkpoints(calib.compare_models(models, method="platt"))
    >>> [title.text for title in figure.layout.annotations][:2]
    ['Log loss', 'Brier score']
    """
    columns = comparison.columns[:MAX_PANELS]
    panels = timeline(
        _positions(comparison),
        _names(comparison),
        {escaped(column.label): _upward(comparison, column) for column in columns},
        margin=0.05,
        most_ticks=MAX_TICKS,
        height=PANEL_HEIGHT,
        gap=CHECKPOINT_GAP,
        rates=[escaped(column.label) for column in columns if is_share(column.key)],
    )
    layers = [
        _line(comparison, column, panel, number)
        for panel, column in enumerate(columns)
        for number in range(len(comparison.methods))
    ]
    layers += [legend_entry(method(key)) for key in comparison.methods]
    at = level(comparison.settings.confidence_level)
    rows = counts_of_each((model.n_rows for model in comparison.models.values()), "row")
    return draw(
        "checkpoints",
        panels,
        layers,
        _about(comparison),
        title=_title(comparison),
        details=f"{len(comparison.models)} models · {rows} · {at} intervals",
        top=TOP + TITLE_ROW,
        left=62,
    )


def _title(comparison: ModelComparison) -> str:
    """How many models have a lower loss after calibration."""
    column, after = comparison.columns[0], comparison.methods[-1]
    losses = [
        (model.metrics["uncalibrated"][column.key].value, model.metrics[after][column.key].value)
        for model in comparison.models.values()
        if {"uncalibrated", after} <= set(model.metrics)
    ]
    lower = sum(second < first for first, second in losses)
    loss, name = f"{column.label[0].lower()}{column.label[1:]}", CALIBRATORS[after].short_label
    return f"{name} lowers the {loss} of {lower} of {len(losses)} models"


def _about(comparison: ModelComparison) -> str:
    """The first and the last value of the first metric, by method."""
    column, names = comparison.columns[0], list(comparison.models)
    first, last = comparison.models[names[0]], comparison.models[names[-1]]
    sentences = [
        f"{CALIBRATORS[key].short_label}: {number(first.metrics[key][column.key].value)} to "
        f"{number(last.metrics[key][column.key].value)}."
        for key in comparison.methods
        if key in first.metrics and key in last.metrics
    ]
    span = f"{len(names)} models, {names[0]} to {names[-1]}"
    return f"{column.label} of {span}. {' '.join(sentences)}"


def _positions(comparison: ModelComparison) -> FloatArray:
    """Positions of the models on the axis: logarithms if the last is many times the first."""
    if comparison.positions is None:
        return np.arange(len(comparison.models), dtype=np.float64)
    at = np.asarray(comparison.positions, dtype=np.float64)
    wide = len(at) > 2 and at.min() > 0.0 and at.max() >= MIN_LOG_RATIO * at.min()
    return np.log10(at) if wide else at


def _line(comparison: ModelComparison, column: Column, panel: int, number: int) -> Layer:
    of = method(comparison.methods[number])
    estimates = [
        model.metrics[of.key][column.key] if of.key in model.metrics else Estimate(float("nan"))
        for model in comparison.models.values()
    ]
    y, low, high = (
        np.array([getattr(e, end) for e in estimates]) for end in ("value", "low", "high")
    )
    at = _positions(comparison)
    aside = (
        (number - (len(comparison.methods) - 1) / 2.0) * METHOD_DISTANCE * float(np.ptp(at) or 1.0)
    )
    return Layer(
        column.key,
        at + aside,
        y,
        panel=panel,
        of=of,
        line=of.faint_line(),
        marker=of.marker(7),
        error_y=whiskers(y, low, high, faded(of.style.color, 0.6)),
        hovertext=[
            _describe(name, model.n_rows, estimate, column)
            for (name, model), estimate in zip(comparison.models.items(), estimates, strict=True)
        ],
        hover=HOVER_TEXT,
    )


def _describe(name: str, n_rows: int, estimate: Estimate, column: Column) -> str:
    written = percent_with_interval if is_share(column.key) else with_interval
    value = f"{column.label} {written(estimate)}"
    return f"{escaped(name)}<br>{escaped(value)}<br>{n_rows:,} rows"


def _names(comparison: ModelComparison) -> list[str]:
    """Labels of the axis: names, or the numbers of checkpoints."""
    if comparison.positions is None:
        return [escaped(shortened(name)) for name in comparison.models]
    return [f"{position:g}" for position in comparison.positions]


def _upward(comparison: ModelComparison, column: Column) -> list[float]:
    estimates = [
        metrics[column.key]
        for model in comparison.models.values()
        for metrics in model.metrics.values()
    ]
    return padded([[e.value, e.low, e.high] for e in estimates], margin=0.08)

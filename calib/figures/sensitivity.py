"""The sensitivity strip: ECE over the number of bins, for both strategies."""

from __future__ import annotations

import numpy as np

from calib.analysis import Analysis
from calib.curves.functions import Sensitivity, SensitivityCurve
from calib.figures.axes import PERCENT_TICKS, PanelAxis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Layer, Line, Subject, area, reference
from calib.figures.panels import TIMELINE_WIDTH, Panels, one
from calib.figures.theme import MethodStyle, faded
from calib.figures.words import details
from calib.text import between_percents, escaped, level, percent
from calib.uncertainty import Estimate

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
        f"ECE of {result.short_label} over {used.n_bins[0]} to {used.n_bins[-1]} bins: "
        f"{_range(sensitivity.quantile)} with quantile bins, {_range(sensitivity.uniform)} with "
        f"uniform ones; {percent(now.value)} with {settings.n_bins} {settings.strategy} bins as "
        "chosen.",
        title=f"ECE of {escaped(result.short_label)} is {_range(used, other)}",
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

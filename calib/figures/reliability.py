"""The reliability diagram: a square panel, and the score histogram on the same x-axis below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.curves.rate import RateCurve
from calib.curves.reliability import ReliabilityCurve
from calib.figures.axes import axis as axis_of
from calib.figures.axes import count_axis
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import (
    FULL_AREA,
    RATES,
    SMALLEST_DOT,
    Trace,
    curve,
    diagonal,
    dots,
    few_entry,
    layer,
    legend_entry,
    method,
    rate_layers,
)
from calib.figures.layers import band as band_layer
from calib.figures.panels import stacked
from calib.figures.scales import AxisKind, Scale, scale_for
from calib.figures.theme import LINE_WIDTH, OUTCOME, faded
from calib.figures.words import axis_titles, verdicts
from calib.text import count, span

SIDE, GAP, HISTOGRAM = 380, 14, 76


@chart
def reliability_chart(
    analysis: Analysis,
    methods: Sequence[str] = ("uncalibrated",),
    *,
    axis: AxisKind = "linear",
    band: bool = True,
    histogram: bool = True,
    lines: Sequence[RateCurve] = (),
    ring: tuple[str, int] | None = None,
) -> Chart:
    """Reliability diagram: observed frequency against mean predicted probability of each bin.

    The ``customdata`` of each dot is the position of its bin and the key of its method.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods. The consistency band is that of the first.
    axis : {"linear", "logit"}
        Scale of both axes. The log-odds axis spreads out probabilities near 0 and 1.
    band, histogram : bool
        Whether to draw the consistency band, and the histogram of scores.
    lines : sequence of RateCurve
        CORP and smooth curves, which are drawn with their bands. Dots are then not joined.
    ring : (str, int), optional
        Method and position of a bin to mark.

    Raises
    ------
    ValueError
        If `axis` is unknown.

    References
    ----------
    Bröcker and Smith 2007, doi:10.1175/WAF993.1 (consistency band). Dimitriadis, Gneiting and
    Jordan 2021, doi:10.1073/pnas.2016191118 (CORP).

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.reliability(analysis, ["uncalibrated", "beta"], axis="logit")
    >>> figure.layout.xaxis.title.text
    'Mean predicted probability'
    """
    results = [analysis.methods[key] for key in methods]
    curves = [result.reliability for result in results]
    scale, mode = scale_for(axis, curves), "markers" if lines else "lines+markers"
    layers = [band_layer(curves[0], scale)] if band else []
    layers += [diagonal(scale), *rate_layers(lines, scale)]
    layers += [dots(method(r), r.reliability, scale, joined=not lines) for r in results]
    layers += [legend_entry(method(result), mode) for result in results]
    layers += few_entry(each.few for each in curves)
    if ring:
        layers.append(_ring(analysis.methods[ring[0]].reliability, ring[1], scale))
    across, upward = (axis_of(title, **scale.options()) for title in axis_titles(analysis))
    panels = [(upward, SIDE)]
    if histogram:
        unit = "Weight" if analysis.data.weighted else "Rows"
        layers += [_histogram(r, scale, unit, filled=len(results) == 1) for r in results]
        highest = max(float(r.histogram.max()) for r in results)
        panels.append((count_axis(unit, highest, nticks=3, mirror=False), HISTOGRAM))
    drawn = [f"{len(curves[0].rows)} occupied bins", *(RATES[line.kind][0] for line in lines)]
    settings = analysis.settings
    return draw(
        "reliability",
        stacked(across, panels, SIDE, GAP, square=True),
        layers,
        f"Reliability diagram, {', '.join(drawn)}. {verdicts(analysis, methods)}",
        of=(analysis.data.name, settings.n_bins, settings.strategy),
        view=axis,
        # Named here, or Streamlit adds them and draws once more.
        clickmode="event+select",
        dragmode="zoom",
    )


def _ring(curve: ReliabilityCurve, position: int, scale: Scale) -> Trace:
    at = slice(position, position + 1)
    area = curve.weight[position] / curve.weight.sum()
    return layer(
        "ring",
        scale.at(curve.mean_score[at]),
        scale.at(curve.observed[at]),
        mode="markers",
        name="Inspected bin",
        marker={
            "symbol": "circle-open",
            "color": OUTCOME,
            "size": max(SMALLEST_DOT, FULL_AREA**0.5 * float(area) ** 0.5) + 10.0,
            "line": {"width": 2.5},
        },
        legend=True,
    )


def _histogram(result: MethodResult, scale: Scale, unit: str, *, filled: bool) -> Trace:
    """Steps over equal intervals of the score."""
    of, heights = method(result), result.histogram
    edges = np.linspace(0.0, 1.0, len(heights) + 1)
    ends = edges.tolist()
    texts = [
        f"scores {span(low, high)}<br>{count(weight)} {unit.lower()}"
        for low, high, weight in zip(ends[:-1], ends[1:], heights.tolist(), strict=True)
    ]
    width = 1 if filled else LINE_WIDTH - 0.5
    return curve(
        "histogram",
        of,
        scale.at(np.concatenate([[0.0], edges])),
        np.concatenate([[0.0], heights, [0.0]]),
        yaxis="y2",
        line={"shape": "hv", "width": width, "color": of.style.color},
        fill="tozeroy" if filled else "none",
        fillcolor=faded(of.style.color, 0.35),
        legend=False,
        hovertext=["", *texts, ""],
        hover="%{hovertext}<extra></extra>",
    )

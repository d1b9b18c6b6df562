"""The reliability diagram: a square panel, and the score histogram on the same x-axis below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.curves.rate import RateCurve
from calib.curves.reliability import ReliabilityCurve
from calib.figures.chart import Chart, make_chart
from calib.figures.panels import (
    FULL_AREA,
    SMALLEST_DOT,
    diagonal,
    dots,
    few_entry,
    legend_entry,
    square,
)
from calib.figures.panels import band as band_trace
from calib.figures.rate import RATE_NAMES, rate_traces
from calib.figures.scales import AxisKind, Scale, scale_for
from calib.figures.theme import LINE_WIDTH, OUTCOME, axis_look, faded, of_counts, style_of
from calib.figures.trace import Trace, scatter
from calib.figures.words import axis_titles, verdicts
from calib.text import count, escaped, span

SIDE, GAP, HISTOGRAM = 380, 14, 76
HEIGHT = SIDE + GAP + HISTOGRAM


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
    """Observed frequency against mean predicted probability, bin by bin.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods to draw; the consistency band is that of the first.
    axis : {"linear", "logit"}
        The logit axis spreads out probabilities near 0 and 1.
    band, histogram : bool
        Whether to draw the consistency band, and the histogram of scores.
    lines : sequence of RateCurve
        CORP and smooth curves to draw with their bands; dots are then not joined.
    ring : (str, int), optional
        Method and position of a bin that is marked.

    Returns
    -------
    Chart
        Each dot's ``customdata`` is (position of its bin, key of its method).

    Raises
    ------
    ValueError
        If `axis` is not one of the two.

    References
    ----------
    Bröcker and Smith 2007, doi:10.1175/WAF993.1 (consistency band). Dimitriadis, Gneiting and
    Jordan 2021, doi:10.1073/pnas.2016191118 (CORP).

    Examples
    --------
    >>> import numpy as np
    >>> from calib.analysis import analyze
    >>> from calib.core.predictions import Predictions
    >>> from calib.settings import Settings
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> predictions = Predictions.from_arrays(rng.random(2000) < p**2, p)
    >>> chart = reliability_chart(analyze(predictions, Settings(methods=("platt",), n_bins=10)))
    >>> chart.alt[:65]
    'Reliability diagram, 10 occupied bins. Not calibrated: too high. '
    """
    results = [analysis.methods[key] for key in methods]
    scale = scale_for(axis, [result.reliability for result in results])
    traces = [band_trace(results[0].reliability, scale)] if band else []
    traces += [diagonal(scale), *rate_traces(lines, scale)]
    traces += [_dots(result, scale, joined=not lines) for result in results]
    traces += [_entry(result, joined=not lines) for result in results]
    if any(result.reliability.few.any() for result in results):
        traces.append(few_entry())
    if ring:
        traces.append(_ring(analysis.methods[ring[0]].reliability, ring[1], scale))
    layout = _square_axes(scale, histogram, axis_titles(analysis))
    if histogram:
        unit = "Weight" if analysis.data.weighted else "Rows"
        traces += [_histogram(r, scale, unit, filled=len(results) == 1) for r in results]
        layout["yaxis2"] = _count_axis(unit, max(float(r.histogram.max()) for r in results))
    # Named here, or Streamlit adds them and draws once more.
    layout |= {"clickmode": "event+select", "dragmode": "zoom"}
    drawn = [f"{len(results[0].reliability.rows)} occupied bins"]
    drawn += [RATE_NAMES[line.kind] for line in lines]
    return make_chart(
        traces,
        layout,
        f"Reliability diagram, {', '.join(drawn)}. {verdicts(analysis, methods)}",
        plot_width=SIDE,
        plot_height=HEIGHT if histogram else SIDE,
        revision=f"reliability {axis}",
    )


def _dots(result: MethodResult, scale: Scale, *, joined: bool) -> Trace:
    style, name = style_of(result.key), escaped(result.label)
    return dots(result.key, name, result.reliability, style, scale, joined=joined)


def _entry(result: MethodResult, *, joined: bool) -> Trace:
    mode = "lines+markers" if joined else "markers"
    return legend_entry(result.key, escaped(result.label), style_of(result.key), mode=mode)


def _ring(curve: ReliabilityCurve, position: int, scale: Scale) -> Trace:
    at = slice(position, position + 1)
    area = curve.weight[position] / curve.weight.sum()
    return scatter(
        x=scale.at(curve.mean_score[at]),
        y=scale.at(curve.observed[at]),
        mode="markers",
        name="Bin looked into",
        uid="ring",
        marker={
            "symbol": "circle-open",
            "color": OUTCOME,
            "size": max(SMALLEST_DOT, FULL_AREA**0.5 * float(area) ** 0.5) + 10.0,
            "line": {"width": 2.5},
        },
        hoverinfo="skip",
        showlegend=True,
    )


def _histogram(result: MethodResult, scale: Scale, unit: str, *, filled: bool) -> Trace:
    """Steps over equal intervals of the score."""
    edges = np.linspace(0.0, 1.0, len(result.histogram) + 1)
    color = style_of(result.key).color
    said = [
        f"scores {span(low, high)}<br>{count(weight)} {unit.lower()}"
        for low, high, weight in zip(edges[:-1], edges[1:], result.histogram, strict=True)
    ]
    return scatter(
        x=scale.at(np.concatenate([[0.0], edges])),
        y=np.concatenate([[0.0], result.histogram, [0.0]]),
        yaxis="y2",
        mode="lines",
        line={"shape": "hv", "width": 1 if filled else LINE_WIDTH - 0.5, "color": color},
        fill="tozeroy" if filled else "none",
        fillcolor=faded(color, 0.35),
        name=escaped(result.label),
        uid=f"histogram {result.key}",
        legendgroup=result.key,
        showlegend=False,
        hovertext=["", *said, ""],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _square_axes(scale: Scale, histogram: bool, titles: tuple[str, str]) -> dict[str, object]:
    across, upward = square()
    # One x-axis for both panels: the histogram stays under its dots at any width and zoom.
    below = {"anchor": "y2", "mirror": "all"} if histogram else {}
    bottom = 1 - SIDE / HEIGHT if histogram else 0.0
    return {
        "xaxis": axis_look(titles[0], **scale.options(), **across, **below),
        "yaxis": axis_look(titles[1], **scale.options(), **upward, domain=[bottom, 1]),
    }


def _count_axis(unit: str, highest: float) -> dict[str, object]:
    return axis_look(
        unit,
        domain=[0, HISTOGRAM / HEIGHT],
        anchor="x",
        nticks=3,
        mirror=False,
        **of_counts(highest),
    )

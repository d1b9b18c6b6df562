"""Reliability diagrams: of methods, with the scores' histogram below, and of slices or reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from calib.analysis import Analysis
from calib.curves.rate import RateCurve
from calib.curves.reliability import ReliabilityCurve
from calib.data.cells import ScoreCells
from calib.figures.axes import LINEAR, AxisKind, Scale, count_axis, one, scale_for, square, stacked
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import (
    FULL_DOT_AREA,
    MIN_DOT_SIZE,
    RATES,
    Layer,
    Line,
    Marker,
    Subject,
    diagonal,
    dots,
    few_entry,
    legend_entry,
    rate_layers,
    subject,
)
from calib.figures.layers import band as band_layer
from calib.figures.theme import GREY, OUTCOME, MethodStyle, faded
from calib.numerics.arrays import FloatArray
from calib.text import count, escaped, joined, level, percent, points, shortened, span
from calib.words import titles
from calib.words.measures import (
    axis_titles,
    binning,
    counts_of_each,
    details,
    verdicts,
    without_band,
)

SIDE, GAP, HISTOGRAM_HEIGHT, OVERLAY_SIDE, OUTCOME_HEIGHT = 380, 14, 76, 330, 300
N_RANGES = 20  # Scores by outcome are counted in ranges of 5 points.
# The curves of an overlay are not methods, but more colours could not be distinguished.
STYLES = (
    MethodStyle("#56B4E9", "solid", "circle"),
    MethodStyle("#D55E00", "solid", "square"),
    MethodStyle("#009E73", "dashdot", "diamond"),
    MethodStyle("#CC79A7", "dot", "triangle-up"),
    MethodStyle("#999933", "longdash", "pentagon"),
    MethodStyle(GREY, "solid", "x"),
)


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
    recommended: str | None = None,
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
        Whether to draw the consistency band, and the histogram of scores. No band is drawn of fewer
        than 30 rows, or if its median width is above 0.5.
    lines : sequence of RateCurve
        CORP and smooth curves, which are drawn with their bands. Dots are then not joined.
    ring : (str, int), optional
        Method and position of a bin to mark.
    recommended : str, optional
        Key of the method with a strong line. Default: the one that the analysis recommends.

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
    scale = scale_for(axis, curves)
    layers = [band_layer(curves[0], scale)] if band and not without_band(curves[0]) else []
    layers += [diagonal(scale), *rate_layers(lines, scale)]
    subjects = [subject(analysis, result, recommended) for result in results]
    layers += [
        dots(of, curve, scale, joined=not lines) for of, curve in zip(subjects, curves, strict=True)
    ]
    layers += [legend_entry(of, line=not lines) for of in subjects]
    layers += few_entry(curve.few for curve in curves)
    if ring:
        layers.append(_ring(analysis.methods[ring[0]].reliability, ring[1], scale))
    across, upward = (scale.axis(title) for title in axis_titles(analysis))
    panels = [(upward, SIDE)]
    if histogram:
        unit = "Weight" if analysis.data.weighted else "Rows"
        layers += [
            histogram_layer(of, result.histogram, scale, unit, len(results) == 1)
            for of, result in zip(subjects, results, strict=True)
        ]
        highest = max(float(r.histogram.max()) for r in results)
        panels.append((count_axis(unit, highest, nticks=3), HISTOGRAM_HEIGHT))
    drawn = [f"{len(curves[0].rows)} occupied bins", *(RATES[line.kind][0] for line in lines)]
    settings, first = analysis.settings, methods[0]
    title = titles.of_method(analysis, first, titles.reliability(analysis, first))
    said = verdicts(analysis, methods, headed=first == "uncalibrated")
    return draw(
        "reliability",
        stacked(across, panels, SIDE, GAP, square=True),
        layers,
        f"{said} Reliability diagram, {', '.join(drawn)}.",
        title=title,
        details=details(analysis, binning(analysis)),
        of=(analysis.data.name, settings.n_bins, settings.strategy),
        view=axis,
        selectable=True,
    )


def _largest_gap(curves: Mapping[str, ReliabilityCurve]) -> str:
    """Where a bin of some curves is farthest from its mean score, as a title."""
    gaps = {
        name: curve.observed[curve.worst] - curve.mean_score[curve.worst]
        for name, curve in curves.items()
    }
    worst = max(gaps, key=lambda name: abs(gaps[name]))
    return f"Largest gap: {points(gaps[worst])} points, {shortened(worst)}"


def _ring(curve: ReliabilityCurve, position: int, scale: Scale) -> Layer:
    at = slice(position, position + 1)
    share = float(curve.weight[position] / curve.weight.sum())
    size = max(MIN_DOT_SIZE, FULL_DOT_AREA**0.5 * share**0.5) + 10.0
    return Layer(
        "ring",
        scale.at(curve.mean_score[at]),
        scale.at(curve.observed[at]),
        name="Inspected bin",
        marker=Marker(OUTCOME, symbol="circle-open", size=size, line=Line(width=2.5)),
        legend=True,
    )


def histogram_layer(
    of: Subject, heights: FloatArray, scale: Scale, unit: str, filled: bool
) -> Layer:
    """Steps over equal intervals of the score."""
    edges = np.linspace(0.0, 1.0, len(heights) + 1)
    ends = edges.tolist()
    texts = [
        f"scores {span(low, high)}<br>{count(weight)} {unit.lower()}"
        for low, high, weight in zip(ends[:-1], ends[1:], heights.tolist(), strict=True)
    ]
    width = 1 if filled else 1.25
    return Layer(
        "histogram",
        scale.at(np.concatenate([[0.0], edges])),
        np.concatenate([[0.0], heights, [0.0]]),
        panel=1,
        of=of,
        line=Line(of.style.color, width, shape="hv"),
        fill="tozeroy" if filled else None,
        fillcolor=faded(of.style.color, 0.35) if filled else None,
        hovertext=["", *texts, ""],
        hover="%{hovertext}<extra></extra>",
    )


@chart
def scores_by_outcome_chart(
    cells: ScoreCells, outcomes: Sequence[str] = ("positives", "negatives"), *, details: str = ""
) -> Chart:
    """Distribution of the scores of positive rows, and of that of negative ones.

    Parameters
    ----------
    cells : ScoreCells
        Scores with the weights of their rows. Both outcomes must occur.
    outcomes : sequence of str
        Names of the positive and of the negative rows, in the plural.
    details : str
        What stands below the title.

    Raises
    ------
    ValueError
        If all rows have the same outcome.

    References
    ----------
    Van Calster et al. 2024, arXiv:2412.10288: risks by outcome are essential.

    Examples
    --------
    >>> import calib
    >>> from calib.data.cells import ScoreCells
    >>> cells = ScoreCells.from_arrays([0, 0, 1, 1], [0.1, 0.3, 0.4, 0.8])
    >>> calib.plot.scores_by_outcome(cells).layout.yaxis.title.text
    'Rows of the outcome, %'
    """
    weights = (cells.positive, cells.weight - cells.positive)
    if cells.one_class:
        raise ValueError("cells must have rows of both outcomes, got one of them.")
    styles = (MethodStyle(OUTCOME, "solid", "circle"), MethodStyle(GREY, "solid", "circle"))
    place = np.minimum((cells.score * N_RANGES).astype(int), N_RANGES - 1)
    layers, said, highest = list[Layer](), list[str](), 0.0
    for name, style, weight in zip(outcomes, styles, weights, strict=True):
        of = Subject(name, escaped(shortened(name.capitalize())), style)
        shares = 100.0 * np.bincount(place, weight, minlength=N_RANGES) / weight.sum()
        steps = histogram_layer(of, shares, LINEAR, f"% of {name}", True)
        layers += [replace(steps, panel=0), legend_entry(of, marker=False)]
        said.append(f"{percent(float(weight @ cells.score / weight.sum()))} in {name}")
        highest = max(highest, float(shares.max()))
    upward = count_axis("Rows of the outcome, %", highest, nticks=5)
    return draw(
        "scores by outcome",
        one(LINEAR.axis("Predicted probability"), upward, SIDE, OUTCOME_HEIGHT),
        layers,
        f"Distribution of the scores by outcome, over {N_RANGES} equal ranges.",
        title=f"Mean score {joined(said)}",
        details=details,
    )


@chart
def overlay_chart(
    curves: Mapping[str, ReliabilityCurve], alt: str = "", *, title: str = ""
) -> Chart:
    """Several reliability diagrams on the same axes.

    Parameters
    ----------
    curves : mapping of str to ReliabilityCurve
        At most six curves by name.
    alt : str
        Alternative text. Default: a sentence that these are slices, with their names.
    title : str
        Default: the largest gap, and where it is.

    Raises
    ------
    ValueError
        If there is no curve, or there are more than six.

    Examples
    --------
    >>> import calib
    >>> analysis = calib.from_predictions([0, 1, 0, 1] * 50, [0.1, 0.8, 0.3, 0.6] * 50)
    >>> curves = {one.label: one.reliability for one in analysis.methods.values()}
    >>> figure = calib.plot.overlay({name: curves[name] for name in ("Uncalibrated", "Beta")})
    >>> figure.layout.yaxis.title.text
    'Observed frequency'
    """
    if not 1 <= len(curves) <= len(STYLES):
        raise ValueError(f"curves must be 1 to {len(STYLES)}, got {len(curves)}.")
    subjects = [
        Subject(f"slice {i}", escaped(shortened(name)), style)
        for i, (name, style) in enumerate(zip(curves, STYLES, strict=False))
    ]
    layers = [diagonal(LINEAR)]
    layers += [dots(of, curve, LINEAR) for of, curve in zip(subjects, curves.values(), strict=True)]
    layers += [legend_entry(of) for of in subjects]
    layers += few_entry(curve.few for curve in curves.values())
    across, upward = map(LINEAR.axis, ("Mean predicted probability", "Observed frequency"))
    alt = alt or f"Reliability diagrams of {len(curves)} slices: {', '.join(curves)}."
    at = level(next(iter(curves.values())).confidence_level)
    parts = [
        counts_of_each((curve.rows.sum() for curve in curves.values()), "row"),
        counts_of_each((len(curve.rows) for curve in curves.values()), "bin"),
        f"{at} intervals",
    ]
    return draw(
        "overlay",
        square(across, upward, OVERLAY_SIDE),
        layers,
        alt,
        title=title or _largest_gap(curves),
        details=" · ".join(parts),
        of=list(curves),
    )

"""The cumulative difference. Where it rises, scores are too low; where it falls, too high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calib.analysis import Analysis, MethodResult
from calib.analysis.verdict import SIGNIFICANCE
from calib.figures import titles
from calib.figures.axes import PERCENT_TICKS, PanelAxis, padded
from calib.figures.chart import Chart, chart, draw
from calib.figures.layers import Arrow, Layer, Line, Subject, area, reference, subject
from calib.figures.panels import TIMELINE_WIDTH, one
from calib.figures.words import KS, details, verdicts
from calib.numerics.arrays import FloatArray
from calib.text import escaped, level, percent, percents, score_percent, score_percents

HEIGHT, LEFT = 300, 66
# Sizes in pixels. Where two markers meet, a ring of background between them can be seen.
HOLLOW_SIZE, FILLED_SIZE = 16, 7
# A range of scores is named from its first row, unless it leaves out fewer rows at that end, and
# the curve has not left the band there.
MIN_LEFT_OUT = 0.1


@chart
def cumulative_difference_chart(
    analysis: Analysis,
    methods: Sequence[str] = ("uncalibrated",),
    *,
    recommended: str | None = None,
) -> Chart:
    """Cumulative outcome minus cumulative score against the fractile, with the null band.

    The length of an arrow is the KS calibration error of a method. The distance between its hollow
    markers is the Kuiper error.

    Parameters
    ----------
    analysis : Analysis
    methods : sequence of str
        Keys of the methods. The band is that of the first.
    recommended : str, optional
        Key of the method that is blue. Default: the one that the analysis recommends.

    References
    ----------
    Arrieta-Ibarra et al. 2022, arXiv:2205.09680.

    Examples
    --------
    >>> import calib
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("beta",)})
    >>> figure = calib.plot.cumulative_difference(analysis, ["uncalibrated", "beta"])
    >>> [line.name for line in figure.data if line.uid.startswith("difference")]
    ['Uncalibrated', 'Beta']
    """
    results = [analysis.methods[key] for key in methods]
    first = results[0].cumulative
    half, name = first.null_half_width, f"{level(first.confidence_level)} band if calibrated"
    ends = (np.array([0.0, 1.0]), np.full(2, -half), np.full(2, half))
    layers = [
        area("band", *ends, name=name, legend=True),
        Layer("zero", [0.0, 1.0], [0.0, 0.0], line=reference()),
    ]
    subjects = [subject(analysis, result, recommended) for result in results]
    layers += [_curve(of, result) for of, result in zip(subjects, results, strict=True)]
    layers += [
        _extremes(of, result, first=result is results[0])
        for of, result in zip(subjects, results, strict=True)
    ]
    reached = [end for result in results for end in _ends(result)]
    upward_range = padded(-half, half, *reached, margin=0.12, least=1e-6)
    across = PanelAxis(
        "Share of rows, sorted by score",
        range=[-0.01, 1.01],
        tickformat=PERCENT_TICKS,
        nticks=6,
    )
    upward = PanelAxis(
        "Cumulative observed − predicted",
        range=upward_range,
        tickformat=PERCENT_TICKS,
        nticks=7,
    )
    return draw(
        "cumulative difference",
        one(across, upward, TIMELINE_WIDTH, HEIGHT),
        layers,
        f"Cumulative difference between outcomes and scores. {verdicts(analysis, methods)}",
        title=escaped(_title(analysis, results[0])),
        details=details(analysis, "no bins"),
        of=(analysis.data.name,),
        left=LEFT,
        arrows=[_arrow(of, result) for of, result in zip(subjects, results, strict=True)],
    )


def _title(analysis: Analysis, result: MethodResult) -> str:
    """How far from zero the curve of a method gets, if it leaves the band."""
    inside = result.ks.statistic <= result.cumulative.null_half_width
    reached = "stays within the band" if inside else f"reaches {percent(result.ks.statistic)}"
    return titles.of_method(analysis, result.key, f"The cumulative difference {reached}")


def finding(result: MethodResult, p_adjusted: Mapping[str, float]) -> str:
    """Which predictions of a method are too high or too low, in a sentence.

    It names the range between the lowest and the highest point of the curve, if the KS or the
    Kuiper test rejects. `p_adjusted` has the p-values of the tests after Holm's correction.
    """
    curve = result.cumulative
    p_values = [p_adjusted[key] for key in ("ks", "kuiper") if key in p_adjusted]
    if not any(p < SIGNIFICANCE for p in p_values):
        return "No cumulative difference beyond chance."
    difference = curve.difference
    first, last = sorted((int(difference.argmin()), int(difference.argmax())))
    rises = difference[last] > difference[first]
    wrong, opposite = ("too low", "too high") if rises else ("too high", "too low")
    below, above = abs(difference[first]), abs(difference[-1] - difference[last])
    half, share = curve.null_half_width, curve.fractile
    from_start = below <= half and share[first] < MIN_LEFT_OUT
    to_end = above <= half and 1.0 - share[last] < MIN_LEFT_OUT
    if from_start and to_end:
        mean, observed = percents(curve.cumulative_score[-1], curve.cumulative_outcome[-1])
        return f"Predictions are {wrong}: {mean} on average, {observed} observed."
    low, high = score_percents(curve.score[first], curve.score[last])
    where, others = f"between {low} and {high}", "others"
    if from_start or to_end:
        where, others = (
            (f"up to {high}", "higher ones")
            if from_start
            else (
                f"above {low}",
                "lower ones",
            )
        )
    rest = f", {others} are {opposite}" if max(below, above) > half else ""
    return f"Predictions {where} are {wrong}{rest}."


def _curve(of: Subject, result: MethodResult) -> Layer:
    drawn = result.cumulative
    return Layer(
        "difference",
        drawn.fractile.astype(np.float32),
        drawn.difference.astype(np.float32),
        of=of,
        line=of.line(),
        legend=True,
        customdata=drawn.score.astype(np.float32),
        hover="share of rows %{x:.1%}, score %{customdata:.1%}<br>difference %{y:+.2%}"
        "<extra>%{fullData.name}</extra>",
    )


def _furthest(result: MethodResult) -> int:
    """The position of the point whose distance from zero is the KS calibration error."""
    return int(np.abs(result.cumulative.difference).argmax())


def _arrow(of: Subject, result: MethodResult) -> Arrow:
    """The KS calibration error: from zero to the point of the curve that is farthest from zero."""
    drawn, at = result.cumulative, _furthest(result)
    end = (float(drawn.fractile[at]), float(drawn.difference[at]))
    return Arrow(*end, of.style.color, FILLED_SIZE / 2)


def _ends(result: MethodResult) -> tuple[float, float]:
    """The lowest and the highest value of the curve."""
    difference = result.cumulative.difference
    return float(difference.min()), float(difference.max())


def _extremes(of: Subject, result: MethodResult, *, first: bool) -> Layer:
    """The ends of the Kuiper range, and the KS point last, because it covers one of them."""
    drawn = result.cumulative
    difference: FloatArray = drawn.difference
    top, bottom = int(difference.argmax()), int(difference.argmin())
    furthest = _furthest(result)
    at = np.array([bottom, top, furthest])
    kuiper = f"Kuiper error {percent(difference[top] - difference[bottom])}"
    labels = [f"{kuiper}, lowest", f"{kuiper}, highest"]
    # The pointer only finds the marker on top, so that one has the words of both.
    labels.append(f"{KS} {percent(abs(difference[furthest]))}<br>{labels[furthest == top]}")
    # The words must neither leave the panel nor cover the curve.
    aside = "left" if drawn.fractile[furthest] > 0.5 else "right"
    return Layer(
        "extremes",
        drawn.fractile[at],
        difference[at],
        of=of,
        # The words of a second method would cover those of the first on a phone.
        text=["", "", f"{f'{KS} ' if first else ''}{percent(abs(float(difference[furthest])))}"],
        textposition=f"{'top' if furthest == top else 'bottom'} {aside}",
        marker=of.marker(
            [HOLLOW_SIZE, HOLLOW_SIZE, FILLED_SIZE],
            [of.style.hollow, of.style.hollow, of.style.symbol],
            Line(of.style.color, 1.25),
        ),
        hovertext=[
            f"{words}<br>at score {score_percent(score)}"
            for words, score in zip(labels, drawn.score[at], strict=True)
        ],
        hover="%{hovertext}<extra>%{fullData.name}</extra>",
    )

"""What the fitted calibration functions show: which nearly coincide, and which have bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib.analysis.analysis import Analysis
from calib.curves.functions import CalibrationFunction
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import joined, score_percents, significant

# Curves nearly coincide if they are nowhere further apart than this share of the height over which
# all of them extend. A twentieth is about what the intervals of 1,000 rows leave open.
MAX_RELATIVE_DISTANCE = 0.05
# A smaller change of a score is not seen in a chart.
MIN_CHANGE = 0.005


@dataclass(frozen=True, slots=True)
class FunctionFindings:
    """What the curves of an analysis show over the range of its scores.

    Attributes
    ----------
    close : tuple of str
        Keys of the methods whose curves nearly coincide; empty if no two do. If "uncalibrated" is
        among them, these methods hardly change the scores.
    bounds : mapping of str to tuple of two floats
        Lowest and highest output of each method that cannot reach an observed frequency. A bound
        that does not matter is NaN.
    sentence : str
        The findings in one sentence.
    detail : str
        How far apart the close curves are, or "".
    """

    close: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    sentence: str
    detail: str


def function_findings(analysis: Analysis) -> FunctionFindings:
    """Compare the calibration functions of an analysis over the range of its scores.

    Examples
    --------
    >>> import calib
    >>> from calib.analysis.functions import function_findings
    >>> rows = calib.examples.EXAMPLES["naive_bayes"].load()
    >>> analysis = calib.analyze(rows, {"methods": ("platt", "logistic", "beta", "spline")})
    >>> function_findings(analysis).sentence
    'Beta, Logistic and Spline nearly coincide; Platt scaling cannot go below 12% or above 92%'
    """
    functions = {key: one.function for key, one in analysis.methods.items()}
    inside = _scores_inside(analysis)
    curves = {key: one.calibrated[inside] for key, one in functions.items()}
    close = _close(curves, analysis.recommendation.method)
    bounds = _bounds(analysis, functions)
    labels = {key: one.short_label for key, one in analysis.methods.items()}
    score = functions["uncalibrated"].score[inside]
    return FunctionFindings(
        close,
        bounds,
        _sentence(labels, curves, close, bounds, score, analysis.recommendation.method),
        _detail(labels, curves, close),
    )


def _scores_inside(analysis: Analysis) -> BoolArray:
    """The points of the curves' grid between the lowest and the highest score."""
    heights, grid = analysis.uncalibrated.histogram, analysis.uncalibrated.function.score
    edges = np.linspace(0.0, 1.0, len(heights) + 1)
    occupied = np.flatnonzero(heights)
    return np.asarray((grid >= edges[occupied[0]]) & (grid <= edges[occupied[-1] + 1]))


def _distance(curves: Iterable[FloatArray]) -> float:
    """The largest vertical distance between two of the curves."""
    return float(np.ptp(np.vstack(list(curves)), axis=0).max())


def _close(curves: Mapping[str, FloatArray], advised: str) -> tuple[str, ...]:
    """The largest set of methods whose curves nearly coincide, in the order of the methods."""
    height = np.vstack(list(curves.values()))
    limit = MAX_RELATIVE_DISTANCE * float(height.max() - height.min())
    sets = [_around(key, curves, limit) for key in curves]
    sets = [near for near in sets if near != {"uncalibrated"} and len(near) > 1]
    best = max(sets, key=lambda near: (len(near), advised in near), default=set())
    return tuple(key for key in curves if key in best)


def _around(first: str, curves: Mapping[str, FloatArray], limit: float) -> set[str]:
    """A curve and those near it, the nearest first, as long as all are near each other."""
    near = {first}
    for key in sorted(curves, key=lambda key: _distance([curves[first], curves[key]])):
        if _distance(curves[one] for one in {*near, key}) <= limit:
            near.add(key)
    return near


def _bounds(
    analysis: Analysis, functions: Mapping[str, CalibrationFunction]
) -> dict[str, tuple[float, float]]:
    """Bounds that lie outside the interval of an observed frequency of a bin with enough rows."""
    bins = analysis.fitted_reliability
    enough = ~bins.few
    if not enough.any():
        return {}
    lowest, highest = float(bins.high[enough].min()), float(bins.low[enough].max())
    bounds = {}
    for key, function in functions.items():
        floor, ceiling = float(function.calibrated.min()), float(function.calibrated.max())
        pair = (
            floor if floor > lowest else float("nan"),
            ceiling if ceiling < highest else float("nan"),
        )
        if not np.isnan(pair).all():
            bounds[key] = pair
    return bounds


def _sentence(
    labels: Mapping[str, str],
    curves: Mapping[str, FloatArray],
    close: Sequence[str],
    bounds: Mapping[str, tuple[float, float]],
    score: FloatArray,
    advised: str,
) -> str:
    calibrators = [key for key in curves if key != "uncalibrated"]
    if not calibrators:
        return "No calibrator is chosen"
    names = [labels[key] for key in close if key != "uncalibrated"]
    if "uncalibrated" in close:
        verb = "leaves" if len(names) == 1 else "leave"
        first = f"{joined(names)} {verb} the scores nearly unchanged"
    elif len(calibrators) == 1:
        first = direction(labels[calibrators[0]], score, curves[calibrators[0]])
    elif len(names) == len(calibrators) > 2:
        first = f"All {len(names)} calibrators nearly coincide"
    elif names:
        first = f"{joined(names)} nearly coincide"
    else:
        apart = np.ptp(np.vstack([curves[key] for key in calibrators]), axis=0)
        widest = int(apart.argmax())
        first = (
            f"The calibrators differ by up to {_points(apart[widest])}, at a score of "
            f"{score_percents(float(score[widest]))[0]}"
        )
    if close and advised in curves and advised not in (*close, "uncalibrated"):
        first = f"{direction(labels[advised], score, curves[advised])}; {first}"
    limits = [f"{labels[key]} {_limits(*pair)}" for key, pair in bounds.items()]
    return "; ".join([first, *limits])


def _limits(floor: float, ceiling: float) -> str:
    parts = [
        f"{side} {score_percents(bound)[0]}"
        for side, bound in (("below", floor), ("above", ceiling))
        if not np.isnan(bound)
    ]
    return f"cannot go {' or '.join(parts)}"


def _detail(
    labels: Mapping[str, str], curves: Mapping[str, FloatArray], close: Sequence[str]
) -> str:
    if not close:
        return ""
    distance = _points(_distance(curves[key] for key in close))
    names = joined([labels[key] for key in close])
    return f"Over the range of the scores, {names} are at most {distance} apart."


def _points(difference: float) -> str:
    """A distance of two curves, such as "4 points"."""
    size = significant(100.0 * difference, 2)
    return f"{size} {'point' if size == '1' else 'points'}"


def title(analysis: Analysis, methods: Sequence[str]) -> str:
    """What the recommended one of the drawn calibrators, or else all of them, do to the scores."""
    drawn = [key for key in methods if key != "uncalibrated"]
    if not drawn:
        return "The scores are unchanged"
    advised = analysis.recommendation.method
    keys = [advised] if advised in drawn else drawn
    inside = _scores_inside(analysis)
    score = analysis.uncalibrated.function.score[inside]
    curves = [analysis.methods[key].function.calibrated[inside] for key in keys]
    name = "The calibrators"
    if len(keys) == 1:
        name = analysis.methods[keys[0]].short_label
        clause, findings = direction(name, score, curves[0]), function_findings(analysis)
        # The sentence is the heading of the page. If it says that the scores hardly change, the
        # direction of the change would contradict it.
        unchanged = {"uncalibrated", keys[0]} <= set(findings.close)
        if not unchanged and clause not in findings.sentence:
            return clause
    largest = max(float(np.abs(curve - score).max()) for curve in curves)
    return f"{name} change{'s' if len(keys) == 1 else ''} scores by up to {_points(largest)}"


def direction(label: str, score: FloatArray, calibrated: FloatArray) -> str:
    """Where a calibrator raises scores and where it lowers them, in a clause.

    >>> import numpy as np
    >>> score = np.linspace(0.0, 1.0, 101)
    >>> direction("Beta", score, 0.3 + 0.5 * score)
    'Beta raises scores below 60% and lowers others'
    """
    change = calibrated - score
    visible = np.abs(change) >= MIN_CHANGE
    signs = np.sign(change[visible])
    turns = np.flatnonzero(np.diff(signs))
    if not len(signs):
        return f"{label} leaves the scores nearly unchanged"
    verbs = ("raises", "lowers") if signs[0] > 0 else ("lowers", "raises")
    if not len(turns):
        return f"{label} {verbs[0]} the scores"
    if len(turns) > 1:
        return f"{label} raises some ranges of scores and lowers others"
    (at,) = score_percents(float(score[visible][turns[0] : turns[0] + 2].mean()))
    return f"{label} {verbs[0]} scores below {at} and {verbs[1]} others"

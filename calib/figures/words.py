"""Words and numbers on figures: escaped names, digits that mean something, evidence."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

from calib.analysis import Analysis, MethodResult
from calib.analysis.verdict import p_words
from calib.core.predictions import parse_view
from calib.curves.reliability import ReliabilityCurve

LONGEST_NAME = 24
# Between the parts of a crossed slice's name.
CROSSED = " × "


def escaped(text: str) -> str:
    """A name as literal text: plotly would read tags, entities and %{...} in it.

    Examples
    --------
    >>> escaped("<b>bold</b> %{x}")
    '&lt;b&gt;bold&lt;/b&gt; %&#123;x}'
    """
    return html.escape(text, quote=False).replace("%{", "%&#123;")


def shortened(name: str) -> str:
    """A name that fits beside an axis or in a legend; of crossed slices a piece of either.

    Examples
    --------
    >>> shortened("a name that is longer than an axis is wide")
    'a name that is longer t…'
    >>> shortened("a name that is longer than an axis is wide × b")
    'a name that is long… × b'
    """
    if len(name) <= LONGEST_NAME:
        return name
    parts = name.split(CROSSED)
    room, cut = LONGEST_NAME - len(CROSSED) * (len(parts) - 1), dict.fromkeys(parts, "")
    # What a short part leaves is there for the longer ones.
    for left, part in zip(range(len(cut), 0, -1), sorted(cut, key=len), strict=True):
        most = max(room // left, 2)
        cut[part] = part if len(part) <= most else f"{part[: most - 1]}…"
        room -= len(cut[part])
    return CROSSED.join(cut[part] for part in parts)


def probability(p: float) -> str:
    """A probability with three decimals, and more near 0 and 1.

    Examples
    --------
    >>> probability(0.3517), probability(0.00124), probability(0.99987), probability(1.0)
    ('0.352', '0.0012', '0.99987', '1.000')
    """
    distance = min(p, 1.0 - p)
    if distance <= 0.0:
        return f"{p:.3f}"
    decimals = 1 - math.floor(math.log10(distance))
    return f"{p:.{min(max(decimals, 3), 16)}f}"


def span(low: float, high: float) -> str:
    """A range of scores, with decimals enough to tell its ends apart.

    Examples
    --------
    >>> span(0.3, 0.41), span(0.0012, 0.0019)
    ('0.30 to 0.41', '0.00120 to 0.00190')
    """
    width = high - low
    decimals = 2 if width <= 0.0 else max(2, 1 - math.floor(math.log10(width) + 1e-9))
    decimals = min(decimals, 16)
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def band_name(curve: ReliabilityCurve) -> str:
    """The consistency band in a legend, whose columns are as wide as its longest name."""
    kind = "per bin" if curve.band == "per_bin" else "simultaneous"
    return f"{100 * curve.confidence_level:g}% band, {kind}"


def band_meaning(curve: ReliabilityCurve) -> str:
    """What the consistency band of a reliability diagram holds."""
    level = f"{100 * curve.confidence_level:g}%"
    if curve.band == "per_bin":
        return f"if the model were calibrated, each dot would fall in it {level} of the time"
    return f"if the model were calibrated, all dots together would fall in it {level} of the time"


def count(value: float) -> str:
    """A number of rows or a weight.

    Examples
    --------
    >>> count(1250.0), count(17.25)
    ('1,250', '17.2')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def evidence(method: MethodResult) -> str:
    """The KS error of a method and its p-value, adjusted for its other tests."""
    return f"KS {method.ks.statistic:.3f}, {p_words(method.p_adjusted['ks'])}"


def axis_titles(analysis: Analysis) -> tuple[str, str]:
    """What a reliability diagram has across and upward.

    A matrix has two conventions: how often one class came at its score, and how often the predicted
    class, the top label, came true at its confidence.
    """
    if analysis.multiclass is None:
        return "Mean predicted probability", "Observed frequency"
    kind, rank = parse_view(analysis.settings.view)
    if kind == "class":
        name = escaped(shortened(analysis.data.positive_name))
        return f"Mean score of {name}", f"Observed frequency of {name}"
    if kind == "within":
        return f"Mean sum of the {rank} largest scores", f"True class among the {rank} first"
    if rank == 1:
        return "Mean confidence (largest score)", "Top-label accuracy"
    return f"Mean score of rank {rank}", f"Accuracy of the class ranked {rank}"


def verdicts(analysis: Analysis, methods: Iterable[str]) -> str:
    """The verdict in a sentence, and the evidence on every calibrated method among `methods`."""
    others = [analysis.methods[key] for key in methods if key != "uncalibrated"]
    said = [f"After {method.label}: {evidence(method)}." for method in others]
    return " ".join([analysis.verdict.sentence, *said])

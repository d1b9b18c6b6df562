"""How to read a reliability diagram, and whether its number of bins decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from calib.analysis import Analysis
from calib.analysis.verdict import SIGNIFICANCE
from calib.calibrators import CALIBRATORS
from calib.curves.functions import Sensitivity, SensitivityCurve
from calib.curves.rate import RateCurve
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.text import between_percents, joined, level, p_value, plain
from calib.words.measures import band_meaning, chance_level, metric_text

MAX_LISTED_STRETCHES = 3
STABLE = "The conclusion does not depend on the number of bins"
NEARLY_STABLE = "Nearly all numbers of bins lead to the same conclusion"
UNSTABLE = "The conclusion depends on the number of bins"
# If at most this share of binnings disagrees, it may be chance.
MAX_SHARE_BY_CHANCE = 0.05
SENSITIVITY = """
- The coloured bands are intervals of ECE. The band of the strategy that is not in use is fainter.
- The **grey area** is where the ECE of a calibrated model lies with the chosen confidence; the
  **dashed line** is its mean.
- **Hollow points** are within the range expected by chance. If the conclusion changes with the
  number of bins, do not rely on ECE.
"""
BANDS: Mapping[str, str] = {
    "per_bin": "With many bins one dot is often outside by chance; the simultaneous band allows "
    "for that.",
    "simultaneous": "A dot outside is evidence against calibration, whatever the number of bins.",
}
LINES: Mapping[str, str] = {
    "corp": """
- The **CORP line** needs no bins: it is the best-fitting non-decreasing curve (isotonic
  regression). Its band covers the true frequency at any single score {} of the time.
""",
    "smooth": """
- The **smooth line** is a smoothing spline; its smoothness is chosen by cross-validation. Its {}
  band is narrower than the intervals of bins, because it uses neighbouring scores.
""",
}


def reliability(curve: ReliabilityCurve) -> str:
    at = level(curve.confidence_level)
    return f"""
- Each **dot** is a bin: mean predicted probability (x) against observed frequency (y). Dots below
  the diagonal mean that predictions are too high. Larger dots hold more rows.
- The **vertical line** through a dot is the {at} Wilson interval of the observed frequency.
- The **grey area** is the consistency band: {band_meaning(curve)}. {BANDS[curve.band]}
- **Hollow**: fewer than {FEW_ROWS} rows.
"""


def convention(analysis: Analysis) -> str:
    """Which of the two conventions of a reliability diagram is drawn; "" for one score per row."""
    if analysis.multiclass is None:
        return ""
    kind = analysis.settings.view.partition(":")[0]
    name = plain(analysis.data.positive_name)
    if kind == "class":
        return f"""
- **Observed frequency** of one class: at each score of {name}, the share of rows whose class was
  {name}. For the other convention, **top-label accuracy**, choose Top-r with r = 1.
"""
    if analysis.settings.view == "top:1":
        return """
- **Top-label accuracy**: at each confidence, how often the predicted class was the true class. For
  the other convention, the **observed frequency** of one class, choose Class.
"""
    return f"- An outcome is positive if {name} is the true class.\n"


def lines(curves: Sequence[RateCurve]) -> str:
    return "\n".join(LINES[c.kind].format(level(c.confidence_level)).strip() for c in curves)


def sensitivity_words(analysis: Analysis, sensitivity: Sensitivity, method: str) -> tuple[str, str]:
    """Whether the conclusion depends on the number of bins, as a heading, and the evidence."""
    curves = (sensitivity.quantile, sensitivity.uniform)
    first, last = curves[0].n_bins[0], curves[0].n_bins[-1]
    low = min(float(curve.ece.min()) for curve in curves)
    high = max(float(curve.ece.max()) for curve in curves)
    label = CALIBRATORS[method].label
    size = (
        f"With {first} to {last} bins the expected calibration error (ECE) of {label} is "
        f"{between_percents(low, high)}"
    )
    if sensitivity.flips:
        where = " and ".join(_where(curve) for curve in curves)
        n_more = sum(int(curve.miscalibrated.sum()) for curve in curves)
        n_all = sum(len(curve.n_bins) for curve in curves)
        few = min(sensitivity.share, 1.0 - sensitivity.share) <= MAX_SHARE_BY_CHANCE
        heading = NEARLY_STABLE if few else UNSTABLE
        evidence = (
            f"{size}. It is above what a calibrated model would show by chance in {n_more} of "
            f"{n_all} binnings: {where}."
        )
    else:
        when = "always" if sensitivity.share == 1.0 else "never"
        heading = STABLE
        evidence = f"{size}, {when} above what a calibrated model would show by chance."
    p = analysis.p_adjusted(method)["ks"]
    rejects = "rejects" if p < SIGNIFICANCE else "does not reject"
    without_bins = (
        f"The KS test, which uses no bins, {rejects} calibration ({p_value(p)} after Holm's "
        "correction)."
    )
    return heading, f"{evidence} {_with_chosen_bins(analysis, method)} {without_bins}"


def _with_chosen_bins(analysis: Analysis, method: str) -> str:
    settings = analysis.settings
    key = f"ece_{settings.strategy}"
    now = analysis.methods[method].metrics[key]
    error = metric_text(key, now.value)
    return (
        f"With the chosen {settings.n_bins} {settings.strategy} bins it is {error} "
        f"({chance_level(key, now)})."
    )


def _where(curve: SensitivityCurve) -> str:
    more = [int(n) for n in curve.n_bins[curve.miscalibrated]]
    name = f"{curve.strategy} bins"
    if not more:
        return f"with no number of {name}"
    if len(more) == len(curve.n_bins):
        return f"with every number of {name}"
    stretches = runs(more)
    if len(stretches) > MAX_LISTED_STRETCHES:
        return f"with {len(more)} of {len(curve.n_bins)} numbers of {name}"
    return f"with {joined(stretches)} {name}"


def runs(numbers: list[int]) -> list[str]:
    breaks = [i for i, (a, b) in enumerate(pairwise(numbers), start=1) if b != a + 1]
    cuts = [0, *breaks, len(numbers)]
    stretches = [numbers[start:end] for start, end in pairwise(cuts)]
    return [f"{p[0]} to {p[-1]}" if len(p) > 1 else str(p[0]) for p in stretches]

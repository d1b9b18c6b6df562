"""What the sensitivity strip says, in a sentence or two."""

from __future__ import annotations

from itertools import pairwise

from calib.analysis import Analysis
from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.sensitivity import Sensitivity, SensitivityCurve
from calib.text import number, p_value
from calib.ui.layout.words import on_average
from calib.ui.session.choices import method_label

MAX_RUNS = 3
STABLE = "**The conclusion does not depend on the number of bins.**"
NEARLY_STABLE = "**Nearly all numbers of bins lead to the same conclusion.**"
UNSTABLE = "**The conclusion depends on the number of bins.**"
# A share of binnings this small disagrees by chance.
BY_CHANCE = 0.05


def sensitivity_sentence(analysis: Analysis, sensitivity: Sensitivity, method: str) -> str:
    """Whether the conclusion from ECE depends on the bins, at which numbers, and the KS test."""
    curves = (sensitivity.quantile, sensitivity.uniform)
    first, last = curves[0].n_bins[0], curves[0].n_bins[-1]
    low = min(float(curve.ece.min()) for curve in curves)
    high = max(float(curve.ece.max()) for curve in curves)
    label = method_label(method)
    size = (
        f"With {first} to {last} bins the ECE of {label} is {number(low, 3)} to {number(high, 3)}"
    )
    if sensitivity.flips:
        where = " and ".join(_where(curve) for curve in curves)
        n_more = sum(int(curve.miscalibrated.sum()) for curve in curves)
        n_all = sum(len(curve.n_bins) for curve in curves)
        few = min(sensitivity.share, 1.0 - sensitivity.share) <= BY_CHANCE
        found = (
            f"{NEARLY_STABLE if few else UNSTABLE} {size}. It is above what a "
            f"calibrated model would show by chance in {n_more} of {n_all} binnings: {where}."
        )
    elif sensitivity.share == 1.0:
        found = f"{STABLE} {size}, always above what a calibrated model would show by chance."
    else:
        found = f"{STABLE} {size}, never above what a calibrated model would show by chance."
    return f"{found} {_calibrated(analysis, method)} {_without_bins(analysis, method)}"


def _calibrated(analysis: Analysis, method: str) -> str:
    settings = analysis.settings
    now = analysis.methods[method].metrics[f"ece_{settings.strategy}"]
    return (
        f"With the chosen {settings.n_bins} {settings.strategy} bins it is {number(now.value)}. "
        f"{on_average(now)}"
    )


def _where(curve: SensitivityCurve) -> str:
    more = [int(n) for n in curve.n_bins[curve.miscalibrated]]
    name = f"{curve.strategy} bins"
    if not more:
        return f"with no number of {name}"
    if len(more) == len(curve.n_bins):
        return f"with every number of {name}"
    found = runs(more)
    if len(found) > MAX_RUNS:
        return f"with {len(more)} of {len(curve.n_bins)} numbers of {name}"
    return f"with {_listed(found)} {name}"


def runs(numbers: list[int]) -> list[str]:
    """Runs of neighbouring whole numbers, in words.

    >>> runs([5, 6, 7, 9, 12, 13])
    ['5 to 7', '9', '12 to 13']
    """
    breaks = [i for i, (a, b) in enumerate(pairwise(numbers), start=1) if b != a + 1]
    cuts = [0, *breaks, len(numbers)]
    parts = [numbers[start:end] for start, end in pairwise(cuts)]
    return [f"{p[0]} to {p[-1]}" if len(p) > 1 else str(p[0]) for p in parts]


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _without_bins(analysis: Analysis, method: str) -> str:
    p = analysis.methods[method].p_adjusted["ks"]
    rejects = "rejects" if p < SIGNIFICANCE else "does not reject"
    return f"The KS test, which uses no bins, {rejects} calibration ({p_value(p)})."


SENSITIVITY_READING = """
- The coloured bands are intervals of ECE. The band of the strategy that is not in use is fainter.
- The **grey area** is where the ECE of a calibrated model lies with the chosen confidence; the
  **dashed line** is its mean.
- **Hollow points** are within the range expected by chance. If the conclusion changes with the
  number of bins, do not rely on ECE.
"""

"""How to read the reliability diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calib.analysis import Analysis
from calib.curves.rate import RateCurve
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.words import band_meaning
from calib.text import level, plain
from calib.ui.session.choices import method_label


def reliability(curve: ReliabilityCurve) -> str:
    """How to read the reliability diagram."""
    at = level(curve.confidence_level)
    return f"""
- Each **dot** is a bin: mean predicted probability (x) against observed frequency (y). Dots below
  the diagonal mean that predictions are too high. Larger dots hold more rows.
- The **vertical line** through a dot is the {at} Wilson interval of the observed frequency.
- The **grey area** is the consistency band: {band_meaning(curve)}. {BANDS[curve.band]}
- A **hollow dot** has fewer than {FEW_ROWS} rows, which is too few to judge it alone.
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
    """How to read the lines that are drawn beside the bins."""
    return "\n".join(LINES[c.kind].format(level(c.confidence_level)).strip() for c in curves)


def band_of(method: str) -> str:
    """Whose band and lines a diagram of several methods has."""
    return f"\n- The grey band, and any lines, are those of **{method_label(method)}**.\n"


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

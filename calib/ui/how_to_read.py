"""How to read the charts of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calib.analysis import Analysis
from calib.crossfit.epsilon import EpsilonCurve
from calib.curves.functions import CompactLogitCurve
from calib.curves.rate import RateCurve
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.figures.words import band_meaning
from calib.text import interval, level, number, plain, significant
from calib.ui.words import method_label, n_folds


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


def compact_logit(curve: CompactLogitCurve) -> str:
    """Where epsilon comes from, and what it changes."""
    origin = (
        "the automatic one for these scores"
        if curve.epsilon == curve.rule
        else f"chosen here; the automatic one is {significant(curve.rule)}"
    )
    return f"""
- **ε = {significant(curve.epsilon)}** is {origin}.
- The **compact logit** spreads out scores near 0 and 1 as the logit does, and stays within [0, 1].
  Splines are fitted on this scale, so they can follow scores that are crowded at the ends.
- Scores outside [ε, 1 − ε] are left unchanged. If there are none, ε has almost no effect.
"""


CUMULATIVE = """
- Rows are sorted by score. The curve adds up **observed minus predicted** over them, without bins
  and without smoothing.
- Where the curve **falls**, predictions are too high; where it **rises**, too low; flat means
  calibrated.
- The **arrow** is the KS error: the largest distance of the curve from zero. If the first method
  shown were calibrated, its curve would stay in the grey band with the chosen confidence.
- The **Kuiper error** is the distance from the lowest to the highest point (hollow markers). It is
  the largest gap over any interval of scores.
"""
PANELS = (
    "(a) Cumulative score and cumulative outcome against the share of rows. (b) The same against "
    "the cumulative score, so that the score is a straight line. (c) Score and observed rate "
    "against the share of rows. (d) Observed rate against the score. The rate is the slope of a "
    "spline through the cumulative outcomes. [Gupta et al. 2021](https://arxiv.org/abs/2006.12800)"
    ", Figure 1."
)
TABLE = (
    "Below each value: its {} confidence interval, and for calibration errors what a calibrated "
    "model of this size shows on average. ★ Best in column. Methods are ranked by log loss, "
    "because ECE depends on the binning."
)
BEFORE_AFTER = (
    "Mean predicted probability (x) against observed frequency (y). The grey area is the "
    f"consistency band: {{}}. Hollow dots have fewer than {FEW_ROWS} rows."
)
LAMBDA = """
- A larger **λ** gives a smoother curve. The loss is cross-validated.
- The **large marker** is the λ in use. **Spline** adds a small penalty per degree of freedom
  (d.f.), because the minimum of a flat curve is often noise. Its marker may therefore lie to the
  right of the minimum.
"""
FUNCTIONS = """
- Each **line** is a calibrator: it maps the model's score (x) to a calibrated probability (y).
- The **dots** are bins of the uncalibrated scores: mean score (x) against observed frequency (y). A
  good calibrator passes through them, also on rows that it was not fitted on.
"""
MAPS_OF_A_VIEW = (
    "Calibrators of a matrix use the whole row, so a curve over one score cannot show them. The "
    "curves below are fitted to the score of this view alone, and methods that need the matrix are "
    "left out. All other pages show the calibrators of the matrix."
)
MATRIX_CHANGE = """
- **All classes together**, whatever the view: multiclass log loss uses the score of the true class,
  and the multiclass Brier score sums over the classes.
- **Accuracy** changes only if a method reorders the classes of a row. Temperature scaling, clipping
  and the KS spline never do.
"""
CLIPPING = """
- **Clipping** only limits how extreme scores can be: none is below p_min, and each row is divided
  by its sum.
- The best bound is chosen on these same rows, so its loss is optimistic.
  [Lucena 2018](https://arxiv.org/abs/1809.07751), Figure 2.
"""
DIFFERENCE = """
- **Left of zero** is better than the uncalibrated scores.
- If the interval **includes zero**, the difference is inconclusive. Clipped intervals are given in
  full in the table.
- Differences are paired by row, so their intervals are narrower than those of the losses.
"""


def epsilon_matters(
    analysis: Analysis, curves: Sequence[EpsilonCurve], *, is_known: bool = True
) -> str:
    """Whether epsilon matters for these scores: how many are outside, how much the loss moves."""
    known = analysis.compact_logit
    n_all, n = analysis.data.n_calibration, known.n_outside
    outside = (
        f"{'none' if not n else f'{n:,}'} of {n_all:,} scores "
        f"{'is' if n < 2 else 'are'} outside [ε, 1 − ε] at ε = {significant(known.epsilon)}"
    )
    if not curves:
        if is_known:
            return f"**Epsilon has no effect**: no chosen calibrator uses it; {outside}."
        return f"{outside[0].upper()}{outside[1:]}."
    matters = any(_matters(analysis, curve) for curve in curves)
    lead = "Epsilon matters" if matters else "Epsilon matters little"
    moves = "; ".join(_moves(analysis, curve) for curve in curves)
    return f"**{lead} for these scores**: {outside}. {moves}."


def _matters(analysis: Analysis, curve: EpsilonCurve) -> bool:
    """Whether the loss moves by more than its own uncertainty."""
    loss = analysis.methods[curve.key].metrics["log_loss"]
    return bool(curve.swing > (loss.high - loss.low) / 2.0)


def _moves(analysis: Analysis, curve: EpsilonCurve) -> str:
    estimate = analysis.methods[curve.key].metrics["log_loss"]
    at, grid = level(analysis.settings.confidence_level), curve.epsilon
    return (
        f"Over ε from {significant(grid.min(), 1)} to {significant(grid.max(), 2)} the held-out "
        f"log loss of {method_label(curve.key)} moves by {number(curve.swing)} (it is "
        f"{number(estimate.value)}, {at} CI {interval(estimate)})"
    )


def epsilon(analysis: Analysis) -> str:
    """How to read the curve over epsilon."""
    return f"""
- Upper panel: log loss on **held-out rows**, {_rounds_said(analysis)}. The **large marker** is the
  ε in use; the dotted line is the automatic ε. Small steps of the curve are noise.
- Lower panel: rows outside [ε, 1 − ε].
- Do not report the loss at the ε that minimises it on these rows; it is optimistic.
"""


def _rounds_said(analysis: Analysis) -> str:
    if analysis.data.protocol == "test rows":
        return "the test rows, scored by calibrators fitted on the calibration rows"
    return f"each scored by a calibrator fitted on the other folds ({n_folds(analysis)} folds)"

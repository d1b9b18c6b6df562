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
- A **dot** is a bin: its mean score across, the share that came true upward. On the diagonal the
  two agree; below it the scores are too high. Larger dots hold more rows.
- The **line** through a dot is the {at} Wilson interval of the observed frequency.
- The **grey area** is the consistency band: {band_meaning(curve)}. {BANDS[curve.band]}
- A **hollow dot** has fewer than {FEW_ROWS} rows: too few to trust alone.
"""


def convention(analysis: Analysis) -> str:
    """Which of the two conventions of a reliability diagram is drawn; "" for one score per row."""
    if analysis.multiclass is None:
        return ""
    kind = analysis.settings.view.partition(":")[0]
    name = plain(analysis.data.positive_name)
    if kind == "class":
        return f"""
- **Observed frequency** of one class: at each score of {name}, how often {name} came. For the
  other convention, **top-label accuracy**, choose Top-r with r = 1.
"""
    if analysis.settings.view == "top:1":
        return """
- **Top-label accuracy**: at each confidence, how often the predicted class was the true one. For
  the other convention, the **observed frequency** of one class, choose Class.
"""
    return f"- Here an outcome is positive where {name} is the true class.\n"


def lines(curves: Sequence[RateCurve], method: str) -> str:
    """How to read the lines that are drawn beside the bins."""
    said = [LINES[c.kind].format(level(c.confidence_level)).strip() for c in curves]
    return "\n".join([*said, f"- Lines and grey band are those of **{method_label(method)}**."])


BANDS: Mapping[str, str] = {
    "per_bin": "With many bins one of them is then often outside by chance; the simultaneous band "
    "allows for that.",
    "simultaneous": "A dot outside is evidence against calibration, whatever the number of bins.",
}
LINES: Mapping[str, str] = {
    "corp": """
- The **CORP line** needs no bins: of all lines that never fall it is the one nearest to the
  outcomes. Its band holds the true frequency at a score {} of the time, one score at a time.
""",
    "smooth": """
- The **smooth line** is a spline, bent as far as rows that it left out bear out. Its {} band is
  narrower than that of bins: a smooth curve learns from neighbouring scores.
""",
}


def compact_logit(curve: CompactLogitCurve) -> str:
    """Which epsilon is used, where it comes from, and how many rows it leaves alone."""
    origin = (
        "the paper's rule for these scores"
        if curve.epsilon == curve.rule
        else f"chosen; the paper's rule gives {significant(curve.rule)}"
    )
    rows = f"{curve.n_outside:,} " + ("row has" if curve.n_outside == 1 else "rows have")
    return f"""
- **ε = {significant(curve.epsilon)}**: {origin}.
- **{rows}** a score nearer to 0 or 1 than ε. There the transform is the identity.
- The compact logit stretches scores near 0 and 1 as the logit does, and stays within [0, 1]. The
  spline is fitted on this scale, so it can bend where scores crowd together at the ends.
"""


CUMULATIVE = """
- Rows are sorted by score. The curve adds up **observed minus predicted** along them: no bins, no
  smoothing.
- It **falls** over scores that come true less often than stated and **climbs** over those that come
  true more often. Flat is calibrated.
- The **KS error** is its largest distance from zero (filled marker). A calibrated model's curve
  stays in the grey band with the chosen probability.
- The **Kuiper error** is the distance from its lowest to its highest point (hollow markers): the
  largest gap over any stretch of scores.
"""
PANELS = (
    "(a) cumulative score and cumulative outcome against the share of rows; (b) the same, with the "
    "x-axis stretched so that the cumulative score is a straight line; (c) score and recalibrated "
    "probability against the share of rows; (d) recalibrated probability against the score. Gupta "
    "et al. 2021, arXiv 2006.12800."
)
BEFORE_AFTER = (
    "Across the mean predicted probability, upward the observed frequency. The grey area is the "
    f"consistency band: {{}}. Hollow dots have fewer than {FEW_ROWS} rows."
)
LAMBDA = """
λ weighs the penalty: to the right the map is smoother, to the left it follows single rows. The loss
is that of every row under the fit to all others. A map is fitted at the λ of the **large marker**;
**Spline** charges every degree of freedom (d.f.) a little more than this loss does, since the least
of a flat curve is often noise, so its marker may lie right of the lowest point.
"""
FUNCTIONS = """
- A **line** is a calibrator: a score on the x-axis becomes the probability on the y-axis.
- The **dots** are the bins of the uncalibrated scores. A good map runs through them on rows that it
  has not seen.
"""
MAPS_OF_A_VIEW = (
    "What calibrates a matrix reads whole rows: no curve over one score shows it. Here are drawn "
    "maps of this view alone, each method fitted to its one score; those that need the matrix "
    "have none. The other pages show the matrix calibrated as a whole."
)
MATRIX_CHANGE = """
- **All classes at once**, whatever the view: multiclass log loss is that of the true class's score,
  the multiclass Brier score sums over the classes.
- **Accuracy** moves where a method ranks the classes of a row anew. Temperature, clipping and the
  KS spline never do.
"""
CLIPPING = """
- **Clipping** only keeps scores from being too sure: none is below p_min, and each row is divided
  by its sum.
- What calibration gains **beyond the best bound** is more than that. The best bound is chosen on
  these very rows, so it flatters clipping. Lucena 2018, arXiv 1809.07751, Figure 2.
"""
DIFFERENCE = """
- **Left of zero** is better than leaving the scores as they are.
- An interval that **reaches zero** says: can't tell. One that leaves the panel goes on: the table
  below has its ends.
- Both losses are taken on the same rows, so the intervals are paired and narrower than those of the
  losses themselves.
"""


def epsilon(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
    """What the curve over epsilon shows, how much it says, and against which noise."""
    moves = " ".join(_moves(analysis, curve) for curve in curves)
    return f"""
- Above: log loss on **held-out rows**, {_rounds_said(analysis)}. The **large marker** is the ε in
  use, with the number of the Compare page; the dotted line is the paper's rule.
- Below: rows outside [ε, 1 − ε]. While there are none, ε only rescales the axis of the scores.
- {moves} Small steps of the curve are noise.
- To choose the ε of the least loss here, and then to quote that loss, would flatter it.
"""


def _moves(analysis: Analysis, curve: EpsilonCurve) -> str:
    estimate = analysis.methods[curve.key].metrics["log_loss"]
    at = level(analysis.settings.confidence_level)
    return (
        f"{method_label(curve.key)}'s log loss is {number(estimate.value)} ({at} interval "
        f"{interval(estimate)}); over all ε it moves by {number(curve.swing)}."
    )


def _rounds_said(analysis: Analysis) -> str:
    if analysis.data.protocol == "test rows":
        return "the test rows, by maps of the calibration rows"
    return f"each scored by a map of the other folds ({n_folds(analysis)} folds)"

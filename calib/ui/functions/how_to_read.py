"""How to read the charts of calibration functions, and whether epsilon matters."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis import Analysis
from calib.crossfit.epsilon import EpsilonCurve
from calib.curves.functions import CompactLogitCurve
from calib.text import interval, level, number, significant
from calib.ui.layout.words import n_folds
from calib.ui.session.choices import method_label

LAMBDA = """
- A larger **λ** gives a smoother curve. The loss is cross-validated.
- The **large marker** is the λ in use. **Spline** adds a small penalty per degree of freedom
  (d.f.), because the minimum of a flat curve is often noise. Its marker may therefore lie to the
  right of the minimum.
"""
FUNCTIONS = """
- Each **line** is a calibrator: it maps the model's score (x) to a calibrated probability (y).
- The **dots** are bins of the uncalibrated scores: mean score (x) against observed frequency (y).
  The line of a good calibrator is near the dots, also for rows on which it was not fitted.
"""
MAPS_OF_A_VIEW = (
    "Calibrators of a matrix use the whole row, so a curve over one score cannot show them. The "
    "curves below are fitted to the score of this view alone, and methods that need the matrix are "
    "left out. All other pages show the calibrators of the matrix."
)


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
- Upper panel: log loss on **held-out rows**, {_folds_sentence(analysis)}. The **large marker** is
  the ε in use; the dotted line is the automatic ε. Small steps of the curve are noise.
- Lower panel: rows outside [ε, 1 − ε].
- Do not report the loss at the ε that minimises it on these rows; it is optimistic.
"""


def _folds_sentence(analysis: Analysis) -> str:
    if analysis.data.protocol == "test rows":
        return "the test rows, scored by calibrators fitted on the calibration rows"
    return f"each scored by a calibrator fitted on the other folds ({n_folds(analysis)} folds)"

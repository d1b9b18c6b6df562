"""Sentences and numbers as the pages print them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calib.analysis import Analysis, DataSummary, MethodResult
from calib.calibrators import CALIBRATORS
from calib.comparison import Estimate
from calib.curves.functions import CompactLogitCurve
from calib.curves.rate import RateCurve
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.epsilon import EpsilonCurve
from calib.loading.problems import plural
from calib.methods import method_of
from calib.multiclass import MULTICLASS_CALIBRATORS
from calib.verdict import p_words as p_words  # pages print these two
from calib.verdict import signed as signed

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~:&])")


def plain(text: str) -> str:
    r"""Text of a person's file, made harmless for Markdown: an image in it would be loaded.

    Examples
    --------
    >>> plain("![](http://x)")
    '\\!\\[\\]\\(http\\://x\\)'
    """
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def number(value: float, digits: int = 4) -> str:
    """A number with its digits; a dash where there is none.

    Examples
    --------
    >>> number(0.12345), number(-2.5, 1), number(float("nan"))
    ('0.1235', '−2.5', '–')
    """
    return f"{value:.{digits}f}".replace("-", "−") if value == value else "–"


def interval(estimate: Estimate, digits: int = 4, *, signed: bool = False) -> str:
    """Bounds of an interval, "" where there is none.

    Examples
    --------
    >>> interval(Estimate(0.1, 0.05, 0.15), 2), interval(Estimate(-0.1, -0.2, 0.0), 1, signed=True)
    ('0.05 to 0.15', '−0.2 to +0.0')
    """
    if estimate.low != estimate.low:
        return ""
    sign = "+" if signed else ""
    low, high = f"{estimate.low:{sign}.{digits}f}", f"{estimate.high:{sign}.{digits}f}"
    return f"{low} to {high}".replace("-", "−")


def percent(share: float) -> str:
    """A share of 1 in percent.

    Examples
    --------
    >>> percent(0.1234), percent(0.0004)
    ('12.3%', '0.04%')
    """
    return f"{100 * share:.1f}%" if share >= 0.001 or share == 0 else f"{100 * share:.2g}%"


def level(share: float) -> str:
    """A confidence level: "95%"."""
    return f"{100 * share:g}%"


def protocol(analysis: Analysis) -> str:
    """Which rows the methods were fitted on, and on which they are scored."""
    data = analysis.data
    if data.protocol == "test rows":
        return (
            f"Fitted on {data.n_calibration:,} calibration rows, scored on {data.n_rows:,} test "
            "rows."
        )
    return (
        f"{analysis.settings.n_folds}-fold cross-fitted on {data.n_rows:,} rows: each row is "
        "scored by the map that did not see it. The maps drawn are refitted on all rows."
    )


def best_fix(analysis: Analysis) -> str:
    """The recommendation with the interval of what it gains."""
    chosen = analysis.recommendation.method
    if chosen in ("", "uncalibrated"):
        return analysis.recommendation.sentence
    compared = analysis.multiclass.results if analysis.multiclass else analysis.methods
    change = compared[chosen].differences["log_loss"]
    at = level(analysis.settings.confidence_level)
    return (
        f"{analysis.recommendation.sentence} Paired change {signed(change.value)}, "
        f"{at} interval {interval(change, signed=True)}."
    )


def set_aside(data: DataSummary) -> str:
    """Rows of the file that are not used, and why; "" if there are none."""
    if not data.set_aside:
        return ""
    total = sum(data.set_aside.values())
    reasons = "; ".join(f"{count:,} {reason}" for reason, count in data.set_aside.items())
    return f"{total:,} rows are set aside: {reasons}."


def method_label(key: str) -> str:
    """Name of a method on the page."""
    return method_of(key).label


def line_label(kind: str) -> str:
    """Name of a line beside the bins."""
    return {"corp": "CORP", "smooth": "Smooth"}[kind]


def assumptions(keys: Sequence[str], *, matrix: bool = False) -> str:
    """One line a method: what it assumes."""
    entries = [MULTICLASS_CALIBRATORS[key] if matrix else CALIBRATORS[key] for key in keys]
    return "\n".join(f"- **{plain(entry.label)}**: {plain(entry.summary)}" for entry in entries)


def formula(method: MethodResult) -> str:
    """A fitted map in words and numbers, and its knots."""
    said = plain(method.function.formula).replace("lambda =", "λ =").replace("epsilon =", "ε =")
    n = len(method.function.knots)
    return said if n == 0 or "knots" in said else f"{said} ({plural(n, 'knot')})"


def choice(name: str, value: Any) -> str:
    """One changed setting, as its chip says it.

    Examples
    --------
    >>> choice("n_bins", 20), choice("epsilon", 0.001)
    ('20 bins', 'ε = 0.001')
    """
    say = CHOICES[name]
    said = say(value) if callable(say) else say.format(value)
    # Only words begin with a capital: a capital ε is another letter.
    return said[:1].upper() + said[1:] if said[:1].isascii() else said


CHOICES: Mapping[str, str | Callable[[Any], str]] = {
    "view": "View {}",
    "methods": lambda found: f"{len(found)} methods",
    "strategy": "{} bins",
    "n_bins": "{} bins",
    "epsilon": "ε = {:.3g}",
    "n_folds": "{} folds",
    "seed": "Seed {}",
    "confidence_level": lambda share: f"{level(share)} intervals",
    "axis": "{} axes",
    "shown": lambda found: f"{len(found)} shown",
    "models": lambda found: f"{len(found)} of the models",
    "lines": lambda found: f"Line: {', '.join(map(line_label, found))}",
    "bin_of": lambda key: f"Bins of {method_label(key)}",
    "bin_at": "Bin around {:.3g}",
    "over_epsilon": lambda found: f"{len(found)} over ε",
    "cumulative": lambda key: f"Panels of {method_label(key)}",
    "classes": lambda key: f"Classes of {method_label(key)}",
    "knots": "Knots marked",
    "auto_bins": "Auto bins",
    "after": lambda key: f"After {method_label(key)}",
    "slice_by": lambda name: f"Slice by {plain(name)}",
    "cross": lambda name: f"Crossed with {plain(name)}",
    "n_ranges": "{} ranges",
    "picked": lambda found: f"{len(found)} slices laid over",
    "apart": "A slice apart",
    "time": lambda name: f"Time: {plain(name)}",
    "unit": "Periods: {}",
    "cost_fp": "False positive costs {:g}",
    "cost_fn": "False negative costs {:g}",
    "capacity": lambda share: f"Capacity {percent(share)}",
    "count_from": "Scores from {:g}",
    "count_to": "Scores to {:g}",
}


def meaning(analysis: Analysis, key: str) -> str:
    """What a column of the metric table means."""
    return next(column.meaning for column in analysis.columns if column.key == key)


def bins_said(curve: ReliabilityCurve) -> str:
    """Number of occupied bins, and what is to be known about the others."""
    said = [f"{plural(len(curve.rows), 'bin')} with rows"]
    if curve.n_empty:
        said.append(f"{curve.n_empty} empty or merged")
    n_few = int(curve.few.sum())
    if n_few:
        said.append(f"{n_few} with fewer than {FEW_ROWS} rows (hollow dots)")
    return ", ".join(said) + "."


def reliability_reading(curve: ReliabilityCurve) -> str:
    """How to read the reliability diagram."""
    at = level(curve.confidence_level)
    return f"""
- A **dot** is a bin: its mean score across, the share that came true upward. On the diagonal the
  two agree; below it the scores are too high. Larger dots hold more rows.
- The **line** through a dot is the {at} Wilson interval of the observed frequency.
- The **grey band** answers another question: where would the dot of a perfectly calibrated model
  fall, {at} of the time?
- A **hollow dot** has fewer than {FEW_ROWS} rows: too few to trust alone.
"""


def convention(analysis: Analysis) -> str:
    """Which of the two conventions of a reliability diagram is drawn; "" for one score a row."""
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


def lines_reading(curves: Sequence[RateCurve], method: str) -> str:
    """How to read the lines that are drawn beside the bins."""
    said = [LINES_READING[c.kind].format(level(c.confidence_level)).strip() for c in curves]
    return "\n".join([*said, f"- Lines and grey band are those of **{method_label(method)}**."])


LINES_READING: Mapping[str, str] = {
    "corp": """
- The **CORP line** needs no bins: of all lines that never fall it is the one nearest to the
  outcomes. Its band holds the true frequency at a score {} of the time, one score at a time.
""",
    "smooth": """
- The **smooth line** is a spline, bent as far as rows that it left out bear out. Its {} band is
  narrower than that of bins: a smooth curve learns from neighbouring scores.
""",
}


def compact_logit_reading(curve: CompactLogitCurve) -> str:
    """Which epsilon is used, where it comes from, and how many rows it leaves alone."""
    origin = (
        "the paper's rule for these scores"
        if curve.epsilon == curve.rule
        else f"chosen; the paper's rule gives {curve.rule:.3g}"
    )
    rows = f"{curve.n_outside:,} " + ("row has" if curve.n_outside == 1 else "rows have")
    return f"""
- **ε = {curve.epsilon:.3g}**: {origin}.
- **{rows}** a score nearer to 0 or 1 than ε. There the transform is the identity.
- The compact logit stretches scores near 0 and 1 as the logit does, and stays within [0, 1]. The
  spline is fitted on this scale, so it can bend where scores crowd together at the ends.
"""


CUMULATIVE_READING = """
- Rows are sorted by score. The curve adds up **observed minus predicted** along them: no bins, no
  smoothing.
- It **falls** over scores that come true less often than stated and **climbs** over those that come
  true more often. Flat is calibrated.
- The **KS error** is its largest distance from zero (filled marker). A calibrated model's curve
  stays in the grey band with the chosen probability.
- The **Kuiper error** is the distance from its lowest to its highest point (hollow markers): the
  largest gap over any stretch of scores.
"""
PANELS_READING = (
    "(a) cumulative score and cumulative outcome against the share of rows; (b) the same, with the "
    "x-axis stretched so that the cumulative score is a straight line; (c) score and recalibrated "
    "probability against the share of rows; (d) recalibrated probability against the score. Gupta "
    "et al. 2021, arXiv 2006.12800."
)
BEFORE_AFTER_READING = (
    "Across the mean predicted probability, upward the observed frequency. The grey band is where "
    f"the dots of calibrated scores fall {{}} of the time, hollow dots have fewer than {FEW_ROWS} "
    "rows."
)
LAMBDA_READING = """
λ weighs the penalty: to the right the map is smoother, to the left it follows single rows. The loss
is that of every row under the fit to all others. A map is fitted at the λ of the **large marker**;
**Spline** charges every degree of freedom (d.f.) a little more than this loss does, since the least
of a flat curve is often noise, so its marker may lie right of the lowest point.
"""
FUNCTIONS_READING = """
- A **line** is a calibrator: a score on the x-axis becomes the probability on the y-axis.
- The **dots** are the bins of the uncalibrated scores. A good map runs through them on rows that it
  has not seen.
"""
MAPS_OF_A_VIEW = (
    "What calibrates a matrix reads whole rows: no curve over one score shows it. Here are drawn "
    "maps of this view alone, each method fitted to its one score; those that need the matrix "
    "have none. The other pages show the matrix calibrated as a whole."
)
MATRIX_CHANGE_READING = """
- **All classes at once**, whatever the view: log loss is that of the true class's score, the Brier
  score sums over the classes.
- **Accuracy** moves where a method ranks the classes of a row anew. Temperature, clipping and the
  KS spline never do.
"""
CLIPPING_READING = """
- **Clipping** only keeps scores from being too sure: none is below p_min, and each row is divided
  by its sum.
- What calibration gains **beyond the best bound** is more than that. The best bound is chosen on
  these very rows, so it flatters clipping. Lucena 2018, arXiv 1809.07751, Figure 2.
"""
DIFFERENCE_READING = """
- **Left of zero** is better than leaving the scores as they are.
- An interval that **reaches zero** says: can't tell. One that leaves the panel goes on: the table
  below has its ends.
- Both losses are taken on the same rows, so the intervals are paired and narrower than those of the
  losses themselves.
"""


def epsilon_reading(analysis: Analysis, curves: Sequence[EpsilonCurve]) -> str:
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
    return f"each scored by a map of the other folds ({analysis.settings.n_folds} folds)"


def fitted_title(analysis: Analysis) -> str:
    """Heading of the maps over the rows that they were fitted on."""
    data = analysis.data
    kind = "Calibration" if data.protocol == "test rows" else "All"
    return f"{kind} rows ({data.n_calibration:,}): fitted on these"


def scored_title(analysis: Analysis) -> str:
    """Heading of the maps over the test rows."""
    return f"Test rows ({analysis.data.n_rows:,}): not seen in fitting"

"""Sentences and numbers as the pages print them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from calib.analysis import Analysis, DataSummary, MethodResult
from calib.analysis.verdict import p_words as p_words  # pages print these two
from calib.analysis.verdict import signed as signed
from calib.calibrators import CALIBRATORS
from calib.core.origin import Origin
from calib.crossfit.comparison import Estimate
from calib.curves.reliability import FEW_ROWS, ReliabilityCurve
from calib.loading.problems import plural
from calib.methods import method_of
from calib.multiclass import MULTICLASS_CALIBRATORS

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~:&])")
# Streamlit reads addresses, icons, emoji and arrows in text whose Markdown has been escaped, too:
# it finds them after the escapes are gone. An invisible word joiner keeps their parts apart.
JOINER = "\u2060"
ACTIVE = re.compile(
    r"(?<=:)(?=//)|(?<=:)(?=[\w+/-]+:)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)|(?<=[<~>-])(?=[->=]+(\s|$))",
    re.IGNORECASE,
)
CODE = re.compile(r"(`[^`]+`)")


def plain(text: str) -> str:
    r"""Text of a person's file, shown by Markdown as it is: an image in it would be loaded.

    All text that comes from data, a link or a report passes here on its way to Markdown: to
    sentences and to labels, and to the options of pills, radio buttons and segmented controls.
    Options of select boxes, cells of data frames and input fields are not Markdown.

    Examples
    --------
    >>> plain("![](x) **b**")
    '\\!\\[\\]\\(x\\) \\*\\*b\\*\\*'
    >>> plain("http://x").replace(JOINER, "|")
    'http\\:|//x'
    """
    return _escaped(" ".join(text.split()))


def sentence(text: str) -> str:
    r"""A sentence that names parts of a file in backticks: these stay code, all else is text.

    Examples
    --------
    >>> sentence("Column `a*b` holds 'c*d'.")
    "Column `a*b` holds 'c\\*d'\\."
    """
    parts = CODE.split(" ".join(text.split()))
    # Icons are found in code too.
    return "".join(
        part.replace(":material/", f":{JOINER}material/")
        if CODE.fullmatch(part)
        else _escaped(part)
        for part in parts
    )


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", ACTIVE.sub(JOINER, text))


def number(value: float, digits: int = 4) -> str:
    """A number with its digits; a dash where there is none.

    Examples
    --------
    >>> number(0.12345), number(-1250.5, 1), number(float("nan"))
    ('0.1235', '−1,250.5', '–')
    """
    return f"{value:,.{digits}f}".replace("-", "−") if value == value else "–"


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


def calibrated(estimate: Estimate, digits: int = 4) -> str:
    """A calibration error's noise floor, behind its number; "" where there is none.

    Examples
    --------
    >>> calibrated(Estimate(0.2, noise_floor=0.148), 3), calibrated(Estimate(0.2))
    (' (calibrated: 0.148)', '')
    """
    floor = estimate.noise_floor
    return f" (calibrated: {number(floor, digits)})" if floor == floor else ""


def on_average(estimate: Estimate, digits: int = 4) -> str:
    """The same in a sentence.

    Examples
    --------
    >>> on_average(Estimate(0.2, noise_floor=0.148), 3)
    'A calibrated model of this size shows 0.148 on average.'
    """
    return (
        f"A calibrated model of this size shows {number(estimate.noise_floor, digits)} on average."
    )


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
    named = f" in {named_folds(data.origin)}" if data.named_folds else ""
    return (
        f"{n_folds(analysis)}-fold cross-fitted on {data.n_rows:,} rows{named}: each row is "
        "scored by the map that did not see it. The maps drawn are refitted on all rows."
    )


def n_folds(analysis: Analysis) -> int:
    """Number of folds: those that the data name, else those of the settings."""
    return analysis.data.named_folds or analysis.settings.n_folds


def named_folds(origin: Origin | None) -> str:
    """Whose folds the methods are cross-fitted in, where the data name them.

    Examples
    --------
    >>> named_folds(Origin(fold="cv fold")), named_folds(None)
    ('the folds of column cv fold', 'the folds that the data name')
    """
    if origin is None or not origin.fold:
        return "the folds that the data name"
    return f"the folds of column {plain(origin.fold)}"


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


def label(analysis: Analysis, key: str) -> str:
    """Heading of a column of the metric table, which names the view of a matrix."""
    return next(column.label for column in analysis.columns if column.key == key)


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


def fitted_title(analysis: Analysis) -> str:
    """Heading of the maps over the rows that they were fitted on."""
    data = analysis.data
    kind = "Calibration" if data.protocol == "test rows" else "All"
    return f"{kind} rows ({data.n_calibration:,}): fitted on these"


def scored_title(analysis: Analysis) -> str:
    """Heading of the maps over the test rows."""
    return f"Test rows ({analysis.data.n_rows:,}): not seen in fitting"

"""What the Reliability page opens with: the verdicts of the shown methods, and its axes."""

from __future__ import annotations

from collections.abc import Sequence

from calib.analysis import Analysis, LiveAnalysis
from calib.figures.axes import AxisKind
from calib.figures.explorer import automatic_axis
from calib.text import joined, percent, plain
from calib.ui.session import choices, results
from calib.ui.session.session import Session


def sentences(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> str:
    """One sentence per answer, in the order of the methods: "Uncalibrated: overconfident."."""
    recommended = analysis.recommendation.method
    labels: dict[str, list[str]] = {}
    for key in shown:
        answer = results.verdict(session, analysis, key).summary
        label = plain(analysis.methods[key].short_label) + (
            " (recommended)" if key == recommended else ""
        )
        labels.setdefault(answer, []).append(label)
    return " ".join(f"{joined(names)}: {answer}." for answer, names in labels.items())


def finding(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> str:
    """What is wrong with the first method. The chart says where the largest gap is."""
    first = shown[0]
    name = f"**{plain(analysis.methods[first].label)}**: " if len(shown) > 1 else ""
    return f"{name}{plain(results.verdict(session, analysis, first).finding or '')}"


def axis(session: Session, analysis: Analysis) -> AxisKind:
    return session[choices.AXIS] or automatic_axis(analysis)


def axis_note(session: Session, analysis: Analysis) -> str:
    """Why the page starts on log-odds axes; "" if it does not, or if a person chose the axes."""
    if session[choices.AXIS] or automatic_axis(analysis) == "linear":
        return ""
    return (
        f"Log-odds axes, because only {percent(analysis.data.base_rate)} of the rows are positive."
    )

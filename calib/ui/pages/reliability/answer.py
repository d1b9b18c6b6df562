"""What the Reliability page opens with: the verdicts of the shown methods, and its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.miscalibration import Kind
from calib.analysis.verdict import Verdict
from calib.figures.axes import AxisKind
from calib.figures.explorer import automatic_axis
from calib.text import joined, percent, plain
from calib.ui.session import choices, results
from calib.ui.session.session import Session

IN_PLAIN_WORDS: Mapping[Kind, str] = {
    "uneven": "too high in some ranges, too low in others",
    "reversed": "higher scores have fewer positives",
    "uninformative": "higher scores do not have more positives",
    "some classes": "miscalibrated in some classes",
}


def sentences(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> str:
    """One sentence per answer, in the order of the methods: "Uncalibrated: overconfident."."""
    recommended = analysis.recommendation.method
    labels: dict[str, list[str]] = {}
    for key in shown:
        answer = in_plain_words(results.verdict(session, analysis, key))
        label = plain(analysis.methods[key].short_label) + (
            " (recommended)" if key == recommended else ""
        )
        labels.setdefault(answer, []).append(label)
    return " ".join(f"{joined(names)}: {answer}." for answer, names in labels.items())


def finding(session: Session, analysis: LiveAnalysis, shown: Sequence[str]) -> str:
    """What is wrong with the first method. The chart says where the largest gap is."""
    first = shown[0]
    name = f"**{plain(analysis.methods[first].label)}**: " if len(shown) > 1 else ""
    return f"{name}{plain(results.verdict(session, analysis, first).finding)}"


def in_plain_words(verdict: Verdict) -> str:
    """The answer of a verdict in a few words."""
    if verdict.answer != "not calibrated":
        return verdict.summary
    return IN_PLAIN_WORDS.get(verdict.kind, verdict.kind)


def axis(session: Session, analysis: Analysis) -> AxisKind:
    return session[choices.AXIS] or automatic_axis(analysis)


def axis_note(session: Session, analysis: Analysis) -> str:
    """Why the page starts on log-odds axes; "" if it does not, or if a person chose the axes."""
    if session[choices.AXIS] or automatic_axis(analysis) == "linear":
        return ""
    return (
        f"Log-odds axes, because only {percent(analysis.data.base_rate)} of the rows are positive."
    )

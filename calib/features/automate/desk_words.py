"""The desk in words, as blocks of its page: the answer, a line per question, and all together."""

from __future__ import annotations

from html import escape

from calib.blocks.kinds import Paragraph, Table, Value, row
from calib.features.automate.desk import Desk, DeskLine, Gate, Joint
from calib.figures.answer import ANSWER_LOOKS
from calib.numerics.intervals import Estimate
from calib.text import (
    UNKNOWN,
    count,
    joined,
    level,
    number,
    p_value,
    percent,
    plural,
    points,
    significant,
)

MEANINGS = {
    "Labels": "Records with a label for the question.",
    "Accuracy": "Share of the labelled records whose decision is right.",
    "Calibrated?": "Verdict of five tests. Its p-value is corrected for them and for the number of "
    "questions (Holm).",
    "ECE": "Expected calibration error with 15 bins of equal width. A calibrated question would "
    "have the chance level on average.",
    "Worst segment": "Observed minus predicted frequency in the slice with the strongest evidence "
    "of an error. Its p-value is corrected for all slices of the question.",
}
ALONE = (
    "Share of all answers that were asked for that may be decided without a person, if their error "
    "rate must be at most {}. Refusals and errors need a person."
)


def rate(error: float) -> str:
    """An error rate, such as 5%."""
    return f"{significant(100.0 * error)}%"


def headline(made: Desk, error: float) -> str:
    """How many questions may be decided alone, and which share of the answers.

    Of several versions or wordings of a question, the last in the log counts.
    """
    made = made.latest
    n, n_certified = len(made.lines), len(made.certified(error))
    if not n_certified:
        few = "No" if n > 1 else "The"
        verb = "may" if n > 1 else "may not"
        return f"{few} question {verb} be decided alone at {rate(error)} error"
    of = f"{n_certified} of {plural(n, 'question')}"
    if n_certified == n:
        of = f"All {n} questions" if n > 1 else "The question"
    share = percent(made.share(error), 0)
    return f"{of} may be decided alone at {rate(error)} error: {share} of the answers"


def section(made: Desk, error: float, *, is_example: bool) -> str:
    """The answer as HTML."""
    example = '<p><span class="pill">Example, not your data</span></p>' if is_example else ""
    return (
        f'<section class="answer"><div><div class="said"><h2>{escape(headline(made, error))}</h2>'
        f'{example}</div><p class="lead">{escape(lead(made, error))}</p></div></section>'
    )


def lead(made: Desk, error: float) -> str:
    """What the headline promises, and which questions are not calibrated."""
    has_earlier = len(made.latest.lines) < len(made.lines)
    made = made.latest
    wrong = [one for one in made.lines if one.verdict and one.verdict.answer == "not calibrated"]
    parts = []
    if made.certified(error):
        confidence = level(made.confidence)
        parts.append(
            f"Of these answers at most {rate(error)} are wrong, with {confidence} confidence for "
            "each question alone; in a single segment more may be. A person decides the others."
        )
    if wrong:
        names = joined([one.question for one in wrong[:5]], len(wrong))
        are = "is" if len(wrong) == 1 else "are"
        parts.append(f"{names} {are} not calibrated.")
    if has_earlier:
        parts.append("Of several versions or wordings of a question, the last in the log counts.")
    return " ".join(parts)


def questions_table(made: Desk) -> Table:
    """A line per question."""
    errors = next((tuple(line.gates) for line in made.lines if line.gates), ())
    alone = {f"Alone at {rate(error)}": ALONE.format(rate(error)) for error in errors}
    rows = tuple(
        row(
            Value(line.question, detail=line.kind or ""),
            Value(count(line.n_labels), order=line.n_labels),
            _share(line.accuracy, digits=1),
            _verdict(line),
            _ece(line),
            *(_alone(line, error) for error in errors),
            _worst(line),
        )
        for line in made.lines
    )
    before = ("Question", "Labels", "Accuracy", "Calibrated?", "ECE")
    return Table(
        "",
        (*before, *alone, "Worst segment"),
        rows,
        meanings=MEANINGS | alone,
        name="Questions",
        hints=tuple("" if one.verdict is None else one.verdict.heading for one in made.lines),
        exact=made.frame(),
    )


def _share(share: float, detail: str = "", digits: int = 0) -> Value:
    if share != share:
        return Value(UNKNOWN, order=-1.0)
    return Value(percent(share, digits), detail, order=share)


def _verdict(line: DeskLine) -> Value:
    if line.verdict is None:
        return Value(UNKNOWN, detail="no probabilities" if line.gates else "no labels")
    looks = ANSWER_LOOKS[line.verdict.answer][0]
    tested = [p for p in line.verdict.p_adjusted.values() if p == p]
    return Value(looks, detail=p_value(min(tested)) if tested else "")


def _ece(line: DeskLine) -> Value:
    if line.ece != line.ece:
        return Value(UNKNOWN, order=-1.0)
    return Value(number(line.ece, 3), f"chance {number(line.ece_noise_floor, 3)}", order=line.ece)


def _alone(line: DeskLine, error: float) -> Value:
    if not line.gates:
        return Value(UNKNOWN, order=-1.0)
    gate = line.gates[error]
    threshold = gate.certificate.threshold
    if threshold is not None:
        return _share(gate.share, f"from {threshold:.4g}" if threshold else "all answers")
    return Value(UNKNOWN, detail=_missing(gate), order=0.0)


def _missing(gate: Gate) -> str:
    if gate.labels_missing:
        return f"{plural(gate.labels_missing, 'more label')}"
    return "too many errors"


def _worst(line: DeskLine) -> Value:
    if line.worst is None:
        return Value(UNKNOWN)
    worst = line.worst
    detail = f"{points(worst.gap)} points, {p_value(worst.p_adjusted)}"
    return Value(f"{worst.column}: {worst.name}", detail, order=worst.p_adjusted)


HOLDS = {
    True: "Holds",
    False: "Not certified",
    None: UNKNOWN,
}


def versions_table(made: Desk) -> Table:
    """Each question as two versions answered the same records."""
    errors = tuple(made.versions[0].holds)
    holds = {
        f"Threshold at {rate(error)}": "Whether the threshold of the version before is certified "
        "for the version after, too."
        for error in errors
    }
    rows = tuple(
        row(
            Value(one.question, detail=f"{one.before}, then {one.after}"),
            Value(count(one.n_records), order=one.n_records),
            _share(one.accuracy, digits=1),
            Value(*_points_with_interval(one.change), order=one.change.value),
            *(HOLDS[one.holds[error]] for error in errors),
        )
        for one in made.versions
    )
    about = {"Change": "Accuracy after minus before, in points, with its paired 95% interval."}
    head = ("Question", "Records", "Accuracy before", "Change", *holds)
    return Table("", head, rows, meanings=about | holds, name="Versions")


def _points_with_interval(change: Estimate) -> tuple[str, str]:
    low, high = (points(end) for end in (change.low, change.high))
    return points(change.value), f"{low} to {high}"


def together(joint: Joint, error: float) -> Paragraph:
    """What may be decided alone if every answer of a record must be right."""
    gate, n = joint.gates[error], len(joint.questions)
    threshold = gate.certificate.threshold
    all_of = "both" if n == 2 else f"all {n}"
    share = percent(joint.accuracy)
    right = f"{all_of.capitalize()} answers are right in {share} of the labelled records."
    if threshold is None:
        said = f"No record may be decided alone at {rate(error)} error. {right}"
        return Paragraph(said, about=TOGETHER)
    said = f"{percent(gate.share, 0)} of the records may be decided alone at {rate(error)} error"
    least = f"those in which {all_of} answers have a probability of at least {threshold:.4g}"
    return Paragraph(f"{said}: {least}. {right}", about=TOGETHER)


TOGETHER = "All questions of a record together"

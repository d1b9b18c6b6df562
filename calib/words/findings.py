"""What is wrong with scores that tests reject, in one or two sentences."""

from __future__ import annotations

from dataclasses import dataclass

from calib.data.views import parse_view
from calib.text import number, percents, score_percents
from calib.words.verdicts import Kind


@dataclass(frozen=True, slots=True)
class ViewWords:
    """Names of scores and outcomes in one view of the data."""

    scores: str = "Predictions"
    positive: str = "were positive"
    outcomes: tuple[str, str] = ("positives", "negatives")
    loss: str = "log loss"
    top_label: bool = False

    @property
    def place(self) -> str:
        return "the top label" if self.top_label else "the shown view"


def view_words(view: str, *, answers: bool = False) -> ViewWords:
    """The names of scores and outcomes in a view. `answers`: a positive row is a right answer."""
    kind, rank = parse_view(view)
    if kind == "class":
        if answers:
            outcomes = ("right answers", "wrong answers")
            return ViewWords("Confidences", "were right", outcomes, top_label=True)
        return ViewWords()
    if kind == "within":
        hits = f"had their class among the {rank} ranked first"
        outcomes = (f"rows whose class is among the {rank} ranked first", "other rows")
        return ViewWords(f"Sums of the {rank} largest scores", hits, outcomes)
    if rank > 1:
        outcomes = (f"rows whose class is ranked {rank}", "other rows")
        return ViewWords(f"Scores of rank {rank}", f"had the class ranked {rank}", outcomes)
    outcomes = ("correctly classified rows", "misclassified rows")
    return ViewWords("Confidences", "were classified correctly", outcomes, top_label=True)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of scores, with its mean score and the observed frequency.

    `is_first` is whether it begins at the lowest score of all, and `is_last` whether it ends at the
    highest.
    """

    low: float
    high: float
    stated: float
    observed: float
    is_first: bool = True
    is_last: bool = True

    @property
    def is_too_low(self) -> bool:
        return self.observed > self.stated

    @property
    def side(self) -> str:
        return "too low" if self.is_too_low else "too high"


def ranking(words: ViewWords, kind: Kind, area: float, slope: float) -> str:
    """A ranking that is reversed, or that says nothing about the outcomes."""
    go = "go with fewer" if kind == "reversed" else "do not go with more"
    return (
        f"Higher {words.scores.lower()} {go} {words.outcomes[0]}: the AUC is {number(area, 2)}, "
        f"the calibration slope {number(slope, 2)}."
    )


def distance(words: ViewWords, slope: float, *, too_extreme: bool) -> str:
    """Scores that are too far from the base rate, or too near to it."""
    extreme = "too extreme" if too_extreme else "not extreme enough"
    digits = 2 if abs(slope - 1.0) >= 0.01 else 4
    return (
        f"{words.scores} are {extreme}: the calibration slope is {number(slope, digits)} instead "
        "of 1."
    )


def averages(words: ViewWords, at: Stretch) -> str:
    """A range of scores whose error has one sign."""
    predicted, seen = percents(at.stated, at.observed)
    place = _place(at)
    if words.top_label and not place:
        return f"Mean confidence is {predicted}, accuracy {seen}."
    rows = "those" if place else "the"
    return f"{words.scores} {place}average {predicted}, but {seen} of {rows} rows {words.positive}."


def _place(at: Stretch) -> str:
    if at.is_first and at.is_last:
        return ""
    if at.low == at.high and not (at.is_first or at.is_last):
        return f"of {score_percents(at.low)[0]} "
    low, high = score_percents(at.low, at.high)
    if at.is_last:
        return f"of at least {low} "
    return f"of at most {high} " if at.is_first else f"between {low} and {high} "


def both_sides(words: ViewWords, lower: Stretch, upper: Stretch) -> str:
    """Two adjacent ranges with errors of opposite signs."""
    start, at, end = score_percents(lower.low, upper.low, upper.high)
    below = f"below {at}" if lower.is_first else f"between {start} and {at}"
    above = "above" if upper.is_last else f"between {at} and {end}"
    stated, observed = percents(lower.stated, lower.observed)
    others_stated, others_observed = percents(upper.stated, upper.observed)
    return (
        f"{words.scores} {below} are {lower.side}: {stated} on average, but {observed} "
        f"{words.positive}. Those {above} are {upper.side}: {others_stated} on average, but "
        f"{others_observed} {words.positive}."
    )

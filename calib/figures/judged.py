"""The answer about a judge: its sentence and three key numbers, for pages and reports."""

from __future__ import annotations

from html import escape

from calib.analysis.judge import JudgeNumbers
from calib.numerics.intervals import Estimate
from calib.text import (
    UNKNOWN,
    count,
    interval,
    level,
    number,
    percent,
    plural,
)

RANDOM_SAMPLE = (
    "The labelled rows must be a random sample of the judged rows, or one that is spread over the "
    "scores as the rows to label next are."
)


def section(numbers: JudgeNumbers, *, is_example: bool = False) -> str:
    """The finding, and three numbers, as HTML."""
    example = '<p><span class="pill">Example, not your data</span></p>' if is_example else ""
    cells = "".join(
        f'<div title="{escape(about)}"><dt>{escape(label)}</dt><dd>{escape(value)}'
        f"<small>{escape(below)}</small></dd></div>"
        for label, value, below, about in key_numbers(numbers)
    )
    return (
        f'<section class="answer"><div>{example}<h2>{escape(numbers.headline)}</h2>'
        f'<p class="lead">{escape(lead(numbers))}</p></div><dl>{cells}</dl></section>'
    )


def lead(numbers: JudgeNumbers) -> str:
    """What the headline does not say."""
    rows = plural(numbers.n_rows, "judged row")
    labels = f"{count(numbers.n_labels)} of {rows} have a gold label."
    if not numbers.supported or numbers.few_labels:
        return f"{numbers.sentence} {labels}"
    return labels


def key_numbers(numbers: JudgeNumbers) -> tuple[tuple[str, str, str, str], ...]:
    """Label, value, small print and meaning of three numbers."""
    at = level(numbers.confidence_level)
    kappa = Estimate(numbers.kappa, *numbers.kappa_interval)
    needed = count(numbers.n_labels + numbers.labels_saved)
    low, high = (percent(end) for end in numbers.interval)
    return (
        (
            "Debiased pass rate",
            percent(numbers.mean),
            f"{at} CI {low} to {high}" if numbers.supported else "not supported",
            "Mean of the line that was fitted to the labelled rows, over all judged rows.",
        ),
        (
            "Agreement with the labels",
            percent(numbers.agreement),
            f"constant answer {percent(numbers.constant_accuracy)} · kappa "
            f"{number(kappa.value, 2)} ({interval(kappa, 2)})",
            "The constant answer is the commoner label for every row.",
        ),
        (
            "Labels saved",
            count(numbers.labels_saved) if numbers.supported else UNKNOWN,
            f"{count(numbers.n_labels)} labels instead of {needed}",
            "More labels would be needed without the judge, for an interval as short.",
        ),
    )


def support(numbers: JudgeNumbers) -> str:
    """Whether the labels cover the judge's scores, in a sentence."""
    low, high = (number(end, 2) for end in numbers.labelled_range)
    return (
        f"Support: labelled scores are from {low} to {high}; "
        f"{percent(numbers.share_outside)} of all judged scores are outside."
    )

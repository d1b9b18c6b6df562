"""The question which label each score column belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from calib.data.class_names import Reading
from calib.loading.columns import Labels
from calib.loading.file_options import ColumnMapping
from calib.loading.guessing.class_columns import Classes
from calib.loading.problems import Choice, Problem, error, question
from calib.text import joined, listed, percent, quoted

Shown: TypeAlias = Callable[[str], str]
MAX_READINGS = 4
MAX_LISTED_PAIRS = 3
MAX_LISTED_CLASSES = 5


def class_question(mapping: ColumnMapping, classes: Classes, labels: Labels) -> Problem:
    """Ask which label each score column belongs to.

    It is an error if some labels have no column in the first reading, since another reading may
    then be meant.
    """
    shares = classes.accuracies or (None,) * len(classes.readings)
    readings = [
        (reading, "" if share is None else f" (right in {percent(share)} of rows)")
        for reading, share in zip(classes.readings, shares, strict=True)
        if max(reading.places) >= 0
    ][:MAX_READINGS]
    sentences = [_pairs(mapping, reading, labels, quoted) + right for reading, right in readings]
    choices = tuple(
        Choice(_pairs(mapping, reading, labels, _short_repr) + right, _arguments(mapping, reading))
        for reading, right in readings
    )
    complete = classes.readings[0].complete
    read = "They were read as" if complete else "They may mean"
    ask = "Choose which." if len(choices) > 1 else "Confirm it if it is right."
    text = f"{why_doubtful(classes, labels)} {read} {'; or '.join(sentences)}. {ask}"
    return (question if complete else error)("class-order", text, choices=choices)


def why_doubtful(classes: Classes, labels: Labels) -> str:
    """A sentence that says why the labels of the columns are in doubt."""
    first = classes.readings[0]
    if not first.complete:
        absent = [labels.name(code) for code, place in enumerate(first.places) if place < 0]
        return (
            f"No score column is named after {listed(absent, MAX_LISTED_CLASSES)}, and all labels "
            "have a column if both are taken in order."
        )
    if any(reading.match == "name" for reading in classes.readings):
        return "The labels can be matched to the score columns in more than one way."
    return "The names of the score columns do not hold the labels."


def _arguments(mapping: ColumnMapping, reading: Reading) -> Mapping[str, Any]:
    left_out = {} if reading.complete or mapping.drop_missing else {"drop_missing": True}
    return {"classes": reading.labels, **left_out}


def _pairs(mapping: ColumnMapping, reading: Reading, labels: Labels, shown: Shown) -> str:
    """Labels and their columns: "`1` is `p_0`, `2` is `p_1`"."""
    places = list(zip(labels.names, reading.places, strict=True))
    columns = mapping.score_columns
    pairs = [f"{shown(label)} is {shown(columns[i])}" for label, i in places if i >= 0]
    left = [shown(label) for label, i in places if i < 0]
    more = (
        f", and rows of {joined(left[:MAX_LISTED_PAIRS], len(left))} are left out" if left else ""
    )
    return joined(pairs[:MAX_LISTED_PAIRS], len(pairs)) + more


def _short_repr(name: str) -> str:
    return repr(name[:30])

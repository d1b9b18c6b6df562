"""Labels of an outcome: which of them counts as positive."""

from __future__ import annotations

import numpy as np

from calib.loading import name_patterns as names
from calib.loading.columns import Labels
from calib.numerics.arrays import FloatArray

# In some fields 1 is yes and 2 is no, in others 2 is the event, so a person must choose.
ONE_AND_TWO = {"1", "2"}


def positive_of(labels: Labels, scores: FloatArray | None) -> str | None:
    """The label that counts as positive: a word such as "yes", or the one with higher scores."""
    if not 1 <= len(labels) <= 2:
        return None
    if telling := telling_labels(labels):
        return telling[0]
    if set(labels.names) == ONE_AND_TWO:
        return None
    # If a column has a single label, 0 and -1 are negative, and any other is positive.
    if len(labels) == 1:
        return "1" if labels.name(0) in ("0", "-1") else labels.name(0)
    if labels.values.dtype.kind in "iuf":
        return labels.name(1)
    return higher_label(labels, scores)


def is_plain_pair(labels: Labels) -> bool:
    """Whether these are 0 and 1, -1 and 1, or false and true."""
    words = {name.casefold() for name in labels.names}
    return any(words <= pair for pair in names.PLAIN_PAIRS)


def telling_labels(labels: Labels) -> tuple[str, ...]:
    """All labels whose names mean "positive", unless all labels do."""
    if set(labels.names) == ONE_AND_TWO:
        return ()
    positives = tuple(name for name in labels.names if name.casefold() in names.POSITIVE_WORDS)
    return positives if len(positives) < len(labels) else ()


def higher_label(labels: Labels, scores: FloatArray | None) -> str:
    """The label whose rows have the highest mean score."""
    if scores is None:
        return labels.name(len(labels) - 1)
    usable = np.isfinite(scores) & (labels.codes >= 0)
    codes = labels.codes[usable]
    total = np.bincount(codes, scores[usable], minlength=len(labels))
    count = np.bincount(codes, minlength=len(labels))
    mean = np.divide(total, count, out=np.full(len(labels), -np.inf), where=count > 0)
    return labels.name(int(np.argmax(mean)))

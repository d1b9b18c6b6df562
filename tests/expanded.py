"""The rows that a comparison's entries count, for peers that know no counts."""

from collections.abc import Mapping

import numpy as np

from calib.crossfit.cross_fitted import CrossFitted
from calib.data.views import BinaryView


def expanded(held_out: CrossFitted) -> tuple[BinaryView, Mapping[str, np.ndarray]]:
    """Each entry as often as it counts rows, with their mean weight, and every method's scores."""
    entries = held_out.rows
    at = np.repeat(np.arange(len(entries)), entries.counts.astype(np.int64))
    weight = None if entries.weight is None else (entries.weight / entries.counts)[at]
    rows = BinaryView(entries.outcome[at], entries.score[at], weight)
    return rows, {key: score[at] for key, score in held_out.scores.items()}

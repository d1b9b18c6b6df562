"""Scores at which an exported calibrator is compared with the fitted one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from calib.calibrators.forms import LOG_RANGE, Axis, Drift, Form, Piecewise
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces

END_SCORES = (0.0, 5e-324, 1e-300, 0.5, 1.0 - 2.0**-53, 1.0)
N_RANDOM, SEED = 200, 20180924
MAX_KNOTS = 20_000
MAX_MATRIX_NUMBERS = 200_000
# Within these bounds, 1 - p has 12 correct digits after a conversion to log-odds and back.
UNCERTAIN_RANGE = (1e-3, 1.0 - 1e-3)
CERTAIN_LOGITS = (-800.0, 800.0)


def scores_to_test(form: Form, conversion: Conversion, knots: FloatArray) -> FloatArray:
    """Every knot and both its neighbours, the ends of the floats, and 200 random scores."""
    drawn = np.random.default_rng(SEED).random(N_RANDOM)
    if conversion.transform in ("logit", "exp"):
        # Engines round these differently, so a score cannot be put exactly on a knot.
        ends = np.minimum(CERTAIN_LOGITS, conversion.limits[1])
        return np.concatenate([ends, conversion.undone(drawn.clip(*UNCERTAIN_RANGE))])
    bends = np.unique(np.concatenate([knots, bends_of(form)]))
    bends = bends[np.linspace(0, len(bends) - 1, min(len(bends), MAX_KNOTS)).astype(np.int64)]
    beside = [np.nextafter(bends, -1.0), bends, np.nextafter(bends, 2.0)]
    scores = np.unique(np.concatenate([END_SCORES, *beside]))
    inside = scores[(scores >= 0.0) & (scores <= 1.0)]
    return conversion.undone(np.concatenate([inside, drawn])).clip(*conversion.limits)


def bends_of(form: Form) -> FloatArray:
    """Scores at which the formula of a form changes, read from its numbers."""
    bends = list(LOG_RANGE)
    for part in _parts(form):
        if isinstance(part, Pieces) and _on_scores(form, part):
            bends.extend(part.edges.tolist())
        elif isinstance(part, float):
            bends.append(part)
    return np.array([bend for bend in bends if 0.0 <= bend <= 1.0])


def _parts(form: Any) -> list[Any]:
    values = [getattr(form, field.name) for field in fields(form)]
    return values + [v for value in values if isinstance(value, Axis) for v in _parts(value)]


def _on_scores(form: Form, pieces: Pieces) -> bool:
    if isinstance(form, Piecewise):
        return form.axis.scale == "score"
    return not (isinstance(form, Drift) and pieces is form.slope)


def rows_to_test(conversion: Conversion, m: int) -> FloatArray:
    """Certain rows of m classes, an even one, and random ones.

    Engines round sums of rows differently, so a row cannot be put exactly on a knot of a class.
    """
    n = max(20, min(N_RANDOM, MAX_MATRIX_NUMBERS // m))
    drawn = np.random.default_rng(SEED).dirichlet(np.full(m, 0.5), n)
    certain = np.eye(m)[: max(2, MAX_MATRIX_NUMBERS // m // 10)]
    even = np.full((1, m), 1.0 / m)
    if conversion.transform == "softmax":
        return conversion.undone(np.vstack([even, drawn]))
    return conversion.undone(np.vstack([certain, even, drawn]))

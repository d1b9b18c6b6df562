"""The scores at which every export is tested, and how far two numbers are apart."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from calib.calibrators import Calibrator, MatrixCalibrator
from calib.calibrators.forms import Axis, Drift, EachClass, Form, Piecewise, RowsForm
from calib.numerics.arrays import FloatArray, IntArray
from calib.numerics.splines import Pieces
from calib.numerics.transforms import MACHINE_EPSILON

ALWAYS = (0.0, 5e-324, 1e-300, 0.5, 1.0 - 2.0**-53, 1.0)
N_RANDOM, SEED = 500, 20180924
MAX_KNOTS = 20_000
MAX_NUMBERS = 200_000  # of a matrix


def scores_to_test(fitted: Calibrator) -> FloatArray:
    """Every knot and both its neighbours, the ends of the floats, and 500 random scores."""
    bends = np.unique(np.concatenate([fitted.knots(), bends_of(fitted.to_map())]))
    bends = bends[np.linspace(0, len(bends) - 1, min(len(bends), MAX_KNOTS)).astype(np.int64)]
    beside = [np.nextafter(bends, -1.0), bends, np.nextafter(bends, 2.0)]
    drawn = np.random.default_rng(SEED).random(N_RANDOM)
    scores = np.unique(np.concatenate([ALWAYS, *beside]))
    return np.concatenate([scores[(scores >= 0.0) & (scores <= 1.0)], drawn])


def bends_of(form: Form) -> FloatArray:
    """Scores at which the formula of a form changes, read from its numbers."""
    found = [MACHINE_EPSILON, 1.0 - MACHINE_EPSILON]
    for part in _parts(form):
        if isinstance(part, Pieces) and _on_scores(form, part):
            found.extend(part.edges.tolist())
        elif isinstance(part, float):
            found.append(part)
    return np.array([each for each in found if 0.0 <= each <= 1.0])


def _parts(form: Any) -> list[Any]:
    values = [getattr(form, field.name) for field in fields(form)]
    inner = [v for value in values if isinstance(value, Axis) for v in _parts(value)]
    return values + inner if is_dataclass(form) else []


def _on_scores(form: Form, pieces: Pieces) -> bool:
    if isinstance(form, Piecewise):
        return form.axis.scale == "score"
    return not (isinstance(form, Drift) and pieces is form.slope)


def rows_to_test(fitted: MatrixCalibrator) -> FloatArray:
    """Certain rows, an even one, random ones, and for a function per class its knots."""
    m = fitted.n_classes_
    n = max(20, min(N_RANDOM, MAX_NUMBERS // m))
    drawn = np.random.default_rng(SEED).dirichlet(np.full(m, 0.5), n)
    certain = np.eye(m)[: max(2, MAX_NUMBERS // m // 10)]
    return np.vstack([certain, np.full((1, m), 1.0 / m), drawn, *_at_knots(fitted.to_map(), m, n)])


def _at_knots(form: RowsForm, m: int, n: int) -> list[FloatArray]:
    if not isinstance(form, EachClass):
        return []
    rows = []
    for k, each in enumerate(form.classes):
        bends = bends_of(each)
        chosen = bends[np.linspace(0, len(bends) - 1, min(len(bends), n // m + 2)).astype(np.int64)]
        row = np.repeat(((1.0 - chosen) / (m - 1))[:, None], m, axis=1)
        row[:, k] = chosen
        rows.append(row)
    return rows


def ulps(expected: FloatArray, found: FloatArray) -> IntArray:
    """Number of floats between two non-negative numbers; a huge number for NaN.

    Examples
    --------
    >>> import numpy as np
    >>> ulps(np.array([0.5, 0.5]), np.array([np.nextafter(0.5, 1.0), 0.5]))
    array([1, 0])
    """
    a, b = (np.ascontiguousarray(v, dtype=np.float64) + 0.0 for v in (expected, found))
    apart = np.abs(a.view(np.int64) - b.view(np.int64))
    return np.where(np.isfinite(b) & (b >= 0.0), apart, np.iinfo(np.int64).max)

"""The rows that a calibrator is for, and the scores at which its export is compared with it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from typing import Any

import numpy as np

from calib.calibrators.forms import LOG_RANGE, Axis, Drift, Form, Piecewise
from calib.exports.document import ExportError
from calib.exports.score_conversion import Conversion
from calib.numerics.arrays import FloatArray
from calib.numerics.splines import Pieces


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows from a day on, and of one value of a column if it is named. Others keep their score.

    Parameters
    ----------
    time : str
        Name of a column of dates.
    since : str
        The first day, such as "2026-05-01".
    column, value : str
        Name of a column of text, and its value.

    Raises
    ------
    ExportError
        If the day is not a date, or a name or the value has characters that code cannot hold.

    Examples
    --------
    >>> Condition("day", "2026-05-01", "plan", "prepaid").words
    'plan = prepaid, day from 2026-05-01 on'
    """

    time: str
    since: str
    column: str = ""
    value: str = ""

    def __post_init__(self) -> None:
        try:
            is_day = date.fromisoformat(self.since).isoformat() == self.since
        except ValueError:
            is_day = False
        if not is_day:
            raise ExportError(f"since must be a day such as 2026-05-01, got {self.since!r}.")
        for text in (self.time, self.column, self.value):
            if not text.isprintable():
                raise ExportError(
                    "The column and the value of a condition must be of printable characters, got "
                    f"{text!r}."
                )
        if not self.time or self.time == self.column:
            raise ExportError(
                "A condition needs a column of dates, and another one for the value, got "
                f"{self.time!r} and {self.column!r}."
            )

    @property
    def words(self) -> str:
        """The condition for a person."""
        of_slice = f"{self.column} = {self.value}, " if self.column else ""
        return f"{of_slice}{self.time} from {self.since} on"

    @property
    def example(self) -> dict[str, str]:
        """The columns of a row that fulfils it."""
        return {self.time: self.since} | ({self.column: self.value} if self.column else {})


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

"""What a metric is: a function of scores or of a matrix, with a facade (y_true, y_prob)."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from numpy.typing import ArrayLike

from calib.core.cells import ScoreCells
from calib.core.registry import Registry
from calib.core.views import ScoreMatrix
from calib.uncertainty.bootstrap import Kind

Result = TypeVar("Result")
Better = Literal["lower", "higher", "zero", "one", "none"]
Of = Literal["scores", "matrix"]
PROBLEMS: Mapping[Of, type[ScoreCells] | type[ScoreMatrix]] = {
    "scores": ScoreCells,
    "matrix": ScoreMatrix,
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the registry: how to compute a metric, and what to say about it.

    Attributes
    ----------
    key, label : str
        Name in code, and on the page.
    compute : callable
        ``compute(problem, **parameters)``, of ScoreCells, or of a ScoreMatrix.
    meaning : str
        One sentence for a reader who meets it for the first time.
    bounds : tuple of float
        Smallest and largest possible value.
    better : {"lower", "higher", "zero", "one", "none"}
        Which direction, or which value, is good.
    convention, source : str
        The choice made where the field has several, and the reference.
    interval : {"percentile", "reflected", "error"} or None
        How `calib.uncertainty.Bootstrap` makes its interval; None where it has none.
    digits : int
        Decimals that a table shows.
    aliases : str
        Other names of it in the field, for the search on the Methods page.
    part : str
        Which of several numbers a table shows; "" is the first, or the only one.
    of : {"scores", "matrix"}
        Whether it is of one score per row, or of one per class.
    """

    key: str
    label: str
    compute: Callable[..., Any]
    meaning: str
    bounds: tuple[float, float]
    better: Better
    convention: str
    source: str
    interval: Kind | None = "percentile"
    digits: int = 4
    part: str = ""
    aliases: str = ""
    of: Of = "scores"

    @property
    def problem(self) -> type[ScoreCells] | type[ScoreMatrix]:
        """What it is computed of, and made of arrays by ``from_arrays``."""
        return PROBLEMS[self.of]

    def takes(self, parameter: str) -> bool:
        """Whether the metric has a parameter of this name."""
        return parameter in inspect.signature(self.compute).parameters

    def numbers(self, problem: ScoreCells | ScoreMatrix, **parameters: Any) -> dict[str, float]:
        """Its numbers by name; the name of one that stands alone is empty."""
        result = self.compute(problem, **parameters)
        if not dataclasses.is_dataclass(result):
            return {"": float(result)}
        values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
        return {name: float(value) for name, value in values.items() if not isinstance(value, str)}

    def number(self, problem: ScoreCells | ScoreMatrix, **parameters: Any) -> float:
        """The number that tables show.

        Examples
        --------
        >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.6, 0.9])
        >>> from calib.metrics import METRICS
        >>> round(METRICS["brier_decomposition"].number(cells), 4)
        0.06
        """
        found = self.numbers(problem, **parameters)
        return found[self.part] if self.part else next(iter(found.values()))


DOCS: Mapping[Of, tuple[str, str]] = {
    "scores": (
        "cells : ScoreCells\n",
        """y_true : array-like of shape (n,), or ScoreCells
    Outcomes, 0 or 1; or the rows as cells, and no further arrays.
y_prob : array-like of shape (n,)
    Scores in [0, 1].
sample_weight : array-like of shape (n,), optional
""",
    ),
    "matrix": (
        "rows : ScoreMatrix\n",
        """y_true : array-like of shape (n,), or ScoreMatrix
    Class indices 0..m-1; or the rows as a matrix, and no further arrays.
y_prob : array-like of shape (n, m)
    Scores in [0, 1]; rows sum to 1 within 1e-3.
sample_weight : array-like of shape (n,), optional
""",
    ),
}
METRICS: Registry[Metric] = Registry("metric", "calib.metrics")


def score_metrics() -> dict[str, Metric]:
    """The metrics of one score per row, by key."""
    return {key: metric for key, metric in METRICS.items() if metric.of == "scores"}


def matrix_metrics() -> dict[str, Metric]:
    """The metrics of a matrix, by the name that a table of matrix metrics has for them.

    Examples
    --------
    >>> list(matrix_metrics())[:3]
    ['log_loss', 'brier_score', 'accuracy']
    """
    return {
        key.removeprefix("multiclass_"): metric
        for key, metric in METRICS.items()
        if metric.of == "matrix"
    }


def metric(
    label: str,
    *,
    meaning: str,
    bounds: tuple[float, float],
    better: Better,
    source: str,
    convention: str = "",
    interval: Kind | None = "percentile",
    digits: int = 4,
    part: str = "",
    aliases: str = "",
    of: Of = "scores",
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Register a function of cells, or of a matrix, as a metric, and return its facade.

    The facade takes either one of these, or ``(y_true, y_prob, *, sample_weight=None)`` as
    scikit-learn's metrics do; the function's own parameters stay keyword-only.
    """

    def register(compute: Callable[..., Result]) -> Callable[..., Result]:
        key = compute.__name__
        words = (meaning, bounds, better, convention, source, interval, digits, part, aliases)
        entry = Metric(key, label, compute, *words, of)
        METRICS.add(key, entry)

        @functools.wraps(compute)
        def facade(
            y_true: ArrayLike | ScoreCells | ScoreMatrix,
            y_prob: ArrayLike | None = None,
            *,
            sample_weight: ArrayLike | None = None,
            **parameters: Any,
        ) -> Result:
            return compute(_as_problem(entry, y_true, y_prob, sample_weight), **parameters)

        facade.__doc__ = _facade_doc(compute, of)
        facade.__signature__ = _facade_signature(compute)  # type: ignore[attr-defined]
        return facade

    return register


def _as_problem(
    entry: Metric,
    y_true: ArrayLike | ScoreCells | ScoreMatrix,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> ScoreCells | ScoreMatrix:
    if isinstance(y_true, ScoreCells | ScoreMatrix):
        wanted = entry.problem.__name__
        if not isinstance(y_true, entry.problem):
            given = type(y_true).__name__
            raise TypeError(f"{entry.key}() takes a {wanted} or (y_true, y_prob), got a {given}.")
        if y_prob is not None or sample_weight is not None:
            raise TypeError(
                f"{entry.key}() takes either one {wanted} or (y_true, y_prob), got both."
            )
        return y_true
    if y_prob is None:
        raise TypeError(f"{entry.key}() needs y_prob as well, got only y_true.")
    return entry.problem.from_arrays(y_true, y_prob, sample_weight)


def _facade_doc(compute: Callable[..., Any], of: Of) -> str:
    # Python 3.13 takes the indentation off docstrings, earlier ones leave it.
    doc, (problem, arrays) = inspect.cleandoc(compute.__doc__ or ""), DOCS[of]
    if problem not in doc:
        raise TypeError(f"{compute.__name__}'s docstring must list `{problem.strip()}` first.")
    return doc.replace(problem, arrays)


def _facade_signature(compute: Callable[..., Any]) -> inspect.Signature:
    own = list(inspect.signature(compute).parameters.values())[1:]
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds("y_true", kinds.POSITIONAL_OR_KEYWORD),
            kinds("y_prob", kinds.POSITIONAL_OR_KEYWORD, default=None),
            kinds("sample_weight", kinds.KEYWORD_ONLY, default=None),
            *(p.replace(kind=kinds.KEYWORD_ONLY) for p in own),
        ]
    )

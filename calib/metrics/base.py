"""What a metric is: a function of ScoreCells, and a facade (y_true, y_prob) around it."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from numpy.typing import ArrayLike

from calib.core.cells import ScoreCells
from calib.core.registry import Registry
from calib.uncertainty.bootstrap import Kind

Result = TypeVar("Result")
Better = Literal["lower", "higher", "zero", "one", "none"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the registry: how to compute a metric, and what to say about it.

    Attributes
    ----------
    key, label : str
        Name in code, and on the page.
    compute : callable
        ``compute(cells, **parameters)``.
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

    def takes(self, parameter: str) -> bool:
        """Whether the metric has a parameter of this name."""
        return parameter in inspect.signature(self.compute).parameters

    def numbers(self, cells: ScoreCells, **parameters: Any) -> dict[str, float]:
        """Its numbers by name; the name of one that stands alone is empty."""
        result = self.compute(cells, **parameters)
        if not dataclasses.is_dataclass(result):
            return {"": float(result)}
        values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
        return {name: float(value) for name, value in values.items() if not isinstance(value, str)}

    def number(self, cells: ScoreCells, **parameters: Any) -> float:
        """The number that tables show.

        Examples
        --------
        >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.6, 0.9])
        >>> from calib.metrics import METRICS
        >>> round(METRICS["brier_decomposition"].number(cells), 4)
        0.06
        """
        found = self.numbers(cells, **parameters)
        return found[self.part] if self.part else next(iter(found.values()))


CELLS_DOC = "    cells : ScoreCells\n"
ARRAYS_DOC = """    y_true : array-like of shape (n,), or ScoreCells
        Outcomes, 0 or 1; or the rows as cells, and no further arrays.
    y_prob : array-like of shape (n,)
        Scores in [0, 1].
    sample_weight : array-like of shape (n,), optional
"""
METRICS: Registry[Metric] = Registry("metric", "calib.metrics")


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
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Register a function of cells as a metric, and return its facade.

    The facade takes either one ScoreCells, or ``(y_true, y_prob, *, sample_weight=None)`` as
    scikit-learn's metrics do; the function's own parameters stay keyword-only.
    """

    def register(compute: Callable[..., Result]) -> Callable[..., Result]:
        key = compute.__name__
        words = (meaning, bounds, better, convention, source, interval, digits, part, aliases)
        METRICS.add(key, Metric(key, label, compute, *words))

        @functools.wraps(compute)
        def facade(
            y_true: ArrayLike | ScoreCells,
            y_prob: ArrayLike | None = None,
            *,
            sample_weight: ArrayLike | None = None,
            **parameters: Any,
        ) -> Result:
            return compute(_as_cells(key, y_true, y_prob, sample_weight), **parameters)

        facade.__doc__ = _facade_doc(compute)
        facade.__signature__ = _facade_signature(compute)  # type: ignore[attr-defined]
        return facade

    return register


def _as_cells(
    key: str,
    y_true: ArrayLike | ScoreCells,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> ScoreCells:
    if isinstance(y_true, ScoreCells):
        if y_prob is not None or sample_weight is not None:
            raise TypeError(f"{key}() takes either one ScoreCells or (y_true, y_prob), got both.")
        return y_true
    if y_prob is None:
        raise TypeError(f"{key}() needs y_prob as well, got only y_true.")
    return ScoreCells.from_arrays(y_true, y_prob, sample_weight)


def _facade_doc(compute: Callable[..., Any]) -> str:
    doc = compute.__doc__ or ""
    if CELLS_DOC not in doc:
        raise TypeError(f"{compute.__name__}'s docstring must list `cells : ScoreCells` first.")
    return doc.replace(CELLS_DOC, ARRAYS_DOC)


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

"""What a metric is: a function of scores or of a matrix, with a facade (y_true, y_prob)."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from numpy.typing import ArrayLike

from calib.core.cells import ScoreCells
from calib.core.registry import Registry
from calib.core.views import ScoreMatrix
from calib.uncertainty.bootstrap import Kind


@dataclass(frozen=True)
class TestResult:
    """Result of a significance test of "these scores are calibrated".

    Attributes
    ----------
    statistic, p_value : float
    null : str
        The distribution that the p-value was read from.
    """

    __test__: ClassVar[bool] = False  # the name is the field's; it is nothing for pytest to collect

    statistic: float
    p_value: float
    null: str


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A mean score, split: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean score itself.
    miscalibration : float
        What recalibration by isotonic regression would save; at least 0. Google's "calibration".
    discrimination : float
        What the recalibrated scores gain over the base rate; at least 0. Google's "sharpness".
    uncertainty : float
        Score of the base rate given to every row. Google's "irreducible".
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class SmoothedErrors:
    """Distances of the scores from a smooth calibration curve, over rows.

    Attributes
    ----------
    ici : float
        Mean: the integrated calibration index.
    e50, e90, emax : float
        Median, 90th percentile, and maximum.
    penalty : float
        How much the curve was smoothed: weight of its curvature a row; NaN where there is no curve.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    penalty: float


@dataclass(frozen=True, slots=True)
class SlopeIntercept:
    """Logistic regression of the outcome on the scores' log-odds: logit P(y = 1) = a + b logit s.

    Calibrated scores have slope 1 and intercept 0. All numbers of a fit that has no maximum
    (the scores separate the classes) are NaN, and the flag says so.

    Attributes
    ----------
    slope, slope_error, slope_low, slope_high : float
        b, its standard error, its Wald interval.
    intercept, intercept_error, intercept_low, intercept_high : float
        a, fitted together with b.
    intercept_only, intercept_only_error, intercept_only_low, intercept_only_high : float
        a with the slope fixed at 1: calibration in the large on the log-odds scale.
    statistic, p_value : float
        Likelihood-ratio test of a = 0 and b = 1, chi-square with 2 degrees of freedom.
    estimable : bool
        Whether slope, intercept and test exist.
    """

    slope: float
    slope_error: float
    slope_low: float
    slope_high: float
    intercept: float
    intercept_error: float
    intercept_low: float
    intercept_high: float
    intercept_only: float
    intercept_only_error: float
    intercept_only_low: float
    intercept_only_high: float
    statistic: float
    p_value: float
    estimable: bool


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


# What every facade takes, in numpydoc's words.
ARRAYS: Mapping[Of, str] = {
    "scores": """y_true : array-like of shape (n,), or ScoreCells
    Outcomes, 0 or 1; or the rows as cells, and no further arrays.
y_prob : array-like of shape (n,)
    Scores in [0, 1].
sample_weight : array-like of shape (n,), optional
""",
    "matrix": """y_true : array-like of shape (n,), or ScoreMatrix
    Class indices 0..m-1; or the rows as a matrix, and no further arrays.
y_prob : array-like of shape (n, m)
    Scores in [0, 1]; rows sum to 1 within 1e-3.
sample_weight : array-like of shape (n,), optional
""",
}
SECTIONS = ("Parameters", "Returns", "Raises", "See Also", "References", "Examples")
SECTION = re.compile(rf"^({'|'.join(SECTIONS)})\n-+\n", re.MULTILINE)
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
    scikit-learn's metrics do; the function's own parameters stay keyword-only. Its docstring is the
    function's, with these arrays, the bounds of a single number, and the source.
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

        facade.__doc__ = _facade_doc(entry)
        facade.__signature__ = _facade_signature(compute)  # type: ignore[attr-defined]
        return facade

    return register


# What calibration errors have in common.
error_metric = functools.partial(metric, bounds=(0.0, 1.0), better="lower", interval="error")


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


def _facade_doc(entry: Metric) -> str:
    """The function's docstring with what its declaration says: arrays, bounds and source."""
    # Python 3.13 takes the indentation off docstrings, earlier ones leave it.
    opening, *rest = SECTION.split(inspect.cleandoc(entry.compute.__doc__ or ""))
    written = dict(zip(rest[::2], rest[1::2], strict=True))
    returned = entry.compute.__annotations__.get("return", float)
    declared = {"Returns": returned if isinstance(returned, str) else returned.__name__}
    if declared["Returns"] == "float":
        declared["Returns"] += "\n    In [{:.4g}, {:.4g}].".format(*entry.bounds)
    if entry.source:
        declared["References"] = f"{entry.source}."
    own = {"Parameters": ARRAYS[entry.of] + written.pop("Parameters", "")}
    found = declared | written | own
    return f"{opening.strip()}\n\n" + "\n\n".join(
        f"{name}\n{'-' * len(name)}\n{found[name].strip()}" for name in SECTIONS if name in found
    )


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


def scorer(key: str, part: str | None = None, **parameters: Any) -> Any:
    """A scorer of one metric for classifiers with ``predict_proba``; larger is better.

    Parameters
    ----------
    key : str
        Of a registered metric, such as "expected_calibration_error".
    part : str, optional
        Which number of a metric with several, such as "miscalibration" of "brier_decomposition";
        the first if None. It is passed on as it is.
    **parameters
        Of the metric.

    Returns
    -------
    callable
        ``scorer(estimator, X, y_true, sample_weight=None)``. Of a metric whose lower values are
        better the negative is scored, and of one that should be 0 or 1 the negative distance from
        that.

    Raises
    ------
    KeyError
        If no metric has this key.
    ValueError
        If the metric has no such part.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 2))
    >>> y = (x[:, 0] + rng.logistic(size=400) > 0).astype(int)
    >>> scoring = scorer("expected_calibration_error", n_bins=5)
    >>> (cross_val_score(LogisticRegression(), x, y, scoring=scoring) < 0).all()
    np.True_
    """
    from sklearn.metrics import make_scorer  # takes longer to import than all metrics

    entry = METRICS[key]

    def score(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
        problem = entry.problem.from_arrays(y_true, y_prob, sample_weight)
        numbers = entry.numbers(problem, **parameters)
        if part is None:
            return _larger_is_better(next(iter(numbers.values())), entry.better)
        if part not in numbers:
            known = ", ".join(filter(None, numbers)) or "none"
            raise ValueError(f"part of {key} must be one of {known}, got {part!r}.")
        return numbers[part]

    return make_scorer(score, response_method="predict_proba")


def _larger_is_better(value: float, better: Better) -> float:
    if better == "lower":
        return -value
    if better == "zero":
        return -abs(value)
    if better == "one":
        return -abs(value - 1.0)
    return value

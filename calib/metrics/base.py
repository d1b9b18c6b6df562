"""The registry of metrics, and the public signature (y_true, y_prob) that they all share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Literal,
    Never,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
)

from numpy.typing import ArrayLike

from calib.data.cells import ScoreCells, check_rows
from calib.data.registry import Registry
from calib.data.views import BinaryView, ScoreMatrix
from calib.numerics.arrays import BoolArray, FloatArray, check_kinds
from calib.numerics.intervals import Estimate
from calib.uncertainty.bootstrap import Kind


@dataclass(frozen=True)
class TestResult:
    """Result of a significance test of the hypothesis that the scores are calibrated.

    Attributes
    ----------
    statistic, p_value : float
    null : str
        Null distribution of the statistic.
    """

    # Without this, pytest would collect the class because of its name.
    __test__: ClassVar[bool] = False

    statistic: float
    p_value: float
    null: str


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Parts of a mean loss: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean loss (log loss or Brier score) itself.
    miscalibration : float
        Reduction of the loss by isotonic recalibration on these rows, at least 0. Also called
        "calibration".
    discrimination : float
        Loss of the base rate minus loss of the recalibrated scores, at least 0. Also called
        "sharpness".
    uncertainty : float
        Loss if every row had the base rate as its score. Also called "irreducible".
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class SmoothedErrors:
    """Absolute distances of the scores from a smooth calibration curve.

    Attributes
    ----------
    ici : float
        Mean over the rows, the integrated calibration index.
    e50, e90, emax : float
        Median, 90th percentile and maximum over the rows.
    penalty : float
        Smoothing of the curve: penalty on its curvature, per row. NaN if there is no curve.
    """

    ici: float
    e50: float
    e90: float
    emax: float
    penalty: float


@dataclass(frozen=True, slots=True)
class VariationalError:
    """Variational L1 calibration error, its two parts, and its standard error.

    Attributes
    ----------
    error : float
        Mean of sign(g(s) - s) (y - s), g a cross-fitted calibrator.
    overconfident, underconfident : float
        The parts of the rows whose scores are too far from 0.5, and too near to it. They add up to
        `error` if no score is 0.5.
    standard_error : float
        Standard error of `error`.
    """

    error: float
    overconfident: float
    underconfident: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class SlopeIntercept:
    """Logistic regression of the outcome on the log-odds: logit P(y = 1) = a + b logit s.

    Calibrated scores have slope 1 and intercept 0. If the likelihood has no maximum, because the
    scores separate the classes, all numbers are NaN and `estimable` is False.

    Attributes
    ----------
    slope, slope_error, slope_low, slope_high : float
        b, its standard error and its Wald interval.
    intercept, intercept_error, intercept_low, intercept_high : float
        a, its standard error and its Wald interval, fitted together with b.
    intercept_only, intercept_only_error, intercept_only_low, intercept_only_high : float
        a with the slope fixed at 1 (calibration in the large, on the log-odds scale).
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
Returned = TypeVar("Returned", covariant=True)
Problem = TypeVar("Problem", ScoreCells, ScoreMatrix)
Given = TypeVar("Given", ScoreCells, ScoreMatrix, contravariant=True)
Parameters = ParamSpec("Parameters")
Better = Literal["lower", "higher", "zero", "one", "none"]
Of = Literal["scores", "matrix"]
OtherClass = Literal["same", "negated"]
PROBLEMS: Mapping[Of, type[ScoreCells] | type[ScoreMatrix]] = {
    "scores": ScoreCells,
    "matrix": ScoreMatrix,
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the registry: how to compute a metric, and how to describe it.

    Attributes
    ----------
    key, label : str
        Name in code, and name on the pages.
    compute : callable
        ``compute(problem, **parameters)``. The problem is ScoreCells or a ScoreMatrix.
    meaning : str
        One sentence for a reader who does not know the metric.
    bounds : tuple of float
        Smallest and largest possible value.
    better : {"lower", "higher", "zero", "one", "none"}
        Which direction, or which value, is good.
    convention, source : str
        The definition that is used if the field has several, and the reference.
    interval : {"percentile", "reflected", "error"} or None
        How `calib.uncertainty.Bootstrap` computes its interval. None: it has no interval.
    digits : int
        Number of decimals in tables.
    aliases : str
        Other names in the field, for the search on the Learn page.
    part : str
        Which number tables show if the metric returns several; "" is the first.
    of : {"scores", "matrix"}
        Whether the metric needs one score per row or one score per class.
    perfect : float or None
        The first number if every score is 0 or 1 and right. NaN: it is not defined then. None: it
        depends on the rows.
    other_class : {"same", "negated"} or None
        What the numbers become if the other class counts as positive, with scores of 1 - s. None:
        they can become any numbers. Not used for metrics of a matrix.
    weighs_evidence : bool
        Whether the numbers depend on how many rows there are: three rows tell more than one row
        of weight 3.
    needs_both_classes : bool
        Whether the first number is NaN if all outcomes are equal.
    precision : float
        Relative precision of the numbers if the unit of the weights changes.
    of_rows : callable or None
        ``of_rows(rows, confidence_level)``: the number that tables show, with an interval that
        needs no resamples. Its rows are a BinaryView.
    of_arrays : callable or None
        ``of_arrays(outcome, score, weight)``: the same number of checked arrays in any order. A
        metric that needs no cells declares it, because most of the time is spent on sorting rows.
    """

    key: str
    label: str
    compute: Callable[..., Any]
    meaning: str
    bounds: tuple[float, float]
    better: Better
    convention: str = ""
    source: str = ""
    interval: Kind | None = "percentile"
    digits: int = 4
    part: str = ""
    aliases: str = ""
    of: Of = "scores"
    perfect: float | None = None
    other_class: OtherClass | None = None
    weighs_evidence: bool = False
    needs_both_classes: bool = False
    precision: float = 1e-7
    of_rows: Callable[[BinaryView, float], Estimate] | None = None
    of_arrays: Callable[[BoolArray, FloatArray, FloatArray | None], float] | None = None

    @property
    def problem(self) -> type[ScoreCells] | type[ScoreMatrix]:
        """The class of data that the metric is computed from."""
        return PROBLEMS[self.of]

    def takes(self, parameter: str) -> bool:
        """Whether the metric has a parameter of this name."""
        return parameter in inspect.signature(self.compute).parameters

    def numbers(self, problem: ScoreCells | ScoreMatrix, **parameters: Any) -> dict[str, float]:
        """All numbers of the metric by name. If there is only one, its name is empty."""
        result = self.compute(problem, **parameters)
        if not dataclasses.is_dataclass(result):
            return {"": float(result)}
        values = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
        return {name: float(value) for name, value in values.items() if not isinstance(value, str)}

    def number(self, problem: ScoreCells | ScoreMatrix, **parameters: Any) -> float:
        """The number that tables show; see the attribute `part`.

        Examples
        --------
        >>> cells = ScoreCells.from_arrays([0, 1, 1], [0.1, 0.6, 0.9])
        >>> from calib.metrics import METRICS
        >>> round(METRICS["brier_decomposition"].number(cells), 4)
        0.06
        """
        numbers = self.numbers(problem, **parameters)
        return numbers[self.part] if self.part else next(iter(numbers.values()))


# The arguments of every facade are described as in numpydoc.
ARRAYS: Mapping[Of, str] = {
    "scores": """y_true : array-like of shape (n,), or ScoreCells
    Outcomes, 0 or 1. If ScoreCells are given, `y_prob` and `sample_weight` must not be given.
y_prob : array-like of shape (n,)
    Scores in [0, 1].
sample_weight : array-like of shape (n,), optional
    Weights, all above 0. Default: every row has weight 1.
""",
    "matrix": """y_true : array-like of shape (n,), or ScoreMatrix
    Class indices 0..m-1. If a ScoreMatrix is given, `y_prob` and `sample_weight` must not be given.
y_prob : array-like of shape (n, m)
    Scores in [0, 1]. Each row must sum to 1 within 1e-3.
sample_weight : array-like of shape (n,), optional
    Weights, all above 0. Default: every row has weight 1.
""",
}
# These parameters have the same description in several metrics.
PARAMETERS = {
    "n_bins": "int\n    Number of bins, at least 1.",
    "random_state": "int\n    Seed of the simulation. Not used with 100 or more distinct scores.",
}
RAISES = """ValueError
    If the arrays differ in length or contain a value that is not allowed.
TypeError
    If `y_prob` is missing, or is given together with {}.
"""
SECTIONS = ("Parameters", "Returns", "Raises", "See Also", "References", "Examples")
SECTION = re.compile(rf"^({'|'.join(SECTIONS)})\n-+\n", re.MULTILINE)
# Columns of tables that are no metric, and those beside each metric.
TABLE_COLUMNS = re.compile(
    r"method|distinct|mce|slope|ece_(uniform|quantile)|\w+_(low|high|diff|noise_floor)"
)
METRICS: Registry[Metric] = Registry("metric", "calib.metrics")


def score_metrics() -> dict[str, Metric]:
    """The metrics that need one score per row, by key.

    Examples
    --------
    >>> list(score_metrics())[:3]
    ['expected_calibration_error', 'sweep_calibration_error', 'adaptive_calibration_error']
    """
    return {key: metric for key, metric in METRICS.items() if metric.of == "scores"}


def matrix_metrics() -> dict[str, Metric]:
    """The metrics that need one score per class, by their names in tables.

    The names have no prefix "multiclass_", which some keys of the registry have.

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


class PublicMetric(Protocol[Given, Parameters, Returned]):
    """A metric as it is called. All but the first two arguments are keyword-only.

    Python has no way to write this beside ParamSpec. No value is a `Never`, so type checkers refuse
    a third argument without a name.
    """

    def __call__(
        self,
        y_true: ArrayLike | Given,
        y_prob: ArrayLike | None = None,
        keyword_only: Never = ...,
        sample_weight: ArrayLike | None = None,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Returned:
        """The metric of arrays, or of cells or a matrix."""


class Register(Protocol):
    """Makes the public metric of a function of cells, or of a matrix."""

    def __call__(
        self, compute: Callable[Concatenate[Problem, Parameters], Result], /
    ) -> PublicMetric[Problem, Parameters, Result]:
        """Register the function."""


def metric(label: str, **declared: Any) -> Register:
    """Register a function of ScoreCells or of a ScoreMatrix as a metric, and return its facade.

    `declared` are attributes of `Metric`, which gives some of them a default.

    The facade takes either the cells (or the matrix), or ``(y_true, y_prob, *,
    sample_weight=None)`` like the metrics of scikit-learn. The function's own parameters become
    keyword-only. The docstring of the facade is that of the function, with the arrays, the bounds,
    the errors and the source added.
    """

    def register(
        compute: Callable[Concatenate[Problem, Parameters], Result], /
    ) -> PublicMetric[Problem, Parameters, Result]:
        if TABLE_COLUMNS.fullmatch(compute.__name__):
            raise ValueError(
                f"The metric {compute.__name__!r} needs another name: tables have this column."
            )
        entry = Metric(compute.__name__, label, compute, **declared)
        METRICS.add(entry.key, entry)

        @functools.wraps(compute)
        def facade(
            y_true: ArrayLike | ScoreCells | ScoreMatrix,
            y_prob: ArrayLike | None = None,
            *,
            sample_weight: ArrayLike | None = None,
            **parameters: Any,
        ) -> Result:
            check_kinds(compute, parameters)
            return cast(Result, _computed(entry, y_true, y_prob, sample_weight, parameters))

        facade.__doc__ = _facade_doc(entry)
        facade.__signature__ = _facade_signature(compute)  # type: ignore[attr-defined]
        return cast(Any, facade)

    return register


def error_metric(label: str, **declared: Any) -> Register:
    """`metric` with the declarations that all calibration errors have in common."""
    common = {"better": "lower", "interval": "error", "perfect": 0.0, "other_class": "same"}
    return metric(label, bounds=(0.0, 1.0), **common | declared)


def error_test(label: str, **declared: Any) -> Register:
    """`metric` with the declarations that all tests of a calibration error have in common."""
    return metric(label, bounds=(0.0, 1.0), better="none", interval=None, **declared)


def _computed(
    entry: Metric,
    y_true: ArrayLike | ScoreCells | ScoreMatrix,
    y_prob: ArrayLike | None,
    sample_weight: ArrayLike | None,
    parameters: Mapping[str, Any],
) -> Any:
    """The metric of cells, of a matrix, or of arrays, which are checked."""
    if isinstance(y_true, ScoreCells | ScoreMatrix):
        wanted = entry.problem.__name__
        if not isinstance(y_true, entry.problem):
            given = type(y_true).__name__
            raise TypeError(f"{entry.key}() takes a {wanted} or (y_true, y_prob), got a {given}.")
        if y_prob is not None or sample_weight is not None:
            raise TypeError(
                f"{entry.key}() takes either one {wanted} or (y_true, y_prob), got both."
            )
        return entry.compute(y_true, **parameters)
    if y_prob is None:
        raise TypeError(f"{entry.key}() needs y_prob as well, got only y_true.")
    if entry.of_arrays is not None:
        return entry.of_arrays(*check_rows(y_true, y_prob, sample_weight), **parameters)
    return entry.compute(entry.problem.from_arrays(y_true, y_prob, sample_weight), **parameters)


def _facade_doc(entry: Metric) -> str:
    """The function's docstring with the arrays, bounds, errors and source of its declaration."""
    # Before Python 3.13 docstrings have the indentation of the source.
    opening, *rest = SECTION.split(inspect.cleandoc(entry.compute.__doc__ or ""))
    written = dict(zip(rest[::2], rest[1::2], strict=True))
    returned = entry.compute.__annotations__.get("return", float)
    declared = {"Returns": returned if isinstance(returned, str) else returned.__name__}
    if declared["Returns"] == "float":
        declared["Returns"] += "\n    In [{:.4g}, {:.4g}].".format(*entry.bounds)
    if entry.source:
        declared["References"] = f"{entry.source}."
    described = written.pop("Parameters", "")
    shared = "".join(
        f"{name} : {words}\n"
        for name, words in PARAMETERS.items()
        if entry.takes(name) and f"{name} : " not in described
    )
    merged = {
        "Parameters": ARRAYS[entry.of] + shared + described,
        "Raises": RAISES.format(PROBLEMS[entry.of].__name__) + written.pop("Raises", ""),
    }
    texts = declared | written | merged
    return f"{opening.strip()}\n\n" + "\n\n".join(
        f"{name}\n{'-' * len(name)}\n{texts[name].strip()}" for name in SECTIONS if name in texts
    )


def _facade_signature(compute: Callable[..., Any]) -> inspect.Signature:
    parameters = list(inspect.signature(compute).parameters.values())[1:]
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            kinds("y_true", kinds.POSITIONAL_OR_KEYWORD),
            kinds("y_prob", kinds.POSITIONAL_OR_KEYWORD, default=None),
            kinds("sample_weight", kinds.KEYWORD_ONLY, default=None),
            *(p.replace(kind=kinds.KEYWORD_ONLY) for p in parameters),
        ]
    )


def scorer(key: str, part: str | None = None, **parameters: Any) -> Any:
    """Make a scorer of one metric for classifiers with ``predict_proba``. Larger is better.

    Parameters
    ----------
    key : str
        Key of a metric, such as "expected_calibration_error".
    part : str, optional
        Name of the number if the metric returns several, for example "miscalibration" of
        "brier_decomposition". It is returned without a change of sign. Default: the first number.
    **parameters
        Parameters of the metric.

    Returns
    -------
    callable
        ``scorer(estimator, X, y_true, sample_weight=None)``. It returns the negative value if
        lower values of the metric are better, and the negative distance if 0 or 1 is the best
        value.

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
    from sklearn.metrics import make_scorer  # Its import takes longer than that of all metrics.

    entry = METRICS[key]

    def score(y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
        problem = entry.problem.from_arrays(y_true, y_prob, sample_weight)
        numbers = entry.numbers(problem, **parameters)
        if part is None:
            return _larger_is_better(next(iter(numbers.values())), entry.better)
        if part not in numbers:
            parts = ", ".join(filter(None, numbers)) or "none"
            raise ValueError(f"part of {key} must be one of {parts}, got {part!r}.")
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

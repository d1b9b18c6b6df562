"""Settings: every choice that a person made, and where to begin; in links and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from numbers import Integral
from typing import Any, Literal

from calib.calibrators import CALIBRATORS
from calib.data.base import Data, check_data
from calib.data.strict_json import added
from calib.metrics import score_metrics
from calib.numerics.intervals import check_level
from calib.numerics.transforms import EpsilonRule, check_epsilon

Strategy = Literal["quantile", "uniform"]
Band = Literal["per_bin", "simultaneous"]
# The splitters of scikit-learn accept no larger seed.
MAX_SEED = 2**32 - 1
# Bands of several bins and tests divide what is missing to 1 among them.
MIN_LEVEL_MARGIN = 1e-9
DEFAULT_METHODS = ("uncalibrated", "platt", "logistic", "isotonic", "beta", "spline", "stack")


@dataclass(frozen=True, slots=True)
class Settings:
    """All choices of one analysis. They are checked when the object is made.

    Parameters
    ----------
    view : str
        Binary view of the predictions: "class:k", "top:r" or "within:r", see `Predictions.view`.
        If it is empty, the view is "top:1" (the top label) for a matrix and "class:1" for one
        score per row. The settings of an analysis contain the view that was used.
    methods : tuple of str
        Keys of the calibrators to compare. "uncalibrated" is always added as the first.
    metrics : tuple of str
        Additional metrics of the table, as keys of `calib.metrics.score_metrics`.
    strategy : {"quantile", "uniform"}
        Bins of the reliability diagram: equal counts or equal widths.
    n_bins : int
        Number of bins, 2 to 100.
    epsilon : float or None
        Epsilon of the compact logit, at least 1e-15 and below 0.5. None: the automatic one.
    n_folds : int
        Number of folds, 2 to 20. Not used if the data name test rows or folds.
    seed : int
        Seed of the folds and of all resamples, 0 to 2^32 - 1.
    confidence_level : float
        Confidence level of all intervals and bands, in (0, 1).
    band : {"per_bin", "simultaneous"}
        Consistency band: for a calibrated model, the level is the probability that it contains one
        given dot ("per_bin"), or all dots at once ("simultaneous").
    epsilon_rule : {"symmetric", "published"}
        Rule of the automatic epsilon of spline and stack, see `calib.calibrators.spline.Spline`.
        Reports without this setting were made by the published rule.

    Raises
    ------
    ValueError
        If a value is out of its range.
    TypeError
        If a number of bins or folds, or the seed, is not a whole number.

    Examples
    --------
    >>> Settings(n_bins=10).changed()
    {'n_bins': 10}
    >>> Settings(n_bins=1)
    Traceback (most recent call last):
    ...
    ValueError: n_bins must fulfil 2 <= n_bins <= 100, got 1.
    """

    view: str = ""
    methods: tuple[str, ...] = DEFAULT_METHODS
    metrics: tuple[str, ...] = ()
    strategy: Strategy = "quantile"
    n_bins: int = 15
    epsilon: float | None = None
    n_folds: int = 5
    seed: int = 0
    confidence_level: float = 0.95
    band: Band = "per_bin"
    epsilon_rule: EpsilonRule = added("symmetric", before="published")

    def __post_init__(self) -> None:
        for name in ("methods", "metrics"):
            if isinstance(keys := getattr(self, name), str):
                raise TypeError(f"{name} must be a list of keys, got {keys!r}.")
        methods = _each_once("methods", ("uncalibrated", *self.methods), CALIBRATORS)
        object.__setattr__(self, "methods", methods)
        object.__setattr__(self, "metrics", _each_once("metrics", self.metrics, score_metrics()))
        if self.strategy not in ("quantile", "uniform"):
            raise ValueError(f"strategy must be 'quantile' or 'uniform', got {self.strategy!r}.")
        if self.band not in ("per_bin", "simultaneous"):
            raise ValueError(f"band must be 'per_bin' or 'simultaneous', got {self.band!r}.")
        if self.epsilon_rule not in ("symmetric", "published"):
            raise ValueError(
                f"epsilon_rule must be 'symmetric' or 'published', got {self.epsilon_rule!r}."
            )
        _check_between("n_bins", self.n_bins, 2, 100)
        _check_between("n_folds", self.n_folds, 2, 20)
        _check_between("seed", self.seed, 0, MAX_SEED)
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        check_level(self.confidence_level, MIN_LEVEL_MARGIN)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Default value of every setting."""
        return {f.name: f.default for f in fields(cls) if f.default is not MISSING}

    def changed(self, start: Settings | None = None) -> dict[str, Any]:
        """The settings that differ from the defaults, or from other settings."""
        other = start or Settings()
        names = [field.name for field in fields(self)]
        return {n: getattr(self, n) for n in names if getattr(self, n) != getattr(other, n)}

    def fitting(self) -> Settings:
        """The same settings, with defaults for all that has no effect on fits.

        Two settings for which this is equal have the same fitted calibrators and held-out scores.
        """
        defaults = self.defaults()
        drawing = ("metrics", "strategy", "n_bins", "confidence_level", "band")
        return replace(self, **{name: defaults[name] for name in drawing})


def _each_once(name: str, keys: tuple[str, ...], allowed: Mapping[str, object]) -> tuple[str, ...]:
    unknown = [key for key in keys if key not in allowed]
    if unknown:
        raise ValueError(f"{name} must be among {', '.join(allowed)}, got {unknown[0]!r}.")
    return tuple(dict.fromkeys(keys))


def _check_between(name: str, value: int, low: int, high: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if not low <= value <= high:
        raise ValueError(f"{name} must fulfil {low} <= {name} <= {high}, got {value}.")


# These methods are fast for any number of rows and classes.
FAST_METHODS = ("uncalibrated", "clip", "temperature", "ks_spline")
# Other methods take seconds up to this number of rows times classes, and up to this number of
# classes: a calibrator per class, or m (m + 1) parameters, are slow even with few rows.
MAX_SIZES = {
    "vector": (10_000_000, 200),
    "isotonic": (2_000_000, 200),
    "beta": (2_000_000, 200),
    "dirichlet": (2_000_000, 50),
}


def with_view(settings: Settings, data: Data) -> Settings:
    """The same settings. If they name no view, the default view of these data is filled in."""
    check_data(data)
    return settings if settings.view else replace(settings, view=data.default_view)


def default_methods(data: Data) -> tuple[str, ...]:
    """Methods that are compared by default. They finish in seconds for this number of rows."""
    n, m = data.n_rows, data.n_classes
    quick = [key for key, size in MAX_SIZES.items() if n * m <= size[0] and m <= size[1]]
    return (*FAST_METHODS, *quick)


def default_settings(predictions: Data) -> Settings:
    """Default settings of a data set, which `calib.analyze` uses.

    Parameters
    ----------
    predictions : Predictions or Aggregate

    Returns
    -------
    Settings
        The view is the top label for a matrix and class 1 for one score per row. The methods for a
        matrix depend on the number of rows and classes, so that an analysis takes seconds.

    Examples
    --------
    >>> from calib import Predictions
    >>> default_settings(Predictions.from_arrays([0, 1], [0.2, 0.7])) == Settings(view="class:1")
    True
    >>> default_settings(Predictions.from_arrays([0, 1, 2], [[0.8, 0.1, 0.1]] * 3)).view
    'top:1'
    """
    methods = default_methods(predictions) if predictions.is_matrix else DEFAULT_METHODS
    return Settings(methods=methods, view=predictions.default_view)

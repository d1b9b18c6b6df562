"""Make and fit the methods of the settings, or take them from an earlier fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator, calibrator
from calib.calibrators.one_vs_rest import OneVsRest, multiclass_calibrator
from calib.crossfit.settings import Settings
from calib.text import without_arrays

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Result = TypeVar("Result")


def create(key: str, settings: Settings) -> Calibrator:
    """Make an unfitted calibrator with the parameters from the settings.

    Raises ValueError if the method calibrates only matrices.
    """
    return _with_settings(calibrator(key), settings)


def create_multiclass(key: str, settings: Settings) -> MatrixCalibrator:
    made = multiclass_calibrator(key)
    if type(made) is OneVsRest:
        return OneVsRest(create(key, settings))
    return _with_settings(made, settings)


def _with_settings(estimator: Estimator, settings: Settings) -> Estimator:
    values = {
        "epsilon": settings.epsilon,
        "epsilon_rule": settings.epsilon_rule,
        "random_state": settings.seed,
    }
    parameters = estimator.get_params()
    estimator.set_params(**{name: value for name, value in values.items() if name in parameters})
    return estimator


def still_valid(
    old: Settings,
    fitted: Iterable[str],
    settings: Settings,
    make: Callable[[str, Settings], BaseEstimator],
    folds_by: tuple[str, ...] = ("n_folds", "seed"),
) -> set[str]:
    """Methods whose parameters and folds equal those of an earlier fit with other settings.

    `folds_by` are the settings that determine which rows are fitted together.
    """
    if any(getattr(old, name) != getattr(settings, name) for name in folds_by):
        return set()
    # A method that calibrates only matrices cannot be made for scores.
    keys = [k for k in fitted if make is create_multiclass or CALIBRATORS[k].create is not None]
    return {k for k in keys if _parameters(make(k, old)) == _parameters(make(k, settings))}


def _parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """All parameters, including those of nested estimators, because estimators compare by id."""
    parameters = estimator.get_params()
    return {
        name: value for name, value in parameters.items() if not isinstance(value, BaseEstimator)
    }


def merged(
    settings: Settings, fresh: Mapping[str, Result], earlier: Mapping[str, Result]
) -> dict[str, Result]:
    """Join two mappings by method, in the order of the settings."""
    both = {**earlier, **fresh}
    return {key: both[key] for key in settings.methods if key in both}


def fit_all(
    methods: tuple[str, ...], fit: Callable[[str], Result], *, matrix: bool
) -> tuple[dict[str, Result], dict[str, str]]:
    """Fitted calibrators by key, and the reasons why others could not be fitted."""
    calibrators, failures = {}, {}
    for key in methods:
        try:
            calibrators[key] = fit(key)
        except ValueError as error:
            label = CALIBRATORS[key].words(matrix=matrix)[0]
            failures[key] = f"{label} could not be fitted: {without_arrays(str(error))}"
    return calibrators, failures

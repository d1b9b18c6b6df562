"""Make and fit the methods of the settings, or take them from an earlier fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from sklearn.base import BaseEstimator

from calib.calibrators import CALIBRATORS, Calibrator, MatrixCalibrator, calibrator
from calib.calibrators.one_vs_rest import OneVsRest, multiclass_calibrator
from calib.crossfit.settings import Settings

Estimator = TypeVar("Estimator", bound=BaseEstimator)
Found = TypeVar("Found")


class Fitted(Protocol):
    """What is read from an earlier fit."""

    @property
    def settings(self) -> Settings:
        """The settings with which the methods were fitted."""

    @property
    def maps(self) -> Mapping[str, Any]:
        """Fitted calibrators by key."""

    @property
    def failures(self) -> Mapping[str, str]:
        """Methods that could not be fitted, with the reason."""


def create(key: str, settings: Settings) -> Calibrator:
    """Make an unfitted calibrator with the parameters from the settings.

    Raises ValueError if the method calibrates only matrices.
    """
    return _with_settings(calibrator(key), settings)


def create_multiclass(key: str, settings: Settings) -> MatrixCalibrator:
    """Make an unfitted multiclass calibrator with the parameters from the settings."""
    made = multiclass_calibrator(key)
    if type(made) is OneVsRest:
        return OneVsRest(create(key, settings))
    return _with_settings(made, settings)


def _with_settings(made: Estimator, settings: Settings) -> Estimator:
    wanted = {"epsilon": settings.epsilon, "random_state": settings.seed}
    known = made.get_params()
    made.set_params(**{name: value for name, value in wanted.items() if name in known})
    return made


def still_valid(
    earlier: Fitted | None,
    settings: Settings,
    make: Callable[[str, Settings], BaseEstimator],
    folds_by: tuple[str, ...] = ("n_folds", "seed"),
) -> set[str]:
    """Methods whose parameters and folds equal those of an earlier fit.

    `make` is `create` or `create_multiclass`. `folds_by` are the settings that determine which rows
    are fitted together.
    """
    if earlier is None:
        return set()
    old = earlier.settings
    if any(getattr(old, name) != getattr(settings, name) for name in folds_by):
        return set()
    known = [key for key in (*earlier.maps, *earlier.failures) if _made_by(make, key)]
    return {key for key in known if _parameters(make(key, old)) == _parameters(make(key, settings))}


def _made_by(make: Callable[[str, Settings], BaseEstimator], key: str) -> bool:
    return make is create_multiclass or CALIBRATORS[key].create is not None


def _parameters(made: BaseEstimator) -> dict[str, Any]:
    """All parameters, including those of nested estimators, because estimators compare by id."""
    found = made.get_params()
    return {name: each for name, each in found.items() if not isinstance(each, BaseEstimator)}


def merged(
    settings: Settings, fresh: Mapping[str, Found], earlier: Mapping[str, Found]
) -> dict[str, Found]:
    """Join two mappings by method, in the order of the settings."""
    both = {**earlier, **fresh}
    return {key: both[key] for key in settings.methods if key in both}


def fit_all(
    methods: tuple[str, ...], fit: Callable[[str], Found], *, matrix: bool
) -> tuple[dict[str, Found], dict[str, str]]:
    """Fitted calibrators by key, and the reasons why others could not be fitted."""
    maps, failures = {}, {}
    for key in methods:
        try:
            maps[key] = fit(key)
        except ValueError as error:
            label = CALIBRATORS[key].words(matrix=matrix)[0]
            failures[key] = f"{label} could not be fitted: {error}"
    return maps, failures

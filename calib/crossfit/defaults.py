"""Where to begin with a matrix of scores: its view, and methods that end in reasonable time."""

from __future__ import annotations

from dataclasses import replace

from calib.core.aggregate import Aggregate
from calib.core.predictions import Predictions
from calib.crossfit.settings import Settings

# Cheap at any size.
ALWAYS = ("uncalibrated", "clip", "temperature", "ks_spline")
# Others by the rows times classes, and by the classes, up to which they end within seconds: a
# calibrator for every class, or m (m + 1) numbers, take long by themselves.
UP_TO = {
    "vector": (10_000_000, 200),
    "isotonic": (2_000_000, 200),
    "beta": (2_000_000, 200),
    "dirichlet": (2_000_000, 50),
}


def first_view(*, is_matrix: bool) -> str:
    """The view that data begin with.

    Examples
    --------
    >>> first_view(is_matrix=True), first_view(is_matrix=False)
    ('top:1', 'class:1')
    """
    return "top:1" if is_matrix else "class:1"


def with_view(settings: Settings, predictions: Predictions | Aggregate) -> Settings:
    """The same settings; where they name no view, with the one that these data begin with.

    Examples
    --------
    >>> matrix = Predictions.from_arrays([0, 1, 2], [[0.8, 0.1, 0.1]] * 3)
    >>> with_view(Settings(), matrix).view, with_view(Settings(view="class:2"), matrix).view
    ('top:1', 'class:2')
    """
    if settings.view:
        return settings
    if isinstance(predictions, Aggregate):
        return replace(settings, view=predictions.view_key)
    return replace(settings, view=first_view(is_matrix=predictions.is_matrix))


def default_methods(predictions: Predictions) -> tuple[str, ...]:
    """Methods that a comparison of these rows begins with, in seconds and not minutes.

    Parameters
    ----------
    predictions : Predictions

    Examples
    --------
    >>> small = Predictions.from_arrays([0, 1, 2], [[0.8, 0.1, 0.1]] * 3)
    >>> default_methods(small)[-4:]
    ('vector', 'isotonic', 'beta', 'dirichlet')
    """
    n, m = len(predictions), predictions.n_classes
    quick = [key for key, most in UP_TO.items() if n * m <= most[0] and m <= most[1]]
    return (*ALWAYS, *quick)


def default_settings(predictions: Predictions | Aggregate) -> Settings:
    """Settings to begin with: those of one score, or a matrix's.

    Parameters
    ----------
    predictions : Predictions or Aggregate

    Returns
    -------
    Settings
        With the view that these data begin with, and of a matrix its `default_methods`.

    Examples
    --------
    >>> default_settings(Predictions.from_arrays([0, 1], [0.2, 0.7])) == Settings(view="class:1")
    True
    >>> default_settings(Predictions.from_arrays([0, 1, 2], [[0.8, 0.1, 0.1]] * 3)).view
    'top:1'
    """
    if isinstance(predictions, Aggregate) or not predictions.is_matrix:
        return with_view(Settings(), predictions)
    return with_view(Settings(methods=default_methods(predictions)), predictions)

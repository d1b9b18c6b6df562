"""One analysis for all figures, and the means to read a figure back."""

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from calib.analysis import Analysis, analyze
from calib.crossfit.settings import Settings
from calib.data.predictions import Predictions

METHODS = ("uncalibrated", "platt", "isotonic", "beta")


def overconfident(n: int, **settings: Any) -> Analysis:
    rng = np.random.default_rng(7)
    log_odds = rng.normal(-1.0, 2.0, n)
    outcome = rng.random(n) < 1 / (1 + np.exp(-0.5 * log_odds))
    predictions = Predictions.from_arrays(outcome, 1 / (1 + np.exp(-log_odds)))
    return analyze(predictions, Settings(methods=METHODS, **settings))


@pytest.fixture(scope="session")
def analysis() -> Analysis:
    """600 rows in 12 uniform bins, some of which hold few rows."""
    return overconfident(600, n_bins=12, strategy="uniform")


@pytest.fixture(scope="session")
def trace() -> Callable[[go.Figure, str], go.Scatter]:
    """Read a figure's trace by its uid."""

    def find(figure: go.Figure, uid: str) -> go.Scatter:
        (result,) = [drawn for drawn in figure.data if drawn.uid == uid]
        return result

    return find

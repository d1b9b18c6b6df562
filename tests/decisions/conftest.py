"""One comparison for all decisions: overconfident scores with ties, weighted and not."""

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.comparison import HeldOut, hold_out
from calib.predictions import Predictions
from calib.settings import Settings


def compared(n: int = 3000, digits: int = 3, **more) -> HeldOut:
    rng = np.random.default_rng(4)
    truth = expit(rng.normal(-1, 1.5, n))
    score = expit(2.5 * logit(truth)).round(digits)
    view = Predictions.from_arrays(rng.random(n) < truth, score, **more).view()
    return hold_out(view, Settings(methods=("platt", "isotonic")))


@pytest.fixture(scope="session")
def held_out() -> HeldOut:
    return compared()


@pytest.fixture(scope="session")
def weighted() -> HeldOut:
    return compared(sample_weight=np.random.default_rng(5).uniform(0.5, 2, 3000))


@pytest.fixture(scope="session")
def tied() -> HeldOut:
    """Scores of one digit: hundreds of rows share each."""
    return compared(digits=1)

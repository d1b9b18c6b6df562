"""One comparison for all decisions: overconfident scores with ties, weighted and not."""

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.crossfit.cross_fitted import CrossFitted
from calib.crossfit.fitting import cross_fit_scores
from calib.crossfit.settings import Settings
from calib.data.counted import CountedRows
from calib.data.predictions import Predictions


def compared(n: int = 3000, digits: int = 3, **more) -> CrossFitted:
    rng = np.random.default_rng(4)
    truth = expit(rng.normal(-1, 1.5, n))
    score = expit(2.5 * logit(truth)).round(digits)
    view = Predictions.from_arrays(rng.random(n) < truth, score, **more).view()
    return cross_fit_scores(CountedRows.of_rows(view), Settings(methods=("platt", "isotonic")))


@pytest.fixture(scope="session")
def held_out() -> CrossFitted:
    return compared()


@pytest.fixture(scope="session")
def weighted() -> CrossFitted:
    return compared(sample_weight=np.random.default_rng(5).uniform(0.5, 2, 3000))


@pytest.fixture(scope="session")
def tied() -> CrossFitted:
    """Scores of one digit: hundreds of rows share each."""
    return compared(digits=1)

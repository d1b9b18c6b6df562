"""Temperature scaling."""

import numpy as np
import pytest
from scipy.special import expit

from calib.calibrators.temperature import Temperature


def test_recovers_its_temperature():
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, 100_000)
    fitted = Temperature().fit(expit(1.7 * z), rng.random(len(z)) < expit(z))
    assert fitted.temperature_ == pytest.approx(1.7, rel=0.02)


def test_one_half_is_fixed():
    assert Temperature().fit([0.2, 0.4, 0.7], [0, 1, 1]).predict([0.5])[0] == 0.5


def test_falling_truth_has_infinite_temperature():
    fitted = Temperature().fit([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 1])
    assert fitted.temperature_ == np.inf
    assert fitted.predict([0.9])[0] == pytest.approx(0.75)
